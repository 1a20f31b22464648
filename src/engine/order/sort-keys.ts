// Sort keys: bytes whose order is the order of the rows. They have the value of the first column, then that of the
// second, and so on.
//
// A byte precedes each value, so that empty cells are last in either direction. The bytes of a value are inverted if
// its column is descending. A text with a locale has no such bytes: it is held beside the bytes, and ends a group of
// bytes.
import { LOWER_T, QUOTE } from '../../base/ascii.js'
import { type Bytes, putUint32, utf8 } from '../../base/bytes.js'
import { foldCase } from '../../base/fold-case.js'
import { sliceText } from '../../base/platform.js'
import { DecimalReader, orderedDecimal } from '../../schema/decimal.js'
import { MomentReader } from '../../schema/moments.js'
import { TestedRow, TextCell } from '../find/tested-cells.js'
import type { SortColumn } from './order-by.js'

/**
 * The byte before a value (`VALUE`), before a token of another kind (`OTHER`), and instead of an empty cell (`EMPTY`).
 */
const VALUE = 1
const OTHER = 2
const EMPTY = 0xff

/** The byte after a value of variable length. The bytes of such a value are greater than it. */
const END = 0

const FIRST_BYTES = 1024

/** Keys of rows, one after the other. */
export class KeyBytes {
  bytes: Bytes = new Uint8Array(FIRST_BYTES)
  length = 0
  readonly #view = new DataView(new ArrayBuffer(8))

  reserve(count: number): void {
    if (this.length + count <= this.bytes.length) return
    const larger = new Uint8Array(Math.max(this.length + count, 2 * this.bytes.length))
    larger.set(this.bytes.subarray(0, this.length))
    this.bytes = larger
  }

  put(byte: number): void {
    this.reserve(1)
    this.bytes[this.length++] = byte
  }

  /** Puts bytes of at most 254, each incremented by one. */
  putText(bytes: Bytes, from: number, to: number): void {
    this.reserve(to - from + 1)
    for (let at = from; at < to; at++) this.bytes[this.length++] = (bytes[at] ?? 0) + 1
    this.bytes[this.length++] = END
  }

  /** Puts ASCII text in lower case; see `putText`. @returns false: the text is not ASCII, and nothing was put */
  putLowerAscii(bytes: Bytes, from: number, to: number): boolean {
    this.reserve(to - from + 1)
    let { length } = this
    for (let at = from; at < to; at++) {
      const byte = bytes[at] ?? 0
      if (byte >= 0x80) return false
      this.bytes[length++] = (byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte) + 1
    }
    this.bytes[length++] = END
    this.length = length
    return true
  }

