// Cuts a source of rows into runs that can be read one by one, at row boundaries.
//
// Invariants:
// - Rows are not decoded: a run has the source's bytes, except that line ends between NDJSON rows become commas of a
//   JSON array.
// - The runs do not depend on how the source's bytes are divided into pieces.
// - Memory is bounded by the longest run and one piece, whatever the size of the source.
import { CARRIAGE_RETURN, COMMA, LINE_FEED, SPACE, TAB } from './ascii.js'
import { concatBytes, markLength, NO_BYTES, utf8 } from './bytes.js'
import { openRecordScanner, type RecordScanner, SourceFault } from './record-scanner.js'
import { isJson, type SourceFormat } from './source-format.js'

/** Limits of runs. */
export type CutLimits = Readonly<{
  /** The maximum number of rows of a run. */
  rowsMax: number
  /** The maximum number of bytes of a run with its header; a run of one row may be longer. */
  bytesMax: number
  /** The maximum number of bytes of a run of one row with its header: at least `bytesMax`. */
  rowBytesMax: number
}>

/** Consecutive rows of a source. Row i is the bytes from starts[i] up to ends[i]. */
export type CutRun = Readonly<{
  /** The header record with its line end, or no bytes for JSON. */
  header: Uint8Array
  bytes: Uint8Array
  /** The offset of the bytes in the source, without its byte order mark. */
  offset: number
  starts: readonly number[]
  ends: readonly number[]
  /** JSON only: the indexes of the rows that are the first in the source to name a column. */
  namingRecords: readonly number[]
}>

export type CutOptions = Readonly<{
  /** Finds the rows. Default: the scanner of the format. */
  scanner?: RecordScanner | undefined
  /** For CSV and TSV: the header of a source that has no header record. Default: its first record. */
  header?: Uint8Array | undefined
  /** Whether a blank source yields no runs. Default: false: it is a fault. */
  allowEmpty?: boolean | undefined
}>

/**
 * Cuts a source into runs. A source without rows yields one empty run.
 * @throws {SourceFault} if the source is empty or not of this format, or a row is longer than `rowBytesMax`.
 */
export async function* cutRecords(
  source: AsyncIterable<Uint8Array>,
  format: SourceFormat,
  limits: CutLimits,
  { scanner = openRecordScanner(format), header, allowEmpty = false }: CutOptions = {},
): AsyncGenerator<CutRun> {
  const cutter = new RecordCutter(format, limits, scanner, isJson(format) ? NO_BYTES : header)
  let isEmpty = true
  for await (const piece of withoutByteOrderMark(source)) {
    isEmpty &&= isBlank(piece)
    cutter.take(piece)
    yield* cutter.fullRuns()
  }
  if (!isEmpty) yield* cutter.lastRuns()
  else if (!allowEmpty) throw new SourceFault('the file is empty', { isEmpty })
}

/** Whether bytes are only spaces, tabs and line ends. */
export function isBlank(bytes: Uint8Array): boolean {
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte !== SPACE && byte !== TAB && byte !== LINE_FEED && byte !== CARRIAGE_RETURN)
      return false
  }
  return true
}

/** The brackets around the rows of a JSON body. */
const OPENING = utf8('[')
const CLOSING = utf8(']')
const BRACKETS_BYTES = 2

/** The parts of a body with a run's rows. */
export function partsOfRun(
  { header, bytes }: Pick<CutRun, 'header' | 'bytes'>,
  format: SourceFormat,
): readonly Uint8Array[] {
  return isJson(format) ? [OPENING, bytes, CLOSING] : [header, bytes]
}

class RecordCutter {
  readonly #format: SourceFormat
  readonly #limits: CutLimits
  readonly #scanner: RecordScanner
  readonly #window = new ByteWindow()
  #header: Uint8Array | undefined
  #runsCut = 0
  /** Number of rows known to fit into the next run. It saves counting them again for each piece. */
  #fitting = 0

  constructor(
    format: SourceFormat,
    limits: CutLimits,
    scanner: RecordScanner,
    header: Uint8Array | undefined,
  ) {
    this.#format = format
    this.#limits = limits
    this.#scanner = scanner
    this.#header = header
  }

  take(piece: Uint8Array): void {
    this.#window.append(piece)
    this.#scanner.scan(piece)
    const { starts, ends } = this.#scanner
    if (this.#header === undefined && ends.length > 0) {
      this.#header = this.#window.copy(starts.shift() ?? 0, ends.shift() ?? 0)
    }
  }

