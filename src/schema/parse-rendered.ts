// Parses JSON text that the store rendered itself.
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  MINUS,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from '../base/ascii.js'
import {
  type Cursor,
  decodeString,
  enter,
  expectEnd,
  hasMore,
  openCursor,
  readMemberKey,
  skipValue,
} from './json-cursor.js'

/**
 * The form of numbers in rows, in cells and in arrays:
 * - `'number'`: the nearest double. Integers beyond `Number.MAX_SAFE_INTEGER` and decimals of more than 15 digits may
 *   be rounded.
 * - `'bigint'`: a BigInt for an unsafe integer (see `Number.isSafeInteger`) written without a point and an exponent; a
 *   number for all others.
 * - `'text'`: a string for every number, as it was sent: `'34.50'`. Only the schema shows that it is a number.
 */
export type NumberForm = 'number' | 'bigint' | 'text'

/** Matches a key with an escape, from its last escape to the colon. */
const ESCAPED_KEY = /\\.[^"\\]*"\s*:/

/** Every unsafe integer has at least this many digits. */
const LONG_DIGITS = /[0-9]{16}/
const INTEGER = /^-?[0-9]+$/

const DIGIT_0 = 0x30
const DIGIT_9 = 0x39

/**
 * Parses JSON with numbers in the given form. It also works around a bug of V8 in Node 24 (seen in 24.21), whose
 * `JSON.parse` gives `{"\"":1}` the key `\` once it has parsed an object with that key. Only text with an escaped
 * key, which is rare, needs the workaround.
 *
 * @param text - Valid JSON, nested no deeper than a store allows.
 */
export function parseRendered(text: string, numbers: NumberForm = 'number'): unknown {
  const isPlain = numbers === 'number' || (numbers === 'bigint' && !LONG_DIGITS.test(text))
  if (isPlain && (!text.includes('\\') || !ESCAPED_KEY.test(text))) return JSON.parse(text)
  const cursor = openCursor(text)
  const value = readValue(cursor, numbers)
  expectEnd(cursor)
  return value
}

function readValue(cursor: Cursor, numbers: NumberForm): unknown {
  const start = cursor.at
  const first = cursor.text.charCodeAt(start)
  if (first === OPEN_BRACE) return readObject(cursor, numbers)
  if (first === OPEN_BRACKET) return readArray(cursor, numbers)
  skipValue(cursor, 0)
  const token = cursor.text.slice(start, cursor.at)
  if (first === QUOTE) return decodeString(token)
  const isNumber = first === MINUS || (first >= DIGIT_0 && first <= DIGIT_9)
  return isNumber ? parseNumberToken(token, numbers) : JSON.parse(token)
}

function parseNumberToken(token: string, numbers: NumberForm): number | bigint | string {
  if (numbers === 'text') return token
  const value = Number(token)
  const isRounded = numbers === 'bigint' && INTEGER.test(token) && !Number.isSafeInteger(value)
  return isRounded ? BigInt(token) : value
}

function readArray(cursor: Cursor, numbers: NumberForm): unknown[] {
  const elements: unknown[] = []
  let isNext = enter(cursor, OPEN_BRACKET, CLOSE_BRACKET, 'an array')
  while (isNext) {
    elements.push(readValue(cursor, numbers))
    isNext = hasMore(cursor, CLOSE_BRACKET)
  }
  return elements
}

function readObject(cursor: Cursor, numbers: NumberForm): object {
  const members: [string, unknown][] = []
  let isNext = enter(cursor, OPEN_BRACE, CLOSE_BRACE, 'an object')
  while (isNext) {
    const key = readMemberKey(cursor)
    members.push([key, readValue(cursor, numbers)])
    isNext = hasMore(cursor, CLOSE_BRACE)
  }
  return Object.fromEntries(members) // So `__proto__` becomes an ordinary member.
}
