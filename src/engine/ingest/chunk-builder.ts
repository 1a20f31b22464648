// Turns scanned rows into row texts and column summaries, a segment's worth at a time.
//
// Invariants:
// - A column is listed in order of first appearance, also when all its cells are empty.
// - Empty cells are in no row text and no summary.
// - From CSV and TSV, a column of a segment is stored as number tokens or booleans only if every
//   non-empty cell is one to the letter; else as strings. So quoting a token gives the text that was sent.
import { utf8 } from '../../base/bytes.js'
import { dataError } from '../../base/data-error.js'
import { invariant } from '../../base/invariant.js'
import type { ErrorPlace, StoreError } from '../../base/store-error.js'
import { runAtOnce } from '../../base/time-slices.js'
import { type ChunkColumn, NO_ROW } from '../../format/chunk-records.js'
import { addClaim, type ClaimRun } from '../../format/claims.js'
import { parseRowId } from '../../format/row-id.js'
import { renderKey } from '../../format/row-text.js'
import { type ColumnSummary, mergeSummary, SEEN } from '../../schema/column-summary.js'
import { FORM } from '../../schema/json-byte-values.js'
import { type CsvByteScanner, MARK, utf16Length } from '../../schema/scan-csv-bytes.js'
import { compactToken } from '../../schema/scan-json.js'
import { CELL, type JsonByteScanner } from '../../schema/scan-json-bytes.js'
import type { ScannedRow } from '../../schema/scanned-row.js'
import { newSummary } from '../../schema/summarize.js'
import { CELL_OUTCOME, type FieldSummarizer } from '../../schema/summarize-field-bytes.js'
import { COLUMN_ID_CHARS_MAX } from '../../schema/table-schema.js'
import { isNumberToken } from '../../schema/value-rules.js'
import { LongValues } from './long-values.js'
import { kindKnownBit, summarizeCell } from './summarize-cell.js'

/** Rows of one segment, not yet stored, with what is known of their columns. */
export type RowBatch = Readonly<{
  texts: readonly string[]
  columns: readonly ColumnSummary[]
  /** `$rowID`s that the rows carried; row numbers count from the batch's first. */
  claims: readonly ClaimRun[]
}>

export type BuilderLimits = Readonly<{
  columnsMax: number
  rowBytesMax: number
  segmentRowsMax: number
  segmentBytesMax: number
}>

type Column = {
  readonly id: string
  readonly key: string
  readonly index: number
  firstRow: number
  /** Over the whole chunk. */
  readonly merged: ColumnSummary
  /** Of the segment that is being built. */
  summary: ColumnSummary
  /** Of what more values would tell the summary nothing new, see `settledBit`. */
  knownKinds: number
  /** From text: every cell so far is a number or boolean token that reads back as it is. */
  exact: boolean
}

type TextCells = Readonly<{ columns: readonly Column[]; texts: readonly (string | null)[] }>

/** A cell costs as much as so many characters. */
const CELL_WORK = 16

/** What a cell of text has besides its key and its content: a comma, a colon and two quotes. */
const TEXT_CELL_CHARS = 4

/** Bytes of UTF-8 to a UTF-16 unit. */
const UTF8_BYTES_MAX = 3

export class ChunkBuilder {
  readonly #limits: BuilderLimits
  readonly #fromText: boolean
  readonly #columns = new Map<string, Column>()
  /** The columns of a byte scanner, by its numbers; those of a header are all there. */
  readonly #scanned: Column[] = []
  #texts: string[] = []
  #cells: TextCells[] = []
  #rows = 0
  #chars = 0
  #work = 0
  /** The row that was added last was a scanner's, and more rows alike would tell the summaries nothing new. */
  #isSettled = false
  #claims: ClaimRun[] = []
  #hasClaims = false
  #rowCount = 0
  #line: { first: number; regular: boolean } = { first: 0, regular: true }
  /** Values that are not outcome yet: the caller does that in steps, else `take` does. */
  readonly longValues = new LongValues()

  /** @param header - Columns known before any row, in order; only of CSV and TSV. */
  constructor(limits: BuilderLimits, header: readonly string[] | null) {
    this.#limits = limits
    this.#fromText = header !== null
    for (const id of header ?? []) this.#scanned.push(this.#column(id))
  }

  get rowCount(): number {
    return this.#rowCount
  }

