// The command line program as it is shipped: built into a separate folder, then run as processes.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { ROOT } from './project.js'

const run = promisify(execFile)

/** Below node_modules, so that packages are found, and nothing else looks there. */
const CACHE = join(ROOT, 'node_modules', '.cache')

export type BuiltCli = Readonly<{ path: string }>

/** The folder of the program for a run of vitest, by the ID of its main process. `teardown` removes it. */
function folderOf(runId: string): string {
  return join(CACHE, `rowstash-cli-${runId}`)
}

/** Builds the program, or waits for the build of another file of this run of vitest. */
export async function buildCli(): Promise<BuiltCli> {
  const folder = folderOf(process.env['ROWSTASH_TEST_RUN'] ?? String(process.pid))
  const built = { path: join(folder, 'cli.js') }
  await mkdir(CACHE, { recursive: true })
  const isFirst = await mkdir(folder).then(
    () => true,
    () => false,
  )
  const ended = join(folder, 'ended')
  if (isFirst) await tsup(folder).finally(() => writeFile(ended, ''))
  while (!existsSync(ended)) await sleep(50)
  return built
}

async function tsup(folder: string): Promise<void> {
  const program = join(ROOT, 'node_modules', 'tsup', 'dist', 'cli-default.js')
  const target = ['--format', 'esm', '--target', 'node20', '--out-dir', folder]
  const entry = ['--entry.cli', 'adapters/cli/cli.ts']
  await run(process.execPath, [program, '--no-config', ...entry, ...target, '--silent'], {
    cwd: ROOT,
  })
}

/** vitest calls this in its main process when all tests have ended. */
export async function teardown(): Promise<void> {
  await rm(folderOf(String(process.pid)), { recursive: true, force: true })
}

export type Ended = Readonly<{ code: number | null; stdout: string; stderr: string }>

/** All variables of a process, except for PATH. */
export type Environment = Readonly<Record<string, string>>

function environmentOf(given: Environment): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], ROWSTASH_WAIT_MS: '0', ...given }
}

/** Runs a command to its end. */
export async function runCli(
  path: string,
  args: readonly string[],
  env: Environment = {},
): Promise<Ended> {
  const child = spawn(process.execPath, [path, ...args], { env: environmentOf(env) })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (piece) => {
    stdout += piece
  })
  child.stderr.on('data', (piece) => {
    stderr += piece
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stdout, stderr }
}

export type Serving = Readonly<{
  child: ChildProcess
  /** The output until the server was ready. */
  lines: readonly string[]
  url: string
  /** Asks it to end. @returns its exit code */
  stop(): Promise<number | null>
}>

/** Starts a server, and waits until it listens. The caller stops it. */
export async function serveCli(
  path: string,
  args: readonly string[],
  env: Environment = {},
): Promise<Serving> {
  const child = spawn(process.execPath, [path, 'serve', '--port', '0', ...args], {
    env: environmentOf(env),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit') as Promise<[number | null]>
  const lines: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line)
    const url = /^listening on (\S+)$/.exec(line)?.[1]
    if (url === undefined) continue
    const stop = async (): Promise<number | null> => {
      child.kill('SIGTERM')
      const [code] = await exited
      return code
    }
    return { child, lines, url, stop }
  }
  throw new Error(`The server ended before it was ready: ${lines.join('\n')}`)
}
