// Reads rows straight from the bytes of a JSON body, in one pass and without making objects or strings:
// it finds the bounds of each row and of its cells, and what each value is.
//
// Invariants:
// - It takes a row only if `scan-json` takes it, with the same cells. Of whatever it is not sure of
//   (escapes in keys, a key twice, objects, a minus zero, very long rows, all that is not JSON) it says so,
//   and the row goes to `scan-json`, which decides and names what is wrong.
// - The bytes are valid UTF-8: who opens a scanner has checked that.
import type { Bytes } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import { ELEMENT, FORM, isPlain, JsonByteValues, skipSpace } from './json-byte-values.js'

/** What is kept of a cell: the bounds of its value, and `column << 16 | elements << 8 | form`. */
export const CELL = Object.freeze({ from: 0, to: 1, what: 2, size: 3 })

export type ScanStep = 'row' | 'unsure' | 'end' | 'stop'

/** The row ID of an input row is a key of its own, not a column. */
const ROW_ID_KEY = Uint8Array.of(0x22, 0x24, 0x72, 0x6f, 0x77, 0x49, 0x44, 0x22)
const NOT_A_COLUMN = -1

/** Whether the byte may be white space: seldom in bodies that programs make. */
function isBlank(byte: number | undefined): boolean {
  return byte !== undefined && byte <= SPACE
}

/** Cells of a row that there is room for to begin with. */
const CELLS_FIRST = 64

const WORD_BYTES = 4

const SPACE = 0x20
const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/**
 * One row after the other. After `next` gave 'row', the fields tell of that row; they are overwritten by
 * the next call.
 */
export class JsonByteScanner {
  readonly bytes: Bytes
  /** The row's braces: its first byte, and the one after its last. */
  rowStart = 0
  rowEnd = 0
  cellCount = 0
  /** CELL.size numbers for each cell, see CELL. */
  cells = new Int32Array(CELL.size * CELLS_FIRST)
  /** The row's text is what stands between its braces: no white space, no null, no row ID. */
  isCompact = true
  /** Bounds of the row's `$rowID` value, a text without escapes; both 0: it has none. */
  rowIdFrom = 0
  rowIdTo = 0

  /** Where each column's key first stood, with its quotes. */
  keyFrom = new Int32Array(CELLS_FIRST)
  keyTo = new Int32Array(CELLS_FIRST)
  columnCount = 0

