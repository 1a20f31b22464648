// What a segment knows of the values of its columns: least and greatest value, whether cells are empty, and a filter of
// the values' hashes. FORMAT.md, section 6, sections 7 and 8 of a footer. Computed row by row while a segment is built.
import { OPEN_BRACKET, QUOTE } from '../base/ascii.js'
import type { Bytes } from '../base/bytes.js'
import { sliceText } from '../base/platform.js'
import { Decimal } from '../schema/decimal.js'
import { ByteWriter } from './byte-writer.js'
import { CellReader, someElement } from './cell-reader.js'
import { SECTION } from './segment-layout.js'
import { ValueFilterBuilder } from './value-filter.js'
import { hashOfToken } from './value-hash.js'

/** Flags of a column. Written to disk: never change or reuse a number. */
export const COLUMN_VALUES = Object.freeze({
  empty: 1 << 0, // some cells are empty
  filled: 1 << 1, // some cells are not
  numbers: 1 << 2, // all of those are numbers; least and greatest are their tokens
  texts: 1 << 3, // all of those are texts; least and greatest are their first bytes
  greatestIsCut: 1 << 4, // the greatest text may go on after these bytes
})

/** Columns of a segment, at most: nothing is noted of one with more. */
const COLUMNS_MAX = 1_000

/** Columns of a segment with a filter, at most: those that came first. */
const FILTERED_COLUMNS_MAX = 32

/** Bytes of a least and a greatest value, at most. */
export const BOUND_BYTES_MAX = 32

/** Bytes of all filters of a segment together, at most: the largest are left out first. */
const FILTER_BYTES_MAX = 256 * 1024

/** The form that all values of a column so far have. */
const FORM = Object.freeze({ none: 0, number: 1, text: 2, other: 3 })

export class ColumnValuesBuilder {
  readonly #columns: ColumnValues[] = []
  readonly #reader = new CellReader((key) => this.#columnOf(key))
  readonly #columnOfKey = new Map<string, ColumnValues>()
  #rowCount = 0

  /** Notes rows. @param ends - Where their texts end, counted from the first. */
  note(texts: Bytes, ends: Uint32Array, rowCount: number): void {
    if (this.#columns.length > COLUMNS_MAX) return
    const reader = this.#reader
    let at = 0
    for (let row = 0; row < rowCount; row++) {
      const end = ends[row] ?? 0
      reader.begin()
      while (at < end) {
        reader.read(texts, at, end).note(texts, reader.from, reader.to, reader.isEscaped)
        at = reader.to + 1
      }
      at = end
    }
    this.#rowCount += rowCount
  }

  /** The sections of the footer. */
  finish(): readonly (readonly [number: number, bytes: Bytes])[] {
    const columns = this.#columns
    if (columns.length > COLUMNS_MAX) return []
    const values = new ByteWriter(64 * columns.length + 2).u16(columns.length)
    for (const column of columns) column.write(values, this.#rowCount)
    const filters = filtersOf(columns)
    if (filters.size === 0) return [[SECTION.columnValues, values.finish()]]
    const writer = new ByteWriter(1_024).u16(filters.size)
    for (const [index, filter] of filters) writer.u16(index).u32(filter.length).bytes(filter)
    return [
      [SECTION.columnValues, values.finish()],
      [SECTION.valueFilters, writer.finish()],
    ]
  }

  #columnOf(key: string): ColumnValues {
    const known = this.#columnOfKey.get(key)
    if (known !== undefined) return known
    const hasFilter = this.#columns.length < FILTERED_COLUMNS_MAX
    const column = new ColumnValues(key, hasFilter ? new ValueFilterBuilder() : null)
    this.#columns.push(column)
    this.#columnOfKey.set(key, column)
    return column
  }
}

/** The filters by the indexes of their columns, as many as there is room for. */
function filtersOf(columns: readonly ColumnValues[]): Map<number, Bytes> {
  const filters = columns.flatMap(({ filter }, index) => {
    const bytes = filter === null || filter.isEmpty ? null : filter.finish()
    return bytes === null ? [] : [{ index, bytes }]
  })
  let total = 0
  const fitting = [...filters]
    .sort((left, right) => left.bytes.length - right.bytes.length)
    .filter(({ bytes }) => {
      total += bytes.length
      return total <= FILTER_BYTES_MAX
    })
  fitting.sort((left, right) => left.index - right.index)
  return new Map(fitting.map(({ index, bytes }) => [index, bytes]))
}

/** One column. */
class ColumnValues {
  readonly filter: ValueFilterBuilder | null
  readonly #key: string
  #count = 0
  #form: number = FORM.none
  #least: Bytes = new Uint8Array(0)
  #greatest: Bytes = new Uint8Array(0)
  #leastNumber = new Decimal('0')
  #greatestNumber = new Decimal('0')
  #isCut = false

