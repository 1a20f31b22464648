// Reads rows from JSON text without building them: finds the bounds of each value and keeps its text. json-cursor.ts
// defines valid JSON.

import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  DIGIT_NINE,
  DIGIT_ZERO,
  LOWER_E,
  MINUS,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  UPPER_E,
} from '../base/ascii.js'
import { fromUtf8 } from '../base/bytes.js'
import { StoreError } from '../base/store-error.js'
import { ITEM_WORK, type Steps } from '../base/time-slices.js'
import { isSpace } from './json-byte-values.js'
import {
  type Cursor,
  checkScalarLength,
  decodeString,
  endOfString,
  enter,
  expectEnd,
  hasMore,
  invalidJson,
  judgeContainer,
  limitRow,
  openCursor,
  parseValue,
  passColon,
  readMemberKey,
  readString,
  skipSpace,
  skipValue,
  skipValueInSteps,
  unlimit,
} from './json-cursor.js'
import type { ScanLimits, ScannedRow } from './scanned-row.js'
import { reservedColumn } from './table-schema.js'

/** The maximum number of members of a request body's outer object. */
export const JSON_MEMBERS_MAX = 10_000

/** The maximum number of cached spellings of keys. Only keys spelled with ever different escapes exceed it. */
const KEY_SPELLINGS_MAX = 4096

/** A part of a JSON text, and the number of characters before it in the whole text. */
export type JsonPart = Readonly<{ text: string; offset: number }>

/** A member of an object: its key, and the text of its value. */
export type JsonMember = JsonPart & Readonly<{ key: string }>

/**
 * Decodes a JSON body. A byte order mark stays; readers of the text skip it.
 *
 * @throws {StoreError} `REQUEST_VALIDATION_ERROR` if the bytes are not valid UTF-8.
 */
export function decodeJsonText(bytes: Uint8Array): string {
  try {
    return fromUtf8(bytes)
  } catch (cause) {
    throw new StoreError('REQUEST_VALIDATION_ERROR', 'The text is not valid UTF-8', { cause })
  }
}

/**
 * Number of bytes decoded in one step, which takes some milliseconds. It is large, because rows are read twice as fast
 * from one text of the decoder, which is not on the heap, as from a concatenation of several.
 */
const DECODED_BYTES = 16 * 1024 * 1024

/** `decodeJsonText` in steps. */
export function* decodeJsonInSteps(bytes: Uint8Array): Steps<string> {
  const parts: string[] = []
  for (let at = 0; at < bytes.length; ) {
    let end = at + DECODED_BYTES
    // Continuation bytes have these bits. A step ends before a character that it would cut.
    while (((bytes[end] ?? 0) & 0xc0) === 0x80 && end > at + DECODED_BYTES - 4) end--
    parts.push(decodeJsonText(bytes.subarray(at, end)))
    yield Math.min(end, bytes.length) - at
    at = end
  }
  return parts.join('')
}

/**
 * The maximum number of characters of an array or an object that is parsed. The parsed value takes far more memory
 * than its text.
 */
export const JSON_PARSED_CHARS_MAX = 64 * 1024

/**
 * Parses a small JSON text (a column, a name) after checking its length and nesting.
 *
 * @param offset - Number of characters before the text in the whole input, here and below.
 * @throws {StoreError} `REQUEST_VALIDATION_ERROR` if the text is malformed, too long or nested too deeply.
 */
export function parseSmallJson(text: string, offset = 0): unknown {
  const cursor = openCursor(text, offset)
  skipSpace(cursor)
  const start = cursor.at
  const first = text.charCodeAt(start)
  const isContainer = first === OPEN_BRACKET || first === OPEN_BRACE
  if (isContainer && text.trimEnd().length - start > JSON_PARSED_CHARS_MAX) {
    const problem = `Array or object of more than ${JSON_PARSED_CHARS_MAX} characters begins`
    throw invalidJson(cursor, problem)
  }
  skipValue(cursor, 0)
  const value = parseValue(cursor, start)
  expectEnd(cursor)
  return value
}

/**
 * Reads the rows of a JSON array of objects, one at a time, so that the caller can yield in between. A failure voids
 * all rows returned before it.
 *
 * @param text - The decoded body, or a part of one from `offset` on.
 * @returns The IDs of all columns in order of first appearance, including those with only nulls.
 * @throws {StoreError} `REQUEST_VALIDATION_ERROR`, or `COLUMN_ID_RESERVED` for a key `$stashID`.
 */
export function* scanJsonRows(
  text: string,
  limits: ScanLimits,
  offset = 0,
): Generator<ScannedRow, readonly string[]> {
  const cursor = openCursor(text, offset)
  const columns = newColumnCache(limits)
  skipSpace(cursor)
  let more = enter(cursor, OPEN_BRACKET, CLOSE_BRACKET, 'an array of rows')
  for (let row = 0; more; row++) {
    cursor.row = row
    const start = cursor.at
    limitRow(cursor, limits.rowCharsMax)
    const cells = readCells(cursor, columns, 1)
    unlimit(cursor)
    more = hasMore(cursor, CLOSE_BRACKET)
    cells.work = cursor.at - start
    yield cells
  }
  cursor.row = undefined
  endRead(cursor, columns)
  return columns.ids
}

