// Feeds rows to the columns of a chunk in place, where a byte scanner found them, without making texts of rows.
//
// Invariant: the summaries equal those that exact-rows would make of the same rows.

import { utf16Length } from '../../base/bytes.js'
import { invariant } from '../../base/invariant.js'
import { NO_ROW } from '../../format/chunk-records.js'
import type { ColumnSummary } from '../../schema/column-summary.js'
import { FORM } from '../../schema/json-byte-values.js'
import { type CsvByteScanner, MARK } from '../../schema/scan-csv-bytes.js'
import { CELL, type JsonByteScanner } from '../../schema/scan-json-bytes.js'
import { summarizeBytes } from '../../schema/summarize-bytes.js'
import { CELL_OUTCOME, type FieldSummarizer } from '../../schema/summarize-field-bytes.js'
import { RULED_TEXT_KINDS } from '../../schema/value-rules.js'
import type { Column, ColumnsOfChunk } from './columns-of-chunk.js'
import { noteText, TEXT_CELL_CHARS, UTF8_BYTES_MAX } from './exact-rows.js'

/**
 * Adds the scanner's current row of JSON.
 * @returns false: the row is too large; the exact path reports that
 */
export function addScannedJson(
  columns: ColumnsOfChunk,
  row: JsonByteScanner,
  textOf: (from: number, to: number) => string,
): boolean {
  const chars = row.rowEnd - row.rowStart
  if (chars > columns.limits.rowBytesMax) return false
  if (row.rowIdTo > 0) columns.noteClaim(textOf(row.rowIdFrom, row.rowIdTo))
  if (!(row.isAlike && columns.isSettled)) judgeCells(columns, row, textOf)
  columns.endRow(chars, chars, row.cellCount)
  return true
}

/**
 * Adds the scanner's current row of CSV or TSV. Its cells stay with the scanner.
 * @returns false: the row may be too large; then the exact path reports that
 */
export function addScannedText(
  columns: ColumnsOfChunk,
  row: CsvByteScanner,
  summarizer: FieldSummarizer,
): boolean {
  let chars = -row.quoteCount
  columns.longValues.beginRow()
  for (let cell = row.firstCell; cell < row.cellCount; cell++) {
    const column = columns.scanned[row.columnOf[cell] ?? 0]
    invariant(column !== undefined, 'a scanned column is one of the header')
    const from = row.from[cell] ?? 0
    const to = row.to[cell] ?? 0
    const mark = row.mark[cell] ?? 0
    const outcome = summarizer.summarize(column.summary, from, to, mark)
    if (outcome === CELL_OUTCOME.unsure) noteText(columns, column, row.textOf(cell))
    else if (outcome === CELL_OUTCOME.text) column.exact = false
    chars += column.key.length + TEXT_CELL_CHARS
    chars += mark & MARK.wide ? utf16Length(row.bytes, from, to) : to - from
  }
  if (UTF8_BYTES_MAX * chars > columns.limits.rowBytesMax) return false
  columns.noteLine(row.line)
  if (row.rowId !== undefined) columns.noteClaim(row.rowId)
  columns.beginText()
  columns.endRow(chars, row.rowBytes, row.cellCount - row.firstCell)
  return true
}

function judgeCells(
  columns: ColumnsOfChunk,
  row: JsonByteScanner,
  textOf: (from: number, to: number) => string,
): void {
  const { cells } = row
  const end = CELL.size * row.cellCount
  let isSettled = true
  columns.longValues.beginRow()
  for (let place = 0; place < end; place += CELL.size) {
    const what = cells[place + CELL.what] ?? 0
    const number = what >> 16
    const column = columns.scanned[number] ?? addScannedColumn(columns, number, row)
    const bit = kindKnownBit(what)
    if ((what & 0xff) === FORM.null || (column.knownKinds & bit) !== 0) continue
    const from = cells[place + CELL.from] ?? 0
    const to = cells[place + CELL.to] ?? 0
    if (!columns.longValues.mayJudge(to - from)) {
      columns.longValues.add(column.summary, textOf(from, to)) // Judging accepts white space in an array.
      isSettled = false
    } else if (summarizeCell(column.summary, row, number, from, to, what, textOf)) {
      column.knownKinds |= bit
    } else isSettled = false
  }
  columns.isSettled = isSettled
}

function addScannedColumn(columns: ColumnsOfChunk, number: number, row: JsonByteScanner): Column {
  const column = columns.column(row.columnId(number))
  if (column.firstRow === NO_ROW) column.firstRow = columns.rowCount
  columns.scanned[number] = column
  return column
}

/** The bit of `knownKinds` for a cell's form. Arrays have one bit for each mix of the kinds of their elements. */
function kindKnownBit(what: number): number {
  const form = what & 0xff
  return 1 << (form === FORM.array ? FIRST_ARRAY_BIT + ((what >> 8) & 0xff) : form)
}

/** The first bit for arrays. ELEMENT has four flags, so there are 16 mixes, with a bit each. */
const FIRST_ARRAY_BIT = 16

/**
 * Judges a cell of a byte scanner, and sets the kinds to look for in the next texts of the column.
 * @returns as `summarizeBytes`
 */
function summarizeCell(
  summary: ColumnSummary,
  { ruledOf }: JsonByteScanner,
  number: number,
  from: number,
  to: number,
  what: number,
  textOf: (from: number, to: number) => string,
): boolean {
  const ruled = summary.scalarMask & RULED_TEXT_KINDS
  let form = what & 0xff
  // The scanner looked only for the kinds that were left earlier. In a new segment all are left: check for all.
  if (form === FORM.ruledText && (ruled & ~(ruledOf[number] ?? 0)) !== 0) form = FORM.text
  const isSettled = summarizeBytes(summary, from, to, form, (what >> 8) & 0xff, textOf)
  ruledOf[number] = summary.scalarMask & RULED_TEXT_KINDS
  return isSettled
}
