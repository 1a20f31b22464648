// Finds all values of an input that do not fit their columns. Column summaries tell which segments must be read.
//
// Invariant: the first problem found in an input is the problem with which the operation fails (`findMisfit` in
// stored-form).
import { isSync } from '../../base/awaitable.js'
import { copyText, cutText } from '../../base/shown-text.js'
import { VALUE_CHARS_MAX } from '../../base/store-error.js'
import type { Steps, TimeSlices } from '../../base/time-slices.js'
import { NO_ROW, type StoredChunk } from '../../format/chunk-records.js'
import { readSpans } from '../../format/row-text.js'
import type { Column } from '../../schema/column-kind.js'
import type { ColumnSummary } from '../../schema/column-summary.js'
import type { PreflightProblem } from '../types/preflight-types.js'
import { workOfRow } from './columns-of-chunk.js'
import {
  brokenRule,
  cellFits,
  columnFits,
  fieldOf,
  isFromText,
  type ValueRules,
} from './stored-form.js'

/** Maximum number of problems listed. Further ones are only counted. */
export const PROBLEMS_MAX = 1_000

/** The rules for the rows. */
export type ProblemRules = ValueRules &
  Readonly<{
    /** The column with an ID; undefined: rows must not have such a column. */
    columnOf: (id: string) => Column | undefined
  }>

/** `value`: undefined if the column is unknown. */
type RowProblem = Readonly<{ row: number; column: string; value?: string; rule: string }>

const UNKNOWN_COLUMN_RULE = 'the ID of a column of the schema'

/** The texts of the rows of a segment. */
export type RowTexts = Iterable<readonly string[]> | AsyncIterable<readonly string[]>

/** The problems of one chunk, segment by segment. */
export class ChunkProblems {
  readonly #rules: ProblemRules
  readonly #slices: TimeSlices
  readonly #onProblem: (column: string, rule: string) => void
  /** Problems of values, by row and then by cell. An unknown column is a problem of the first row whose text has it. */
  readonly #found: RowProblem[] = []
  readonly #unknownSeen = new Set<string>()
  #valueCount = 0
  #rows = 0

  /** @param onProblem - Called for each problem, including those that are not listed. Default: none. */
  constructor(
    rules: ProblemRules,
    slices: TimeSlices,
    onProblem: (column: string, rule: string) => void = () => undefined,
  ) {
    this.#rules = rules
    this.#slices = slices
    this.#onProblem = onProblem
  }

  /** @param read - Called only if the summaries show a value that does not fit. */
  async addSegment(
    { rowCount }: Readonly<{ rowCount: number }>,
    columns: readonly ColumnSummary[],
    read: () => RowTexts,
  ): Promise<void> {
    const firstRow = this.#rows
    this.#rows += rowCount
    if (!hasMisfit(this.#rules, columns)) return
    const fromText = isFromText(columns)
    let row = firstRow
    for await (const texts of read()) {
      for (const text of texts) {
        const checked = this.#slices.run(this.#checkRow(text, row++, fromText))
        if (!isSync(checked)) await checked
        if (this.#slices.spend(workOfRow(text.length))) await this.#slices.pause()
      }
    }
  }

  *#checkRow(text: string, row: number, fromText: boolean): Steps<true> {
    for (const { id, valueStart, end } of readSpans(text)) {
      const column = this.#rules.columnOf(id)
      if (column === undefined) {
        this.#noteUnknown(id, row)
        continue
      }
      const token = text.slice(valueStart, end)
      if (yield* cellFits(this.#rules, column, token, fromText)) continue
      this.#valueCount++
      const rule = brokenRule(this.#rules, column, token, fromText)
      this.#onProblem(column.id, rule)
      if (this.#valueCount > PROBLEMS_MAX) continue
      const value = copyText(cutText(fromText ? fieldOf(token) : token, VALUE_CHARS_MAX))
      this.#found.push({ row, column: id, value, rule })
    }
    return true
  }

  #noteUnknown(column: string, row: number): void {
    if (this.#unknownSeen.has(column)) return
    this.#unknownSeen.add(column) // At most `columnsMax` IDs: a chunk has no more columns.
    this.#found.push({ row, column, rule: UNKNOWN_COLUMN_RULE })
  }

  /** @param chunk - The chunk of the added segments. @param serial - The serial of a chunk of a stash. */
  end(
    { columns, firstLine }: Pick<StoredChunk, 'columns' | 'firstLine'>,
    serial?: string,
  ): Readonly<{ problems: readonly PreflightProblem[]; count: number }> {
    const unknown = new Map<string, number>()
    for (const { summary, firstRow } of columns) {
      if (firstRow === NO_ROW || this.#rules.columnOf(summary.id) !== undefined) continue
      unknown.set(summary.id, firstRow)
      this.#onProblem(summary.id, UNKNOWN_COLUMN_RULE)
    }
    const problems = this.#withUnknown(unknown, columns).map(
      (found): PreflightProblem => ({
        ...(serial !== undefined && { serial }),
        row: found.row,
        ...(firstLine !== 0 && { line: firstLine + found.row }),
        column: copyText(found.column),
        ...(found.value !== undefined && { value: found.value }),
        rule: found.rule,
      }),
    )
    return { problems, count: this.#valueCount + unknown.size }
  }

  /**
   * Adds the unknown columns that no text read so far has: all their cells are empty, or are before the first segment
   * read.
   */
  #withUnknown(
    unknown: ReadonlyMap<string, number>,
    columns: StoredChunk['columns'],
  ): readonly RowProblem[] {
    const order = new Map(columns.map(({ summary }, index) => [summary.id, index]))
    const compared = (left: RowProblem, right: RowProblem): number =>
      left.row - right.row || (order.get(left.column) ?? 0) - (order.get(right.column) ?? 0)
    const isPlaced = ({ row, column, value }: RowProblem): boolean =>
      value !== undefined || unknown.get(column) === row
    const found = this.#found.filter(isPlaced)
    const placed = new Set(found.filter(({ value }) => value === undefined).map(columnOfProblem))
    const others = [...unknown]
      .filter(([column]) => !placed.has(column))
      .map(([column, row]): RowProblem => ({ row, column, rule: UNKNOWN_COLUMN_RULE }))
      .sort(compared)
    const problems: RowProblem[] = []
    let next = 0
    for (const problem of found) {
      for (; next < others.length; next++) {
        const other = others[next]
        if (other === undefined || compared(other, problem) >= 0) break
        problems.push(other)
      }
      problems.push(problem)
    }
    return [...problems, ...others.slice(next)]
  }
}

function columnOfProblem({ column }: RowProblem): string {
  return column
}

/** Whether some value does not fit its column. Values of unknown columns are not examined. */
export function hasMisfit(rules: ProblemRules, columns: readonly ColumnSummary[]): boolean {
  return columns.some((summary) => {
    const column = rules.columnOf(summary.id)
    return column !== undefined && !columnFits(rules, column.type, summary)
  })
}
