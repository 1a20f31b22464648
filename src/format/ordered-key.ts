// Sortable keys of rows: two rows have the same bytes exactly if their key cells have the same values. Only texts
// without escapes and whole numbers are supported, because other values have several notations.
import { DIGIT_NINE, DIGIT_ZERO, QUOTE } from '../base/ascii.js'
import type { Bytes } from '../base/bytes.js'
import { RowCells } from './row-cells.js'

/** The result of `read` instead of a column's index: the key has cells that are not supported. */
export const UNORDERED = -2

/** Initial room for a key. */
const KEY_BYTES_FIRST = 64

/**
 * The byte before a number, which is followed by the count of digits. It is greater than the quote that begins a
 * text.
 */
const NUMBER = 0x80
const DIGITS_MAX = 0x7f

/** The byte at the end of a text. It is less than all bytes of a text, so that a text sorts before its extensions. */
const TEXT_END = 0

export class OrderedKey {
  /** The key is the first `length` bytes. Every key that was read has at least one byte. */
  bytes = new Uint8Array(KEY_BYTES_FIRST)
  length = 0

  /** Compares this key with another: negative if it sorts before the other key, 0 if they are equal. */
  compare(other: OrderedKey): number {
    const [left, right] = [this.bytes, other.bytes]
    const shared = Math.min(this.length, other.length)
    for (let at = 0; at < shared; at++) {
      const difference = (left[at] ?? 0) - (right[at] ?? 0)
      if (difference !== 0) return difference
    }
    return this.length - other.length
  }

  set({ bytes, length }: OrderedKey): void {
    this.length = 0
    this.reserve(length)
    for (let at = 0; at < length; at++) this.bytes[at] = bytes[at] ?? 0
    this.length = length
  }

  /** Makes room for more bytes. */
  reserve(more: number): void {
    if (this.length + more <= this.bytes.length) return
    const grown = new Uint8Array(2 * (this.length + more))
    grown.set(this.bytes.subarray(0, this.length))
    this.bytes = grown
  }
}

export class OrderedKeyReader {
  readonly #cells: RowCells

  constructor(keyColumns: readonly string[]) {
    this.#cells = new RowCells(keyColumns)
  }

  /**
   * Reads the key of the row text between two offsets.
   * @returns -1: the key was read. Otherwise the index of the first key column with an empty cell, or `UNORDERED`.
   * @throws {StoreError} DATA_CORRUPT: the text is not a row's
   */
  read(bytes: Bytes, from: number, to: number, key: OrderedKey): number {
    const cells = this.#cells
    cells.read(bytes, from, to)
    if (cells.count < cells.to.length) return cells.to.indexOf(0)
    key.length = 0
    for (let column = 0; column < cells.to.length; column++) {
      const start = cells.from[column] ?? 0
      const end = cells.to[column] ?? 0
      const isText = bytes[start] === QUOTE
      if (isText ? cells.isEscaped[column] !== 0 : !isWholeNumber(bytes, start, end))
        return UNORDERED
      key.reserve(end - start + 1)
      const target = key.bytes
      let length = key.length
      if (!isText) target[length++] = NUMBER + end - start
      for (let at = start; at < end; at++) target[length++] = bytes[at] ?? 0
      if (isText) target[length - 1] = TEXT_END // Replaces the closing quote.
      key.length = length
    }
    return -1
  }
}

/** Whether a token is a number without sign, point, exponent or leading zeros. */
function isWholeNumber(bytes: Bytes, start: number, end: number): boolean {
  if (end - start > DIGITS_MAX || (bytes[start] === DIGIT_ZERO && end - start > 1)) return false
  for (let at = start; at < end; at++) {
    const byte = bytes[at] ?? 0
    if (byte < DIGIT_ZERO || byte > DIGIT_NINE) return false
  }
  return true
}
