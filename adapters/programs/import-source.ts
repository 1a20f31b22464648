// Cuts a file of rows at row bounds into runs that become the chunks of a stash.
//
// Invariants:
// - Rows are not decoded: a run has the bytes of the source. Only the line end between two rows of NDJSON becomes the
//   comma of a JSON array, and delimiters other than comma and tab become commas when a run is sent.
// - The runs do not depend on the pieces in which the source's bytes arrive.
// - Memory is bounded by RUN_BYTES_MAX and one piece, whatever the size of the source.
import { COMMA, LINE_FEED, TAB } from '../base/ascii.js'
import { detectDelimiter, withCommas } from './csv-fields.js'
import { lineAt, openFileBytes, PIECE_BYTES, withoutByteOrderMark } from './import-bytes.js'
import { ProgramFailure } from './program-failure.js'
import {
  openRecordScanner,
  SOURCE_FORMATS,
  SourceFault,
  type SourceFormat,
} from './record-scanner.js'

/** Bytes of the body that a run makes, brackets or header included. The server takes twice as much. */
export const RUN_BYTES_MAX = 8 * 1024 * 1024

/** A file, and how it is read. */
export type SourceFile = Readonly<{
  path: string
  format: SourceFormat
  /** The byte between the fields of a csv or tsv file. Default: as the header of a csv file shows; a tab of tsv. */
  delimiter?: number
}>

/** Rows that follow each other in a source. Row i is the bytes from starts[i] up to ends[i]. */
export type RowRun = Readonly<{
  format: SourceFormat
  /** The byte between fields of csv and tsv. */
  delimiter: number
  /** The delimiter is another than the format's, which the header shows. */
  isDetected: boolean
  /** The header record with its line end, or no bytes for JSON. */
  header: Uint8Array
  bytes: Uint8Array
  /** Where in the source the bytes begin, its byte order mark not counted. */
  offset: number
  starts: readonly number[]
  ends: readonly number[]
  /** Of JSON: the records that name a column as the first ones of the source. */
  namingRecords: readonly number[]
}>

const FORMAT_OF_EXTENSION: Readonly<Record<string, SourceFormat>> = {
  csv: 'csv',
  tsv: 'tsv',
  tab: 'tsv',
  json: 'json',
  ndjson: 'ndjson',
  jsonl: 'ndjson',
}

/** The format that a file's name announces. */
export function formatOfPath(path: string): SourceFormat {
  const extension = /\.([^./\\]+)$/.exec(path)?.[1]?.toLowerCase() ?? ''
  const format = FORMAT_OF_EXTENSION[extension]
  if (format !== undefined) return format
  throw new ProgramFailure(
    'usage',
    `The name "${path}" does not tell a format; give --format ${SOURCE_FORMATS.join(', ')}`,
  )
}

export function contentTypeOf({ format, delimiter }: RowRun): string {
  if (isJson(format)) return 'application/json'
  const type = delimiter === TAB ? 'tab-separated-values' : 'csv'
  return `text/${type}; charset=utf-8`
}

const OPEN_BRACKET = Uint8Array.of(0x5b)
const CLOSE_BRACKET = Uint8Array.of(0x5d)

/** The request body that holds exactly these rows, in parts. */
export function bodyOf(run: RowRun): readonly Uint8Array[] {
  const rows = run.bytes.subarray(run.starts[0] ?? 0, run.ends.at(-1) ?? 0)
  if (isJson(run.format)) return [OPEN_BRACKET, rows, CLOSE_BRACKET]
  const parts = [run.header, rows]
  if (run.delimiter === COMMA || run.delimiter === TAB) return parts
  return parts.map((part) => withCommas(part, run.delimiter))
}

/** The two halves of a run in order, or null when it has no two rows. */
export function halveRun(run: RowRun): readonly [RowRun, RowRun] | null {
  const middle = run.starts.length >> 1
  if (middle === 0) return null
  const part = (start: number, limit: number): RowRun => ({
    ...run,
    starts: run.starts.slice(start, limit),
    ends: run.ends.slice(start, limit),
  })
  return [part(0, middle), part(middle, run.starts.length)]
}

