// Reads a file of rows as runs that become the chunks of a stash.
import type { RowChunk } from '../../../src/client/client.js'
import { COMMA, TAB } from '../../base/ascii.js'
import { type Intake, type IntakeReport, type IntakeRun, openIntake } from '../../base/intake.js'
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
import { lineAt, linesAt, openFileBytes } from './import-bytes.js'
import { hintOfFault } from './import-hints.js'
import { FILE_FORMATS, type FileFormat, type SourceFile } from './source-file.js'

/** Bytes of the body that a run makes, brackets or header included. The server takes twice as much. */
export const RUN_BYTES_MAX = 8 * 1024 * 1024

/** Rows that follow each other in a source. Row i is the bytes from starts[i] up to ends[i]. */
export type RowRun = IntakeRun &
  Readonly<{
    /** `offsets` are the numbers of the rows, from 0, as in Parquet, and not those of their first bytes. */
    isNumbered: boolean
  }>

/** The format that a file's name announces. */
export function formatOfPath(path: string): FileFormat {
  if (/\.parquet$/i.test(path)) return 'parquet'
  const format = formatOfName(path.replace(/\.(?:gz|zst)$/i, ''))
  if (format !== undefined) return format
  throw new ProgramFailure(
    'usage',
    `The name "${path}" does not show the format; use --format ${FILE_FORMATS.join(', ')}`,
  )
}

/** The byte between the fields of a run of csv or tsv. */
export function delimiterOfRun({ format }: Pick<RowRun, 'format'>): number {
  return format === 'tsv' ? TAB : COMMA
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
 * @param onReport - Told what was read, when all of it was.
 * @throws {ProgramFailure} that names the file, and the line if it is known.
 */
export async function* readFileRuns(
  file: SourceFile,
  rowsMax: number,
  onRead?: (bytes: number) => void,
  onReport?: (report: IntakeReport) => void,
): AsyncGenerator<RowRun> {
  const { path, format } = file
  try {
    if (format === 'parquet') yield* parquetRuns(path, rowsMax, onRead)
    else {
      const intake = await openFileText(openFileBytes(path, onRead), format, rowsMax, file)
      for await (const run of intake.runs) yield { ...run, isNumbered: false }
      onReport?.(intake.report)
    }
  } catch (failure) {
    const message = failure instanceof Error ? failure.message : String(failure)
    const hint = failure instanceof SourceFault ? hintOfFault(failure, file) : ''
    const place = failure instanceof SourceFault ? await findFaultLine(failure, file) : null
    const where = place === null ? path : `${path}, line ${place}`
    throw new ProgramFailure('failed', `${where}: ${message}${hint}`, { cause: failure })
  }
}

/** Opens the text of a file: its beginning is read. @throws {SourceFault} */
export function openFileText(
  bytes: AsyncIterable<Uint8Array>,
  format: SourceFormat,
  rowsMax: number,
  {
    dialect,
    encoding,
    detects = true,
    at,
    allowEmpty,
    kindsOf,
  }: Omit<SourceFile, 'path' | 'format'>,
): Promise<Intake> {
  const limits = { rowsMax, bytesMax: RUN_BYTES_MAX, rowBytesMax: RUN_BYTES_MAX }
  const said = { ...dialect, ...(encoding !== undefined && { encoding }) }
  return openIntake(bytes, { format, dialect: said, detects, limits, at, allowEmpty, kindsOf })
}

async function findFaultLine(
  { line, offset }: SourceFault,
  { format, ...file }: SourceFile,
): Promise<number | null> {
  if (line !== undefined) return line
  if (offset === undefined || format === 'parquet') return null
  return lineAt({ ...file, format }, offset)
}

async function* parquetRuns(
  path: string,
  rowsMax: number,
  onRead?: (bytes: number) => void,
): AsyncGenerator<RowRun> {
  for await (const run of readParquetRuns(path, { rowsMax, bytesMax: RUN_BYTES_MAX }, onRead)) {
    const offsets = run.starts.map((_, i) => run.offset + i)
    yield { ...run, format: 'json', offsets, isNumbered: true }
  }
}

/** As `linesAt`; of a file whose runs are numbered, the numbers of the rows from 1. */
export async function placesAt(
  { format, ...file }: SourceFile,
  offsets: readonly number[],
): Promise<number[]> {
  if (format === 'parquet') return offsets.map((offset) => offset + 1)
  return linesAt({ ...file, format }, offsets)
}

/** What the numbers of `placesAt` count. */
export function unitOf({ format }: SourceFile): 'line' | 'row' {
  return format === 'parquet' ? 'row' : 'line'
}
