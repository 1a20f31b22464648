// Turns scanned rows into row texts and column summaries, one segment at a time. exact-rows and scanned-rows feed the
// same columns, so a chunk may have rows of both.
import type { Steps } from '../../base/time-slices.js'
import type { ChunkColumn } from '../../format/chunk-records.js'
import type { ClaimRun } from '../../format/claims.js'
import type { ColumnSummary } from '../../schema/column-summary.js'
import type { CsvByteScanner } from '../../schema/scan-csv-bytes.js'
import type { JsonByteScanner } from '../../schema/scan-json-bytes.js'
import type { ScannedRow } from '../../schema/scanned-row.js'
import type { FieldSummarizer } from '../../schema/summarize-field-bytes.js'
import { type BuilderLimits, ColumnsOfChunk } from './columns-of-chunk.js'
import { ExactRows } from './exact-rows.js'
import type { LongValues } from './long-values.js'
import { addScannedJson, addScannedText } from './scanned-rows.js'

/** Rows of one segment that is not stored yet, and their column summaries. */
export type RowBatch = Readonly<{
  texts: readonly string[]
  columns: readonly ColumnSummary[]
  /** The `$rowID`s of the rows. Row numbers count from the first row of the batch. */
  claims: readonly ClaimRun[]
}>

export class ChunkBuilder {
  readonly #columns: ColumnsOfChunk
  readonly #exact: ExactRows

  /** @param header - Columns known before any row, in order; only for CSV and TSV. */
  constructor(limits: BuilderLimits, header: readonly string[] | null) {
    this.#columns = new ColumnsOfChunk(limits, header)
    this.#exact = new ExactRows(this.#columns)
  }

  get rowCount(): number {
    return this.#columns.rowCount
  }

  /** Rows and UTF-16 units since the last segment was taken. */
  get openSize(): { rows: number; chars: number } {
    const { rows, chars } = this.#columns
    return { rows, chars }
  }

  /** The work done so far, in characters. Empty rows and cells count too. */
  get work(): number {
    return this.#columns.work
  }

  get isFull(): boolean {
    const { rows, chars, limits } = this.#columns
    return rows >= limits.segmentRowsMax || chars >= limits.segmentBytesMax
  }

  /** Values to be judged later: by the caller in steps, otherwise by `take`. */
  get longValues(): LongValues {
    return this.#columns.longValues
  }

  /** @throws {StoreError} REQUEST_VALIDATION_ERROR if the row or the number of columns is too large. */
  add(row: ScannedRow): void {
    this.#exact.add(row)
  }

  /** See `addScannedJson`. */
  addScanned(row: JsonByteScanner, textOf: (from: number, to: number) => string): boolean {
    return addScannedJson(this.#columns, row, textOf)
  }

  /** See `addScannedText`. */
  addScannedText(row: CsvByteScanner, summarizer: FieldSummarizer): boolean {
    return addScannedText(this.#columns, row, summarizer)
  }

  /**
   * The texts of finished rows, in order, each given once. Rows of CSV and TSV are finished only when their segment
   * ends, because all of its cells decide in which form they are stored.
   */
  drain(): readonly string[] {
    return this.#exact.drain()
  }

  /** Ends the current segment and begins the next. Returns the rows that were not drained. */
  take(): RowBatch {
    const texts = this.#exact.take(this.#columns.judgeAll())
    return { texts, ...this.#columns.endSegment() }
  }

  /** Like `take`, but gives the rows that were not drained to `write`. */
  *takeInSteps(write: (texts: readonly string[]) => void): Steps<RowBatch> {
    yield* this.#exact.takeInSteps(this.#columns.judgeAll(), write)
    return { texts: [], ...this.#columns.endSegment() }
  }

  /** The work of one look at `columnsOfSegment`, in characters. */
  get workOfColumns(): number {
    return this.#columns.workOfColumns
  }

  /** Summaries of the columns of the current segment, without the values that are queued to be judged later. */
  get columnsOfSegment(): ChunkColumn[] {
    return this.#columns.ofSegment
  }

  /** Summaries of the columns of all taken segments. */
  get columns(): ChunkColumn[] {
    return this.#columns.summaries
  }

  /** Whether a row of a taken segment had a `$rowID`. */
  get hasClaims(): boolean {
    return this.#columns.hasClaims
  }

  /** See StoredChunk.firstLine. */
  get firstLine(): number {
    return this.#columns.firstLine
  }
}
