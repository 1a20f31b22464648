// Records the column values of one column of a segment, value by value and without allocations.
import {
  BACKSLASH,
  CLOSE_BRACKET,
  COMMA,
  LOWER_A,
  OPEN_BRACKET,
  QUOTE,
  SPACE,
} from '../base/ascii.js'
import type { Bytes } from '../base/bytes.js'
import { sliceText } from '../base/platform.js'
import { Decimal } from '../schema/decimal.js'
import type { ByteWriter } from './byte-writer.js'
import type { ValueFilterBuilder } from './value-filter.js'
import { hashOfLong, hashOfTextIn, hashOfToken, NumberToken } from './value-hash.js'

/** Flags of a column. Written to disk: never change or reuse a number. */
export const COLUMN_VALUES = Object.freeze({
  empty: 1 << 0, // some cells are empty
  filled: 1 << 1, // some cells are not empty
  numbers: 1 << 2, // all values are numbers; least and greatest are their tokens
  texts: 1 << 3, // all values are texts; least and greatest are their first bytes
  greatestIsCut: 1 << 4, // the greatest text may continue after these bytes
})

/** The maximum number of bytes of a least and a greatest value. */
export const BOUND_BYTES_MAX = 32

/**
 * The maximum number of bytes of a text in a column with a filter. Nobody searches for longer texts as a whole, and
 * hashing longer texts takes time.
 */
const FILTERED_TEXT_BYTES_MAX = 128

/** The common form of all values of a column so far. */
const FORM = Object.freeze({ none: 0, number: 1, text: 2, other: 3 })

/** A least or a greatest value. */
class Bound {
  readonly bytes = new Uint8Array(BOUND_BYTES_MAX)
  readonly view = new DataView(this.bytes.buffer)
  length = 0
  /** The number as a double; NaN: it has too many digits. */
  value = Number.NaN

  set(bytes: Bytes, from: number, to: number): void {
    for (let at = from; at < to; at++) this.bytes[at - from] = bytes[at] ?? 0
    this.length = to - from
  }

  /** Compares a text with this bound: negative if it is less, 0 if they are equal. */
  orderOf(view: DataView, from: number, to: number): number {
    const length = Math.min(to - from, this.length)
    let at = 0
    for (; at + 4 <= length; at += 4) {
      const difference = view.getUint32(from + at) - this.view.getUint32(at)
      if (difference !== 0) return difference
    }
    for (; at < length; at++) {
      const difference = view.getUint8(from + at) - this.view.getUint8(at)
      if (difference !== 0) return difference
    }
    return to - from - this.length
  }

  /** Compares a number token with this bound. @param value - NaN: it has too many digits. */
  orderOfNumber(value: number, bytes: Bytes, from: number, to: number): number {
    const difference = value - this.value
    if (!Number.isNaN(difference)) return difference
    return new Decimal(sliceText(this.bytes, 0, this.length)).orderOf(bytes, from, to)
  }
}

/** Records the values of one column. */
export class NotedColumn {
  filter: ValueFilterBuilder | null
  readonly #key: string
  /** Number of rows with a cell. */
  count = 0
  #form: number = FORM.none
  readonly #least = new Bound()
  readonly #greatest = new Bound()
  #isCut = false
  readonly #number = new NumberToken()

  /**
   * @param key - With its quotes and its colon, one character per byte.
   * @param hasBounds - Whether to record the least and the greatest value.
   */
  constructor(key: string, filter: ValueFilterBuilder | null, hasBounds: boolean) {
    this.#key = key
    this.filter = filter
    if (!hasBounds) this.#form = FORM.other
  }

  /** Whether only the number of cells is still recorded: the column has neither bounds nor a filter. */
  get isOnlyCounted(): boolean {
    return this.#form === FORM.other && this.filter === null
  }

  /**
   * Records the value of a cell.
   * @param view - A view of `bytes`. @param isEscaped - Whether a text has a backslash; irrelevant for an array.
   */
  note(bytes: Bytes, view: DataView, from: number, to: number, isEscaped: boolean): void {
    this.count++
    if (this.isOnlyCounted) return
    const first = bytes[from] ?? 0
    if (first === QUOTE) this.#noteText(bytes, view, from, to, isEscaped)
    else if (first === OPEN_BRACKET) this.#noteArray(bytes, view, from, to)
    else if (first < LOWER_A) this.#noteNumber(bytes, from, to)
    else this.#form = FORM.other
  }

