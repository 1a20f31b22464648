// The problems of the rows of a call that changes many rows. All problems are collected before the call is refused.
import { isStoreError, StoreError, type StoreErrorCode } from '../../base/store-error.js'

/** Maximum number of problems that a refusal lists. */
export const PROBLEMS_NAMED_MAX = 100

/**
 * The ranks of problems. The problem with the lowest rank becomes the error of the call, as in a call for a single row.
 */
const RANK: Readonly<Partial<Record<StoreErrorCode, number>>> = {
  REQUEST_VALIDATION_ERROR: 0,
  ROW_NOT_FOUND: 1,
  PRECONDITION_FAILED: 2,
  COLUMN_ID_RESERVED: 3,
  COLUMN_ID_NOT_FOUND: 3,
  COLUMN_HAS_INVALID_VALUE: 3,
}

function rankOf({ code }: StoreError): number {
  return RANK[code] ?? Number.POSITIVE_INFINITY
}

/** What the call does to each row. */
type RowChange = 'update' | 'deletion'

/** Collects the problems of the rows of one call: the first problem of each row. */
export class RowProblems {
  readonly #what: RowChange
  readonly #byRow = new Map<number, StoreError>()

  constructor(what: RowChange) {
    this.#what = what
  }

  has(row: number): boolean {
    return this.#byRow.has(row)
  }

  /** Notes the failure of a row. @throws a failure that does not concern rows */
  add(failure: unknown, row: number, rowId: string | undefined): void {
    if (!isStoreError(failure) || rankOf(failure) === Number.POSITIVE_INFINITY) throw failure
    if (!this.has(row)) this.#byRow.set(row, ofRow(failure, this.#what, row, rowId))
  }

  /** @throws {StoreError} the problem with the lowest rank; `problems` has the first 100 in the order of the rows */
  check(): void {
    const inOrder = [...this.#byRow].sort(([one], [other]) => one - other)
    const problems = inOrder.map(([, problem]) => problem)
    const [first, ...rest] = problems
    if (first === undefined) return
    const leading = rest.reduce((one, other) => (rankOf(other) < rankOf(one) ? other : one), first)
    refuseRows(problems.slice(0, PROBLEMS_NAMED_MAX), problems.length, leading)
  }
}

/**
 * Refuses a call because of the problems of its rows, which are given in the order of the rows.
 * @param count - The number of all problems; 0: the call is not refused.
 * @param leading - The problem that becomes the error. Default: the first problem.
 */
export function refuseRows(
  problems: readonly StoreError[],
  count: number,
  leading: StoreError | undefined = problems[0],
): void {
  if (leading === undefined) return
  const more = count === 1 ? '' : `; ${count} rows have problems`
  throw new StoreError(leading.code, `${leading.message}${more}`, {
    ...placeOf(leading),
    cause: leading.cause,
    problems,
    problemCount: count,
  })
}

/** The failure of one row of a call, with its index and its row ID. */
export function ofRow(
  failure: StoreError,
  what: RowChange,
  row: number,
  rowId: string | undefined,
): StoreError {
  const which = rowId === undefined ? '' : `, with the ID ${rowId}`
  // Clients rely on the beginnings of some messages.
  const message = `${failure.message}; ${what} of row ${row} (counted from 0)${which}`
  return new StoreError(failure.code, message, { ...placeOf(failure), row, cause: failure.cause })
}

function placeOf({ row, column, value, rule }: StoreError): object {
  return {
    ...(row !== undefined && { row }),
    ...(column !== undefined && { column }),
    ...(value !== undefined && { value }),
    ...(rule !== undefined && { rule }),
  }
}