  /** @param key - With its quotes and its colon, a character for each byte. */
  constructor(key: string, filter: ValueFilterBuilder | null) {
    this.#key = key
    this.filter = filter
  }

  note(bytes: Bytes, from: number, to: number, isEscaped: boolean): void {
    this.#count++
    const first = bytes[from]
    if (first === OPEN_BRACKET) {
      this.#form = FORM.other
      someElement(bytes, from, to, (at, end) => {
        this.#addToFilter(bytes, at, end, isEscaped)
        return false
      })
      return
    }
    this.#addToFilter(bytes, from, to, isEscaped)
    if (this.#form === FORM.other) return
    if (first === QUOTE) this.#noteText(bytes, from + 1, to - 1, isEscaped)
    else this.#noteNumber(bytes, from, to, first)
  }

  #addToFilter(bytes: Bytes, from: number, to: number, isEscaped: boolean): void {
    if (this.filter === null) return
    const hash = hashOfToken(bytes, from, to, isEscaped)
    if (hash !== undefined) this.filter.add(hash)
  }

  /** A text with an escape ends the bounds of its column, as its order is not that of its bytes. */
  #noteText(bytes: Bytes, from: number, to: number, isEscaped: boolean): void {
    if (this.#form === FORM.number || isEscaped) {
      this.#form = FORM.other
      return
    }
    const end = Math.min(to, from + BOUND_BYTES_MAX)
    const isFirst = this.#form === FORM.none
    this.#form = FORM.text
    if (isFirst || orderOf(bytes, from, end, this.#least) < 0) this.#least = bytes.slice(from, end)
    const order = isFirst ? 1 : orderOf(bytes, from, end, this.#greatest)
    if (order > 0) {
      this.#greatest = bytes.slice(from, end)
      this.#isCut = end < to
    } else if (order === 0 && end < to) {
      this.#isCut = true
    }
  }

  #noteNumber(bytes: Bytes, from: number, to: number, first: number | undefined): void {
    const isNumber = first !== undefined && first < 0x40 // true and false are letters.
    if (this.#form === FORM.text || !isNumber || to - from > BOUND_BYTES_MAX) {
      this.#form = FORM.other
      return
    }
    const isFirst = this.#form === FORM.none
    this.#form = FORM.number
    if (isFirst || this.#leastNumber.orderOf(bytes, from, to) < 0) {
      this.#least = bytes.slice(from, to)
      this.#leastNumber = new Decimal(sliceText(bytes, from, to))
    }
    if (isFirst || this.#greatestNumber.orderOf(bytes, from, to) > 0) {
      this.#greatest = bytes.slice(from, to)
      this.#greatestNumber = new Decimal(sliceText(bytes, from, to))
    }
  }

  write(writer: ByteWriter, rowCount: number): void {
    const isText = this.#form === FORM.text
    const hasBounds = isText || this.#form === FORM.number
    const flags =
      (this.#count < rowCount ? COLUMN_VALUES.empty : 0) |
      (this.#count > 0 ? COLUMN_VALUES.filled : 0) |
      (this.#form === FORM.number ? COLUMN_VALUES.numbers : 0) |
      (isText ? COLUMN_VALUES.texts : 0) |
      (isText && this.#isCut ? COLUMN_VALUES.greatestIsCut : 0)
    const key = Uint8Array.from(this.#key, (char) => char.charCodeAt(0))
    writer.u16(key.length).bytes(key).u8(flags)
    if (!hasBounds) return
    for (const bound of [this.#least, this.#greatest]) writer.u8(bound.length).bytes(bound)
  }
}

/** The order of bytes and a bound. */
export function orderOf(bytes: Bytes, from: number, to: number, bound: Bytes): number {
  const length = Math.min(to - from, bound.length)
  for (let i = 0; i < length; i++) {
    const difference = (bytes[from + i] ?? 0) - (bound[i] ?? 0)
    if (difference !== 0) return difference
  }
  return to - from - bound.length
}
