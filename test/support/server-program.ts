// A server program that a test starts, such as PostgreSQL: in a separate folder, and never as root, which PostgreSQL
// and PgBouncer refuse.
import { type ChildProcess, spawn } from 'node:child_process'
import { chown, mkdir } from 'node:fs/promises'

/** The user that runs it if the tests run as root: `nobody` on most systems. */
const UNPRIVILEGED_ID = 65_534

const START_MS_MAX = 60_000
const STOP_MS_MAX = 20_000

/** The identity of the program; empty unless the tests run as root. */
export function unprivileged(): Readonly<{ uid?: number; gid?: number }> {
  return process.getuid?.() === 0 ? { uid: UNPRIVILEGED_ID, gid: UNPRIVILEGED_ID } : {}
}

/** Makes a folder that the program may write. */
export async function makeFolder(path: string): Promise<void> {
  await mkdir(path)
  if (process.getuid?.() === 0) await chown(path, UNPRIVILEGED_ID, UNPRIVILEGED_ID)
}

export type ServerProgram = Readonly<{
  pid: number
  /** Asks it to end at once, and kills it if it does not. */
  stop(): Promise<void>
  /** Resolves when it has ended. */
  ended: Promise<void>
}>

type Launch = Readonly<{
  env: Readonly<Record<string, string>>
  cwd: string
  /** Matches what it prints on stderr when it serves. */
  ready: RegExp
}>

/** Starts a program, and waits until it serves. It is killed if the tests end first. */
export async function launch(
  program: string,
  args: readonly string[],
  { env, cwd, ready }: Launch,
): Promise<ServerProgram> {
  const stdio = ['ignore', 'ignore', 'pipe'] as const
  const child = spawn(program, args, { ...unprivileged(), env, cwd, stdio: [...stdio] })
  const kill = (): void => void child.kill('SIGKILL')
  process.once('exit', kill)
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => {
      process.removeListener('exit', kill)
      resolve()
    })
  })
  await untilReady(child, ready)
  return { pid: child.pid ?? 0, ended, stop: () => stop(child) }
}

/** Waits until the program serves, or ends. */
function untilReady(child: ChildProcess, ready: RegExp): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = ''
    const fail = (why: string): void => reject(new Error(`${why}: ${text.slice(-500)}`))
    const timer = setTimeout(() => fail('it took too long'), START_MS_MAX)
    child.stderr?.on('data', (bytes: Buffer) => {
      text = (text + bytes).slice(-10_000)
      if (!ready.test(text)) return
      clearTimeout(timer)
      resolve()
    })
    child.once('error', (failure) => fail(failure.message))
    child.once('exit', (code) => fail(`it ended with ${code}`))
  })
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
    child.once('exit', () => {
      clearTimeout(timer)
      resolve()
    })
    child.kill('SIGINT')
  })
}
