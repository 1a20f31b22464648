// Finds the bounds of nonempty cells in the bytes of a CSV or TSV body, in one pass without objects or strings
// (PERFORMANCE.md, P2). The cells of all rows since `clear` are kept, because the stored form of a column is known only
// after the last row of a segment.
//
// Invariants:
// - It accepts a body only if `scan-csv` does, with the same header, rows and cells. If it is unsure (an odd quote, a
//   record that is too long or has too many fields, a rejected header, bytes that are not UTF-8), `scan-csv` decides
//   and names the error: first for that record, and if it is valid, for the whole body.
// - A cell's bounds are inside its quotes, and the next byte is neither a digit nor a letter.
import { BACKSLASH, CARRIAGE_RETURN, LINE_FEED, QUOTE, TAB } from '../base/ascii.js'
import type { BufferPool } from '../base/buffer-pool.js'
import { type Bytes, markLength, unquotedText } from '../base/bytes.js'
import { isUtf8, sliceReader } from '../base/platform.js'
import { COLUMN_ID_CHARS_MAX } from './table-schema.js'

export type CsvStep = 'row' | 'end' | 'unsure'

export type CsvByteLimits = Readonly<{ columnsMax: number; rowBytesMax: number }>

/** Bits of `mark`: the kinds of bytes in a cell. */
export const MARK = Object.freeze({
  /** A character that occurs in no number. */
  text: 1,
  /** One of `e`, `E` and `+`: such a number goes to the exact path. */
  exponent: 2,
  /** A non-ASCII byte. */
  wide: 4,
  /** A character that JSON strings escape. */
  escape: 8,
  /** A doubled quote. */
  quote: 16,
})

/** Bit of a byte at which a scan stops: it ends an unquoted field, or needs a closer look in a quoted one. */
const LOOK = 32

type Delimiter = ',' | '\t'

const IN_QUOTES = markTable([LINE_FEED, CARRIAGE_RETURN])
const IN_CSV = markTable([LINE_FEED, CARRIAGE_RETURN, ','.charCodeAt(0)])
const IN_TSV = markTable([LINE_FEED, CARRIAGE_RETURN, TAB])

function markTable(looks: readonly number[]): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => {
    if (byte === QUOTE) return LOOK // It may be the closing quote, which is not part of the field.
    const look = looks.includes(byte) ? LOOK : 0
    if (byte >= 0x80) return look | MARK.text | MARK.wide
    if (byte < 0x20 || byte === BACKSLASH) return look | MARK.text | MARK.escape
    const char = String.fromCharCode(byte)
    if ('eE+'.includes(char)) return look | MARK.exponent
    return '0123456789.-'.includes(char) ? look : look | MARK.text
  })
}

/** Repeats a byte four times, to compare four bytes at once. */
const ONES = 0x01010101
const SPACES = 0x20 * ONES
const QUOTES = QUOTE * ONES
const BACKSLASHES = BACKSLASH * ONES
const HIGH_BITS = (0x80 * ONES) | 0

/** The maximum number of bytes of a body: its offsets are kept as 32-bit integers. */
const BODY_BYTES_MAX = 2 ** 31 - 1

const NOT_A_COLUMN = -1

/** Number of cells that the first memory holds; for a smaller body, one cell per `BYTES_PER_CELL` bytes. */
const CELLS_FIRST = 16 * 1024
const BYTES_PER_CELL = 8
/** Number of bytes of a cell: two offsets, a column and a mark. */
const CELL_BYTES = 4 + 4 + 2 + 1
/** The minimum number of cells whose memory comes from the pool. */
const POOLED_CELLS_MIN = 6_000
const ROWS_FIRST = 1024

/**
 * Opens a body and reads its header.
 * @param buffers - The source of the memory for cells, until `release`.
 * @returns null: the body must take the exact path.
 */
