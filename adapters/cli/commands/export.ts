// `rowstash export`: rows of a table as a file, in bounded memory.
import { createWriteStream } from 'node:fs'
import { rename, rm, stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { createGzip } from 'node:zlib'
import type { ExportOptions } from '../../../src/index.js'
import { pickById } from '../../base/arguments.js'
import { COMMA, TAB } from '../../base/ascii.js'
import { escapeFormulas, formatOfName, markText } from '../../base/records.js'
import { temporaryPath } from '../../directory/leftovers.js'
import { encodeParquet } from '../../parquet/parquet-write.js'
import { type CommandIo, parseChoice } from '../command/command.js'
import type { CommandSpec, OptionSpecs } from '../command/command-spec.js'
import { ProgramFailure } from '../command/program-failure.js'
import { openProgress, type Progress, type ProgressOutput } from '../command/progress.js'
import type { OutputStream } from '../command/terminal.js'
import { PLACE_ENVIRONMENT } from '../stores/postgres-place.js'
import type { CommandTable } from '../stores/remote-store.js'
import { PLACE_FORM, TABLE_OPTIONS, type TeamValues, withTable } from '../stores/table-options.js'
import { ExportedCount } from './exported-count.js'
import { FIND_OPTIONS, parseFind } from './find-options.js'
import { jsonArrayOf } from './json-array.js'

const FORMATS = ['csv', 'tsv', 'ndjson', 'json', 'parquet'] as const

const OPTIONS = {
  ...TABLE_OPTIONS,
  format: {
    type: 'string',
    value: FORMATS.join('|'),
    help: 'default: by the extension of FILE; with .gz at the end, FILE is compressed with gzip',
  },
  ...FIND_OPTIONS,
  overwrite: { type: 'boolean', default: false, help: 'replace FILE if it exists' },
  bom: {
    type: 'boolean',
    default: false,
    help: 'begin csv and tsv with a byte order mark, by which Excel recognizes UTF-8',
    isRare: true,
  },
  formulas: {
    type: 'string',
    value: 'keep|escape',
    help: 'in csv and tsv: escape puts an apostrophe before text that a spreadsheet takes for a formula',
    isRare: true,
  },
  json: {
    type: 'boolean',
    default: false,
    help: 'print path, format, rows and bytes of the file as a line of JSON',
  },
} as const satisfies OptionSpecs

export const EXPORT_COMMAND: CommandSpec = {
  name: 'export',
  summary: 'write rows of a table to a file',
  usage: [`export FILE ${PLACE_FORM} --table NAME`],
  about: `Writes the rows of a table to a file, in their order. FILE appears when the export is complete;
    "-" is the standard output.`,
  options: OPTIONS,
  hasOperands: true,
  notes: `Exit code 0: the file is complete; 1: the export failed, and FILE is unchanged; 2: a usage
    error.`,
  details: [
    `From a directory, the export is a snapshot of one moment. From a server, it is read page by page:
    a row that changes meanwhile is exported in its old or its new state.`,
    `CSV has a header with the column IDs, arrays are JSON, an empty text becomes an empty cell. TSV is
    the same with tabs. NDJSON is one JSON object per line, JSON an array of them; both lose nothing. Numbers
    keep their digits. Parquet stores doubles: a number that is not a double is refused.`,
    'Parquet needs the package hyparquet-writer. A Parquet file contains the schema of its table, which import uses.',
    PLACE_ENVIRONMENT,
  ],
}

type Format = (typeof FORMATS)[number]

type Target = Readonly<{
  path: string
  format: Format
  isCompressed: boolean
  /** Whether to begin with a byte order mark. */
  isMarked: boolean
  /** Whether text that looks like a formula gets a leading apostrophe. */
  isEscaped: boolean
}>

type Writing = Readonly<{
  output: NodeJS.WritableStream
  progress: Progress
  /** Whether an existing file may be replaced. */
  mayReplace: boolean
}>

/** Runs `rowstash export`. @param output - The standard output. @throws {ProgramFailure} */
export async function runExport(
  args: readonly string[],
  io: CommandIo,
  output: OutputStream,
  progressOutput: ProgressOutput,
): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: OPTIONS,
  })
  await checkNoDirectory(positionals, values)
  const target = parseExportTarget(positionals, values)
  const options: ExportOptions = {
    ...parseFind(values),
    signal: io.signal,
  }
  const { path, format } = target
  if (values.json && path === '-') {
    throw new ProgramFailure(
      'usage',
      '--json cannot be combined with FILE "-": both use the standard output',
    )
  }
  if (path !== '-') await checkPlace(path, values.overwrite)
  else if (format === 'parquet' && output.isTTY === true) {
    throw new ProgramFailure('usage', 'Parquet cannot be written to a terminal')
  }
  if (format === 'parquet' && options.columns?.includes('$rowID') === true) {
    throw new ProgramFailure('usage', '$rowID cannot be written to Parquet')
  }
  // In a terminal, a bar would be mixed with the rows.
  const isShown = path !== '-' || output.isTTY !== true
  const progress = openProgress(isShown ? progressOutput : { write: () => true }, 0, values.json)
  const how = { output, progress, mayReplace: values.overwrite }
  const writeTable = (table: CommandTable) => writeExport(table, target, options, how)
  const warn = (line: string): void => (isShown ? progress.note(line) : io.warn(line))
  const rows = await withTable(values, { ...io, warn }, writeTable).finally(() => progress.close())
  if (path === '-') return
  const { size: bytes } = await stat(path)
  if (values.json) io.print(JSON.stringify({ path, format, rows, bytes }))
  else io.warn(`${rows} ${rows === 1 ? 'row' : 'rows'}, ${bytes} bytes in ${path}`)
}

