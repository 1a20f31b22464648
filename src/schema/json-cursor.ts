// A cursor over JSON text: finds the ends of values and validates them.
//
// Invariants:
// - The accepted language is JSON, limited by `stop` and JSON_DEPTH_MAX. This file only finds the ends of values,
//   which are unambiguous in valid JSON. `JSON.parse` validates keys and values, nested arrays and objects part by
//   part. It is not called for what is obviously valid: a string without escapes and control characters, a short run
//   of digits.
// - `JSON.parse` gets a value only after its brackets were counted.
// - A cursor never reads at or after `stop`, so no row exceeds its limit.

import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  DIGIT_NINE,
  DIGIT_ZERO,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  SPACE,
} from '../base/ascii.js'
import { dataError } from '../base/data-error.js'
import { JSON_DEPTH_MAX } from '../base/limits.js'
import type { StoreError } from '../base/store-error.js'
import type { Steps } from '../base/time-slices.js'
import { isSpace } from './json-byte-values.js'

const BYTE_ORDER_MARK = 0xfeff

/** The maximum number of digits accepted as a number without `JSON.parse`. */
const PLAIN_DIGITS_MAX = 15

export type Cursor = {
  readonly text: string
  at: number
  /** The end of reading: the end of the text, or of the longest allowed row. */
  stop: number
  /** Index of the current row; undefined outside rows. */
  row: number | undefined
  /** The limit that determines `stop`. */
  rowCharsMax: number
  /** Number of characters before this text in the input, except a byte order mark: messages count them. */
  readonly offset: number
}

/** Opens a text, after its byte order mark if it has one. */
export function openCursor(text: string, offset = 0): Cursor {
  const at = text.charCodeAt(0) === BYTE_ORDER_MARK ? 1 : 0
  return {
    text,
    at,
    stop: text.length,
    row: undefined,
    rowCharsMax: text.length,
    offset: offset - at,
  }
}

/** Limits the row that begins at the cursor to `rowCharsMax` characters. */
export function limitRow(cursor: Cursor, rowCharsMax: number): void {
  cursor.rowCharsMax = rowCharsMax
  cursor.stop = Math.min(cursor.text.length, cursor.at + rowCharsMax)
}

/** Ends the limit of a row: the cursor may read to the end of the text again. */
export function unlimit(cursor: Cursor): void {
  cursor.stop = cursor.text.length
}

/**
 * Passes an opening bracket. If no element follows, also passes the closing bracket.
 * @returns whether an element follows
 */
export function enter(cursor: Cursor, open: number, close: number, wanted: string): boolean {
  if (peek(cursor) !== open) throw invalidJson(cursor, `Expected ${wanted}`)
  cursor.at++
  skipSpace(cursor)
  if (peek(cursor) !== close) return true
  cursor.at++
  return false
}

/** Passes a comma or the closing bracket. @returns true: it was a comma, so another element follows */
export function hasMore(cursor: Cursor, close: number): boolean {
  skipSpace(cursor)
  const code = peek(cursor)
  if (code !== COMMA && code !== close) {
    throw invalidJson(cursor, `Expected "," or "${String.fromCharCode(close)}"`)
  }
  cursor.at++
  if (code === close) return false
  skipSpace(cursor)
  return true
}

export function passColon(cursor: Cursor): void {
  skipSpace(cursor)
  if (peek(cursor) !== COLON) throw invalidJson(cursor, 'Expected ":"')
  cursor.at++
  skipSpace(cursor)
}

export function expectEnd(cursor: Cursor): void {
  skipSpace(cursor)
  if (cursor.at < cursor.text.length) throw invalidJson(cursor, 'Expected the end of the JSON')
}

function peek(cursor: Cursor): number {
  if (cursor.at >= cursor.stop) throw cutOff(cursor)
  return cursor.text.charCodeAt(cursor.at)
}

export function skipSpace(cursor: Cursor): void {
  const { text, stop } = cursor
  let { at } = cursor
  while (at < stop && isSpace(text.charCodeAt(at))) at++
  cursor.at = at
}