export function openCsvBytes(
  bytes: Bytes,
  delimiter: Delimiter,
  limits: CsvByteLimits,
  buffers: BufferPool,
): CsvByteScanner | null {
  if (bytes.length > BODY_BYTES_MAX || !isUtf8(bytes)) return null
  const scanner = new CsvByteScanner(bytes, delimiter, limits, buffers)
  if (scanner.readHeader()) return scanner
  scanner.release()
  return null
}

/** Reads one row after the other. */
export class CsvByteScanner {
  readonly bytes: Bytes
  /** The column IDs of the header, in order, without `$rowID`. */
  header: readonly string[] = []

  /** The beginning of the row, and its 1-based line; after 'unsure', those of the unsure row. */
  rowStart = 0
  line = 0
  /** The current row: its first cell, and its bytes. */
  firstCell = 0
  rowBytes = 0
  /** Number of doubled quotes in the cells of the current row. */
  quoteCount = 0

  /** Number of rows, and of cells, since `clear`. */
  rowCount = 0
  cellCount = 0
  /** The marks of all cells since `clear`, joined by OR. */
  marks = 0
  /** Per cell: its column, the bounds of its content, and its mark. */
  columnOf = new Uint16Array(0)
  from = new Int32Array(0)
  to = new Int32Array(0)
  mark = new Uint8Array(0)
  /** Per row: the index after its last cell. */
  rowEnds = new Int32Array(ROWS_FIRST)

  readonly #view: DataView
  readonly #delimiter: number
  readonly #delimiters: number
  readonly #marks: Uint8Array
  readonly #limits: CsvByteLimits
  readonly #textOf: (from: number, to: number) => string
  readonly #buffers: BufferPool
  /** The memory under the arrays of cells. */
  #memory = new Uint8Array(0)
  /** The column at each place in a record; NOT_A_COLUMN: `$rowID`. */
  #columnOfPlace = new Int32Array(0)
  #at: number
  #lineBreaks = 0
  #rowIdFrom = 0
  #rowIdTo = 0
  #rowIdMark = 0

  /** The bounds of the last field. */
  #fieldFrom = 0
  #fieldTo = 0
  #fieldMark = 0
  #fieldQuotes = 0

  /** @param bytes - A whole body, valid UTF-8. */
  constructor(bytes: Bytes, delimiter: Delimiter, limits: CsvByteLimits, buffers: BufferPool) {
    this.bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    this.#delimiter = delimiter.charCodeAt(0)
    this.#delimiters = this.#delimiter * ONES
    this.#marks = delimiter === ',' ? IN_CSV : IN_TSV
    this.#limits = limits
    this.#textOf = sliceReader(bytes)
    this.#at = markLength(bytes)
    this.#buffers = buffers
    this.#allot(Math.min(CELLS_FIRST, Math.ceil(bytes.length / BYTES_PER_CELL)))
  }

