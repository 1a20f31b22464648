// The block of cells that a person has chosen, and its copies.
import type { Row } from '../base/api.js'
import { plainText } from '../base/json-text.js'
import type { Place } from './grid-keys.js'

/** The first and the last row, and the first and the last column, all of which belong to the block. */
export type Block = Readonly<{ top: number; bottom: number; left: number; right: number }>

/** The maximum number of rows of a block that are copied. */
export const COPIED_ROWS_MAX = 20_000

/** The block between two corners. */
export function blockOf(one: Place, other: Place): Block {
  return {
    top: Math.min(one.row, other.row),
    bottom: Math.max(one.row, other.row),
    left: Math.min(one.column, other.column),
    right: Math.max(one.column, other.column),
  }
}

export function isOneCell({ top, bottom, left, right }: Block): boolean {
  return top === bottom && left === right
}

/** Characters that a spreadsheet would treat as the end of a cell or row, or as a quote around it. */
const NEEDS_QUOTES = /[\t\r\n"]/

/**
 * Cells in the form that spreadsheets paste: tabs, line ends and quotes stay in their cells. A single cell is its text.
 */
export function textOfCells(rows: readonly Row[], columns: readonly string[]): string {
  const texts = rows.map((row) => columns.map((id) => plainText(row[id])))
  const [[only] = []] = texts
  if (rows.length === 1 && columns.length === 1) return only ?? ''
  const field = (text: string) =>
    NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text
  return texts.map((cells) => `${cells.map(field).join('\t')}\r\n`).join('')
}
