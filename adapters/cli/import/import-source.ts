// Reads a file of rows as runs that become the chunks of a stash.
import type { RowChunk } from '../../../src/client/client.js'
import { COMMA, TAB } from '../../base/ascii.js'
import {
  type Advice,
  type Intake,
  type IntakeReport,
  type IntakeRun,
  NestedRows,
  openIntake,
} from '../../base/intake.js'
import {
  BODY_TYPE_OF_FORMAT,
  formatOfName,
  isJson,
  partsOfRun,
  SourceFault,
  type SourceFormat,
} from '../../base/records.js'
import { ProgramFailure } from '../command/program-failure.js'
import { readParquetRuns } from '../parquet/parquet-read.js'
import { openFileBytes } from './import-bytes.js'
import { hintOfFault } from './import-hints.js'
import { FILE_FORMATS, type FileFormat, type RowPlace, type SourceFile } from './source-file.js'

/** The maximum bytes of the body made from a run, including brackets or header. A server accepts twice as many. */
export const RUN_BYTES_MAX = 8 * 1024 * 1024

/** Consecutive rows of a source. Row i is the bytes from starts[i] up to ends[i]. */
export type RowRun = IntakeRun &
  Readonly<{
    /** The place in the file of the row with an offset. Valid until the next run is read. */
    placeOf: (offset: number) => RowPlace
    /** The advice about the rows so far. */
    advice: () => readonly Advice[]
  }>

/** How a file was read. Parquet has no encoding. */
export type ReadReport = Readonly<{ format: FileFormat; encoding?: string }> &
  Omit<IntakeReport, 'format' | 'encoding'>

/** The format by a file's extension. */
export function formatOfPath(path: string): FileFormat {
  if (/\.parquet$/i.test(path)) return 'parquet'
  const format = formatOfName(path.replace(/\.(?:gz|zst)$/i, ''))
  if (format !== undefined) return format
  throw new ProgramFailure(
    'usage',
    `The name "${path}" does not show the format; use --format ${FILE_FORMATS.join(', ')}`,
  )
}

/** The delimiter byte of a csv or tsv run. */
export function delimiterOfRun({ format }: Pick<RowRun, 'format'>): number {
  return format === 'tsv' ? TAB : COMMA
}

/** The text of a record. */
export function textOfRecord({ bytes, starts, ends }: RowRun, record: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString(
    'utf8',
    starts[record],
    ends[record],
  )
}

const ROW_COMMA = Buffer.from(',')

/**
 * A run with some of its records.
 * @param changed - Replaced bytes, by record. Default: none.
 */
export function withRecords(
  run: RowRun,
  records: readonly number[],
  changed: ReadonlyMap<number, readonly Uint8Array[]> = new Map(),
): RowRun {
  const pieces: Uint8Array[] = []
  const starts: number[] = []
  const ends: number[] = []
  let length = 0
  const add = (piece: Uint8Array) => {
    pieces.push(piece)
    length += piece.length
  }
  for (const record of records) {
    if (isJson(run.format) && length > 0) add(ROW_COMMA)
    starts.push(length)
    const own = run.bytes.subarray(run.starts[record], run.ends[record])
    for (const piece of changed.get(record) ?? [own]) add(piece)
    ends.push(length)
  }
  const naming = new Set(run.namingRecords)
  return {
    ...run,
    bytes: Buffer.concat(pieces),
    starts,
    ends,
    offsets: records.map((record) => run.offsets[record] ?? 0),
    namingRecords: [...records.keys()].filter((i) => naming.has(records[i] ?? 0)),
  }
}

/** Whether all rows were removed from a run. */
export function isEmptied(left: RowRun, whole: RowRun): boolean {
  return left.starts.length === 0 && whole.starts.length > 0
}