  /** Allocates memory for at least this many cells. */
  #allot(cells: number): void {
    const bytes = CELL_BYTES * 4 * Math.ceil(cells / 4)
    const memory = cells < POOLED_CELLS_MIN ? new Uint8Array(bytes) : this.#buffers.take(bytes)
    const { buffer } = memory
    const room = 4 * Math.floor(memory.length / CELL_BYTES / 4)
    this.from = new Int32Array(buffer, 0, room)
    this.to = new Int32Array(buffer, 4 * room, room)
    this.columnOf = new Uint16Array(buffer, 8 * room, room)
    this.mark = new Uint8Array(buffer, 10 * room, room)
    this.#memory = memory
  }

  /** Returns the scanner's memory to the pool. The scanner must not be used afterwards. */
  release(): void {
    this.#buffers.give(this.#memory)
    this.#memory = new Uint8Array(0)
  }

  /** Reads the header. Must be called once, before `next`. @returns false: unsure. */
  readHeader(): boolean {
    const { bytes } = this
    const { columnsMax, rowBytesMax } = this.#limits
    const start = this.#at
    const ids: string[] = []
    for (let at = start; ; at++) {
      at = this.#readField(at, Math.min(bytes.length, start + rowBytesMax))
      if (at < 0 || ids.length > columnsMax) return false // A header with `$rowID` has one place more than columns.
      ids.push(this.#unquoted(this.#fieldFrom, this.#fieldTo, this.#fieldMark))
      if (bytes[at] === this.#delimiter) continue
      this.#passLineBreak(at)
      break
    }
    this.header = ids.filter((id) => id !== '$rowID')
    if (this.header.length > columnsMax || new Set(ids).size < ids.length) return false
    const isOdd = (id: string): boolean =>
      id === '' || id === '$stashID' || id.length > COLUMN_ID_CHARS_MAX
    if (ids.some(isOdd)) return false
    let column = 0
    this.#columnOfPlace = Int32Array.from(ids, (id) => (id === '$rowID' ? NOT_A_COLUMN : column++))
    return true
  }

  /**
   * Moves to the next row and keeps its cells. 'end': there are no more rows. 'unsure': the whole body must take the
   * exact path.
   */
  next(): CsvStep {
    const { bytes } = this
    const start = this.#at
    if (start === bytes.length) return 'end'
    this.rowStart = start
    this.firstCell = this.cellCount
    this.quoteCount = 0
    this.line = this.#lineBreaks + 1
    this.#rowIdTo = 0
    if (bytes[start] === LINE_FEED || bytes[start] === CARRIAGE_RETURN) {
      this.#passLineBreak(start)
      if (this.#at === bytes.length) return 'end' // An empty last line is no row.
    } else if (!this.#readRow(start)) return 'unsure'
    this.rowBytes = this.#at - start
    if (this.rowCount === this.rowEnds.length) this.rowEnds = largerCopy(this.rowEnds)
    this.rowEnds[this.rowCount++] = this.cellCount
    return 'row'
  }

  /** Number of fields of the header. */
  get fieldCount(): number {
    return this.#columnOfPlace.length
  }

  /** The `$rowID` of the row, if it has one. */
  get rowId(): string | undefined {
    if (this.#rowIdTo === 0) return undefined
    return this.#unquoted(this.#rowIdFrom, this.#rowIdTo, this.#rowIdMark)
  }

  /** The unquoted text of a cell. */
  textOf(cell: number): string {
    return this.#unquoted(this.from[cell] ?? 0, this.to[cell] ?? 0, this.mark[cell] ?? 0)
  }

  /** Forgets the rows so far. */
  clear(): void {
    this.rowCount = 0
    this.cellCount = 0
    this.marks = 0
  }

  #unquoted(from: number, to: number, mark: number): string {
    return mark & MARK.quote ? unquotedText(this.bytes, from, to) : this.#textOf(from, to)
  }

  #readRow(start: number): boolean {
    const { bytes } = this
    const delimiter = this.#delimiter
    const places = this.#columnOfPlace
    const limit = Math.min(bytes.length, start + this.#limits.rowBytesMax)
    if (this.cellCount + places.length > this.columnOf.length) this.#growCells()
    let at = start
    for (let place = 0; ; place++) {
      if (place === places.length) return false // More fields than in the header.
      at = this.#readField(at, limit)
      if (at < 0) return false
      if (this.#fieldTo > this.#fieldFrom) this.#noteCell(places[place] ?? NOT_A_COLUMN)
      if (bytes[at] !== delimiter) break
      at++
    }
    this.#passLineBreak(at)
    return true
  }

  #noteCell(column: number): void {
    if (column === NOT_A_COLUMN) {
      this.#rowIdFrom = this.#fieldFrom
      this.#rowIdTo = this.#fieldTo
      this.#rowIdMark = this.#fieldMark
      return
    }
    const cell = this.cellCount++
    this.columnOf[cell] = column
    this.from[cell] = this.#fieldFrom
    this.to[cell] = this.#fieldTo
    this.mark[cell] = this.#fieldMark
    if (this.#fieldMark & MARK.quote) this.quoteCount += this.#fieldQuotes
    this.marks |= this.#fieldMark
  }

  #growCells(): void {
    const { columnOf, from, to, mark } = this
    const memory = this.#memory
    this.#allot(2 * columnOf.length + this.#columnOfPlace.length)
    this.columnOf.set(columnOf)
    this.from.set(from)
    this.to.set(to)
    this.mark.set(mark)
    this.#buffers.give(memory)
  }

  /**
   * Reads a field that ends at or before `limit`.
   * @returns the position of its delimiter or line break, or the end of the body; -1: unsure.
   */
  #readField(start: number, limit: number): number {
    const { bytes } = this
    if (start > limit) return -1 // The row continues after the limit.
    if (bytes[start] === QUOTE) return this.#readQuoted(start + 1, limit)
    const marks = this.#marks
    let mark = 0
    let at = start
    for (; at < limit; at++) {
      const what = marks[bytes[at] ?? 0] ?? LOOK
      if (what & LOOK) break
      mark |= what
      if (what === MARK.text) at = this.#passPlainWords(at + 1, limit) - 1
    }
    this.#fieldFrom = start
    this.#fieldTo = at
    this.#fieldMark = mark
    return this.#isFieldEnd(at) ? at : -1
  }

  /**
   * Passes plain bytes of a text, by words. @returns the position of a byte that is not plain, or of an incomplete last
   * word
   */
  #passPlainWords(start: number, limit: number): number {
    const view = this.#view
    const delimiters = this.#delimiters
    let at = start
    for (const last = limit - 8; at <= last; at += 8) {
      const odd = oddBytes(view.getInt32(at, true), delimiters)
      if (odd !== 0) return at + placeOf(odd)
      const next = oddBytes(view.getInt32(at + 4, true), delimiters)
      if (next !== 0) return at + 4 + placeOf(next)
    }
    return at
  }

  /** Reads a quoted field, from after the opening quote. @returns the position after the closing one; -1: unsure. */
  #readQuoted(start: number, limit: number): number {
    const { bytes } = this
    let mark = 0
    let quotes = 0
    let at = start
    for (; at < limit; at++) {
      const byte = bytes[at] ?? 0
      const what = IN_QUOTES[byte] ?? LOOK
      mark |= what
      if ((what & LOOK) === 0) continue
      if (byte === QUOTE) {
        if (bytes[at + 1] !== QUOTE) break
        mark |= MARK.quote | MARK.text
        quotes++
        at++
      } else if (byte === CARRIAGE_RETURN || bytes[at - 1] !== CARRIAGE_RETURN) {
        this.#lineBreaks++
      }
    }
    if (at >= limit) return -1
    this.#fieldFrom = start
    this.#fieldTo = at
    this.#fieldMark = mark & ~LOOK
    this.#fieldQuotes = quotes
    return this.#isFieldEnd(at + 1) ? at + 1 : -1
  }

  #isFieldEnd(at: number): boolean {
    const byte = this.bytes[at]
    if (byte === this.#delimiter || byte === LINE_FEED || byte === CARRIAGE_RETURN) return true
    return at === this.bytes.length
  }

  /** Moves to the next record; `at` is the end of the current one. */
  #passLineBreak(at: number): void {
    const { bytes } = this
    this.#at = at
    if (at === bytes.length) return
    this.#at += bytes[at] === CARRIAGE_RETURN && bytes[at + 1] === LINE_FEED ? 2 : 1
    this.#lineBreaks++
  }
}

/** @returns a word with the high bit of the first byte that is not plain; high bits of later bytes mean nothing. */
function oddBytes(word: number, delimiters: number): number {
  const isBelowSpace = word - SPACES
  const isQuote = (word ^ QUOTES) - ONES
  const isBackslash = (word ^ BACKSLASHES) - ONES
  const isDelimiter = (word ^ delimiters) - ONES
  return (word | isBelowSpace | isQuote | isBackslash | isDelimiter) & HIGH_BITS
}

/** The index in a word of the first byte that `oddBytes` marked. */
function placeOf(odd: number): number {
  return (31 - Math.clz32(odd & -odd)) >> 3
}

/** A copy with twice the capacity. */
export function largerCopy(old: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(2 * old.length)
  larger.set(old)
  return larger
}
