// `rowstash torture`: tests whether this disk and Node keep acknowledged data when a writing process is killed.
import { randomInt } from 'node:crypto'
import { mkdir, rm, stat } from 'node:fs/promises'
import { availableParallelism, release } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { PACKAGE_VERSION } from '../../directory/directory-format.js'
import { printFields } from '../command/columns.js'
import { type CommandIo, EXIT_CODE, parseIntegerOption } from '../command/command.js'
import {
  type CommandSpec,
  DIR_OPTION,
  type OptionSpecs,
  withDirectory,
} from '../command/command-spec.js'
import { ProgramFailure } from '../command/program-failure.js'
import { type DiskReport, reportDisk } from '../torture/disk.js'
import { type KillsReport, runKills } from '../torture/kills.js'
import { runWriter, type WriterPlan } from '../torture/writer.js'

const SECONDS_DEFAULT = 60
const SECONDS_MAX = 7 * 86_400
const SEEDS = 2 ** 31

const OPTIONS = {
  seconds: {
    type: 'string',
    value: 'N',
    default: String(SECONDS_DEFAULT),
    help: `how long, from 1 to ${SECONDS_MAX} (default ${SECONDS_DEFAULT})`,
  },
  seed: {
    type: 'string',
    value: 'N',
    help: 'the operations of an earlier run (default: new ones)',
  },
  json: { type: 'boolean', default: false, help: 'print the result as a line of JSON' },
  ...DIR_OPTION,
  writer: {
    type: 'string',
    value: 'PLAN',
    help: 'the process that is killed; the command starts it itself',
    isRare: true,
  },
} as const satisfies OptionSpecs

export const TORTURE_COMMAND: CommandSpec = {
  name: 'torture',
  summary: 'test what a disk keeps when a process is killed',
  usage: ['torture DIR [--seconds N] [--seed N] [--json]'],
  about: `Creates a store in the folder rowstash-torture of DIR. Repeatedly, a process writes rows and
    files to it, and is killed at a random moment; then the store must contain exactly what was acknowledged.
    Also measures how long the disk takes to flush, and shows facts about the disk. Prints a page to attach to a
    report of a fault.`,
  options: OPTIONS,
  hasOperands: true,
  notes: `A kill is not a power cut: the system's memory survives it. Exit code 0: nothing was lost, and
    the store is deleted; 1: something was, and the store stays; 2: a usage error.`,
}

type TortureReport = Readonly<{
  rowstash: string
  node: string
  system: string
  directory: string
  seed: number
  seconds: number
  disk: DiskReport
}> &
  Readonly<KillsReport>

/** Runs `rowstash torture`. @returns the exit code. @throws {ProgramFailure} */
export async function runTorture(args: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: OPTIONS,
  })
  if (values.writer !== undefined) {
    await runWriter(JSON.parse(values.writer), io)
    return EXIT_CODE.done
  }
  const [folder, ...more] = withDirectory(values.directory, positionals)
  if (folder === undefined || more.length > 0) {
    throw new ProgramFailure('usage', 'Specify one directory')
  }
  const seconds = parseIntegerOption('--seconds', values.seconds, 1, SECONDS_MAX)
  const seed =
    values.seed === undefined
      ? randomInt(SEEDS)
      : parseIntegerOption('--seed', values.seed, 0, SEEDS - 1)
  const directory = join(resolve(folder), 'rowstash-torture')
  await checkIsNew(directory)
  await mkdir(resolve(folder), { recursive: true })
  const disk = await reportDisk(resolve(folder))
  const startedMs = performance.now()
  const found = await runKills({ directory, seed, seconds, writerArgs }, io)
  const took = Math.round((performance.now() - startedMs) / 1_000)
  const report: TortureReport = {
    rowstash: PACKAGE_VERSION,
    node: process.version,
    system: `${process.platform} ${release()} ${process.arch}, ${availableParallelism()} cores`,
    directory,
    seed,
    seconds: took,
    disk,
    ...found,
  }
  if (values.json) io.print(JSON.stringify(report))
  else printFields(io, pageOf(report))
  if (found.problem !== null) return EXIT_CODE.damaged
  await rm(directory, { recursive: true })
  io.signal.throwIfAborted()
  return EXIT_CODE.done
}

/** The arguments that start this program as a writer. */
function writerArgs(plan: WriterPlan): readonly string[] {
  const [, program = ''] = process.argv
  return [...process.execArgv, program, 'torture', '--writer', JSON.stringify(plan)]
}

async function checkIsNew(directory: string): Promise<void> {
  const known = await stat(directory).catch(() => null)
  if (known === null) return
  const message = `${directory} already exists: left by a run that found a fault or was stopped`
  throw new ProgramFailure('failed', `${message}; delete it, or name another directory`)
}

function pageOf(report: TortureReport): readonly (readonly [string, string])[] {
  const { disk, problem } = report
  const { median, p99 } = disk.flushMicros
  return [
    ['rowstash', report.rowstash],
    ['node', report.node],
    ['system', report.system],
    ['directory', report.directory],
    ['file system', disk.fileSystem ?? 'unknown'],
    ['write cache', disk.writeCache ?? 'unknown'],
    ['flush', `4 KiB in ${median.toFixed(0)} µs, 99 % in ${p99.toFixed(0)} µs`],
    ['seed', String(report.seed)],
    ['seconds', String(report.seconds)],
    ['kills', String(report.kills)],
    ['commits', String(report.commits)],
    ['verified', `${report.verified} times`],
    ...disk.doubts.map((doubt) => ['doubt', doubt] as const),
    ['result', problem ?? 'The store contains exactly what was acknowledged'],
  ]
}
