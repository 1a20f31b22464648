// Commits that others refuse are decided and tried again, so that the losers of a race never answer for it.
import { StoreError } from '../../base/store-error.js'

/** The result of a try whose commit was refused: nothing was written, and another try may be accepted. */
export const REFUSED: unique symbol = Symbol('refused')

/** Tries of one operation. Operations of one process take turns, so only other processes cause that many refusals. */
const COMMIT_TRIES_MAX = 100

/**
 * Decides and commits until a commit is accepted, or none is needed.
 * @param busy - What is wrong when no try is accepted, as a sentence without its end.
 * @param decideAndCommit - Reads anew what it acts on; resolves to `REFUSED` or to the result.
 * @throws {StoreError} STORAGE_UNAVAILABLE with outcome `unchanged` after `COMMIT_TRIES_MAX` refusals; what a try throws
 */
export function commitUntilAccepted<T>(
  busy: string,
  decideAndCommit: () => Promise<T | typeof REFUSED>,
): Promise<T> {
  return tryToCommit(decideAndCommit, COMMIT_TRIES_MAX, () => {
    throw tooBusy(busy)
  })
}

/**
 * As `commitUntilAccepted`, with other bounds.
 * @param otherwise - The result when no try is accepted.
 */
export async function tryToCommit<T>(
  decideAndCommit: () => Promise<T | typeof REFUSED>,
  triesMax: number,
  otherwise: () => T,
): Promise<T> {
  for (let tries = 0; tries < triesMax; tries++) {
    const result = await decideAndCommit()
    if (result !== REFUSED) return result
  }
  return otherwise()
}

/** @param problem - As `busy` above. */
export function tooBusy(problem: string): StoreError {
  return new StoreError('STORAGE_UNAVAILABLE', `${problem}; try again`, { outcome: 'unchanged' })
}
