// The rank of a value among the values of a condition that are compared in the same way. One look-up among all values
// replaces many comparisons, so a thousand comparisons of a cell cost little more than one.
import { type Bytes, NO_BYTES } from '../../base/bytes.js'
import { compareToBound } from '../../format/noted-column.js'
import { DecimalReader } from '../../schema/decimal.js'
import { MomentReader } from '../../schema/moments.js'

/**
 * How values are compared: `text` values by their bytes, without quotes and escapes; the values of other forms by their
 * meaning.
 */
export type Form = 'text' | 'number' | 'time' | 'dateTime'

/** The values with which tokens are compared. */
interface ValueOrder {
  /** Reads a token. @returns false: it has no order relative to the values */
  read(bytes: Bytes, from: number, to: number): boolean
  /** The order of the last token read relative to a value. It is negative if the token is less than the value. */
  orderTo(value: number): number
}

/** Returned instead of a rank if the token has no order relative to the values. */
export const NO_RANK = -1

export class ValueRanks {
  /** The number of distinct values. */
  readonly count: number
  readonly #order: ValueOrder

  /** @param values - In any order, possibly with duplicates. */
  constructor(form: Form, values: readonly Bytes[]) {
    const given = newOrder(form, values)
    const valueAt = (index: number): Bytes => values[index] ?? NO_BYTES
    const order = (left: number, right: number): number => {
      const bytes = valueAt(left)
      given.read(bytes, 0, bytes.length)
      return given.orderTo(right)
    }
    const sorted = Array.from(values.keys()).sort(order)
    const unique = sorted.filter((value, at) => at === 0 || order(sorted[at - 1] ?? 0, value) !== 0)
    this.count = unique.length
    this.#order = newOrder(form, unique.map(valueAt))
  }

  /**
   * The rank of a token, or `NO_RANK`. A token equal to the value at index i has the rank 2 i + 1. A token between two
   * values has the even rank between theirs.
   */
  rankOf(bytes: Bytes, from: number, to: number): number {
    const order = this.#order
    if (!order.read(bytes, from, to)) return NO_RANK
    let low = 0
    let high = this.count
    while (low < high) {
      const middle = (low + high) >>> 1
      const difference = order.orderTo(middle)
      if (difference === 0) return 2 * middle + 1
      if (difference < 0) high = middle
      else low = middle + 1
    }
    return 2 * low
  }
}

function newOrder(form: Form, values: readonly Bytes[]): ValueOrder {
  switch (form) {
    case 'text':
      return new TextOrder(values)
    case 'number':
      return new NumberOrder(values)
    default:
      return new MomentOrder(form, values)
  }
}

class TextOrder implements ValueOrder {
  readonly #values: readonly Bytes[]
  #bytes: Bytes = NO_BYTES
  #from = 0
  #to = 0

  constructor(values: readonly Bytes[]) {
    this.#values = values
  }

  read(bytes: Bytes, from: number, to: number): boolean {
    this.#bytes = bytes
    this.#from = from
    this.#to = to
    return true
  }

  orderTo(value: number): number {
    const wanted = this.#values[value]
    return wanted === undefined ? 0 : compareToBound(this.#bytes, this.#from, this.#to, wanted)
  }
}

class NumberOrder implements ValueOrder {
  readonly #values: readonly DecimalReader[]
  readonly #token = new DecimalReader()

  constructor(values: readonly Bytes[]) {
    this.#values = values.map((bytes) => {
      const reader = new DecimalReader()
      reader.read(bytes, 0, bytes.length)
      return reader
    })
  }

  read(bytes: Bytes, from: number, to: number): boolean {
    this.#token.read(bytes, from, to)
    return true
  }

  orderTo(value: number): number {
    const wanted = this.#values[value]
    return wanted === undefined ? 0 : this.#token.orderTo(wanted)
  }
}

class MomentOrder implements ValueOrder {
  readonly #form: 'time' | 'dateTime'
  readonly #values: readonly MomentReader[]
  readonly #token = new MomentReader()

  constructor(form: 'time' | 'dateTime', values: readonly Bytes[]) {
    this.#form = form
    this.#values = values.map((bytes) => {
      const reader = new MomentReader()
      this.#readWith(reader, bytes, 0, bytes.length)
      return reader
    })
  }

  read(bytes: Bytes, from: number, to: number): boolean {
    return this.#readWith(this.#token, bytes, from, to)
  }

  #readWith(reader: MomentReader, bytes: Bytes, from: number, to: number): boolean {
    return this.#form === 'time'
      ? reader.readTime(bytes, from, to)
      : reader.readDateTime(bytes, from, to)
  }

  orderTo(value: number): number {
    const wanted = this.#values[value]
    return wanted === undefined ? 0 : this.#token.orderTo(wanted)
  }
}
