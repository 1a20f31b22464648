// Runs an example as its reader does: a copy of it, in a folder of its own, as a process that listens on a free port.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../support/free-port.js'
import { ROOT } from '../support/project.js'

const FOLDER = join(ROOT, 'test/adapters')

export const KEY = 'a-long-random-text-of-the-host'

/** Longer than any of them takes to begin, on a machine that does other work. */
const READY_MS_MAX = 90_000

export type Start = Readonly<{
  /** The name of the file or of the folder. */
  name: string
  /** The program that runs it. Default: this Node. */
  program?: string
  /** Its arguments, in the folder of the copy. Default: the file. */
  args?: readonly string[]
  env?: Readonly<Record<string, string>>
  /** Makes the text of another example of it. Default: as it is. */
  changed?: (text: string) => string
}>

export type Running = Readonly<{
  url: string
  /** Where the copy is. */
  folder: string
  /** What it has printed. */
  output(): string
  /** Asks it to end, as a supervisor does. @returns its exit code; null: a signal ended it. */
  terminate(): Promise<number | null>
  stop(): Promise<void>
}>

/** The file of an example or, of one that is a folder, its files. */
export async function filesOfExample(name: string): Promise<readonly string[]> {
  const path = join(FOLDER, 'examples', name)
  if (name.includes('.')) return [path]
  const entries = await readdir(path, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

/** Copies an example into a new folder. @returns the folder, which the caller removes. */
export async function copyExample(name: string): Promise<string> {
  const folder = await mkdtemp(join(FOLDER, 'running-'))
  const from = join(FOLDER, 'examples', name)
  await cp(from, name.includes('.') ? join(folder, name) : folder, { recursive: true })
  return folder
}

/** Starts an example. Whoever starts it stops it. */
export async function startExample(start: Start): Promise<Running> {
  const { name, program = process.execPath, args = [name], env = {}, changed } = start
  const folder = await copyExample(name)
  const copy = join(folder, name)
  if (changed) await writeFile(copy, changed(await readFile(copy, 'utf8')))
  const port = await freePort()
  const child = spawn(program, [...args], {
    cwd: folder,
    detached: true, // A server of its own may have processes of its own.
    env: { PATH: process.env['PATH'], PORT: String(port), API_KEY: KEY, ...env },
  })
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (piece) => {
      printed += piece
    })
  }
  const exited = once(child, 'exit') as Promise<[number | null]>
  const running: Running = {
    url: `http://127.0.0.1:${port}`,
    folder,
    output: () => printed,
    async terminate() {
      child.kill('SIGTERM')
      const [code] = await exited
      return code
    },
    async stop() {
      kill(child)
      await exited
      await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
  try {
    await ready(running, child)
    return running
  } catch (failure) {
    await running.stop()
    throw failure
  }
}

/** Ends the process and those that it started. */
function kill({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return
  process.kill(-pid, 'SIGKILL')
}

async function ready({ url, output }: Running, child: ChildProcess): Promise<void> {
  const endMs = performance.now() + READY_MS_MAX
  while (performance.now() < endMs && child.exitCode === null) {
    const answer = await fetch(`${url}/api/healthz`).catch(() => undefined)
    if (answer?.status === 200) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error(`It does not answer:\n${output()}`)
}
