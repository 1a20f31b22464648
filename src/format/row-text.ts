// A row's text: its JSON object without braces, as stored in segments and row records.
//
//     row_text := "" | cell *( "," cell )
//     cell     := key ":" token        // key as JSON.stringify writes the column ID
//
// Invariants:
// - There is no white space outside strings, and no duplicate column.
// - Tokens are the caller's, byte for byte. Only `convertRowText` changes tokens, and only in its result.
// - All texts read here were written by this package, so a text that does not follow the grammar is damaged data, not
//   bad input.
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from '../base/ascii.js'
import { StoreError } from '../base/store-error.js'
import type { Column, ColumnKind, ColumnType } from '../schema/column-kind.js'

/** The place of a cell in a row's text: `key:token` from `start` to `end` (exclusive). */
export type RowSpan = Readonly<{
  id: string
  start: number
  /** The beginning of the token, right after the key's colon. */
  valueStart: number
  end: number
}>

/** Renders the key of a cell, without the colon: `"name"`. */
export function renderKey(id: string): string {
  return JSON.stringify(id)
}

/** Renders a row's text from parallel lists of distinct column IDs and JSON tokens. */
export function renderRowText(ids: readonly string[], tokens: readonly string[]): string {
  return joinCells(ids.map(renderKey), tokens)
}

/** Renders a row's text from rendered keys and tokens. */
export function joinCells(keys: readonly string[], tokens: readonly string[]): string {
  let text = ''
  for (let i = 0; i < keys.length; i++) {
    text += `${i === 0 ? '' : ','}${keys[i] ?? ''}:${tokens[i] ?? ''}`
  }
  return text
}

/** Renders a whole row as in responses of the contract. Row IDs need no escapes. */
export function renderRowObject(rowId: string, text: string): string {
  return text === '' ? `{"$rowID":"${rowId}"}` : `{"$rowID":"${rowId}",${text}}`
}

/**
 * Finds the cells of a row's text, in order.
 *
 * @throws {StoreError} `DATA_CORRUPT` if the text does not follow the grammar above.
 */
export function readSpans(text: string): RowSpan[] {
  const spans: RowSpan[] = []
  for (let start = 0; start < text.length; ) {
    const keyEnd = endOfKey(text, start)
    const end = endOfCell(text, keyEnd)
    spans.push({ id: readCellKey(text, start, keyEnd), start, valueStart: keyEnd + 1, end })
    start = end + 1
  }
  return spans
}

/** A cell with different tokens in two rows. */
export type DifferentCell = Readonly<{ id: string; before: string; after: string }>

/**
 * The cells that differ between two rows; null: the rows have different columns, or another order.
 * @throws {StoreError} `DATA_CORRUPT` if a text does not follow the grammar above.
 */
export function differentCells(before: string, after: string): DifferentCell[] | null {
  const different: DifferentCell[] = []
  let start = 0
  let other = 0
  while (start < before.length && other < after.length) {
    const keyEnd = endOfKey(before, start)
    const otherKeyEnd = endOfKey(after, other)
    if (before.slice(start, keyEnd) !== after.slice(other, otherKeyEnd)) return null
    const end = endOfCell(before, keyEnd)
    const otherEnd = endOfCell(after, otherKeyEnd)
    const token = before.slice(keyEnd + 1, end)
    const otherToken = after.slice(otherKeyEnd + 1, otherEnd)
    if (token !== otherToken) {
      different.push({ id: readCellKey(before, start, keyEnd), before: token, after: otherToken })
    }
    start = end + 1
    other = otherEnd + 1
  }
  return start < before.length || other < after.length ? null : different
}

/** The end of the key of the cell that starts at `start`: its colon. */
function endOfKey(text: string, start: number): number {
  const end = endOfStringToken(text, start)
  if (text.charCodeAt(end) !== COLON) throw damagedRowText(end)
  return end
}

/** The end of a cell, given the end of its key: the next comma, or the end of the text. */
function endOfCell(text: string, keyEnd: number): number {
  const end = endOfToken(text, keyEnd + 1)
  if (end < text.length && text.charCodeAt(end) !== COMMA) throw damagedRowText(end)
  if (end === text.length - 1) throw damagedRowText(end)
  return end
}

/**
 * Applies changes to a row's text. A changed cell keeps its place, null removes the cell, new cells follow in the order
 * of the map. Other cells stay, byte for byte.
 *
 * @param changes - Column ID to JSON token, without white space outside strings.
 */