/** A run as a chunk of the client. */
export function chunkOf(run: RowRun): RowChunk {
  const { format, header, bytes, starts, ends } = run
  const isText = !isJson(format)
  return {
    rows: starts.length,
    bytes: bytes.length,
    type: `${BODY_TYPE_OF_FORMAT[format]}${isText ? '; charset=utf-8' : ''}`,
    body(first, limit) {
      const rows = bytes.subarray(starts[first] ?? 0, limit > first ? ends[limit - 1] : 0)
      return Buffer.concat(partsOfRun({ header, bytes: rows }, format))
    },
  }
}

/**
 * Reads the runs of a file from disk.
 * @param onReport - Called with the report at the end.
 * @throws {ProgramFailure} with the file, and the line if it is known.
 */
export async function* readFileRuns(
  file: SourceFile,
  rowsMax: number,
  onRead?: (bytes: number) => void,
  onReport?: (report: ReadReport) => void,
): AsyncGenerator<RowRun> {
  const { path, format } = file
  let intake: Intake | undefined
  try {
    if (format === 'parquet') {
      const nested = file.nested && new NestedRows(file.nested, (row) => row + 1)
      let rows = 0
      const advice: Advice[] = []
      const onUnannotated = (columns: readonly string[]) => {
        advice.push({ code: 'binary', column: columns[0] ?? '', count: columns.length })
      }
      const how = { binary: file.binary, onRead, onUnannotated }
      for await (const run of parquetRuns(path, rowsMax, how)) {
        // The first row names all columns.
        if (rows === 0 && run.starts.length > 0 && textOfRecord(run, 0).includes('"$rowID"'))
          advice.push({ code: 'rowIDs', line: 1 })
        rows += run.starts.length
        yield nested?.rewrite(run) ?? run
      }
      onReport?.({ format, rows, advice: [...advice, ...(nested?.advice ?? [])] })
    } else {
      const text = await openFileText(openFileBytes(path, onRead), format, rowsMax, file)
      intake = text
      const placeOf = (offset: number) =>
        ({ path, line: text.lineAt(offset), unit: 'line' }) as const
      const advice = () => text.report.advice
      for await (const run of text.runs) yield { ...run, placeOf, advice }
      onReport?.(text.report)
    }
  } catch (failure) {
    const message = failure instanceof Error ? failure.message : String(failure)
    const isFault = failure instanceof SourceFault
    const hint = isFault ? hintOfFault(failure, file, intake?.report) : ''
    const { line, offset } = isFault ? failure : {}
    const place = line ?? (offset === undefined ? undefined : intake?.lineAt(offset))
    const unit = format === 'parquet' ? 'row' : 'line'
    const where = place === undefined ? path : `${path}, ${unit} ${place}`
    throw new ProgramFailure('failed', `${where}: ${message}${hint}`, { cause: failure })
  }
}

/** Opens the text of a file and reads its beginning. @throws {SourceFault} */
export function openFileText(
  bytes: AsyncIterable<Uint8Array>,
  format: SourceFormat,
  rowsMax: number,
  {
    dialect,
    encoding,
    detects = true,
    at,
    nested,
    allowEmpty,
    kindsOf,
  }: Omit<SourceFile, 'path' | 'format'>,
): Promise<Intake> {
  // Added names and quotes make rows longer.
  const bytesMax = nested === undefined ? RUN_BYTES_MAX : RUN_BYTES_MAX / 4
  const limits = { rowsMax, bytesMax, rowBytesMax: RUN_BYTES_MAX }
  const said = { ...dialect, ...(encoding !== undefined && { encoding }) }
  const how = { format, dialect: said, detects, limits, at, nested, allowEmpty, kindsOf }
  return openIntake(bytes, how)
}

async function* parquetRuns(
  path: string,
  rowsMax: number,
  how: Parameters<typeof readParquetRuns>[2],
): AsyncGenerator<RowRun> {
  const placeOf = (row: number) => ({ path, line: row + 1, unit: 'row' }) as const
  for await (const run of readParquetRuns(path, { rowsMax, bytesMax: RUN_BYTES_MAX }, how)) {
    const offsets = run.starts.map((_, i) => run.offset + i)
    yield { ...run, format: 'json', offsets, placeOf, advice: () => [] }
  }
}
