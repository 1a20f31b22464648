// The cells of a row for the tests of a condition. Each cell is read only once, at its first test, whatever the number
// of its tests. So the work on a row is linear in its length.
import { QUOTE } from '../../base/ascii.js'
import { type Bytes, fromUtf8, NO_BYTES, utf8 } from '../../base/bytes.js'
import { FOLDED_GROWTH, type Fold, foldText } from '../../base/fold-case.js'
import { someElement } from '../../format/cell-reader.js'
import { RowCells } from '../../format/row-cells.js'
import { unescapeText } from '../../format/unescape-text.js'
import { TextSearch } from './text-search.js'
import { type Form, NO_RANK, ValueRanks } from './value-ranks.js'

/**
 * How the values of a column are read: `bare` values are tokens without quotes that have one spelling per value. Folded
 * texts are compared without case.
 */
export type CellForm = Form | 'bare' | Fold

/** The row that is tested. */
export class TestedRow {
  bytes: Bytes = NO_BYTES
  /** Counts the rows, so that values read from an earlier row are recognised as outdated. */
  number = 0
  readonly cells: RowCells

  /** @param columns - The tested columns, distinct. */
  constructor(columns: readonly string[]) {
    this.cells = new RowCells(columns)
  }

  /** @throws {StoreError} DATA_CORRUPT */
  read(bytes: Bytes, from: number, to: number): void {
    this.number++
    this.bytes = bytes
    this.cells.read(bytes, from, to)
  }
}

/** Memory for an unescaped text. It grows to the length of the longest text. */
class Unescaped {
  bytes: Bytes = NO_BYTES

  /** @returns the length of the text, which begins at 0. */
  read(bytes: Bytes, from: number, to: number): number {
    if (this.bytes.length < to - from) this.bytes = new Uint8Array(2 * (to - from))
    return unescapeText(bytes, from, to, this.bytes)
  }
}

/** The text of a cell in the form in which it is compared. */
export interface CellText {
  readonly bytes: Bytes
  readonly from: number
  readonly to: number
  /** @returns false: the cell is empty, or not a text */
  read(): boolean
}

/** The text of a cell, without quotes and escapes. */
export class TextCell implements CellText {
  bytes: Bytes = NO_BYTES
  from = 0
  to = 0
  readonly #row: TestedRow
  readonly #column: number
  readonly #unescaped = new Unescaped()
  #readRow = 0
  #isText = false

  constructor(row: TestedRow, column: number) {
    this.#row = row
    this.#column = column
  }

