// The columns of a chunk with what is known of their values, and the counts of its rows. Rows are fed to it by
// exact-rows, which has their tokens, and by scanned-rows, which leaves them where a byte scanner found them.
//
// Invariants:
// - A column is listed in order of first appearance, also when all its cells are empty.
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
  /** Over the whole chunk. */
  readonly merged: ColumnSummary
  /** The summary in the segment that is being built. */
  summary: ColumnSummary
  /** Kinds of values of which more would add nothing to the summary, see `settledBit`. */
  knownKinds: number
  /** From text: every cell so far is a number or boolean token that reads back as it is. */
  exact: boolean
}

/** What a row counts for in time slices. @param chars - Characters or bytes that were read or written for it. */
export function workOfRow(chars: number, cellCount = 0): number {
  return chars + ITEM_WORK * (1 + cellCount)
}

export class ColumnsOfChunk {
  readonly limits: BuilderLimits
  /** CSV or TSV: the columns are those of the header, and cells are text. */
  readonly isText: boolean
  /** The columns of a byte scanner, by its numbers; those of a header are all there. */
  readonly scanned: Column[] = []
  /** Values that are not judged yet: the caller does that in steps, else `endSegment` does. */
  readonly longValues = new LongValues()
  /** Rows and UTF-16 units of the segment that is being built. */
  rows = 0
  chars = 0
  rowCount = 0
  /** How much was done so far, in characters; empty rows and cells cost some too. */
  work = 0
  /** The row that was added last was a scanner's, and more rows like it would add nothing to the summaries. */
  isSettled = false
  readonly #columns = new Map<string, Column>()
  #claims: ClaimRun[] = []
  #hasClaims = false
  #line: { first: number; regular: boolean } = { first: 0, regular: true }

  /** @param header - Columns known before any row, in order; only of CSV and TSV. */
  constructor(limits: BuilderLimits, header: readonly string[] | null) {
    this.limits = limits
    this.isText = header !== null
    for (const id of header ?? []) this.scanned.push(this.column(id))
  }

  /** The column with an ID, which is entered if it is new. @throws {StoreError} REQUEST_VALIDATION_ERROR */
  column(id: string): Column {
    const known = this.#columns.get(id)
    if (known !== undefined) return known
    const place = this.isText ? HEADER : { row: this.rowCount }
    if (id.length > COLUMN_ID_CHARS_MAX) {
      throw invalidRows(`A column ID of more than ${COLUMN_ID_CHARS_MAX} characters`, place)
    }
    const { columnsMax } = this.limits
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

  /** Notes the columns of a header as there from the first row on, when the first row comes. */
  beginText(): void {
    if (this.rowCount === 0) for (const column of this.#columns.values()) column.firstRow = 0
  }

  /** Before the row is counted. */
  noteLine(line: number | undefined): void {
    if (line === undefined) return
    if (this.rowCount === 0) this.#line = { first: line, regular: true }
    else if (line !== this.#line.first + this.rowCount) this.#line.regular = false
  }

  /** Before the row is counted. @param rowId - What the row has as its `$rowID`; what is no row ID is ignored. */
  noteClaim(rowId: string): void {
    const id = parseRowId(rowId)
    if (id !== null) addClaim(this.#claims, this.rows, id)
  }

  /** Counts a row whose cells were noted. @param work - Characters that were read for it. */
  endRow(chars: number, work: number, cellCount: number): void {
    this.chars += chars
    this.work += workOfRow(work, cellCount)
    this.rows++
    this.rowCount++
  }

  /** Judges what was put off, so that the summaries are whole. @returns the columns, for the texts of the segment */
  judgeAll(): readonly Column[] {
    runAtOnce(this.longValues.judgeInSteps())
    return [...this.#columns.values()]
  }

  /** Ends the segment being built and begins the next. */
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

  /** What it counts for to look at all columns. */
  get workOfColumns(): number {
    return ITEM_WORK * this.#columns.size
  }

  /** The column summaries of the segment that is being built. */
  get ofSegment(): ChunkColumn[] {
    return [...this.#columns.values()].map(({ summary, firstRow }) => ({ summary, firstRow }))
  }

  /** The merged column summaries of all segments that have ended. */
  get summaries(): ChunkColumn[] {
    return [...this.#columns.values()].map(({ merged, firstRow }) => ({
      summary: merged,
      firstRow,
    }))
  }

  /** Whether a row of a segment that has ended carried a `$rowID`. */
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