/** A directory given as a file is probably the store: other commands take it without an option. @throws {ProgramFailure} */
async function checkNoDirectory(
  paths: readonly string[],
  { directory, url, postgres }: TeamValues,
): Promise<void> {
  if ((directory ?? url ?? postgres) !== undefined) return
  for (const path of paths) {
    const found = await stat(path).catch(() => undefined)
    if (found?.isDirectory() !== true) continue
    throw new ProgramFailure('usage', `${path} is a directory; use --directory ${path}`)
  }
}

/** @throws {ProgramFailure} if something exists that may not be replaced */
async function checkPlace(path: string, mayReplace: boolean): Promise<void> {
  const found = await stat(path).catch(() => undefined)
  if (found === undefined) return
  if (!found.isFile()) {
    const problem = `${path} is not a file; use FILE "-" to write to the standard output`
    throw new ProgramFailure('failed', problem)
  }
  if (mayReplace) return
  throw new ProgramFailure('failed', `The file ${path} exists; use --overwrite to replace it`)
}

/** @returns the number of rows. */
async function writeExport(
  table: CommandTable,
  { path, format, isCompressed, isMarked, isEscaped }: Target,
  options: ExportOptions,
  { output, progress, mayReplace }: Writing,
): Promise<number> {
  const count = new ExportedCount()
  const plain = await openExport(table, format, options, count)
  const rows = isEscaped ? escapeFormulas(plain, format === 'tsv' ? TAB : COMMA) : plain
  const rowCount = () => count.lines - (format === 'csv' || format === 'tsv' ? 1 : 0)
  async function* watched(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let bytes = 0
    for await (const piece of pieces) {
      bytes += piece.length
      progress.show(rowCount(), bytes)
      yield piece
    }
  }
  const send = (to: NodeJS.WritableStream, end: boolean): Promise<void> => {
    const from = Readable.from(isMarked ? markText(rows) : rows, { objectMode: false })
    if (isCompressed) return pipeline(from, createGzip(), watched, to, { end })
    return pipeline(from, watched, to, { end })
  }
  if (path === '-') {
    await send(output, false)
    return rowCount()
  }
  const temporary = temporaryPath(path)
  try {
    await send(createWriteStream(temporary, { flush: true, flags: 'wx' }), true)
    await checkPlace(path, mayReplace) // Checked again, because the file may have been created meanwhile.
    await rename(temporary, path)
    return rowCount()
  } catch (failure) {
    await rm(temporary, { force: true })
    if (!isOfFiles(failure)) throw failure
    throw new ProgramFailure('failed', `The file ${path} cannot be written: ${failure.message}`)
  }
}

async function openExport(
  table: CommandTable,
  format: Format,
  options: ExportOptions,
  count: ExportedCount,
): Promise<AsyncIterable<string | Uint8Array>> {
  switch (format) {
    case 'csv':
      return count.pass(table.toCSV(options), true)
    case 'tsv':
      return count.pass(table.toCSV({ ...options, delimiter: '\t' }), true)
    case 'ndjson':
      return count.pass(table.toNDJSON(options), false)
    case 'json':
      return jsonArrayOf(count.pass(table.toNDJSON(options), false))
    case 'parquet': {
      const wanted = pickById((await table.schema()).columns, options.columns)
      return encodeParquet(count.pass(table.toNDJSON(options), false), wanted)
    }
  }
}

function isOfFiles(failure: unknown): failure is Error {
  return failure instanceof Error && 'syscall' in failure
}

function parseExportTarget(
  [path, ...more]: readonly string[],
  {
    format: given,
    bom: isMarked,
    formulas = 'keep',
  }: Readonly<{ format?: string | undefined; bom: boolean; formulas?: string | undefined }>,
): Target {
  const isEscaped = parseChoice('--formulas', formulas, ['keep', 'escape']) === 'escape'
  if (path === undefined || more.length > 0) {
    throw new ProgramFailure('usage', 'Specify one file, or - for the standard output')
  }
  const name = path.replace(/\.gz$/i, '')
  const isCompressed = name !== path
  const announced = /\.parquet$/i.test(name) ? 'parquet' : formatOfName(name)
  const format =
    given === undefined
      ? FORMATS.find((known) => known === announced)
      : parseChoice('--format', given, FORMATS)
  if (format === 'parquet' && isCompressed) {
    throw new ProgramFailure('usage', 'Parquet files are already compressed; leave out .gz')
  }
  if ((isMarked || isEscaped) && format !== 'csv' && format !== 'tsv') {
    const option = isMarked ? '--bom' : '--formulas escape'
    throw new ProgramFailure('usage', `${option} is only for csv and tsv; "${path}" is ${format}`)
  }
  if (format !== undefined) return { path, format, isCompressed, isMarked, isEscaped }
  const problem = `The name "${path}" does not show the format; use --format ${FORMATS.join(', ')}`
  throw new ProgramFailure('usage', problem)
}