/**
 * Passes a value. Validates strings and scalars; in arrays and objects, only counts brackets.
 *
 * @param level - Nesting depth of the value.
 * @returns Whether the value is an array or an object.
 */
export function skipValue(cursor: Cursor, level: number): boolean {
  const code = peek(cursor)
  if (code === QUOTE) {
    readString(cursor)
    return false
  }
  if (code !== OPEN_BRACKET && code !== OPEN_BRACE) {
    readScalar(cursor)
    return false
  }
  skipContainer(cursor, level)
  return true
}

/** The maximum number of characters of an array or an object that one step passes. */
const STEP_CHARS = 32 * 1024

/** Passes a value in steps. A string or a scalar is one step. */
export function* skipValueInSteps(cursor: Cursor, outer: number): Steps<boolean> {
  const code = peek(cursor)
  const isContainer = code === OPEN_BRACKET || code === OPEN_BRACE
  if (!isContainer) {
    const { at } = cursor
    skipValue(cursor, outer)
    yield cursor.at - at
    return false
  }
  let level = outer
  do {
    const { at } = cursor
    level = passBrackets(cursor, outer, level, at + STEP_CHARS)
    yield cursor.at - at
  } while (level > outer)
  return true
}

function skipContainer(cursor: Cursor, outer: number): void {
  passBrackets(cursor, outer, outer, cursor.stop)
}

/**
 * Passes a part of an array or an object, counting brackets, up to its end, or to about `limit`.
 * @param open - Number of open brackets before the call.
 * @returns the number of open brackets after the call; `outer`: the array or object has ended.
 */
function passBrackets(cursor: Cursor, outer: number, open: number, limit: number): number {
  const { text, stop } = cursor
  const end = Math.min(stop, limit)
  let level = open
  let i = cursor.at
  for (; i < end; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) {
      i = endOfString(text, i, stop) - 1
    } else if (code === OPEN_BRACKET || code === OPEN_BRACE) {
      if (++level > JSON_DEPTH_MAX) {
        cursor.at = i
        throw invalidJson(cursor, `Nested deeper than ${JSON_DEPTH_MAX} levels`)
      }
    } else if ((code === CLOSE_BRACKET || code === CLOSE_BRACE) && --level === outer) {
      cursor.at = i + 1
      return level
    }
  }
  if (i >= stop) throw cutOff(cursor)
  cursor.at = i
  return level
}

/** For objects that are split: the maximum number of characters of a string or scalar, which is validated at once. */
export const SCALAR_CHARS_MAX = 1_048_576

/** Checks the length of a string or scalar that begins here. */
export function checkScalarLength(cursor: Cursor): void {
  const { text, at, stop } = cursor
  const limit = at + SCALAR_CHARS_MAX
  if (limit >= stop) return
  const code = text.charCodeAt(at)
  if (code === OPEN_BRACKET || code === OPEN_BRACE) return
  const end = code === QUOTE ? endOfString(text, at, limit) : endOfScalar(text, at, limit + 1)
  if (end <= limit) return
  throw invalidJson(cursor, `Text or number of more than ${SCALAR_CHARS_MAX} characters begins`)
}

function endOfScalar(text: string, at: number, stop: number): number {
  let end = at
  while (end < stop && !endsScalar(text.charCodeAt(end))) end++
  return end
}

function endsScalar(code: number): boolean {
  return code === COMMA || code === CLOSE_BRACE || code === CLOSE_BRACKET || isSpace(code)
}

/** The end of the string that starts at `at`, after its quote; beyond `stop` if it has no end. */
export function endOfString(text: string, at: number, stop: number): number {
  for (let i = at + 1; i < stop; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) return i + 1
    if (code === BACKSLASH) i++
  }
  return stop + 1
}

/** Passes and validates a string. */
export function readString(cursor: Cursor): void {
  const { text, stop, at } = cursor
  if (peek(cursor) !== QUOTE) throw invalidJson(cursor, 'Expected a key')
  let isPlain = true
  for (let i = at + 1; i < stop; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) {
      cursor.at = i + 1
      if (!isPlain) parseValue(cursor, at)
      return
    }
    if (code < SPACE) isPlain = false
    else if (code === BACKSLASH) {
      isPlain = false
      i++
    }
  }
  throw cutOff(cursor)
}

