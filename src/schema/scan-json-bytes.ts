// Finds the bounds of rows and cells, and the forms of values, in the bytes of a JSON body, in one pass without objects
// or strings (PERFORMANCE.md, P2, P3).
//
//   {"id":17,"email":"a@b.example","tags":["x","y"]}
//    └KEY┘└┘└──KEY──┘└───CELL────┘└─KEY──┘└─CELL──┘
//         CELL
//
//   KEY   per place in a row, kept from an earlier row:
//         from    the beginning of its bytes, with the comma before it
//         length  bytes up to its value: comma, spaces, key, colon     compared in one step
//         column  the column, or "not a column" for $rowID
//         spaces  how many of the bytes are white space
//
//   CELL  per value of the current row:
//         from, to   bounds of the value
//         what       column << 16 | elements << 8 | form
//
// Invariants:
// - It accepts a row only if `scan-json` does, with the same cells. If it is unsure (escapes in keys, a duplicate key,
//   objects, a negative zero, very long rows, anything that is not JSON), `scan-json` decides on the row and names the
//   error.
// - The bytes are valid UTF-8: the caller has checked that.
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  SPACE,
} from '../base/ascii.js'
import { type Bytes, markLength } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import { ByteRules } from './byte-rules.js'
import {
  ELEMENT,
  FORM,
  isPlainTextByte,
  JsonByteValues,
  skipSpaceBytes,
} from './json-byte-values.js'
import { largerCopy } from './scan-csv-bytes.js'

/** A cell: the bounds of its value, and `column << 16 | elements << 8 | form`. */
export const CELL = Object.freeze({ from: 0, to: 1, what: 2, size: 3 })

export type ScanStep = 'row' | 'unsure' | 'end' | 'stop'

/** The key of an input row's ID, which is not a column. */
const ROW_ID_KEY = Uint8Array.of(0x22, 0x24, 0x72, 0x6f, 0x77, 0x49, 0x44, 0x22)
const NOT_A_COLUMN = -1
const NO_MORE = -2
const UNKNOWN = -3

/**
 * A key at a place of an earlier row: the start of its bytes, with the comma before it unless it was first; the number
 * of bytes up to its value; its column; and how many of the bytes are white space.
 */
const KEY = Object.freeze({ from: 0, length: 1, column: 2, spaces: 3, size: 4 })

/** Whether the byte may be white space, which is rare in bodies made by programs. */
function isMaybeSpace(byte: number | undefined): boolean {
  return byte !== undefined && byte <= SPACE
}

/** Initial room for the cells of a row. */
const CELLS_FIRST = 64

const WORD_BYTES = 4

/** Reads one row after the other. After `next` returned 'row', the fields describe that row until the next call. */
export class JsonByteScanner {
  readonly bytes: Bytes
  /** The bounds of the row, with its braces; the end is exclusive. */
  rowStart = 0
  rowEnd = 0
  /** Number of bytes read since the previous row. */
  readBytes = 0
  cellCount = 0
  /** CELL.size numbers per cell: see CELL. */
  cells = new Int32Array(CELL.size * CELLS_FIRST)
  /** Whether the row has the columns of the previous row, and values of the same forms and elements. */
  isAlike = false
  /** Whether the text between the row's braces is already its row text: no white space, no null, no row ID. */
  isCompact = true
  /** Bounds of the row's `$rowID` value, a text without escapes; both 0: it has none. */
  rowIdFrom = 0
  rowIdTo = 0

  /** The first occurrence of each column's key, with its quotes. */
  keyFrom = new Int32Array(CELLS_FIRST)
  keyTo = new Int32Array(CELLS_FIRST)
  columnCount = 0

  /**
   * Per column, a bit mask of the kinds with a rule that all its texts so far fit; 0: no rule is checked. The caller
   * that judges the values sets it. A further text that certainly fits these kinds gets the form FORM.ruledText.
   */
  ruledOf = new Int32Array(CELLS_FIRST)

  readonly #values: JsonByteValues
  readonly #rules: ByteRules
  readonly #view: DataView
  #at: number
  #rows = 0
  readonly #columnsMax: number
  readonly #rowBytesMax: number
  readonly #columnOfKey = new Map<string, number>()
  /** The last row that contained each column, to detect a duplicate key. */
  #lastRow = new Int32Array(CELLS_FIRST)
  /** KEY.size numbers per place in a row, see KEY. They are kept because most rows repeat the keys of earlier rows. */
  #keys = new Int32Array(KEY.size * CELLS_FIRST)
  readonly #textOf: (from: number, to: number) => string

  /**
   * @param bytes - A whole body, valid UTF-8.
   * @param textOf - Decodes bytes of the body.
   */
  constructor(
    bytes: Bytes,
    limits: Readonly<{ columnsMax: number; rowBytesMax: number }>,
    textOf: (from: number, to: number) => string,
  ) {
    this.bytes = bytes
    this.#values = new JsonByteValues(bytes)
    this.#rules = new ByteRules(bytes)
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    this.#columnsMax = limits.columnsMax
    this.#rowBytesMax = limits.rowBytesMax
    this.#textOf = textOf
    this.#at = markLength(bytes)
  }