  /**
   * Once a text has an escape, its column gets no bounds, because escaped texts are not in the order of their bytes.
   */
  #noteText(bytes: Bytes, view: DataView, from: number, to: number, isEscaped: boolean): void {
    this.#addText(bytes, view, from, to, isEscaped)
    if (this.#form === FORM.other) return
    if (this.#form === FORM.number || isEscaped) {
      this.#form = FORM.other
      return
    }
    const start = from + 1
    const end = Math.min(to - 1, start + BOUND_BYTES_MAX)
    const isCut = end < to - 1
    if (this.#form === FORM.none) {
      this.#form = FORM.text
      this.#least.set(bytes, start, end)
      this.#setGreatest(bytes, start, end, isCut)
      return
    }
    if (this.#least.orderOf(view, start, end) < 0) this.#least.set(bytes, start, end)
    const order = this.#greatest.orderOf(view, start, end)
    if (order > 0) this.#setGreatest(bytes, start, end, isCut)
    else if (order === 0 && isCut) this.#isCut = true
  }

  #setGreatest(bytes: Bytes, from: number, to: number, isCut: boolean): void {
    this.#greatest.set(bytes, from, to)
    this.#isCut = isCut
  }

  #addText(bytes: Bytes, view: DataView, from: number, to: number, isEscaped: boolean): void {
    if (this.filter === null) return
    if (to - from > FILTERED_TEXT_BYTES_MAX) this.filter = null
    else if (isEscaped) this.filter.add(hashOfToken(bytes, from, to, true) ?? 0)
    else this.filter.add(hashOfTextIn(view, from + 1, to - 1))
  }

  #noteNumber(bytes: Bytes, from: number, to: number): void {
    const isShort = this.#addNumber(bytes, from, to)
    if (this.#form === FORM.other) return
    if (this.#form === FORM.text || to - from > BOUND_BYTES_MAX) {
      this.#form = FORM.other
      return
    }
    const value = isShort ? this.#number.value : Number.NaN
    const isFirst = this.#form === FORM.none
    this.#form = FORM.number
    if (isFirst || this.#least.orderOfNumber(value, bytes, from, to) < 0) {
      this.#least.set(bytes, from, to)
      this.#least.value = value
    }
    if (isFirst || this.#greatest.orderOfNumber(value, bytes, from, to) > 0) {
      this.#greatest.set(bytes, from, to)
      this.#greatest.value = value
    }
  }

  /** Reads a number into `#number`. @returns false: it has an exponent. */
  #addNumber(bytes: Bytes, from: number, to: number): boolean {
    const isShort = this.#number.read(bytes, from, to)
    this.filter?.add(isShort ? this.#number.hash : hashOfLong(sliceText(bytes, from, to)))
    return isShort
  }

  #noteArray(bytes: Bytes, view: DataView, from: number, to: number): void {
    this.#form = FORM.other
    const limit = to - 1
    for (let at = from + 1; at < limit; ) {
      const first = bytes[at] ?? 0
      let end = at + 1
      if (first === QUOTE) {
        let isEscaped = false
        for (; end < limit && bytes[end] !== QUOTE; end++) {
          if (bytes[end] !== BACKSLASH) continue
          isEscaped = true
          end++
        }
        end++
        this.#addText(bytes, view, at, end, isEscaped)
      } else if (first > SPACE && first !== COMMA) {
        while (end < limit && isOfToken(bytes[end] ?? 0)) end++
        if (first < LOWER_A) this.#addNumber(bytes, at, end)
      }
      at = end
    }
  }

  write(writer: ByteWriter, rowCount: number): void {
    const isText = this.#form === FORM.text
    const hasBounds = isText || this.#form === FORM.number
    const flags =
      (this.count < rowCount ? COLUMN_VALUES.empty : 0) |
      (this.count > 0 ? COLUMN_VALUES.filled : 0) |
      (this.#form === FORM.number ? COLUMN_VALUES.numbers : 0) |
      (isText ? COLUMN_VALUES.texts : 0) |
      (isText && this.#isCut ? COLUMN_VALUES.greatestIsCut : 0)
    const key = Uint8Array.from(this.#key, (char) => char.charCodeAt(0))
    writer.u16(key.length).bytes(key).u8(flags)
    if (!hasBounds) return
    for (const bound of [this.#least, this.#greatest]) {
      writer.u8(bound.length).bytes(bound.bytes.subarray(0, bound.length))
    }
  }
}

function isOfToken(byte: number): boolean {
  return byte > SPACE && byte !== COMMA && byte !== CLOSE_BRACKET
}

/** Compares bytes with a bound. */
export function compareToBound(bytes: Bytes, from: number, to: number, bound: Bytes): number {
  const length = Math.min(to - from, bound.length)
  for (let i = 0; i < length; i++) {
    const difference = (bytes[from + i] ?? 0) - (bound[i] ?? 0)
    if (difference !== 0) return difference
  }
  return to - from - bound.length
}