  /** Puts a double that is not NaN. Both zeros are equal. */
  putDouble(value: number): void {
    this.reserve(8)
    this.#view.setFloat64(0, value + 0)
    const flip = value < 0 ? 0xffffffff : 0
    const high = (this.#view.getUint32(0) ^ (flip | 0x80000000)) >>> 0
    putUint32(this.bytes, this.length, high)
    putUint32(this.bytes, this.length + 4, (this.#view.getUint32(4) ^ flip) >>> 0)
    this.length += 8
  }

  append(bytes: Bytes, from: number, to: number): void {
    this.reserve(to - from)
    this.bytes.set(bytes.subarray(from, to), this.length)
    this.length += to - from
  }

  invert(from: number): void {
    for (let at = from; at < this.length; at++) this.bytes[at] = 0xff - (this.bytes[at] ?? 0)
  }
}

/** The keys of rows in one order. */
export class SortKeys {
  /** Columns with a locale. */
  readonly collated: readonly SortColumn[]
  /** For each column with a locale, the text of the last row; undefined: the row has none. */
  readonly texts: (string | undefined)[]
  /** The ends of the groups of bytes of the last row, except the last group. */
  readonly groupEnds: number[] = []
  readonly #row: TestedRow
  readonly #puts: readonly ((to: KeyBytes) => void)[]
  readonly #number = new DecimalReader()
  readonly #moment = new MomentReader()

  constructor(columns: readonly SortColumn[]) {
    this.collated = columns.filter(({ collator }) => collator !== null)
    this.texts = this.collated.map(() => undefined)
    this.#row = new TestedRow(columns.map(({ id }) => id))
    this.#puts = columns.map((column, index) => this.#putOf(column, index))
  }

  /**
   * Puts the bytes of the first column of the row with the text from `from` to `to`.
   * @throws {StoreError} DATA_CORRUPT
   */
  putFirst(keys: KeyBytes, bytes: Bytes, from: number, to: number): void {
    this.#row.read(bytes, from, to)
    if (this.collated.length > 0) this.groupEnds.length = 0
    this.#puts[0]?.(keys)
  }

  /** Puts the bytes of the other columns, after the first column. */
  putOthers(keys: KeyBytes): void {
    for (let column = 1; column < this.#puts.length; column++) this.#puts[column]?.(keys)
  }

  #putOf(column: SortColumn, index: number): (keys: KeyBytes) => void {
    const { cells } = this.#row
    const value = this.#valueOf(column, index)
    const collated = this.collated.indexOf(column)
    return (keys) => {
      if (collated >= 0) this.texts[collated] = undefined
      const to = cells.to[index] ?? 0
      const from = cells.from[index] ?? 0
      keys.put(to === 0 ? EMPTY : VALUE)
      const start = keys.length
      if (to > 0 && !value(keys, from, to)) {
        keys.length = start - 1
        keys.put(OTHER)
        keys.putText(this.#row.bytes, from, to)
      }
      if (column.isDescending) keys.invert(start)
      if (collated >= 0) this.groupEnds.push(keys.length)
    }
  }

  /** Puts a value. The result is false if the token is not of the column's kind. */
  #valueOf(
    column: SortColumn,
    index: number,
  ): (keys: KeyBytes, from: number, to: number) => boolean {
    const row = this.#row
    const { comparison } = column
    if (comparison === 'boolean') {
      return (keys, from) => {
        keys.put(row.bytes[from] === LOWER_T ? 1 : 0)
        return row.bytes[from] !== QUOTE
      }
    }
    if (comparison === 'number') {
      return (keys, from, to) => {
        if (row.bytes[from] === QUOTE) return false
        this.#number.read(row.bytes, from, to)
        putNumber(keys, this.#number, row.bytes, from, to)
        return true
      }
    }
    const text = new TextCell(row, index)
    if (comparison === 'time' || comparison === 'dateTime') {
      return (keys) => text.read() && this.#putMoment(keys, comparison, text)
    }
    const collated = this.collated.indexOf(column)
    return (keys) => {
      if (!text.read()) return false
      const { bytes, from, to } = text
      if (collated >= 0) this.texts[collated] = sliceText(bytes, from, to)
      else if (!column.ignoresCase) keys.putText(bytes, from, to)
      else if (!keys.putLowerAscii(bytes, from, to)) {
        const folded = utf8(foldCase(sliceText(bytes, from, to)))
        keys.putText(folded, 0, folded.length)
      }
      return true
    }
  }

  #putMoment(keys: KeyBytes, form: 'time' | 'dateTime', { bytes, from, to }: TextCell): boolean {
    const moment = this.#moment
    const isOne =
      form === 'time' ? moment.readTime(bytes, from, to) : moment.readDateTime(bytes, from, to)
    if (!isOne) return false
    keys.putDouble(moment.seconds)
    keys.putText(bytes, moment.fractionFrom, moment.fractionTo)
    return true
  }
}

/**
 * The byte after a number's nearest double, if the number is the shortest spelling of this double. For a number that is
 * less or greater than that, the byte is one less or one greater.
 */
const SHORTEST = 2

/**
 * Puts the nearest double of a number. If the number is not the shortest spelling of this double, which is rare, puts
 * its digits, too.
 */
function putNumber(
  keys: KeyBytes,
  number: DecimalReader,
  bytes: Bytes,
  from: number,
  to: number,
): void {
  keys.putDouble(number.near)
  const order = number.isShort ? 0 : orderToShortest(number)
  keys.put(SHORTEST + Math.sign(order))
  if (order === 0) return
  const { isNegative, placesSign, places, digits } = orderedDecimal(sliceText(bytes, from, to))
  const start = keys.length
  keys.put(1 + placesSign)
  const placesStart = keys.length
  const size = utf8(String(places.length).padStart(10, '0'))
  keys.putText(size, 0, size.length)
  keys.putText(utf8(places), 0, places.length)
  if (placesSign < 0) keys.invert(placesStart)
  keys.putText(utf8(digits), 0, digits.length)
  if (isNegative) keys.invert(start)
}

function orderToShortest(number: DecimalReader): number {
  const shortest = new DecimalReader()
  const text = utf8(String(number.near + 0))
  shortest.read(text, 0, text.length)
  return number.orderTo(shortest)
}
