// Compares cells by value: `34.50` and `34.5` are the same number, `"\u0061"` and `"a"` the same text. A number never
// equals a text.
import { BACKSLASH, DIGIT_NINE, DIGIT_ZERO, MINUS, OPEN_BRACKET, QUOTE } from '../base/ascii.js'
import { longDecimal } from '../schema/decimal.js'
import { endOfToken, readSpans } from './row-text.js'

/** The canonical text of a token: equal exactly for equal values. */
export function canonicalToken(token: string): string {
  const first = token.charCodeAt(0)
  if (first === QUOTE) return isEscaped(token) ? JSON.stringify(JSON.parse(token)) : token
  if (first === OPEN_BRACKET) return canonicalArray(token)
  return canonicalNumber(token)
}

/** Makes an array token canonical. Most elements are already canonical, and are not cut out of the token. */
function canonicalArray(token: string): string {
  const mayBeEscaped = isEscaped(token)
  let canonical = ''
  let taken = 0
  for (let start = 1; start < token.length - 1; ) {
    const end = endOfToken(token, start)
    const isText = token.charCodeAt(start) === QUOTE
    if (isText ? mayBeEscaped : !isPlainInteger(token, start, end)) {
      canonical += token.slice(taken, start) + canonicalToken(token.slice(start, end))
      taken = end
    }
    start = end + 1
  }
  return taken === 0 ? token : canonical + token.slice(taken)
}

/** Whether a part of a token is an integer in canonical form: without a trailing zero. */
function isPlainInteger(token: string, start: number, end: number): boolean {
  for (let at = token.charCodeAt(start) === MINUS ? start + 1 : start; at < end; at++) {
    const code = token.charCodeAt(at)
    if (code < DIGIT_ZERO || code > DIGIT_NINE) return false
  }
  const last = token.charCodeAt(end - 1)
  return last > DIGIT_ZERO && last <= DIGIT_NINE
}

function isEscaped(token: string): boolean {
  return token.includes(String.fromCharCode(BACKSLASH))
}

/** Makes a number token canonical. `true` and `false` do not change. */
function canonicalNumber(token: string): string {
  const first = token.charCodeAt(0)
  const isNumber = first === MINUS || (first >= DIGIT_ZERO && first <= DIGIT_NINE)
  if (!isNumber || isPlainInteger(token, 0, token.length)) return token
  const { isNegative, digits, exponent } = longDecimal(token)
  if (digits === '') return '0'
  const sign = isNegative ? '-' : ''
  return exponent === '0' ? `${sign}${digits}` : `${sign}${digits}e${exponent}`
}

/** Whether two cells have the same value. Each is given as its token; undefined: it is empty. */
export function sameValues(left: string | undefined, right: string | undefined): boolean {
  if (left === right) return true
  if (left === undefined || right === undefined) return false
  return canonicalToken(left) === canonicalToken(right)
}

/** The tokens of a row's text by column ID, in row order. */
export function cellsOf(text: string): Map<string, string> {
  const cells = new Map<string, string>()
  for (const { id, valueStart, end } of readSpans(text)) cells.set(id, text.slice(valueStart, end))
  return cells
}