  readonly #values: JsonByteValues
  readonly #view: DataView
  #at = 0
  #rows = 0
  readonly #columnsMax: number
  readonly #rowBytesMax: number
  readonly #columnOfKey = new Map<string, number>()
  /** The row in which each column was seen last, so that a key twice in a row is noticed. */
  #lastRow = new Int32Array(CELLS_FIRST)
  /** The columns of the row before, by their place: rows mostly repeat them. */
  #expected = new Int32Array(CELLS_FIRST).fill(NOT_A_COLUMN)
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
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    this.#columnsMax = limits.columnsMax
    this.#rowBytesMax = limits.rowBytesMax
    this.#textOf = textOf
  }

  /** The column IDs of `columnOf`. */
  columnId(column: number): string {
    const from = this.keyFrom[column]
    const to = this.keyTo[column]
    invariant(from !== undefined && to !== undefined, 'a column has a key')
    return this.#textOf(from + 1, to - 1)
  }

  /**
   * Moves to the next row. 'unsure': the row is one for the exact path; `rowStart` and `rowEnd` are its
   * bounds. 'stop': not even that is sure, so the whole body is. 'end': all rows were read and nothing follows.
   */
  next(): ScanStep {
    const { bytes } = this
    let at = skipSpace(bytes, this.#at)
    if (this.#rows === 0) {
      if (bytes[at] !== OPEN_BRACKET) return 'stop'
      at = skipSpace(bytes, at + 1)
      if (bytes[at] === CLOSE_BRACKET) return this.#atEnd(at + 1)
    } else {
      if (bytes[at] === CLOSE_BRACKET) return this.#atEnd(at + 1)
      if (bytes[at] !== COMMA) return 'stop'
      at = skipSpace(bytes, at + 1)
    }
    if (bytes[at] !== OPEN_BRACE) return 'stop'
    this.#rows++
    this.rowStart = at
    const end = this.#readRow(at)
    if (end > 0) {
      this.rowEnd = end
      this.#at = end
      return end - at <= this.#rowBytesMax ? 'row' : 'unsure'
    }
    const skipped = this.#skipRow(at)
    if (skipped < 0) return 'stop'
    this.rowEnd = skipped
    this.#at = skipped
    return 'unsure'
  }

  #atEnd(at: number): 'end' | 'stop' {
    return skipSpace(this.bytes, at) === this.bytes.length ? 'end' : 'stop'
  }

  /** Reads the row that begins at `start`. @returns where it ends, or -1: unsure. */
  #readRow(start: number): number {
    const { bytes } = this
    const values = this.#values
    let { cells } = this
    let cell = 0
    let isPlain = true
    this.isCompact = true
    this.rowIdFrom = 0
    this.rowIdTo = 0
    this.cellCount = 0
    let at = start + 1
    if (isBlank(bytes[at])) at = this.#passSpace(at)
    if (bytes[at] === CLOSE_BRACE) return at + 1
    for (;;) {
      const column = this.#readKey(at, cell)
      if (column < NOT_A_COLUMN) return -1
      at = this.#keyEnd
      if (bytes[at] !== COLON) {
        at = this.#passSpace(at)
        if (bytes[at] !== COLON) return -1
      }
      at++
      if (isBlank(bytes[at])) at = this.#passSpace(at)
      const end = values.read(at)
      if (end < 0) return -1
      if (column === NOT_A_COLUMN) {
        if (!this.#noteRowId(at, end)) return -1
      } else {
        const { form, elements } = values
        const place = CELL.size * cell++
        if (place === cells.length) cells = this.#growCells()
        cells[place + CELL.from] = at
        cells[place + CELL.to] = end
        cells[place + CELL.what] = (column << 16) | (elements << 8) | form
        if (form === FORM.null || (elements & ELEMENT.space) !== 0) isPlain = false
      }
      at = end
      if (isBlank(bytes[at])) at = this.#passSpace(at)
      if (bytes[at] === CLOSE_BRACE) break
      if (bytes[at] !== COMMA) return -1
      at++
      if (isBlank(bytes[at])) at = this.#passSpace(at)
    }
    if (!isPlain) this.isCompact = false
    this.cellCount = cell
    return at + 1
  }

  #passSpace(at: number): number {
    this.isCompact = false
    return skipSpace(this.bytes, at)
  }

  #growCells(): Int32Array<ArrayBuffer> {
    this.cells = largerCopy(this.cells)
    const expected = new Int32Array(this.cells.length / CELL.size).fill(NOT_A_COLUMN)
    expected.set(this.#expected)
    this.#expected = expected
    return this.cells
  }

  /** @returns false: not the plain text that a row ID is, or the second one of the row. */
  #noteRowId(from: number, to: number): boolean {
    if (this.rowIdTo > 0 || this.#values.form !== FORM.text) return false
    this.rowIdFrom = from + 1
    this.rowIdTo = to - 1
    this.isCompact = false
    return true
  }

  #keyEnd = 0

  /** Reads a key. @returns its column, NOT_A_COLUMN for `$rowID`, or less: unsure. */
  #readKey(start: number, cell: number): number {
    const expected = this.#expected[cell] ?? NOT_A_COLUMN
    if (expected >= 0 && this.#lastRow[expected] !== this.#rows) {
      const from = this.keyFrom[expected] ?? 0
      const length = (this.keyTo[expected] ?? 0) - from
      if (this.#isSame(start, from, length)) {
        this.#keyEnd = start + length
        this.#lastRow[expected] = this.#rows
        return expected
      }
    }
    return this.#readOtherKey(start, cell)
  }

  /** Whether as many bytes are the same at two places of the body. */
  #isSame(start: number, from: number, length: number): boolean {
    const view = this.#view
    const last = length - WORD_BYTES
    if (last < 0 || start + length > this.bytes.length) return false
    for (let i = 0; i < last; i += WORD_BYTES)
      if (view.getInt32(start + i) !== view.getInt32(from + i)) return false
    return view.getInt32(start + last) === view.getInt32(from + last)
  }

  #readOtherKey(start: number, cell: number): number {
    const { bytes } = this
    if (bytes[start] !== QUOTE) return -2
    let at = start + 1
    while (isPlain(bytes[at] ?? 0)) at++
    if (bytes[at] !== QUOTE) return -2 // An escape, a control character, or the end of the body.
    this.#keyEnd = at + 1
    if (this.#isRowIdKey(start)) return NOT_A_COLUMN
    const id = this.#textOf(start + 1, at)
    const known = this.#columnOfKey.get(id)
    if (known === undefined && (id === '$stashID' || this.columnCount >= this.#columnsMax)) {
      return -2
    }
    const column = known ?? this.#addColumn(id, start)
    if (this.#lastRow[column] === this.#rows) return -2
    this.#lastRow[column] = this.#rows
    if (cell < this.#expected.length) this.#expected[cell] = column
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
    }
    this.keyFrom[column] = start
    this.keyTo[column] = this.#keyEnd
    this.#columnOfKey.set(id, column)
    return column
  }

  /** Where a row that is not understood ends, brackets and strings counted; -1: not in this body. */
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

function largerCopy(old: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(2 * old.length)
  larger.set(old)
  return larger
}
