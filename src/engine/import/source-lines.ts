// The lines on which the rows of a rewritten source begin.
import { withLine } from '../../base/data-error.js'
import { isStoreError } from '../../base/store-error.js'

/**
 * Maximum number of noted rows that do not begin on the line after the previous row's. After them, lines are unknown.
 */
const STEPS_MAX = 65_536

export class SourceLines {
  /** The rows that do not begin on the line after the previous row's, with their lines. */
  readonly #steps: { readonly row: number; readonly line: number }[] = []
  #rows = 0
  #expected = 0

  /** Notes the line of the next row. */
  note(line: number): void {
    if (line !== this.#expected && this.#steps.length <= STEPS_MAX) {
      this.#steps.push({ row: this.#rows, line })
    }
    this.#expected = line + 1
    this.#rows++
  }

  /** The line of a row; undefined: the line is unknown. */
  lineOf(row: number): number | undefined {
    let [low, high] = [0, this.#steps.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#steps[middle]?.row ?? 0) <= row) low = middle + 1
      else high = middle
    }
    const step = this.#steps[low - 1]
    if (step === undefined || row >= this.#rows || low > STEPS_MAX) return undefined
    return step.line + row - step.row
  }

  /** The line of the first of some rows; 0: the rows are not on consecutive lines, or their lines are unknown. */
  firstLine(row: number, count: number): number {
    const line = this.lineOf(row)
    if (line === undefined || count === 0) return 0
    return this.lineOf(row + count - 1) === line + count - 1 ? line : 0
  }

  /** The failure. If it names a row, it gets the line of this row in the source. */
  located(failure: unknown): unknown {
    if (!isStoreError(failure) || failure.row === undefined) return failure
    return withLine(failure, this.lineOf(failure.row))
  }
}

/**
 * The line of a row of a body.
 * @param lines - The lines of rewritten rows; undefined: no row was rewritten, so the chunks of the body have the
 *   lines.
 */
export function lineOfRow(
  lines: SourceLines | undefined,
  chunks: readonly Readonly<{ chunk: Readonly<{ rowCount: number; firstLine: number }> }>[],
  row: number,
): number | undefined {
  const line = lines?.lineOf(row)
  if (line !== undefined) return line
  let first = 0
  for (const { chunk } of chunks) {
    const isIn = row < first + chunk.rowCount
    if (isIn) return chunk.firstLine === 0 ? undefined : chunk.firstLine + row - first
    first += chunk.rowCount
  }
  return undefined
}

/** The property of rewritten rows that has their lines. */
const LINES = Symbol('lines')

export function keepLines<T extends object>(rows: T, lines: SourceLines): T {
  return Object.assign(rows, { [LINES]: lines })
}

/** The lines of rewritten rows; undefined: the rows were not rewritten, or are JSON. */
export function linesOf(rows: unknown): SourceLines | undefined {
  return (Object(rows) as { [LINES]?: SourceLines })[LINES]
}
