// Whether a segment may have a matching row, judged by what the segment knows of its values. This is valid only for
// segments whose rows are served as stored.
//
// Invariant: the answer false is certain. A segment that knows nothing of its values may match.
import { type Bytes, utf8 } from '../../base/bytes.js'
import { compareToBound } from '../../format/noted-column.js'
import { columnKey, type KnownColumn, type SegmentValues } from '../../format/segment-values.js'
import { mayContain } from '../../format/value-filter.js'
import { hashOfText, hashOfToken } from '../../format/value-hash.js'
import { Decimal } from '../../schema/decimal.js'
import { MomentReader } from '../../schema/moments.js'
import type { CellTest, Comparison, Condition, Order } from './condition.js'

/** Whether a segment with these values may have a row that matches. */
export type SegmentTest = (values: SegmentValues) => boolean

/** Tests what a segment knows of a column. undefined: all cells of the column are empty in the segment. */
type ColumnTest = (column: KnownColumn | undefined) => boolean

/** Compiles a condition once, for many segments. */
export function segmentTest(condition: Condition): SegmentTest {
  switch (condition.op) {
    case 'all': {
      const parts = condition.conditions.map(segmentTest)
      return (values) => parts.every((part) => part(values))
    }
    case 'any': {
      const parts = condition.conditions.map(segmentTest)
      return (values) => parts.some((part) => part(values))
    }
    case 'not':
      return failTest(condition.condition)
    case 'cell':
      return testOfColumn(condition.column, columnTest(condition))
  }
}

/** Whether a segment may have a row that does not match. */
function failTest(condition: Condition): SegmentTest {
  if (condition.op === 'not') return segmentTest(condition.condition)
  if (condition.op !== 'cell' || condition.test !== 'isEmpty') return () => true
  return testOfColumn(condition.column, (column) => column?.hasFilled === true)
}

function testOfColumn(id: string, test: ColumnTest): SegmentTest {
  const key = columnKey(id)
  return (values) => test(values.columnOfKey(key))
}

function columnTest(cell: CellTest): ColumnTest {
  if (cell.test === 'isEmpty') return (column) => column === undefined || column.hasEmpty
  const test = filledTest(cell)
  return (column) => column?.hasFilled === true && test(column)
}

function filledTest(
  cell: Exclude<CellTest, { test: 'isEmpty' }>,
): (column: KnownColumn) => boolean {
  if ('fold' in cell) return () => true // Segments know only unfolded texts.
  switch (cell.test) {
    case 'in': {
      const values = cell.values.map((value) => new WantedValue(cell.comparison, value))
      return (column) => values.some((value) => value.mayBeIn(column))
    }
    case 'has': {
      const values = cell.values.map((value) => new WantedValue(cell.comparison, value))
      return (column) => values.some((value) => value.isInFilter(column))
    }
    case 'startsWith': {
      const prefix = utf8(cell.text)
      return (column) => mayStartWith(column, prefix)
    }
    case 'contains':
      return () => true
    default: {
      const { test } = cell
      const value = new WantedValue(cell.comparison, cell.value)
      return (column) => value.mayBeOrdered(column, test)
    }
  }
}

function mayStartWith({ bounds }: KnownColumn, prefix: Bytes): boolean {
  if (bounds === null || bounds.isNumber) return true
  const { least, greatest, isCut } = bounds
  const begin = least.subarray(0, prefix.length)
  if (compareToBound(prefix, 0, prefix.length, begin) < 0) return false
  return (
    isCut || compareToBound(prefix, 0, prefix.length, greatest) <= 0 || begins(prefix, greatest)
  )
}

function begins(bytes: Bytes, start: Bytes): boolean {
  return compareToBound(bytes, 0, Math.min(bytes.length, start.length), start) === 0
}

const DATE_BYTES = 10

/** Moments whose dates differ by this number of days or more have the order of their dates, whatever their offsets. */
const DAYS_APART = 3
const DAY_S = 86_400

/** A value of a condition. */
class WantedValue {
  readonly #comparison: Comparison
  readonly #bytes: Bytes
  /**
   * undefined: this value cannot be looked up in filters, which have hashes of texts. A moment, for example, has several
   * texts.
   */
  readonly #hash: number | undefined
  readonly #number: Decimal | null
  /** The day of a moment; null: the value is not a moment. */
  readonly #day: MomentReader | null

  constructor(comparison: Comparison, value: string) {
    this.#comparison = comparison
    this.#bytes = utf8(value)
    this.#hash = hashComparedValue(comparison, value, this.#bytes)
    this.#number = comparison === 'number' ? new Decimal(value) : null
    this.#day = comparison === 'dateTime' ? dayOf(this.#bytes) : null
  }

  mayBeIn(column: KnownColumn): boolean {
    return (
      this.mayBeOrdered(column, 'gte') &&
      this.mayBeOrdered(column, 'lte') &&
      this.isInFilter(column)
    )
  }

  isInFilter({ filter }: KnownColumn): boolean {
    return this.#hash === undefined || filter === null || mayContain(filter, this.#hash)
  }

  /** Whether the segment may have a value with the given order to this one, judged by its least and greatest values. */
  mayBeOrdered({ bounds }: KnownColumn, order: Order): boolean {
    if (bounds === null) return true
    const isUp = order === 'gt' || order === 'gte'
    const bound = isUp ? bounds.greatest : bounds.least
    const difference = this.#orderOfBound(bound, bounds.isNumber, isUp && bounds.isCut)
    if (difference === undefined) return true
    switch (order) {
      case 'gt':
        return difference > 0
      case 'gte':
        return difference >= 0
      case 'lt':
        return difference < 0
      case 'lte':
        return difference <= 0
    }
  }

  /** The order of a bound relative to the value; undefined: unknown. */
  #orderOfBound(bound: Bytes, isNumber: boolean, isCut: boolean): number | undefined {
    if (isNumber) return this.#number?.orderOf(bound, 0, bound.length)
    const wanted = this.#bytes
    if (this.#comparison === 'text' || this.#comparison === 'date') {
      const order = compareToBound(bound, 0, bound.length, wanted)
      // The bound of the greatest text may be cut. The text itself may then be greater than the bound.
      return isCut && order <= 0 && compareToBound(wanted, 0, bound.length, bound) <= 0
        ? undefined
        : order
    }
    const day = this.#day === null ? null : dayOf(bound)
    return day === null || this.#day === null ? undefined : orderOfDays(day, this.#day)
  }
}

/** The day with which a text begins; null: it does not begin with a date. */
function dayOf(text: Bytes): MomentReader | null {
  const reader = new MomentReader()
  return reader.readDateTime(text, 0, DATE_BYTES) ? reader : null
}

/** The order of moments on two days; undefined: the days are too close to tell it. */
function orderOfDays(left: MomentReader, right: MomentReader): number | undefined {
  const order = left.seconds - right.seconds
  return Math.abs(order) < DAYS_APART * DAY_S ? undefined : order
}

function hashComparedValue(
  comparison: Comparison,
  value: string,
  bytes: Bytes,
): number | undefined {
  switch (comparison) {
    case 'text':
    case 'date':
      return hashOfText(bytes, 0, bytes.length)
    case 'number':
    case 'duration':
      return hashOfToken(bytes, 0, bytes.length, value.includes('\\'))
    default:
      return undefined
  }
}