export function spliceRowText(text: string, changes: ReadonlyMap<string, string | null>): string {
  // The changes by rendered key, so that the keys of unchanged cells need not be decoded.
  const left = new Map<string, string | null>()
  const lengths = new Set<number>()
  for (const [id, token] of changes) {
    const key = renderKey(id)
    left.set(key, token)
    lengths.add(key.length)
  }
  const cells: string[] = []
  let kept = 0 // The beginning of the unchanged cells that were not copied yet.
  for (let start = 0; start < text.length && left.size > 0; ) {
    const keyEnd = endOfKey(text, start)
    const end = endOfCell(text, keyEnd)
    const key = lengths.has(keyEnd - start) ? text.slice(start, keyEnd) : ''
    const token = left.get(key)
    if (token !== undefined) {
      if (kept < start) cells.push(text.slice(kept, start - 1))
      if (token !== null) cells.push(`${key}:${token}`)
      left.delete(key)
      kept = end + 1
    }
    start = end + 1
  }
  if (kept < text.length) cells.push(text.slice(kept))
  for (const [key, token] of left) if (token !== null) cells.push(`${key}:${token}`)
  return cells.join(',')
}

/**
 * Converts the cells of a row from their stored form to the current type of their columns: in a column of a text
 * kind, a stored value that is no string becomes a string of its JSON text. So does each such element of an array. (A
 * duration may be a number, so its cells stay.) Columns not in `columns` stay. Returns the same string if nothing
 * changes.
 */
export function convertRowText(text: string, columns: ReadonlyMap<string, Column>): string {
  let converted = ''
  let from = 0
  for (const { id, valueStart, end } of readSpans(text)) {
    const type = columns.get(id)?.type
    if (type === undefined) continue
    const token = text.slice(valueStart, end)
    const shown = convertToken(token, type)
    if (shown === token) continue
    converted += text.slice(from, valueStart) + shown
    from = end
  }
  return from === 0 ? text : converted + text.slice(from)
}

/** Converts one cell from its stored form to the current type of its column: see `convertRowText`. */
export function convertToken(token: string, type: ColumnType): string {
  return type.kind === 'array' ? showArray(token, type.items.kind) : shownToken(token, type.kind)
}

/** Kinds whose cells are always JSON strings. */
const STRINGS_ONLY = Object.freeze({
  string: true,
  markdown: true,
  uri: true,
  imageURI: true,
  audioURI: true,
  emailAddress: true,
  phoneNumber: true,
  emoji: true,
  date: true,
  time: true,
  dateTime: true,
  duration: false,
  number: false,
  boolean: false,
} as const satisfies Record<ColumnKind, boolean>)

function shownToken(token: string, kind: ColumnKind): string {
  if (!STRINGS_ONLY[kind] || token.charCodeAt(0) === QUOTE) return token
  return JSON.stringify(token)
}

function showArray(token: string, kind: ColumnKind): string {
  if (!STRINGS_ONLY[kind] || token.charCodeAt(0) !== OPEN_BRACKET || token === '[]') return token
  return `[${elementTokens(token)
    .map((element) => shownToken(element, kind))
    .join(',')}]`
}

/** The tokens of an array's elements. */
function elementTokens(token: string): string[] {
  const elements: string[] = []
  if (token === '[]') return elements
  for (let start = 1; start < token.length; ) {
    const end = endOfToken(token, start)
    elements.push(token.slice(start, end))
    start = end + 1
  }
  return elements
}

function readCellKey(text: string, start: number, end: number): string {
  const inner = text.slice(start + 1, end - 1)
  if (!inner.includes('\\')) return inner
  try {
    return String(JSON.parse(text.slice(start, end)))
  } catch (cause) {
    throw damagedRowText(start, cause)
  }
}

/** The end of the string that starts at `at`, after its closing quote. */
function endOfStringToken(text: string, at: number): number {
  if (text.charCodeAt(at) !== QUOTE) throw damagedRowText(at)
  for (let i = at + 1; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) return i + 1
    if (code === BACKSLASH) i++
  }
  throw damagedRowText(at)
}

/** The end of the token that starts at `at`. */
export function endOfToken(text: string, at: number): number {
  const first = text.charCodeAt(at)
  if (first === QUOTE) return endOfStringToken(text, at)
  const end =
    first === OPEN_BRACKET || first === OPEN_BRACE
      ? endOfContainer(text, at)
      : endOfScalarToken(text, at)
  if (end === at) throw damagedRowText(at)
  return end
}

function endOfContainer(text: string, at: number): number {
  let level = 0
  for (let i = at; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) i = endOfStringToken(text, i) - 1
    else if (code === OPEN_BRACKET || code === OPEN_BRACE) level++
    else if ((code === CLOSE_BRACKET || code === CLOSE_BRACE) && --level === 0) return i + 1
  }
  throw damagedRowText(at)
}

function endOfScalarToken(text: string, at: number): number {
  let end = at
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end)
    if (code === COMMA || code === CLOSE_BRACKET || code === CLOSE_BRACE) break
  }
  return end
}

function damagedRowText(at: number, cause?: unknown): StoreError {
  return new StoreError('DATA_CORRUPT', `The text of a row is damaged at character ${at}`, {
    cause,
  })
}
