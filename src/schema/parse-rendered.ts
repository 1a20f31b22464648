// Values of JSON text that the store rendered itself.
import {
  type Cursor,
  enter,
  expectEnd,
  hasMore,
  judge,
  openCursor,
  readKey,
  skipValue,
} from './json-cursor.js'

/** A key with an escape: from its last escape on to the colon. */
const ESCAPED_KEY = /\\.[^"\\]*"\s*:/

const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/**
 * As `JSON.parse`, where keys are what they are: V8 of Node 24 (seen in 24.21) gives `{"\"":1}` the key `\` once it has met
 * an object with that key. Keys with escapes are rare, and only text that has one is read here.
 *
 * @param text - Valid JSON, nested no deeper than what a store takes in.
 */
export function parseRendered(text: string): unknown {
  if (!text.includes('\\') || !ESCAPED_KEY.test(text)) return JSON.parse(text)
  const cursor = openCursor(text)
  const value = readValue(cursor)
  expectEnd(cursor)
  return value
}

function readValue(cursor: Cursor): unknown {
  const code = cursor.text.charCodeAt(cursor.at)
  if (code === OPEN_BRACE) return readObject(cursor)
  if (code === OPEN_BRACKET) return readArray(cursor)
  const start = cursor.at
  skipValue(cursor, 0)
  return judge(cursor, start)
}

function readArray(cursor: Cursor): unknown[] {
  const elements: unknown[] = []
  let isNext = enter(cursor, OPEN_BRACKET, CLOSE_BRACKET, 'an array')
  while (isNext) {
    elements.push(readValue(cursor))
    isNext = hasMore(cursor, CLOSE_BRACKET)
  }
  return elements
}

function readObject(cursor: Cursor): object {
  const members: [string, unknown][] = []
  let isNext = enter(cursor, OPEN_BRACE, CLOSE_BRACE, 'an object')
  while (isNext) {
    const key = readKey(cursor)
    members.push([key, readValue(cursor)])
    isNext = hasMore(cursor, CLOSE_BRACE)
  }
  return Object.fromEntries(members) // Also `__proto__` becomes a member like any other.
}