  /** The runs that further pieces cannot extend. */
  *fullRuns(): Generator<CutRun> {
    for (let count = this.#fullCount(); count > 0; count = this.#fullCount()) yield this.#cut(count)
    this.#window.dropBefore(this.#scanner.starts[0] ?? this.#scanner.scanned)
  }

  *lastRuns(): Generator<CutRun> {
    this.#scanner.finish()
    this.take(NO_BYTES) // The last record so far may be the header.
    yield* this.fullRuns()
    const left = this.#scanner.ends.length
    if (left > 0 || this.#runsCut === 0) yield this.#cut(left)
  }

  /** The number of rows of the next run if it is full, otherwise 0. */
  #fullCount(): number {
    const { starts, ends, scanned } = this.#scanner
    const { rowsMax } = this.#limits
    const first = starts[0]
    if (first === undefined) return 0
    const around = (this.#header?.length ?? 0) + BRACKETS_BYTES
    const bytesMax = this.#limits.bytesMax - around
    let count = this.#fitting
    while (count < ends.length && count < rowsMax) {
      if ((ends[count] ?? 0) - first > bytesMax) break
      count++
    }
    this.#fitting = count
    const isFull = count === rowsMax || count < ends.length || scanned - first > bytesMax
    if (!isFull) return 0
    return count > 0 ? count : this.#longRow(first, around)
  }

  /**
   * The number of rows of the next run, if its first row is longer than a run: 1 if the row has ended, 0 while it may
   * continue.
   */
  #longRow(first: number, around: number): number {
    const { ends, scanned } = this.#scanner
    const { rowBytesMax } = this.#limits
    const bytes = (ends[0] ?? scanned) - first
    if (bytes + around > rowBytesMax) {
      throw new SourceFault(`this row is larger than ${rowBytesMax} bytes`, { offset: first })
    }
    return ends.length > 0 ? 1 : 0
  }

  #cut(count: number): CutRun {
    const absoluteStarts = this.#scanner.starts.splice(0, count)
    const absoluteEnds = this.#scanner.ends.splice(0, count)
    this.#fitting = 0
    const first = absoluteStarts[0] ?? 0
    const bytes = this.#window.copy(first, absoluteEnds.at(-1) ?? first)
    const starts = absoluteStarts.map((start) => start - first)
    const ends = absoluteEnds.map((end) => end - first)
    const naming = this.#scanner.namingStarts
    const namingCount = naming.findIndex((start) => start >= (absoluteEnds.at(-1) ?? 0))
    const taken = naming.splice(0, namingCount < 0 ? naming.length : namingCount)
    const namingRecords = findStartPlaces(taken, absoluteStarts)
    if (this.#format === 'ndjson') commasBetween(bytes, ends)
    this.#runsCut++
    return {
      header: this.#header ?? NO_BYTES,
      bytes,
      offset: first,
      starts,
      ends,
      namingRecords,
    }
  }
}

/** The indexes in `starts` of the offsets in `some`, without duplicates; both lists are sorted. */
function findStartPlaces(some: readonly number[], starts: readonly number[]): readonly number[] {
  const wanted = new Set(some)
  const places: number[] = []
  for (let place = 0; places.length < wanted.size; place++) {
    if (wanted.has(starts[place] ?? 0)) places.push(place)
  }
  return places
}

/** Replaces the line end after each row except the last with a comma. */
function commasBetween(bytes: Uint8Array, ends: readonly number[]): void {
  for (const end of ends) if (bytes[end] === LINE_FEED) bytes[end] = COMMA
}

/** Initial room for bytes that were read but not yet cut. */
const WINDOW_BYTES_FIRST = 2 * 1024 * 1024

/** The bytes that were read but not yet cut, addressed by their offset in the source. */
class ByteWindow {
  #bytes = new Uint8Array(WINDOW_BYTES_FIRST)
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

/** The bytes of a byte order mark in UTF-8. */
const MARK_BYTES = 3

/** Passes a source on without its byte order mark. */
export async function* withoutByteOrderMark(
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let start: Uint8Array | undefined = NO_BYTES // The first bytes, until there are enough to recognize a mark.
  for await (const piece of source) {
    if (start === undefined) {
      yield piece
      continue
    }
    const bytes: Uint8Array = start.length === 0 ? piece : concatBytes([start, piece])
    start = bytes.length < MARK_BYTES ? bytes : undefined
    if (start === undefined) yield bytes.subarray(markLength(bytes))
  }
  if (start !== undefined) yield start
}
