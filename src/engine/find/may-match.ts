// Whether a segment may have a row that matches, by what it knows of its values. Only a segment whose rows read as they
// are stored is asked.
//
// Invariant: false is sure. What nothing is known of may match.
import { type Bytes, utf8 } from '../../base/bytes.js'
import { sliceText } from '../../base/platform.js'
import { orderOf } from '../../format/noted-column.js'
import type { KnownColumn, SegmentValues } from '../../format/segment-values.js'
import { hashOfText, hashOfToken } from '../../format/value-hash.js'
import { Decimal } from '../../schema/decimal.js'
import type { CellTest, Comparison, Condition, Order } from './where.js'

export function mayMatch(condition: Condition, values: SegmentValues): boolean {
  switch (condition.op) {
    case 'all':
      return condition.conditions.every((part) => mayMatch(part, values))
    case 'any':
      return condition.conditions.some((part) => mayMatch(part, values))
    case 'not':
      return mayFail(condition.condition, values)
    case 'cell':
      return mayPass(condition.column, condition, values)
  }
}

/** Whether a segment may have a row that does not match. */
function mayFail(condition: Condition, values: SegmentValues): boolean {
  if (condition.op === 'not') return mayMatch(condition.condition, values)
  if (condition.op !== 'cell' || condition.test !== 'isEmpty') return true
  return values.column(condition.column)?.hasFilled === true
}

function mayPass(id: string, cell: CellTest, values: SegmentValues): boolean {
  const column = values.column(id)
  if (cell.test === 'isEmpty') return column === undefined || column.hasEmpty
  if (column === undefined || !column.hasFilled) return false
  switch (cell.test) {
    case 'in':
      return cell.values.some((value) => mayBe(column, cell.comparison, value, id, values))
    case 'has':
      return cell.values.some((value) => mayContainValue(cell.comparison, value, id, values))
    case 'startsWith':
      return mayStartWith(column, utf8(cell.text))
    case 'contains':
      return true
    default:
      return mayBeOrdered(column, cell.comparison, cell.test, cell.value)
  }
}

function mayBe(
  column: KnownColumn,
  comparison: Comparison,
  value: string,
  id: string,
  values: SegmentValues,
): boolean {
  const isInBounds =
    mayBeOrdered(column, comparison, 'gte', value) && mayBeOrdered(column, comparison, 'lte', value)
  return isInBounds && mayContainValue(comparison, value, id, values)
}

/** Moments are not asked for: the hash is that of the text. */
function mayContainValue(
  comparison: Comparison,
  value: string,
  id: string,
  values: SegmentValues,
): boolean {
  const hash = hashOf(comparison, value)
  return hash === undefined || values.mayContain(id, hash)
}

function hashOf(comparison: Comparison, value: string): number | undefined {
  const bytes = utf8(value)
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

function mayStartWith({ bounds }: KnownColumn, prefix: Bytes): boolean {
  if (bounds === null || bounds.isNumber) return true
  const { least, greatest, isCut } = bounds
  const begin = least.subarray(0, prefix.length)
  if (orderOf(prefix, 0, prefix.length, begin) < 0) return false
  return isCut || orderOf(prefix, 0, prefix.length, greatest) <= 0 || begins(prefix, greatest)
}

function begins(bytes: Bytes, start: Bytes): boolean {
  return orderOf(bytes, 0, Math.min(bytes.length, start.length), start) === 0
}

/** Whether a value may stand in an order to this one, by the least and the greatest value. */
function mayBeOrdered(
  { bounds }: KnownColumn,
  comparison: Comparison,
  order: Order,
  value: string,
): boolean {
  if (bounds === null) return true
  const isUp = order === 'gt' || order === 'gte'
  const bound = isUp ? bounds.greatest : bounds.least
  const difference = orderOfBound(bound, bounds.isNumber, comparison, value, isUp && bounds.isCut)
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

const DATE_BYTES = 10

/** The order of a bound and a value; undefined: unknown. */
function orderOfBound(
  bound: Bytes,
  isNumber: boolean,
  comparison: Comparison,
  value: string,
  isCut: boolean,
): number | undefined {
  if (isNumber) {
    return comparison === 'number' ? new Decimal(value).orderOf(bound, 0, bound.length) : undefined
  }
  const wanted = utf8(value)
  if (comparison === 'text' || comparison === 'date') {
    const order = orderOf(bound, 0, bound.length, wanted)
    // A greatest text that was cut may be greater than what begins as it does.
    return isCut && order <= 0 && orderOf(wanted, 0, bound.length, bound) <= 0 ? undefined : order
  }
  if (comparison !== 'dateTime') return undefined
  return orderOfDays(sliceText(bound, 0, DATE_BYTES), value.slice(0, DATE_BYTES))
}

/** Days apart from which moments have the order of their dates, whatever their offsets. */
const DAYS_APART = 3
const DAY_MS = 86_400_000

/** The order of two dates; undefined: they are too close for that of moments on them. */
function orderOfDays(bound: string, wanted: string): number | undefined {
  const days = (Date.parse(bound) - Date.parse(wanted)) / DAY_MS
  return Math.abs(days) < DAYS_APART || Number.isNaN(days) ? undefined : days
}
