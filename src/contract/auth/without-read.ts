// Hides rows from a key without the scope `read` (CONTRACT.md, section 1, Scopes): such a key sees values of its own
// request, but no values of a table or a stash, and no row ID in a message.
import { withoutValue } from '../../base/data-error.js'
import { isStoreError } from '../../base/store-error.js'
import type { PreflightProblem } from '../../engine/types/preflight-types.js'
import type { Receipt } from '../../engine/types/receipt-types.js'
import { Refusal } from '../http/refusal.js'
import type { Caller } from './caller.js'

export function maySee({ scopes }: Pick<Caller, 'scopes'>): boolean {
  return scopes.has('read')
}

/** @param what - The part of the operation that compares stored values. @throws {Refusal} SCOPE_MISSING */
export function checkMaySee(caller: Caller, what: string): void {
  if (maySee(caller)) return
  throw new Refusal('SCOPE_MISSING', `The key lacks the scope read, which ${what} needs`)
}

/**
 * The failure of an operation, without what its sender may not see.
 * @param isOwn - Whether the sender sent the rows of the operation itself, and may see them: a job may be that of
 *   another key. Rows of a stash may always be those of another key.
 */
export function shownFailure(caller: Caller, failure: unknown, isOwn = true): unknown {
  if (maySee(caller) || !isStoreError(failure)) return failure
  if (failure.code === 'KEY_NOT_UNIQUE') {
    return withoutValue(failure, 'The key is not unique', 'a key that no other row has')
  }
  const { column, value, chunk } = failure
  if (value === undefined || (isOwn && chunk === undefined)) return failure
  // The contract publishes this beginning, and clients match on it.
  const where = column === undefined ? 'row' : `value for column '${column}'`
  return withoutValue(failure, `Invalid ${where}`)
}

/** The problems of a check, without what their reader may not see. */
export function shownProblems(
  caller: Caller,
  problems: readonly PreflightProblem[],
): readonly PreflightProblem[] {
  if (maySee(caller)) return problems
  return problems.map((problem) => (problem.serial === undefined ? problem : valueless(problem)))
}

/** The part of a receipt that the caller may see. The operation may have been that of another API key. */
export function shownReceipt(caller: Caller, receipt: Receipt): Receipt {
  if (maySee(caller)) return receipt
  const { dropped } = receipt
  return { ...receipt, dropped: { ...dropped, first: dropped.first.map(valueless) } }
}

function valueless({ value: _, ...rest }: PreflightProblem): PreflightProblem {
  return rest
}
