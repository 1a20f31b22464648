// Cells compared by value: `34.50` and `34.5` are one number, `"\u0061"` and `"a"` one text. A number is never equal to
// a text.
import { BACKSLASH, DIGIT_NINE, DIGIT_ZERO, MINUS, OPEN_BRACKET, QUOTE } from '../base/ascii.js'
import { longDecimal } from '../schema/decimal.js'
import { elementsOf, readSpans } from './row-text.js'

/** Integers that are their own canonical text: without an exponent, and without a zero at the end. */
const PLAIN_INTEGER = /^-?(?:[0-9]*[1-9])$/

/** The text of a token that all tokens of the same value have, and no others. */
export function canonicalToken(token: string): string {
  const first = token.charCodeAt(0)
  if (first === QUOTE) return isEscaped(token) ? JSON.stringify(JSON.parse(token)) : token
  if (first === OPEN_BRACKET) return `[${elementsOf(token).map(canonicalToken).join(',')}]`
  return canonicalNumber(token)
}

function isEscaped(token: string): boolean {
  return token.includes(String.fromCharCode(BACKSLASH))
}

/** A token that is no number stays as it is: `true` and `false`. */
function canonicalNumber(token: string): string {
  const first = token.charCodeAt(0)
  const isNumber = first === MINUS || (first >= DIGIT_ZERO && first <= DIGIT_NINE)
  if (!isNumber || PLAIN_INTEGER.test(token)) return token
  const { isNegative, digits, exponent } = longDecimal(token)
  if (digits === '') return '0'
  const sign = isNegative ? '-' : ''
  return exponent === 0n ? `${sign}${digits}` : `${sign}${digits}e${exponent}`
}

/** Whether two tokens are the same value; undefined: an empty cell. */
export function sameValues(left: string | undefined, right: string | undefined): boolean {
  if (left === right) return true
  if (left === undefined || right === undefined) return false
  return canonicalToken(left) === canonicalToken(right)
}

/** The tokens of a row's text by the IDs of their columns, in the order of the row. */
export function cellsOf(text: string): Map<string, string> {
  const cells = new Map<string, string>()
  for (const { id, valueStart, end } of readSpans(text)) cells.set(id, text.slice(valueStart, end))
  return cells
}
