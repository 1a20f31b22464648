// Tests of one cell, on the bytes of its token. Only texts with escapes are decoded.
import { QUOTE } from '../../base/ascii.js'
import { type Bytes, utf8 } from '../../base/bytes.js'
import { sliceText } from '../../base/platform.js'
import { someElement } from '../../format/cell-reader.js'
import { Decimal } from '../../schema/decimal.js'
import { Moment } from '../../schema/moments.js'
import type { CellTest, Comparison, Order } from './where.js'

/** Whether a token, from `from` to `to` (not included), passes. @param isEscaped - Whether it has a backslash. */
export type TokenTest = (bytes: Bytes, from: number, to: number, isEscaped: boolean) => boolean

/** The order of a token and a value: negative if the token is less; NaN if it has none. */
type TokenOrder = (bytes: Bytes, from: number, to: number, isEscaped: boolean) => number

/** The test of a cell that is not empty. */
export function tokenTest(cell: CellTest): TokenTest {
  switch (cell.test) {
    case 'isEmpty':
      return () => false
    case 'startsWith':
      return textTest(utf8(cell.text), startsWith)
    case 'contains':
      return textTest(utf8(cell.text), contains)
    case 'in':
      return equalToOne(cell.comparison, cell.values)
    case 'has': {
      const equals = equalToOne(cell.comparison, cell.values)
      return (bytes, from, to, isEscaped) =>
        someElement(bytes, from, to, (at, end) => equals(bytes, at, end, isEscaped))
    }
    default:
      return ordered(cell.test, orderOf(cell.comparison, cell.value))
  }
}

function ordered(order: Order, orderOfToken: TokenOrder): TokenTest {
  switch (order) {
    case 'gt':
      return (bytes, from, to, isEscaped) => orderOfToken(bytes, from, to, isEscaped) > 0
    case 'gte':
      return (bytes, from, to, isEscaped) => orderOfToken(bytes, from, to, isEscaped) >= 0
    case 'lt':
      return (bytes, from, to, isEscaped) => orderOfToken(bytes, from, to, isEscaped) < 0
    case 'lte':
      return (bytes, from, to, isEscaped) => orderOfToken(bytes, from, to, isEscaped) <= 0
  }
}

/** Lists of more texts are looked up in a set. */
const FEW_VALUES = 4

function equalToOne(comparison: Comparison, values: readonly string[]): TokenTest {
  if (values.length > FEW_VALUES && (comparison === 'text' || comparison === 'date')) {
    const wanted = new Set(values)
    return (bytes, from, to, isEscaped) => {
      return bytes[from] === QUOTE && wanted.has(decoded(bytes, from, to, isEscaped))
    }
  }
  const tests = values.map((value) => equalTo(comparison, value))
  const [first] = tests
  if (first !== undefined && tests.length === 1) return first
  return (bytes, from, to, isEscaped) => tests.some((test) => test(bytes, from, to, isEscaped))
}

function equalTo(comparison: Comparison, value: string): TokenTest {
  if (comparison === 'text' || comparison === 'date') return textTest(utf8(value), equals)
  if (comparison === 'duration' && value.startsWith('"')) {
    return textTest(utf8(String(JSON.parse(value))), equals)
  }
  const order = orderOf(comparison, value)
  return (bytes, from, to, isEscaped) => order(bytes, from, to, isEscaped) === 0
}

function orderOf(comparison: Comparison, value: string): TokenOrder {
  switch (comparison) {
    case 'number':
    case 'duration': {
      const wanted = new Decimal(value)
      return (bytes, from, to) => {
        return bytes[from] === QUOTE ? Number.NaN : wanted.orderOf(bytes, from, to)
      }
    }
    case 'time':
    case 'dateTime': {
      const wanted = new Moment(comparison, value)
      return ofText((bytes, from, to) => wanted.orderOf(bytes, from, to))
    }
    default: {
      const wanted = utf8(value)
      const order = ofText((bytes, from, to) => orderOfBytes(bytes, from, to, wanted))
      if (comparison !== 'boolean') return order
      return (bytes, from, to) => orderOfBytes(bytes, from, to, wanted)
    }
  }
}

/** Gives the text of a string token, without its quotes and escapes, to an order of text. */
function ofText(order: (bytes: Bytes, from: number, to: number) => number): TokenOrder {
  return (bytes, from, to, isEscaped) => {
    if (bytes[from] !== QUOTE) return Number.NaN
    if (!isEscaped) return order(bytes, from + 1, to - 1)
    const text = utf8(decoded(bytes, from, to, true))
    return order(text, 0, text.length)
  }
}

type BytesTest = (bytes: Bytes, from: number, to: number, wanted: Bytes) => boolean

/** Gives the text of a string token, without its quotes and escapes, to a test of text. */
function textTest(wanted: Bytes, test: BytesTest): TokenTest {
  return (bytes, from, to, isEscaped) => {
    if (bytes[from] !== QUOTE) return false
    if (!isEscaped) return test(bytes, from + 1, to - 1, wanted)
    const text = utf8(decoded(bytes, from, to, true))
    return test(text, 0, text.length, wanted)
  }
}

function decoded(bytes: Bytes, from: number, to: number, isEscaped: boolean): string {
  if (!isEscaped) return sliceText(bytes, from + 1, to - 1)
  return String(JSON.parse(sliceText(bytes, from, to)))
}

function equals(bytes: Bytes, from: number, to: number, wanted: Bytes): boolean {
  return to - from === wanted.length && startsWith(bytes, from, to, wanted)
}

function startsWith(bytes: Bytes, from: number, to: number, wanted: Bytes): boolean {
  const { length } = wanted
  if (to - from < length) return false
  for (let i = 0; i < length; i++) if (bytes[from + i] !== wanted[i]) return false
  return true
}

function contains(bytes: Bytes, from: number, to: number, wanted: Bytes): boolean {
  const first = wanted[0]
  const last = to - wanted.length
  if (first === undefined) return true
  for (let at = from; at <= last; at++) {
    if (bytes[at] === first && startsWith(bytes, at, to, wanted)) return true
  }
  return false
}

function orderOfBytes(bytes: Bytes, from: number, to: number, wanted: Bytes): number {
  const length = Math.min(to - from, wanted.length)
  for (let i = 0; i < length; i++) {
    const difference = (bytes[from + i] ?? 0) - (wanted[i] ?? 0)
    if (difference !== 0) return difference
  }
  return to - from - wanted.length
}

/**
 * What every token that passes has in its bytes, if none of them has a backslash: one of these runs. null: nothing is
 * known that could be searched for.
 */
export function needlesOf(cell: CellTest): readonly Bytes[] | null {
  switch (cell.test) {
    case 'startsWith':
    case 'contains':
      return needles([cell.text])
    case 'in':
    case 'has':
      if (cell.comparison === 'text' || cell.comparison === 'date') {
        return needles(cell.values.map((value) => `${value}"`)) // Not from the first quote on: those are everywhere.
      }
      return null
    default:
      return null
  }
}

/** Needles that are searched for at the same time, at most: each is a search of its own. */
export const NEEDLES_MAX = 8

/** Shorter ones stand nearly everywhere. */
const NEEDLE_BYTES_MIN = 3

function needles(texts: readonly string[]): readonly Bytes[] | null {
  if (texts.length > NEEDLES_MAX) return null
  const found = texts.map((text) => utf8(text))
  return found.every((bytes) => bytes.length >= NEEDLE_BYTES_MIN) ? found : null
}
