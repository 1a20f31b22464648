// The writer as a separate process, built from the sources.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Plugin } from 'esbuild'
import { build } from 'tsup'
import { ROOT } from '../../support/project.js'
import { type LogLine, parseLog } from './log-lines.js'

/** Below node_modules, so that packages are found, and nothing else looks there. */
const CACHE = join(ROOT, 'node_modules', '.cache')

const SMALL_BUFFERS = join(ROOT, 'test/rungs/crash/small-buffers.ts')

/** Replaces the package, and the module through which the adapters load it. */
const withSmallBuffers: Plugin = {
  name: 'small-buffers',
  setup({ onResolve }) {
    onResolve({ filter: /^classic-level$|\/classic-level\.js$/ }, () => ({ path: SMALL_BUFFERS }))
  },
}

export type BuiltPrograms = Readonly<{
  /** The path of a program. */
  path(name: string): string
  remove(): Promise<void>
}>

/**
 * Builds programs of a folder, by default of this one.
 * @param smallBuffers - With LevelDBs that write their tables early.
 * @param root - Of the tree that they are in; default: this one.
 */
export async function buildPrograms(
  names: readonly string[],
  {
    smallBuffers,
    from = 'test/rungs/crash',
    root = ROOT,
  }: Readonly<{ smallBuffers: boolean; from?: string; root?: string }>,
): Promise<BuiltPrograms> {
  await mkdir(CACHE, { recursive: true })
  const folder = await mkdtemp(join(CACHE, 'rowstash-crash-'))
  await build({
    config: false,
    entry: Object.fromEntries(names.map((name) => [name, join(root, from, `${name}.ts`)])),
    outDir: folder,
    format: 'esm',
    target: 'node20',
    silent: true,
    splitting: false,
    external: ['pg'],
    ...(smallBuffers && { noExternal: ['classic-level'] }),
    esbuildPlugins: smallBuffers ? [withSmallBuffers] : [],
    esbuildOptions(options) {
      options.absWorkingDir = root
    },
  })
  return {
    path: (name) => join(folder, `${name}.js`),
    remove: () => rm(folder, { recursive: true }),
  }
}

export type Ended = Readonly<{
  lines: readonly LogLine[]
  stdout: string
  code: number | null
  signal: NodeJS.Signals | null
  stderr: string
}>

/** A running writer, and its output once it has ended. */
export type RunningWriter = Readonly<{
  child: ChildProcess
  /** Resolves when it has printed this many lines, or ends. */
  said(lines: number): Promise<void>
  ended: Promise<Ended>
  /** The length of its output so far. */
  heard(): number
}>

/** @param before - A program that runs the writer, with its arguments, such as strace. */
export function startWriter(
  program: string,
  job: object,
  { before = [], env = {} }: Readonly<{ before?: readonly string[]; env?: NodeJS.ProcessEnv }> = {},
): RunningWriter {
  const [command = process.execPath, ...args] = [...before, process.execPath, program]
  const child = spawn(command, [...args, JSON.stringify(job)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], ...env },
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    stdout += piece
  })
  child.stderr.setEncoding('utf8').on('data', (piece: string) => {
    stderr += piece
  })
  const ended = once(child, 'close').then(([code, signal]) => {
    return { lines: parseLog(stdout), stdout, code, signal, stderr } as Ended
  })
  const said = async (lines: number): Promise<void> => {
    const hasSaid = () => stdout.split('\n').length > lines
    while (!hasSaid() && child.exitCode === null && child.signalCode === null) {
      await Promise.race([once(child.stdout, 'data'), ended])
    }
  }
  return { child, said, ended, heard: () => stdout.length }
}