/** Reads the runs of a file from disk. @throws {ProgramFailure} that names the file, and the line if it is known. */
export async function* readFileRuns(file: SourceFile, rowsMax: number): AsyncGenerator<RowRun> {
  const { path, format, delimiter } = file
  try {
    yield* cutRuns(openFileBytes(path), format, rowsMax, delimiter)
  } catch (failure) {
    const reason = failure instanceof Error ? failure.message : String(failure)
    const offset = failure instanceof SourceFault ? failure.offset : undefined
    const line = offset === undefined ? null : await lineAt(path, offset)
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
  const cutter = new RunCutter(format, rowsMax, delimiter)
  for await (const piece of withoutByteOrderMark(source)) {
    cutter.take(piece)
    yield* cutter.fullRuns()
  }
  yield* cutter.lastRuns()
}

const NO_BYTES = new Uint8Array(0)

class RunCutter {
  readonly #format: SourceFormat
  readonly #rowsMax: number
  readonly #scanner
  readonly #window = new ByteWindow()
  #header: Uint8Array | undefined
  #delimiter: number | undefined
  #isDetected = false
  #runsCut = 0

  constructor(format: SourceFormat, rowsMax: number, delimiter?: number) {
    this.#format = format
    this.#rowsMax = rowsMax
    this.#delimiter = delimiter ?? (format === 'tsv' ? TAB : undefined)
    this.#scanner = openRecordScanner(format)
    if (isJson(format)) this.#header = NO_BYTES
  }

  take(piece: Uint8Array): void {
    this.#window.append(piece)
    this.#scanner.scan(piece)
    const { starts, ends } = this.#scanner
    if (this.#header === undefined && ends.length > 0) {
      this.#header = this.#window.copy(starts.shift() ?? 0, ends.shift() ?? 0)
      if (this.#delimiter === undefined) this.#detectDelimiter(this.#header)
    }
  }

  #detectDelimiter(header: Uint8Array): void {
    this.#delimiter = detectDelimiter(header)
    this.#isDetected = this.#delimiter !== COMMA
  }

  /** The runs to which nothing that is still to come can be added. */
  *fullRuns(): Generator<RowRun> {
    for (let count = this.#fullCount(); count > 0; count = this.#fullCount()) yield this.#cut(count)
    this.#window.dropBefore(this.#scanner.starts[0] ?? this.#scanner.scanned)
  }

  *lastRuns(): Generator<RowRun> {
    this.#scanner.finish()
    this.take(NO_BYTES) // What was the last record may be the header.
    if (this.#header === undefined) throw new SourceFault('the file is empty')
    yield* this.fullRuns()
    const left = this.#scanner.ends.length
    if (left > 0 || this.#runsCut === 0) yield this.#cut(left)
  }

  /** How many rows the next run has if it is full, else 0. */
  #fullCount(): number {
    const { starts, ends, scanned } = this.#scanner
    const first = starts[0]
    if (first === undefined) return 0
    const bytesMax = RUN_BYTES_MAX - (this.#header?.length ?? 0) - 2
    let count = 0
    while (count < ends.length && count < this.#rowsMax) {
      if ((ends[count] ?? 0) - first > bytesMax) break
      count++
    }
    const isFull = count === this.#rowsMax || count < ends.length || scanned - first > bytesMax
    if (isFull && count === 0) {
      throw new SourceFault(`this row is larger than ${RUN_BYTES_MAX} bytes`, first)
    }
    return isFull ? count : 0
  }

  #cut(count: number): RowRun {
    const absoluteStarts = this.#scanner.starts.splice(0, count)
    const absoluteEnds = this.#scanner.ends.splice(0, count)
    const first = absoluteStarts[0] ?? 0
    const bytes = this.#window.copy(first, absoluteEnds.at(-1) ?? first)
    const starts = absoluteStarts.map((start) => start - first)
    const ends = absoluteEnds.map((end) => end - first)
    const naming = this.#scanner.namingStarts
    const namingCount = naming.findIndex((start) => start >= (absoluteEnds.at(-1) ?? 0))
    const taken = naming.splice(0, namingCount < 0 ? naming.length : namingCount)
    const namingRecords = [...new Set(taken)].map((start) => absoluteStarts.indexOf(start))
    if (this.#format === 'ndjson') commasBetween(bytes, ends)
    this.#runsCut++
    return {
      format: this.#format,
      delimiter: this.#delimiter ?? COMMA,
      isDetected: this.#isDetected,
      header: this.#header ?? NO_BYTES,
      bytes,
      offset: first,
      starts,
      ends,
      namingRecords,
    }
  }
}

/** Turns the line end after each row but the last into a comma. */
function commasBetween(bytes: Uint8Array, ends: readonly number[]): void {
  for (const end of ends) if (bytes[end] === LINE_FEED) bytes[end] = COMMA
}

/** The bytes of a source that are read but not yet cut, addressed by their offset in the source. */
class ByteWindow {
  #bytes = new Uint8Array(2 * PIECE_BYTES)
  #length = 0
  /** Offset in the source of #bytes[0]. */
  #base = 0
  #dropped = 0

  append(piece: Uint8Array): void {
    if (this.#length + piece.length > this.#bytes.length) this.#makeRoom(piece.length)
    this.#bytes.set(piece, this.#length)
    this.#length += piece.length
  }

  copy(start: number, limit: number): Uint8Array {
    return this.#bytes.slice(start - this.#base, limit - this.#base)
  }

  dropBefore(offset: number): void {
    this.#dropped = Math.max(this.#dropped, offset - this.#base)
  }

  #makeRoom(bytes: number): void {
    const kept = this.#bytes.subarray(this.#dropped, this.#length)
    const room = kept.length + bytes > this.#bytes.length ? 2 * (kept.length + bytes) : 0
    const target = room === 0 ? this.#bytes : new Uint8Array(room)
    target.set(kept, 0)
    this.#bytes = target
    this.#base += this.#dropped
    this.#length = kept.length
    this.#dropped = 0
  }
}

export function isJson(format: SourceFormat): boolean {
  return format === 'json' || format === 'ndjson'
}