  /** Rows and UTF-16 units since the last segment was taken. */
  get pending(): { rows: number; chars: number } {
    return { rows: this.#rows, chars: this.#chars }
  }

  /** How much was done so far, in characters; empty cells cost some too. */
  get work(): number {
    return this.#work
  }

  get isFull(): boolean {
    const { rows, chars } = this.pending
    return rows >= this.#limits.segmentRowsMax || chars >= this.#limits.segmentBytesMax
  }

  /** @throws {StoreError} REQUEST_VALIDATION_ERROR if the row or the number of columns is too large. */
  add(row: ScannedRow): void {
    this.#isSettled = false
    this.longValues.beginRow()
    this.#noteLine(row.line)
    const id = row.rowId === undefined ? null : parseRowId(row.rowId)
    if (id !== null) addClaim(this.#claims, this.pending.rows, id)
    const chars = this.#fromText ? this.#addTextRow(row) : this.#addTokenRow(row)
    if (chars > this.#limits.rowBytesMax || this.#isTooLong(chars)) {
      const place = { row: this.#rowCount, ...(row.line !== undefined && { line: row.line }) }
      throw invalidRows(`The row is longer than ${this.#limits.rowBytesMax} bytes`, place)
    }
    this.#chars += chars
    this.#work += chars + CELL_WORK * row.ids.length
    this.#rows++
    this.#rowCount++
  }

  /**
   * Adds the row that a byte scanner stands at; its text is not held here.
   * @returns false: it is too large, which the exact path tells.
   */
  addScanned(row: JsonByteScanner, textOf: (from: number, to: number) => string): boolean {
    const chars = row.rowEnd - row.rowStart
    if (chars > this.#limits.rowBytesMax) return false
    if (row.rowIdTo > 0) {
      const id = parseRowId(textOf(row.rowIdFrom, row.rowIdTo))
      if (id !== null) addClaim(this.#claims, this.#rows, id)
    }
    if (!(row.isAlike && this.#isSettled)) this.#judgeCells(row, textOf)
    this.#chars += chars
    this.#work += chars + CELL_WORK * row.cellCount
    this.#rows++
    this.#rowCount++
    return true
  }

  /**
   * Adds the row of CSV or TSV that a byte scanner stands at; its cells stay with the scanner.
   * @returns false: it may be too large, which the exact path tells.
   */
  addScannedText(row: CsvByteScanner, summarizer: FieldSummarizer): boolean {
    let chars = -row.quoteCount
    this.longValues.beginRow()
    for (let cell = row.firstCell; cell < row.cellCount; cell++) {
      const column = this.#scanned[row.columnOf[cell] ?? 0]
      invariant(column !== undefined, 'a scanned column is one of the header')
      const from = row.from[cell] ?? 0
      const to = row.to[cell] ?? 0
      const mark = row.mark[cell] ?? 0
      const outcome = summarizer.summarize(column.summary, from, to, mark)
      if (outcome === CELL_OUTCOME.unsure) this.#noteText(column, row.textOf(cell))
      else if (outcome === CELL_OUTCOME.text) column.exact = false
      chars += column.key.length + TEXT_CELL_CHARS
      chars += mark & MARK.wide ? utf16Length(row.bytes, from, to) : to - from
    }
    if (UTF8_BYTES_MAX * chars > this.#limits.rowBytesMax) return false
    this.#noteLine(row.line)
    const { rowId } = row
    const id = rowId === undefined ? null : parseRowId(rowId)
    if (id !== null) addClaim(this.#claims, this.#rows, id)
    if (this.#rowCount === 0) for (const column of this.#scanned) column.firstRow = 0
    this.#chars += chars
    this.#work += row.rowBytes + CELL_WORK * (row.cellCount - row.firstCell)
    this.#rows++
    this.#rowCount++
    return true
  }

  #judgeCells(row: JsonByteScanner, textOf: (from: number, to: number) => string): void {
    const { cells } = row
    const end = CELL.size * row.cellCount
    let isSettled = true
    this.longValues.beginRow()
    for (let place = 0; place < end; place += CELL.size) {
      const what = cells[place + CELL.what] ?? 0
      const number = what >> 16
      const column = this.#scanned[number] ?? this.#addScannedColumn(number, row)
      const bit = kindKnownBit(what)
      if ((what & 0xff) === FORM.null || (column.knownKinds & bit) !== 0) continue
      const from = cells[place + CELL.from] ?? 0
      const to = cells[place + CELL.to] ?? 0
      if (!this.longValues.mayJudge(to - from)) {
        this.longValues.add(column.summary, compactToken(textOf(from, to)))
        isSettled = false
      } else if (summarizeCell(column.summary, row, number, from, to, what, textOf)) {
        column.knownKinds |= bit
      } else isSettled = false
    }
    this.#isSettled = isSettled
  }

  #addScannedColumn(number: number, row: JsonByteScanner): Column {
    const column = this.#column(row.columnId(number))
    if (column.firstRow === NO_ROW) column.firstRow = this.#rowCount
    this.#scanned[number] = column
    return column
  }

  /**
   * The texts of rows that are ready, in order, each given once. Rows of CSV and TSV are ready only when
   * their segment ends, as all of its cells decide in which form they are stored.
   */
  drain(): readonly string[] {
    const texts = this.#texts
    this.#texts = []
    return texts
  }

  /** Ends the segment being built and begins the next; gives the rows that were not drained. */
  take(): RowBatch {
    runAtOnce(this.longValues.judgeInSteps())
    const all = [...this.#columns.values()]
    if (this.#fromText) all.forEach(noteStoredForm) // The form decides how the cells are rendered.
    const texts = this.#fromText ? this.#cells.map(renderTextCells) : this.#texts
    const columns = all.map(({ summary }) => summary)
    for (const column of all) {
      mergeSummary(column.merged, column.summary)
      column.summary = newSummary(column.id)
      column.knownKinds = 0
      column.exact = true
    }
    this.#isSettled = false
    this.#texts = []
    this.#cells = []
    this.#rows = 0
    this.#chars = 0
    const claims = this.#claims
    this.#claims = []
    if (claims.length > 0) this.#hasClaims = true
    return { texts, columns, claims }
  }

  /** What is known of the columns of all segments that were taken. */
  get columns(): ChunkColumn[] {
    return [...this.#columns.values()].map(({ merged, firstRow }) => ({
      summary: merged,
      firstRow,
    }))
  }

  /** Whether a row of a segment that was taken carried a `$rowID`. */
  get hasClaims(): boolean {
    return this.#hasClaims
  }

  /** See StoredChunk.firstLine. */
  get firstLine(): number {
    return this.#line.regular ? this.#line.first : 0
  }

  /** Text that may be longer in bytes than in UTF-16 units is counted. */
  #isTooLong(chars: number): boolean {
    if (UTF8_BYTES_MAX * chars <= this.#limits.rowBytesMax) return false
    const row = this.#fromText ? this.#cells.at(-1) : undefined
    const text = row === undefined ? (this.#texts.at(-1) ?? '') : renderTextCells(row)
    return utf8(text).length > this.#limits.rowBytesMax
  }

  #addTokenRow({ ids, tokens }: ScannedRow): number {
    let text = ''
    for (let i = 0; i < ids.length; i++) {
      const column = this.#column(ids[i] ?? '')
      const token = tokens[i] ?? null
      if (column.firstRow === NO_ROW) column.firstRow = this.#rowCount
      if (token === null) continue
      this.longValues.judgeToken(column.summary, token)
      text += text === '' ? `${column.key}:${token}` : `,${column.key}:${token}`
    }
    this.#texts.push(text)
    return text.length
  }

  #addTextRow({ ids, tokens }: ScannedRow): number {
    const columns = ids.map((id) => this.#column(id))
    let chars = 0
    columns.forEach((column, i) => {
      const text = tokens[i] ?? ''
      this.#noteText(column, text)
      chars += column.key.length + text.length + TEXT_CELL_CHARS
    })
    if (this.#rowCount === 0) for (const column of this.#columns.values()) column.firstRow = 0
    this.#cells.push({ columns, texts: tokens })
    return chars
  }

  #noteText(column: Column, text: string): void {
    this.longValues.judgeField(column.summary, text)
    column.exact &&= isExactToken(text)
  }

  #column(id: string): Column {
    const known = this.#columns.get(id)
    if (known !== undefined) return known
    const place = this.#fromText ? HEADER : { row: this.#rowCount }
    if (id.length > COLUMN_ID_CHARS_MAX) {
      throw invalidRows(`A column ID of more than ${COLUMN_ID_CHARS_MAX} characters`, place)
    }
    const { columnsMax } = this.#limits
    if (this.#columns.size >= columnsMax) {
      throw invalidRows(`More than ${columnsMax} columns with '${id}'`, { ...place, column: id })
    }
    const column = {
      id,
      key: renderKey(id),
      index: this.#columns.size,
      firstRow: NO_ROW,
      merged: newSummary(id),
      summary: newSummary(id),
      knownKinds: 0,
      exact: true,
    }
    this.#columns.set(id, column)
    return column
  }

  #noteLine(line: number | undefined): void {
    if (line === undefined) return
    if (this.#rowCount === 0) this.#line = { first: line, regular: true }
    else if (line !== this.#line.first + this.#rowCount) this.#line.regular = false
  }
}

/** Where the columns of CSV and TSV are named. */
const HEADER: ErrorPlace = { line: 1 }

function invalidRows(problem: string, place: ErrorPlace): StoreError {
  return dataError('REQUEST_VALIDATION_ERROR', problem, place)
}

/** Whether CSV text may be stored as a token: what is refused here would not read back as it was sent. */
function isExactToken(text: string): boolean {
  if (text === 'true' || text === 'false') return true
  return isNumberToken(text) && !(text.startsWith('-') && Number(text) === 0)
}

const VALUE_FLAGS = SEEN.number | SEEN.boolean | SEEN.text

function noteStoredForm(column: Column): void {
  const seen = column.summary.seen & VALUE_FLAGS
  if (seen === 0) return
  if (seen === SEEN.number && column.exact) column.summary.seen |= SEEN.storedNumbers
  else if (seen === SEEN.boolean && column.exact) column.summary.seen |= SEEN.storedBooleans
  else column.summary.seen |= SEEN.storedText
}

const STORED_AS_TOKEN = SEEN.storedNumbers | SEEN.storedBooleans

function renderTextCells({ columns, texts }: TextCells): string {
  let row = ''
  columns.forEach((column, i) => {
    const text = texts[i] ?? ''
    const token = column.summary.seen & STORED_AS_TOKEN ? text : JSON.stringify(text)
    row += row === '' ? `${column.key}:${token}` : `,${column.key}:${token}`
  })
  return row
}