/** Passes and validates a number or a literal. */
function readScalar(cursor: Cursor): void {
  const { text, stop, at } = cursor
  let end = at
  let isDigits = true
  for (; end < stop; end++) {
    const code = text.charCodeAt(end)
    if (endsScalar(code)) break
    if (code < DIGIT_ZERO || code > DIGIT_NINE) isDigits = false
  }
  cursor.at = end
  const length = end - at
  if (isDigits && length === 1) return
  if (isDigits && length > 0 && length <= PLAIN_DIGITS_MAX && text.charCodeAt(at) !== DIGIT_ZERO) {
    return
  }
  parseValue(cursor, at)
}

/** Parses the text between `start` and the cursor. */
export function parseValue(cursor: Cursor, start: number): unknown {
  try {
    return JSON.parse(cursor.text.slice(start, cursor.at))
  } catch (cause) {
    if (cursor.at === cursor.stop && cursor.stop < cursor.text.length) throw cutOff(cursor)
    if (isContainerAt(cursor, start)) findFault({ ...cursor, at: start })
    cursor.at = start
    throw invalidJson(cursor, 'Not a JSON value', cause)
  }
}

function isContainerAt({ text }: Cursor, at: number): boolean {
  const code = text.charCodeAt(at)
  return code === OPEN_BRACKET || code === OPEN_BRACE
}

/** Validates the array or object between `start` and the cursor. */
export function judgeContainer(cursor: Cursor, start: number): void {
  const token = cursor.text.slice(start, cursor.at)
  if (token.startsWith('[') && !isNested(token)) parseValue(cursor, start)
  else findFault({ ...cursor, at: start }) // `JSON.parse` would take far longer.
}

/** Whether an array contains an array or an object. */
export function isNested(array: string): boolean {
  const first = array.indexOf('[')
  if (array.lastIndexOf('[') === first && !array.includes('{')) return false
  for (let i = first + 1; i < array.length; i++) {
    const code = array.charCodeAt(i)
    if (code === OPEN_BRACKET || code === OPEN_BRACE) return true
    if (code === QUOTE) i = endOfString(array, i, array.length) - 1
  }
  return false
}

/** Throws for the first invalid place in an array or an object. Its nesting was counted before. */
function findFault(cursor: Cursor): void {
  if (!isContainerAt(cursor, cursor.at)) {
    skipValue(cursor, 0)
    return
  }
  const isArray = peek(cursor) === OPEN_BRACKET
  const close = isArray ? CLOSE_BRACKET : CLOSE_BRACE
  let more = enter(cursor, isArray ? OPEN_BRACKET : OPEN_BRACE, close, 'a value')
  while (more) {
    if (!isArray) readMemberKey(cursor)
    findFault(cursor)
    more = hasMore(cursor, close)
  }
}

/** Decodes a validated string token. */
export function decodeString(token: string): string {
  return token.includes('\\') ? String(JSON.parse(token)) : token.slice(1, -1)
}

/** Passes the key of a member and its colon. @returns the decoded key. */
export function readMemberKey(cursor: Cursor): string {
  const start = cursor.at
  readString(cursor)
  const key = decodeString(cursor.text.slice(start, cursor.at))
  passColon(cursor)
  return key
}

/** The failure of a cursor that reached its stop within a value. */
function cutOff(cursor: Cursor): StoreError {
  if (cursor.stop < cursor.text.length) {
    return invalidJson(cursor, `The row is longer than ${cursor.rowCharsMax} characters`)
  }
  cursor.at = cursor.stop
  return invalidJson(cursor, 'Unexpected end')
}

export function invalidJson(cursor: Cursor, problem: string, cause?: unknown): StoreError {
  const { at, row, offset } = cursor
  const phrase = `${problem} at character ${offset + at} of the input`
  // The place of the row, which `dataError` adds, says that row and character are counted from 0.
  return row === undefined
    ? dataError('REQUEST_VALIDATION_ERROR', `${phrase} (counted from 0)`, { cause })
    : dataError('REQUEST_VALIDATION_ERROR', `${phrase},`, { row, cause })
}