  /** The ID of a column, by its number in `cells`. */
  columnId(column: number): string {
    const from = this.keyFrom[column]
    const to = this.keyTo[column]
    invariant(from !== undefined && to !== undefined, 'a column has a key')
    return this.#textOf(from + 1, to - 1)
  }

  /**
   * Moves to the next row. 'unsure': the row must take the exact path; `rowStart` and `rowEnd` are its bounds.
   * 'stop': even its bounds are unsure, so the whole body must take the exact path. 'end': all rows were read and
   * nothing follows.
   */
  next(): ScanStep {
    const { bytes } = this
    let at = skipSpaceBytes(bytes, this.#at)
    if (this.#rows === 0) {
      if (bytes[at] !== OPEN_BRACKET) return 'stop'
      at = skipSpaceBytes(bytes, at + 1)
      if (bytes[at] === CLOSE_BRACKET) return this.#atEnd(at + 1)
    } else {
      if (bytes[at] === CLOSE_BRACKET) return this.#atEnd(at + 1)
      if (bytes[at] !== COMMA) return 'stop'
      at = skipSpaceBytes(bytes, at + 1)
    }
    if (bytes[at] !== OPEN_BRACE) return 'stop'
    this.#rows++
    this.rowStart = at
    const end = this.#readRow(at)
    if (end > 0) {
      this.#endRow(end)
      return end - at <= this.#rowBytesMax ? 'row' : 'unsure'
    }
    const skipped = this.#skipRow(at)
    if (skipped < 0) return 'stop'
    this.#endRow(skipped)
    return 'unsure'
  }

  #endRow(end: number): void {
    this.rowEnd = end
    this.readBytes = end - this.#at
    this.#at = end
  }