  /** @returns false: the cell is empty, or not a text */
  read(): boolean {
    if (this.#readRow === this.#row.number) return this.#isText
    this.#readRow = this.#row.number
    const { bytes, cells } = this.#row
    const to = cells.to[this.#column] ?? 0
    const from = cells.from[this.#column] ?? 0
    this.#isText = to > 0 && bytes[from] === QUOTE
    if (!this.#isText) return false
    if (cells.isEscaped[this.#column] === 0) {
      this.bytes = bytes
      this.from = from + 1
      this.to = to - 1
    } else {
      this.from = 0
      this.to = this.#unescaped.read(bytes, from + 1, to - 1)
      this.bytes = this.#unescaped.bytes
    }
    return true
  }
}

const ASCII_END = 0x80
const UPPER_A = 0x41
const UPPER_Z = 0x5a
const CASE_BIT = 0x20

/** The least first byte of a code point of more than two bytes. */
const LONGER = 0xe0

/**
 * The folded text of a cell. The part before the first code point of more than two bytes is folded without making a
 * string.
 */
export class FoldedCell implements CellText {
  bytes: Bytes = NO_BYTES
  readonly from = 0
  to = 0
  readonly #row: TestedRow
  readonly #text: TextCell
  readonly #fold: Fold
  /** The folded forms of code points of two bytes, by code point. */
  readonly #known: Bytes[] = []
  #readRow = 0
  #isText = false

  constructor(row: TestedRow, text: TextCell, fold: Fold) {
    this.#row = row
    this.#text = text
    this.#fold = fold
  }

  read(): boolean {
    if (this.#readRow === this.#row.number) return this.#isText
    this.#readRow = this.#row.number
    const text = this.#text
    this.#isText = text.read()
    if (this.#isText) this.#write(text.bytes, text.from, text.to)
    return this.#isText
  }

  #write(text: Bytes, from: number, to: number): void {
    const sizeMax = FOLDED_GROWTH * (to - from)
    if (this.bytes.length < sizeMax) this.bytes = new Uint8Array(sizeMax)
    const folded = this.bytes
    let length = 0
    let at = from
    for (; at < to; at++) {
      const byte = text[at] ?? 0
      if (byte < ASCII_END) {
        folded[length++] = byte >= UPPER_A && byte <= UPPER_Z ? byte | CASE_BIT : byte
      } else if (byte < LONGER) {
        for (const part of this.#foldTwo(byte, text[++at] ?? 0)) folded[length++] = part
      } else {
        const rest = utf8(foldText(this.#fold, fromUtf8(text.subarray(at, to))))
        folded.set(rest, length)
        length += rest.length
        break
      }
    }
    this.to = length
  }

  #foldTwo(first: number, second: number): Bytes {
    const code = ((first & 0x1f) << 6) | (second & 0x3f)
    const known = this.#known[code]
    if (known !== undefined) return known
    const folded = utf8(foldText(this.#fold, String.fromCodePoint(code)))
    this.#known[code] = folded
    return folded
  }
}

/**
 * Places of a cell. The places before `ranks` are for an empty cell, and for a cell without a rank among the values of
 * its tests.
 */
export const PLACE = Object.freeze({ empty: 0, unranked: 1, ranks: 2 })

/** The place of a cell among the values of its tests. */
export class RankedCell {
  readonly ranks: ValueRanks
  readonly #row: TestedRow
  readonly #column: number
  readonly #form: CellForm
  readonly #text: CellText
  #readRow = 0
  #place = 0

  constructor(row: TestedRow, column: number, text: CellText, parts: RankedParts) {
    this.#row = row
    this.#column = column
    this.#text = text
    this.#form = parts.form
    this.ranks = ranksOf(parts)
  }

  /** The number of places. */
  get placeCount(): number {
    return PLACE.ranks + 2 * this.ranks.count + 1
  }

  /** `PLACE.ranks` plus the rank, or another place. */
  get place(): number {
    if (this.#readRow !== this.#row.number) {
      this.#readRow = this.#row.number
      this.#place = this.#read()
    }
    return this.#place
  }

  #read(): number {
    const { bytes, cells } = this.#row
    const to = cells.to[this.#column] ?? 0
    if (to === 0) return PLACE.empty
    if (this.ranks.count === 0) return PLACE.unranked
    if (this.#form === 'number' || this.#form === 'bare') {
      const from = cells.from[this.#column] ?? 0
      return bytes[from] === QUOTE ? PLACE.unranked : placeOf(this.ranks.rankOf(bytes, from, to))
    }
    const text = this.#text
    return text.read() ? placeOf(this.ranks.rankOf(text.bytes, text.from, text.to)) : PLACE.unranked
  }
}

/** The values that cells of a column are compared with, in one form. */
export type RankedParts = Readonly<{ form: CellForm; values: readonly Bytes[] }>

function ranksOf({ form, values }: RankedParts): ValueRanks {
  const isText = form === 'bare' || form === 'noCase' || form === 'noAccents'
  return new ValueRanks(isText ? 'text' : form, values)
}

function placeOf(rank: number): number {
  return rank === NO_RANK ? PLACE.unranked : PLACE.ranks + rank
}

/** Tells which values of the tests of an array are among its elements. */
export class RankedElements {
  readonly ranks: ValueRanks
  readonly #row: TestedRow
  readonly #column: number
  readonly #form: CellForm
  readonly #unescaped = new Unescaped()
  /** By rank: the last row with an element of this rank. */
  readonly #foundIn: Uint32Array
  #readRow = 0
  #left = 0

  constructor(row: TestedRow, column: number, parts: RankedParts) {
    this.#row = row
    this.#column = column
    this.#form = parts.form
    this.ranks = ranksOf(parts)
    this.#foundIn = new Uint32Array(2 * this.ranks.count + 1)
  }

  /** Whether an element has one of these ranks. */
  has(ranks: readonly number[]): boolean {
    const { number } = this.#row
    if (this.#readRow !== number) {
      this.#readRow = number
      this.#read()
    }
    return ranks.some((rank) => this.#foundIn[rank] === number)
  }

  #read(): void {
    const { bytes, cells, number } = this.#row
    const to = cells.to[this.#column] ?? 0
    if (to === 0) return
    this.#left = this.ranks.count
    someElement(bytes, cells.from[this.#column] ?? 0, to, (at, end, isEscaped) => {
      const rank = this.#rankOf(bytes, at, end, isEscaped)
      if (rank < 0 || rank % 2 === 0 || this.#foundIn[rank] === number) return false
      this.#foundIn[rank] = number
      return --this.#left === 0
    })
  }

  #rankOf(bytes: Bytes, from: number, to: number, isEscaped: boolean): number {
    const isBare = this.#form === 'number' || this.#form === 'bare'
    if (isBare === (bytes[from] === QUOTE)) return NO_RANK
    if (isBare) return this.ranks.rankOf(bytes, from, to)
    if (!isEscaped) return this.ranks.rankOf(bytes, from + 1, to - 1)
    const length = this.#unescaped.read(bytes, from + 1, to - 1)
    return this.ranks.rankOf(this.#unescaped.bytes, 0, length)
  }
}

/** The texts of tests that a cell contains. */
export class SearchedCell {
  readonly #row: TestedRow
  readonly #text: CellText
  readonly #search: TextSearch
  #readRow = 0
  #isText = false

  /** @param needles - Not empty texts. */
  constructor(row: TestedRow, text: CellText, needles: readonly Bytes[]) {
    this.#row = row
    this.#text = text
    this.#search = new TextSearch(needles)
  }

  has(needle: number): boolean {
    if (this.#readRow !== this.#row.number) {
      this.#readRow = this.#row.number
      const text = this.#text
      this.#isText = text.read()
      if (this.#isText) this.#search.search(text.bytes, text.from, text.to)
    }
    return this.#isText && this.#search.has(needle)
  }
}
