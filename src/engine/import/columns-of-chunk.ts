// The columns of a chunk with the summaries of their values, and the counts of its rows. exact-rows feeds rows as
// tokens; scanned-rows feeds rows in place, where a byte scanner found them.
//
// Invariants:
// - Columns are listed in order of first appearance, even if all their cells are empty.
// - Empty cells are in no summary.
import { dataError } from '../../base/data-error.js'
import type { ErrorPlace, StoreError } from '../../base/store-error.js'
import { ITEM_WORK, runAtOnce } from '../../base/time-slices.js'
import { type ChunkColumn, NO_ROW } from '../../format/chunk-records.js'
import { addClaim, type ClaimRun } from '../../format/claims.js'
import { parseRowId } from '../../format/row-id.js'
import { renderKey } from '../../format/row-text.js'
import { type ColumnSummary, mergeSummary } from '../../schema/column-summary.js'
import { newSummary } from '../../schema/summarize.js'
import { COLUMN_ID_CHARS_MAX } from '../../schema/table-schema.js'
import { LongValues } from './long-values.js'

export type BuilderLimits = Readonly<{
  columnsMax: number
  rowBytesMax: number
  segmentRowsMax: number
  segmentBytesMax: number
}>

export type Column = {
  readonly id: string
  readonly key: string
  readonly index: number
  firstRow: number
  /** The summary over the whole chunk. */
  readonly merged: ColumnSummary
  /** The summary in the current segment. */
  summary: ColumnSummary
  /** Forms of cells that would not change the summary any more, one bit each: see `kindKnownBit` in scanned-rows. */
  knownKinds: number
  /** For CSV and TSV: whether every cell so far is a number or boolean token that can be written back unchanged. */
  exact: boolean
}

/** The work of a row, for time slices. @param chars - Characters or bytes that were read or written for it. */
export function workOfRow(chars: number, cellCount = 0): number {
  return chars + ITEM_WORK * (1 + cellCount)
}

export class ColumnsOfChunk {
  readonly limits: BuilderLimits
  /** Whether the rows are CSV or TSV: the header names the columns, and cells are text. */
  readonly isText: boolean
  /** The columns by a byte scanner's numbers. If there is a header, all its columns are entered from the beginning. */
  readonly scanned: Column[] = []
  /** Values to be judged later: by the caller in steps, otherwise by `endSegment`. */
  readonly longValues = new LongValues()
  /** Rows and UTF-16 units of the current segment. */
  rows = 0
  chars = 0
  rowCount = 0
  /** The work done so far, in characters. Empty rows and cells count too. */
  work = 0
  /** Whether the last row came from a scanner and similar rows would add nothing to the summaries. */
  isSettled = false
  readonly #columns = new Map<string, Column>()
  #claims: ClaimRun[] = []
  #hasClaims = false
  #line: { first: number; regular: boolean } = { first: 0, regular: true }

  /** @param header - Columns known before any row, in order; only for CSV and TSV. */
  constructor(limits: BuilderLimits, header: readonly string[] | null) {
    this.limits = limits
    this.isText = header !== null
    for (const id of header ?? []) this.scanned.push(this.column(id))
  }

  /** The column with an ID; a new column is entered. @throws {StoreError} REQUEST_VALIDATION_ERROR */
  column(id: string): Column {
    const known = this.#columns.get(id)
    if (known !== undefined) return known
    const place = this.isText ? HEADER : { row: this.rowCount }
    if (id.length > COLUMN_ID_CHARS_MAX) {
      throw invalidRows(`A column ID has more than ${COLUMN_ID_CHARS_MAX} characters`, place)
    }
    const { columnsMax } = this.limits
    if (this.#columns.size >= columnsMax) {
      throw invalidRows(`Column '${id}' exceeds the limit of ${columnsMax} columns`, {
        ...place,
        column: id,
      })
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

  /** Called before a row of CSV or TSV is counted. The first one makes all columns of the header present. */
  beginText(): void {
    if (this.rowCount === 0) for (const column of this.#columns.values()) column.firstRow = 0
  }

  /** Called before the row is counted. */
  noteLine(line: number | undefined): void {
    if (line === undefined) return
    if (this.rowCount === 0) this.#line = { first: line, regular: true }
    else if (line !== this.#line.first + this.rowCount) this.#line.regular = false
  }

  /** Called before the row is counted. @param rowId - The row's `$rowID`. A value that is not a row ID is ignored. */
  noteClaim(rowId: string): void {
    const id = parseRowId(rowId)
    if (id !== null) addClaim(this.#claims, this.rows, id)
  }

  /** Counts a row whose cells were noted. @param work - Number of characters that were read for the row. */
  endRow(chars: number, work: number, cellCount: number): void {
    this.chars += chars
    this.work += workOfRow(work, cellCount)
    this.rows++
    this.rowCount++
  }

  /**
   * Judges the values that were queued, so that the summaries are complete.
   * @returns the columns, from which the texts of the segment are made
   */
  judgeAll(): readonly Column[] {
    runAtOnce(this.longValues.judgeInSteps())
    return [...this.#columns.values()]
  }

  /** Ends the current segment and begins the next. */
  endSegment(): Readonly<{ columns: readonly ColumnSummary[]; claims: readonly ClaimRun[] }> {
    const columns: ColumnSummary[] = []
    for (const column of this.#columns.values()) {
      columns.push(column.summary)
      mergeSummary(column.merged, column.summary)
      column.summary = newSummary(column.id)
      column.knownKinds = 0
      column.exact = true
    }
    this.isSettled = false
    this.rows = 0
    this.chars = 0
    const claims = this.#claims
    this.#claims = []
    if (claims.length > 0) this.#hasClaims = true
    return { columns, claims }
  }

  /** The work of one look at all columns, in characters. */
  get workOfColumns(): number {
    return ITEM_WORK * this.#columns.size
  }

  /** The column summaries of the current segment. */
  get ofSegment(): ChunkColumn[] {
    return [...this.#columns.values()].map(({ summary, firstRow }) => ({ summary, firstRow }))
  }

  /** The merged column summaries of all ended segments. */
  get summaries(): ChunkColumn[] {
    return [...this.#columns.values()].map(({ merged, firstRow }) => ({
      summary: merged,
      firstRow,
    }))
  }

  /** Whether a row of an ended segment had a `$rowID`. */
  get hasClaims(): boolean {
    return this.#hasClaims
  }

  /** See StoredChunk.firstLine. */
  get firstLine(): number {
    return this.#line.regular ? this.#line.first : 0
  }
}

/** Where the columns of CSV and TSV are named. */
const HEADER: ErrorPlace = { line: 1 }

export function invalidRows(problem: string, place: ErrorPlace): StoreError {
  return dataError('REQUEST_VALIDATION_ERROR', problem, place)
}