  #atEnd(at: number): 'end' | 'stop' {
    return skipSpaceBytes(this.bytes, at) === this.bytes.length ? 'end' : 'stop'
  }

  /** Reads the row that begins at `start`. @returns its end, or -1: unsure. */
  #readRow(start: number): number {
    const values = this.#values
    let { cells } = this
    let cell = 0
    let isPlain = true
    let differs = 0
    this.isCompact = true
    this.rowIdFrom = 0
    this.rowIdTo = 0
    let at = start + 1
    for (let place = 0; ; place++) {
      let column = this.#passKnownKey(at, place)
      if (column === UNKNOWN) column = this.#readKey(at, place)
      at = this.#keyEnd
      if (column === NO_MORE) break
      if (column === UNKNOWN) return -1
      const ruled = column === NOT_A_COLUMN ? 0 : (this.ruledOf[column] ?? 0)
      const ruledEnd = ruled === 0 ? -1 : this.#readRuled(at, ruled)
      const end = ruledEnd > 0 ? ruledEnd : values.read(at)
      if (end < 0) return -1
      if (column === NOT_A_COLUMN) {
        if (!this.#noteRowId(at, end)) return -1
      } else {
        const form = ruledEnd > 0 ? FORM.ruledText : values.form
        const elements = ruledEnd > 0 ? 0 : values.elements
        const first = CELL.size * cell++
        if (first === cells.length) cells = this.#growCells()
        cells[first + CELL.from] = at
        cells[first + CELL.to] = end
        const what = (column << 16) | (elements << 8) | form
        differs |= what ^ (cells[first + CELL.what] ?? 0)
        cells[first + CELL.what] = what
        if (form === FORM.null || (elements & ELEMENT.space) !== 0) isPlain = false
      }
      at = end
    }
    if (!isPlain) this.isCompact = false
    this.isAlike = differs === 0 && cell === this.cellCount
    this.cellCount = cell
    return at
  }

  /** Reads a text that fits all of the kinds. @returns its end, or -1: unsure. */
  #readRuled(at: number, ruled: number): number {
    const { bytes } = this
    if (bytes[at] !== QUOTE) return -1
    const end = this.#rules.endOf(at + 1, bytes.length, ruled)
    return end > 0 && bytes[end] === QUOTE ? end + 1 : -1
  }

  #passSpace(at: number): number {
    this.isCompact = false
    return skipSpaceBytes(this.bytes, at)
  }

  #growCells(): Int32Array<ArrayBuffer> {
    this.cells = largerCopy(this.cells)
    this.#keys = largerCopy(this.#keys)
    return this.cells
  }

  /** Records the row's ID. @returns false: unsure, because it is no text without escapes, or the row's second ID. */
  #noteRowId(from: number, to: number): boolean {
    if (this.rowIdTo > 0 || this.#values.form !== FORM.text) return false
    this.rowIdFrom = from + 1
    this.rowIdTo = to - 1
    this.isCompact = false
    return true
  }

  #keyEnd = 0

  /**
   * Passes the key at a place of the row, with its comma and colon, if the bytes equal those of an earlier row. Sets
   * `#keyEnd` to the beginning of its value.
   * @returns the value's column, NOT_A_COLUMN for `$rowID`, UNKNOWN: the bytes differ, or the column was repeated.
   */
  #passKnownKey(start: number, place: number): number {
    const keys = this.#keys
    const first = KEY.size * place
    const length = keys[first + KEY.length] ?? 0
    if (length === 0 || start + length > this.bytes.length) return UNKNOWN
    const from = keys[first + KEY.from] ?? 0
    const view = this.#view
    // -1 for the key `"":` at the first place, which is shorter than a word: the brace before it is compared too.
    const last = length - WORD_BYTES
    for (let i = 0; i < last; i += WORD_BYTES)
      if (view.getInt32(start + i) !== view.getInt32(from + i)) return UNKNOWN
    if (view.getInt32(start + last) !== view.getInt32(from + last)) return UNKNOWN
    const column = keys[first + KEY.column] ?? 0
    if (column !== NOT_A_COLUMN) {
      if (this.#lastRow[column] === this.#rows) return UNKNOWN
      this.#lastRow[column] = this.#rows
    }
    if (keys[first + KEY.spaces] !== 0) this.isCompact = false
    this.#keyEnd = start + length
    return column
  }

  /**
   * Reads up to the next value. Sets `#keyEnd` to the beginning of the value; after the last value, to the row's end.
   * @returns the value's column, NOT_A_COLUMN for `$rowID`, NO_MORE after the last value, UNKNOWN: unsure.
   */
  #readKey(start: number, place: number): number {
    const { bytes } = this
    let at = isMaybeSpace(bytes[start]) ? this.#passSpace(start) : start
    if (bytes[at] === CLOSE_BRACE) {
      this.#keyEnd = at + 1
      return NO_MORE
    }
    if (place > 0) {
      if (bytes[at] !== COMMA) return UNKNOWN
      at++
      if (isMaybeSpace(bytes[at])) at = this.#passSpace(at)
    }
    const column = this.#readColumn(at)
    if (column === UNKNOWN) return UNKNOWN
    const keyBytes = this.#keyEnd - at
    at = this.#keyEnd
    if (isMaybeSpace(bytes[at])) at = this.#passSpace(at)
    if (bytes[at] !== COLON) return UNKNOWN
    at++
    if (isMaybeSpace(bytes[at])) at = this.#passSpace(at)
    this.#keyEnd = at
    const first = KEY.size * place
    if (first < this.#keys.length) {
      this.#keys[first + KEY.from] = start
      this.#keys[first + KEY.length] = at - start
      this.#keys[first + KEY.column] = column
      this.#keys[first + KEY.spaces] = at - start - keyBytes - (place > 0 ? 2 : 1)
    }
    return column
  }

  /** Reads a quoted key. Sets `#keyEnd` to its end. @returns its column, NOT_A_COLUMN for `$rowID`, UNKNOWN: unsure. */
  #readColumn(start: number): number {
    const { bytes } = this
    if (bytes[start] !== QUOTE) return UNKNOWN
    let at = start + 1
    while (isPlainTextByte(bytes[at] ?? 0)) at++
    if (bytes[at] !== QUOTE) return UNKNOWN // An escape, a control character, or the end of the body.
    this.#keyEnd = at + 1
    if (this.#isRowIdKey(start)) return NOT_A_COLUMN
    const id = this.#textOf(start + 1, at)
    const known = this.#columnOfKey.get(id)
    if (known === undefined && (id === '$stashID' || this.columnCount >= this.#columnsMax)) {
      return UNKNOWN
    }
    const column = known ?? this.#addColumn(id, start)
    if (this.#lastRow[column] === this.#rows) return UNKNOWN
    this.#lastRow[column] = this.#rows
    return column
  }

  #isRowIdKey(start: number): boolean {
    if (this.#keyEnd - start !== ROW_ID_KEY.length) return false
    return ROW_ID_KEY.every((byte, i) => this.bytes[start + i] === byte)
  }

  #addColumn(id: string, start: number): number {
    const column = this.columnCount++
    if (column === this.keyFrom.length) {
      this.keyFrom = largerCopy(this.keyFrom)
      this.keyTo = largerCopy(this.keyTo)
      this.#lastRow = largerCopy(this.#lastRow)
      this.ruledOf = largerCopy(this.ruledOf)
    }
    this.keyFrom[column] = start
    this.keyTo[column] = this.#keyEnd
    this.#columnOfKey.set(id, column)
    return column
  }

  /**
   * The end of a row that must take the exact path, found by counting brackets and passing strings; -1: not in this
   * body.
   */
  #skipRow(start: number): number {
    const { bytes } = this
    const limit = Math.min(bytes.length, start + this.#rowBytesMax)
    let depth = 0
    for (let at = start; at < limit; at++) {
      const byte = bytes[at]
      if (byte === QUOTE) {
        at++
        while (at < limit && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++
      else if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && --depth === 0) return at + 1
    }
    return -1
  }
}
