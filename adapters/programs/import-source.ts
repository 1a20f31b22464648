// Reads a file of rows as runs that become the chunks of a stash. `adapters/base/records` cuts them; when a run is sent,
// delimiters other than comma and tab become commas.
import type { RowChunk } from '../../src/client/client.js'
import { COMMA, TAB } from '../base/ascii.js'
import {
  BODY_TYPE_OF_FORMAT,
  type CutRun,
  cutRecords,
  formatOfName,
  isJson,
  partsOfRun,
  SOURCE_FORMATS,
  SourceFault,
  type SourceFormat,
} from '../base/records.js'
import { detectDelimiter, withCommas } from './csv-fields.js'
import { type FileBytes, lineAt, openFileBytes } from './import-bytes.js'
import { ProgramFailure } from './program-failure.js'

/** Bytes of the body that a run makes, brackets or header included. The server takes twice as much. */
export const RUN_BYTES_MAX = 8 * 1024 * 1024

/** A file, and how it is read. */
export type SourceFile = FileBytes &
  Readonly<{
    format: SourceFormat
    /** The byte between the fields of a csv or tsv file. Default: as the header of a csv file shows; a tab of tsv. */
    delimiter?: number
  }>

/** Rows that follow each other in a source. Row i is the bytes from starts[i] up to ends[i]. */
export type RowRun = CutRun &
  Readonly<{
    format: SourceFormat
    /** The byte between fields of csv and tsv. */
    delimiter: number
    /** The delimiter is another than the format's, which the header shows. */
    isDetected: boolean
  }>

/** The format that a file's name announces. */
export function formatOfPath(path: string): SourceFormat {
  const format = formatOfName(path.replace(/\.(?:gz|zst)$/i, ''))
  if (format !== undefined) return format
  throw new ProgramFailure(
    'usage',
    `The name "${path}" does not tell a format; give --format ${SOURCE_FORMATS.join(', ')}`,
  )
}

export function contentTypeOf({ format, delimiter }: RowRun): string {
  if (isJson(format)) return BODY_TYPE_OF_FORMAT[format]
  return `${BODY_TYPE_OF_FORMAT[delimiter === TAB ? 'tsv' : 'csv']}; charset=utf-8`
}

/** The body of a request with the rows from `first` up to `limit` of a run. */
export function bodyOf(run: RowRun, first: number, limit: number): Uint8Array<ArrayBuffer> {
  const bytes = run.bytes.subarray(run.starts[first] ?? 0, limit > first ? run.ends[limit - 1] : 0)
  const parts = partsOfRun({ header: run.header, bytes }, run.format)
  if (isJson(run.format) || run.delimiter === COMMA || run.delimiter === TAB) {
    return Buffer.concat(parts)
  }
  return Buffer.concat(parts.map((part) => withCommas(part, run.delimiter)))
}

/** A run as a chunk of the client. */
export function chunkOf(run: RowRun): RowChunk {
  return {
    rows: run.starts.length,
    bytes: run.bytes.length,
    type: contentTypeOf(run),
    body: (first, limit) => bodyOf(run, first, limit),
  }
}

/** Reads the runs of a file from disk. @throws {ProgramFailure} that names the file, and the line if it is known. */
export async function* readFileRuns(
  file: SourceFile,
  rowsMax: number,
  onRead?: (bytes: number) => void,
): AsyncGenerator<RowRun> {
  const { path, format, delimiter } = file
  try {
    yield* cutRuns(openFileBytes(file, onRead), format, rowsMax, delimiter)
  } catch (failure) {
    const isObject = failure instanceof SourceFault && failure.isObject
    const hint = isObject ? '; use --format ndjson for one object per line' : ''
    const reason = `${failure instanceof Error ? failure.message : String(failure)}${hint}`
    const offset = failure instanceof SourceFault ? failure.offset : undefined
    const line = offset === undefined ? null : await lineAt(file, offset)
    const where = line === null ? path : `${path}, line ${line}`
    throw new ProgramFailure('failed', `${where}: ${reason}`, { cause: failure })
  }
}

/**
 * Cuts a source into runs of `rowsMax` rows, or fewer where RUN_BYTES_MAX asks for it. A source
 * without rows makes one run without rows.
 *
 * @throws {SourceFault} if the source is not of this format, or has a row that no body can hold.
 */
export async function* cutRuns(
  source: AsyncIterable<Uint8Array>,
  format: SourceFormat,
  rowsMax: number,
  delimiter?: number,
): AsyncGenerator<RowRun> {
  const limits = { rowsMax, bytesMax: RUN_BYTES_MAX, rowBytesMax: RUN_BYTES_MAX }
  let known = delimiter ?? (format === 'tsv' ? TAB : undefined)
  let isDetected = false
  for await (const run of cutRecords(source, format, limits)) {
    if (known === undefined) {
      known = isJson(format) ? COMMA : detectDelimiter(run.header)
      isDetected = known !== COMMA
    }
    yield { ...run, format, delimiter: known, isDetected }
  }
}