/**
 * Reads the changed cells of a row update: an object whose members are cells.
 *
 * @returns A map from column ID to token. Tokens are those of a `ScannedRow`, with null cells as `null`. `$rowID` is
 *   left out.
 * @throws {StoreError} The errors of `scanJsonRows`.
 */
export function scanJsonChanges(
  text: string,
  limits: ScanLimits,
): ReadonlyMap<string, string | null> {
  const cursor = openCursor(text)
  skipSpace(cursor)
  limitRow(cursor, limits.rowCharsMax)
  const columns = newColumnCache(limits)
  const { ids, tokens } = readCells(cursor, columns, 0)
  unlimit(cursor)
  endRead(cursor, columns)
  return new Map(ids.map((id, place) => [id, tokens[place] ?? null]))
}

/** Ends reading. Throws for malformed text at the end, and only then for a reserved column in the rows. */
function endRead(cursor: Cursor, { reserved }: ColumnCache): void {
  expectEnd(cursor)
  if (reserved !== undefined) throw reserved
}

/**
 * Splits a JSON object into its members, in order, with duplicates, in steps. Validates keys and scalar values, which
 * have at most `SCALAR_CHARS_MAX` characters. Arrays and objects are only skipped by counting brackets, since rows may
 * fill a body: the caller validates them with `scanJsonRows` or `parseJson`.
 *
 * @throws {StoreError} `REQUEST_VALIDATION_ERROR` if the text is malformed or over a limit.
 */
export function* splitJsonObject(text: string, offset = 0): Steps<JsonMember[]> {
  const cursor = openCursor(text, offset)
  const members: JsonMember[] = []
  skipSpace(cursor)
  let more = enter(cursor, OPEN_BRACE, CLOSE_BRACE, 'an object')
  while (more) {
    if (members.length === JSON_MEMBERS_MAX)
      throw invalidJson(cursor, `More than ${JSON_MEMBERS_MAX} members`)
    checkScalarLength(cursor)
    const key = readMemberKey(cursor)
    const valueStart = cursor.at
    checkScalarLength(cursor)
    yield* skipValueInSteps(cursor, 0)
    const value = text.slice(valueStart, cursor.at)
    members.push({ key, text: value, offset: cursor.offset + valueStart })
    yield ITEM_WORK + key.length
    more = hasMore(cursor, CLOSE_BRACE)
  }
  expectEnd(cursor)
  return members
}

/**
 * Splits a JSON array into its elements. Arrays and objects are only skipped, as in `splitJsonObject`. Stops after the
 * first element beyond `countMax`.
 *
 * @returns The elements: `countMax` + 1 of them if the array has more than `countMax`.
 * @throws {StoreError} `REQUEST_VALIDATION_ERROR` if the text is malformed.
 */
export function* splitJsonArray(text: string, countMax: number, offset = 0): Steps<JsonPart[]> {
  const cursor = openCursor(text, offset)
  const elements: JsonPart[] = []
  skipSpace(cursor)
  let more = enter(cursor, OPEN_BRACKET, CLOSE_BRACKET, 'an array')
  while (more) {
    const start = cursor.at
    checkScalarLength(cursor)
    yield* skipValueInSteps(cursor, 0)
    elements.push({ text: text.slice(start, cursor.at), offset: cursor.offset + start })
    if (elements.length > countMax) return elements
    more = hasMore(cursor, CLOSE_BRACKET)
  }
  expectEnd(cursor)
  return elements
}

/**
 * Removes white space from the arrays and objects in a valid JSON token, and the minus from numbers written as zero
 * (`-0`, `-0.0`, `-0e5`). Strings do not change.
 */
export function compactToken(token: string): string {
  const first = token.charCodeAt(0)
  if (first === MINUS) return isZeroAfter(token, 0) ? token.slice(1) : token
  if (first !== OPEN_BRACKET && first !== OPEN_BRACE) return token
  let codes: Uint16Array | undefined // Joining millions of texts would take far longer.
  let length = 0
  let from = 0
  for (let i = 0; i < token.length; i++) {
    const code = token.charCodeAt(i)
    if (code === QUOTE) {
      i = endOfString(token, i, token.length) - 1
    } else if (isSpace(code) || (code === MINUS && isZeroAfter(token, i))) {
      codes ??= new Uint16Array(token.length)
      while (from < i) codes[length++] = token.charCodeAt(from++)
      from = i + 1
    }
  }
  if (codes === undefined) return token
  while (from < token.length) codes[length++] = token.charCodeAt(from++)
  return textOfCodes(codes.subarray(0, length))
}

/** The maximum number of codes converted to text at once: they are arguments of one call. */
const CODES_AT_ONCE = 4_096

