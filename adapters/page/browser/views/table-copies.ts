// Copies of a table: the visible rows, and a block of cells.
import type { Api, Row } from '../base/api.js'
import { copyToClipboard } from '../base/clipboard.js'
import { csvOfRows, curlOfRows, jsonOfRows } from '../base/copies.js'
import type { PageSession } from '../base/session.js'
import * as TEXT from '../base/texts.js'
import { type Block, COPIED_ROWS_MAX, textOfCells } from '../grid/cell-block.js'
import type { CopyFormat } from '../grid/menus.js'
import type { RowSource } from '../grid/row-sources.js'

export type Copied = Readonly<{
  api: Api
  tableId: string
  source: RowSource
  /** IDs of the shown columns. */
  columns: readonly string[]
  signal: AbortSignal
}>

/** The formats for a session. The key of `rowstash open` is only in this browser, so a shell has none for `curl`. */
export function copyFormats(session: PageSession): Readonly<Partial<Record<CopyFormat, string>>> {
  const { curl, ...others } = TEXT.copyFormats
  return session.mode === 'key' ? { ...others, curl } : others
}

/** Copies the rows from a position up to another. @returns the message for the person */
export async function copyRows(
  { api, tableId, source, columns }: Copied,
  format: CopyFormat,
  [from, to]: readonly [number, number],
): Promise<string> {
  if (format === 'curl') {
    const request = { ...(await source.requestFrom(from)), limit: Math.max(1, to - from) }
    return copyToClipboard(curlOfRows(api.url, tableId, request))
  }
  const rows: Row[] = []
  for (let position = from; position < to; position++) {
    const row = source.rowAt(position)
    if (row !== undefined) rows.push(row)
  }
  return copyToClipboard(format === 'json' ? jsonOfRows(rows) : csvOfRows(rows, columns))
}

/** Copies a block after reading its rows. @returns the message for the person */
export async function copyBlock(copied: Copied, block: Block): Promise<string> {
  const { api, tableId, source, columns, signal } = copied
  const { top, bottom, left, right } = block
  const count = bottom - top + 1
  if (count > COPIED_ROWS_MAX) return TEXT.blockTooLarge(COPIED_ROWS_MAX)
  const rows: Row[] = []
  let request = await source.requestFrom(top)
  while (rows.length < count) {
    const page = await api.rows(tableId, { ...request, limit: count - rows.length }, signal)
    rows.push(...page.rows)
    const { continuation } = page
    if (continuation === undefined) break
    request = { ...request, from: undefined, continuation }
  }
  return copyToClipboard(textOfCells(rows, columns.slice(left, right + 1)))
}
