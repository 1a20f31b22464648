// All rows of a table as text, a page at a time. Tokens are passed on as the server sent them, so numbers keep digits
// that JSON.parse would drop.
import { CLOSE_BRACE, CLOSE_BRACKET, OPEN_BRACE, OPEN_BRACKET } from '../base/ascii.js'
import type { RowsWriter } from '../format/rows-writer.js'
import {
  type Cursor,
  decodeString,
  enter,
  hasMore,
  openCursor,
  readMemberKey,
  skipSpace,
  skipValue,
} from '../schema/json-cursor.js'

/** Rows per request. */
const PAGE_ROWS = 1_000

/** Nesting depth of the rows of a page. */
const ROW_LEVEL = 2

/** The row ID, which servers of the contract send as the first member of a row. */
const ROW_ID = /^\{\s*"\$rowID"\s*:\s*"[^"]*"\s*,?\s*/

/** The text before the first member of a row. */
const BRACE = /^\{\s*/

type ReadPage = (bounds: Readonly<{ limit: number; continuation?: string }>) => Promise<PageTexts>

export async function* exportRows(
  readPage: ReadPage,
  { start, line }: RowsWriter,
  hasRowIds: boolean,
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<string, void> {
  if (start !== '') yield start
  let next: string | undefined
  for (let left = limit; left > 0; ) {
    const bounds = {
      limit: Math.min(PAGE_ROWS, left),
      ...(next !== undefined && { continuation: next }),
    }
    const { rows, continuation } = await readPage(bounds)
    if (rows.length > 0)
      yield rows
        .map((row) => line(row.replace(hasRowIds ? BRACE : ROW_ID, '').slice(0, -1)))
        .join('')
    if (continuation === undefined) return
    left -= rows.length
    next = continuation
  }
}

/** The texts of a page's rows, as sent by the server. */
export type PageTexts = Readonly<{ rows: readonly string[]; continuation: string | undefined }>

/**
 * @throws if the text is not a page
 */
export function rowsOf(page: string): PageTexts {
  const cursor = openCursor(page)
  let rows: readonly string[] | undefined
  let continuation: string | undefined
  skipSpace(cursor)
  let isOpen = enter(cursor, OPEN_BRACE, CLOSE_BRACE, 'an object')
  while (isOpen) {
    const key = readMemberKey(cursor)
    if (key === 'data') {
      rows = readRowTexts(cursor)
    } else {
      const start = cursor.at
      skipValue(cursor, 1)
      if (key === 'continuation') continuation = decodeString(page.slice(start, cursor.at))
    }
    isOpen = hasMore(cursor, CLOSE_BRACE)
  }
  if (rows === undefined) throw new Error('The page has no member "data"')
  return { rows, continuation }
}

function readRowTexts(cursor: Cursor): readonly string[] {
  const rows: string[] = []
  let isOpen = enter(cursor, OPEN_BRACKET, CLOSE_BRACKET, 'an array of rows')
  while (isOpen) {
    const start = cursor.at
    skipValue(cursor, ROW_LEVEL)
    rows.push(cursor.text.slice(start, cursor.at))
    isOpen = hasMore(cursor, CLOSE_BRACKET)
  }
  return rows
}