function textOfCodes(codes: Uint16Array): string {
  let text = ''
  for (let at = 0; at < codes.length; at += CODES_AT_ONCE) {
    text += Reflect.apply(String.fromCharCode, null, codes.subarray(at, at + CODES_AT_ONCE)) // Faster than spreading them.
  }
  return text
}

/** Whether the minus at `at` belongs to a number written as zero. */
function isZeroAfter(token: string, at: number): boolean {
  const before = token.charCodeAt(at - 1)
  if (before === LOWER_E || before === UPPER_E) return false // The minus belongs to an exponent.
  for (let i = at + 1; i < token.length; i++) {
    const code = token.charCodeAt(i)
    if (DIGIT_ZERO < code && code <= DIGIT_NINE) return false
    if (code === LOWER_E || code === UPPER_E || code === COMMA) return true
    if (isSpace(code) || code === CLOSE_BRACKET || code === CLOSE_BRACE) return true
  }
  return true
}

type Cells = {
  readonly ids: string[]
  readonly tokens: (string | null)[]
  rowId: string | undefined
  work: number
}

/** Reads one row. The last value of a duplicate key replaces the first, in its place. */
function readCells(cursor: Cursor, columns: ColumnCache, level: number): Cells {
  const { text } = cursor
  const cells: Cells = { ids: [], tokens: [], rowId: undefined, work: 0 }
  const row = cursor.row ?? 0
  let more = enter(cursor, OPEN_BRACE, CLOSE_BRACE, 'an object')
  for (let member = 0; more; member++) {
    const column = readMemberColumn(cursor, columns, member)
    passColon(cursor)
    const start = cursor.at
    const isContainer = skipValue(cursor, level + 1)
    if (isContainer) judgeContainer(cursor, start)
    const sent = text.slice(start, cursor.at)
    more = hasMore(cursor, CLOSE_BRACE)
    if (column === ROW_ID) {
      cells.rowId = sent.charCodeAt(0) === QUOTE ? decodeString(sent) : undefined
      continue
    }
    const token = sent === 'null' ? null : compactToken(sent)
    if (columns.lastRow[column] === row) {
      cells.tokens[columns.place[column] ?? 0] = token
    } else {
      columns.lastRow[column] = row
      columns.place[column] = cells.ids.length
      cells.ids.push(columns.ids[column] ?? '')
      cells.tokens.push(token)
    }
  }
  return cells
}

/** The columns seen so far, identified by their index in `ids`. */
type ColumnCache = {
  readonly columnsMax: number
  readonly ids: string[]
  /** Per column, the last row that contained it, and the place in that row. */
  readonly lastRow: number[]
  readonly place: number[]
  readonly columnOfId: Map<string, number>
  readonly columnOfToken: Map<string, number>
  /** The keys of the last row by place: most rows repeat these keys. */
  readonly expectedTokens: string[]
  readonly expectedColumns: number[]
  /** The error about a reserved column. */
  reserved: StoreError | undefined
}

/** Represents `$rowID`, which is never a column. */
const ROW_ID = -1

function newColumnCache({ columnsMax }: ScanLimits): ColumnCache {
  return {
    columnsMax,
    ids: [],
    lastRow: [],
    place: [],
    columnOfId: new Map([['$rowID', ROW_ID]]),
    columnOfToken: new Map(),
    expectedTokens: [],
    expectedColumns: [],
    reserved: undefined,
  }
}

/** Reads the key of a member and returns its column. */
function readMemberColumn(cursor: Cursor, columns: ColumnCache, member: number): number {
  const start = cursor.at
  const expected = columns.expectedTokens[member]
  if (
    expected !== undefined &&
    start + expected.length <= cursor.stop &&
    cursor.text.startsWith(expected, start)
  ) {
    cursor.at = start + expected.length
    return columns.expectedColumns[member] ?? ROW_ID
  }
  readString(cursor)
  const token = cursor.text.slice(start, cursor.at)
  const column = columns.columnOfToken.get(token) ?? addSpelling(cursor, columns, token)
  if (member <= columns.columnsMax) {
    columns.expectedTokens[member] = token
    columns.expectedColumns[member] = column
  }
  return column
}

function addSpelling(cursor: Cursor, columns: ColumnCache, token: string): number {
  const id = decodeString(token)
  if (id === '$stashID') {
    columns.reserved ??= reservedColumn(id, cursor.row === undefined ? {} : { row: cursor.row })
    return ROW_ID // The row will be discarded.
  }
  const column = columns.columnOfId.get(id) ?? columns.ids.length
  if (column === columns.ids.length) {
    if (column === columns.columnsMax) {
      throw invalidJson(cursor, `More than ${columns.columnsMax} columns`)
    }
    columns.ids.push(id)
    columns.columnOfId.set(id, column)
  }
  if (columns.columnOfToken.size < KEY_SPELLINGS_MAX) columns.columnOfToken.set(token, column)
  return column
}
