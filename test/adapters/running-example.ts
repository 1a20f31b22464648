// Runs a copy of an example in a separate folder, as a process that listens on a free port.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../support/free-port.js'
import { ROOT } from '../support/project.js'

const FOLDER = join(ROOT, 'test/adapters')

export const KEY = 'a-long-random-text-of-the-host'

/** No example takes longer to start, even on a busy machine. */
const READY_MS_MAX = 90_000

export type Start = Readonly<{
  /** The name of the file or folder. */
  name: string
  /** The program that runs the example. Default: this Node. */
  program?: string
  /** Arguments of the program; its working directory is the copy. Default: the file. */
  args?: readonly string[]
  env?: Readonly<Record<string, string>>
  /** Changes the text of the copy. Default: unchanged. */
  changed?: (text: string) => string
}>

export type Running = Readonly<{
  url: string
  /** Where the copy is. */
  folder: string
  /** What the example has printed. */
  output(): string
  /** Asks the example to end, as a supervisor does. @returns its exit code; null: a signal ended it */
  terminate(): Promise<number | null>
  stop(): Promise<void>
}>

/** The file of an example, or all files of an example that is a folder. */
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

/** Starts an example. The caller stops it. */
export async function startExample(start: Start): Promise<Running> {
  const { name, program = process.execPath, args = [name], env = {}, changed } = start
  const folder = await copyExample(name)
  const copy = join(folder, name)
  if (changed) await writeFile(copy, changed(await readFile(copy, 'utf8')))
  const port = await freePort()
  const child = spawn(program, [...args], {
    cwd: folder,
    detached: true, // Its server may start further processes.
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

/** Ends the process and those that it has started. */
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
