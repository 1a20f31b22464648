// `rowstash bench`: how fast this machine is with this version, in numbers that can be compared.
import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Store, Table } from '../../src/index.js'
import { NO_BACKGROUND } from '../base/no-background.js'
import { PACKAGE_VERSION } from '../directory/directory-format.js'
import { openDirectory } from '../open-directory.js'
import { type CommandIo, parseIntegerOption, TEAM_DEFAULT } from './cli-command.js'
import type { CommandSpec, OptionSpecs } from './command-spec.js'
import { renderCount } from './progress.js'
import { sampleRows } from './sample-rows.js'

const ROWS = { default: 100_000, min: 10_000, max: 2_000_000 }

const OPTIONS = {
  directory: {
    type: 'string',
    value: 'DIR',
    help: 'the folder whose disk is measured (default: that of temporary files)',
  },
  rows: {
    type: 'string',
    default: String(ROWS.default),
    value: 'N',
    help: `from ${ROWS.min} to ${ROWS.max} (default: ${ROWS.default})`,
  },
  json: { type: 'boolean', default: false, help: 'print all numbers as a line of JSON' },
} as const satisfies OptionSpecs

export const BENCH_COMMAND: CommandSpec = {
  name: 'bench',
  summary: 'measure this machine',
  usage: ['bench [--directory DIR] [--rows N] [--json]'],
  about: `Measures this machine with a store of its own, which it deletes: an import of JSON into a new table,
    a page of 1,000 rows, one row by its ID, and durable updates of single rows. Needs about 200 bytes
    of disk for each row, and a few seconds.`,
  options: OPTIONS,
  notes: `Times are medians. Temporary files may be in memory, where updates cost no disk: use --directory
    to measure a disk. Exit code 0: done; 1: it failed; 2: a usage error.`,
}

const CHUNK_ROWS = 1_000
/** Chunks that are put at the same time. */
const PARALLEL = 8
const PAGE_ROWS = 1_000
const PAGES = 200
const READS = 2_000
const UPDATES = 500

/** What was measured. Units are in the names. */
type Measured = Readonly<{
  rows: number
  importRowsPerSecond: number
  importMegabytesPerSecond: number
  pageOf1000RowsMs: number
  rowByIdMicroseconds: number
  updatesPerSecond: number
}>

/** Runs `rowstash bench`. @throws {ProgramFailure} */
export async function runBench(args: readonly string[], io: CommandIo): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: OPTIONS })
  const rows = parseIntegerOption('--rows', values.rows, ROWS.min, ROWS.max)
  const parent = resolve(values.directory ?? tmpdir())
  const directory = await mkdtemp(join(parent, 'rowstash-bench-'))
  try {
    const store = await openDirectory(directory, NO_BACKGROUND)
    const measured = await measure(store, rows, io.signal).finally(() => store.close())
    const machine = {
      version: PACKAGE_VERSION,
      node: process.version,
      processor: cpus()[0]?.model ?? 'unknown',
      cores: availableParallelism(),
      directory: parent,
    }
    if (values.json) io.print(JSON.stringify({ ...measured, ...machine }))
    else for (const line of render(measured, machine)) io.print(line)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

async function measure(store: Store, rows: number, signal: AbortSignal): Promise<Measured> {
  const { table, rowIds, bytes, ms } = await importRows(store, rows, signal)
  const rowId = (turn: number): string => rowIds.get((turn * 7_919) % rows)
  const page = await medianMs(PAGES, signal, () => table.pageBytes({ limit: PAGE_ROWS }))
  const read = await medianMs(READS, signal, (turn) => table.get(rowId(turn)))
  const update = await medianMs(UPDATES, signal, (turn) => {
    return table.updateRow(rowId(turn), { quantity: turn })
  })
  return {
    rows,
    importRowsPerSecond: Math.round((rows * 1_000) / ms),
    importMegabytesPerSecond: rounded(bytes / ms / 1_000),
    pageOf1000RowsMs: rounded(page),
    rowByIdMicroseconds: rounded(read * 1_000),
    updatesPerSecond: Math.round(1_000 / update),
  }
}

type Imported = Readonly<{
  table: Table
  rowIds: Readonly<{ get(index: number): string }>
  bytes: number
  ms: number
}>

/** Making the rows is not measured. */
async function importRows(store: Store, rows: number, signal: AbortSignal): Promise<Imported> {
  const team = store.team(TEAM_DEFAULT)
  const stash = team.stash('bench')
  let [bytes, ms] = [0, 0]
  for (let at = 0; at < rows; at += PARALLEL * CHUNK_ROWS) {
    signal.throwIfAborted()
    const firsts = Array.from({ length: PARALLEL }, (_, i) => at + i * CHUNK_ROWS)
    const chunks = firsts
      .filter((first) => first < rows)
      .map((first) => ({ first, json: sampleRows(first, Math.min(rows, first + CHUNK_ROWS)) }))
    const startMs = performance.now()
    await Promise.all(chunks.map(({ first, json }) => stash.put(String(first), { json })))
    ms += performance.now() - startMs
    for (const { json } of chunks) bytes += json.length
  }
  const startMs = performance.now()
  const { tableId, rowIds } = await team.createTable({ name: 'Bench', rows: stash })
  ms += performance.now() - startMs
  return { table: team.table(tableId), rowIds, bytes, ms }
}

/** The median of the times that a call takes, one after the other, in milliseconds. */
async function medianMs(
  turns: number,
  signal: AbortSignal,
  call: (turn: number) => Promise<unknown>,
): Promise<number> {
  const times: number[] = []
  for (let turn = 0; turn < turns; turn++) {
    signal.throwIfAborted()
    const startMs = performance.now()
    await call(turn)
    times.push(performance.now() - startMs)
  }
  times.sort((left, right) => left - right)
  return times[turns >> 1] ?? 0
}

function rounded(value: number): number {
  return Number(value.toPrecision(3))
}

type Machine = Readonly<Record<'version' | 'node' | 'processor' | 'directory', string>> &
  Readonly<{ cores: number }>

function render(measured: Measured, { version, node, processor, cores, directory }: Machine) {
  const { rows, importRowsPerSecond, importMegabytesPerSecond } = measured
  const lines: readonly (readonly [what: string, value: string])[] = [
    [
      `import of ${renderCount(rows)} rows of JSON`,
      `${renderCount(importRowsPerSecond)} rows/s, ${importMegabytesPerSecond} MB/s`,
    ],
    ['a page of 1,000 rows as JSON', `${measured.pageOf1000RowsMs} ms`],
    ['one row by its ID', `${measured.rowByIdMicroseconds} µs`],
    ['updates of single rows, durable', `${renderCount(measured.updatesPerSecond)} a second`],
  ]
  return [
    `rowstash ${version}, Node ${node}, ${cores} cores of ${processor}, ${directory}`,
    ...lines.map(([what, value]) => `${what.padEnd(36)}${value}`),
  ]
}
