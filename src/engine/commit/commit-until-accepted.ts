// Commits that others refuse are decided and tried again, so that the losers of a race never answer for it. The second
// try comes at once, later ones after pauses: what is refused twice has met others that keep at it.
import { openBackoff } from '../../base/backoff.js'
import { pause } from '../../base/pause.js'
import type { Random } from '../../base/random.js'
import { StoreError } from '../../base/store-error.js'

/** The result of a try whose commit was refused: nothing was written, and another try may be accepted. */
export const REFUSED: unique symbol = Symbol('refused')

/** Tries of one operation. Operations of one process take turns, so only other processes cause that many refusals. */
const COMMIT_TRIES_MAX = 100

/** The longest pause before the third try doubles with each more, in milliseconds. */
const PAUSES = { firstMs: 2, maxMs: 64 }

/**
 * Decides and commits until a commit is accepted, or none is needed.
 * @param busy - What is wrong when no try is accepted, as a sentence without its end.
 * @param random - Of the pauses between tries; null: no pauses, as a try takes long by itself.
 * @param decideAndCommit - Reads anew what it acts on; resolves to `REFUSED` or to the result.
 * @throws {StoreError} STORAGE_UNAVAILABLE with outcome `unchanged` after `COMMIT_TRIES_MAX` refusals; what a try throws
 */
export function commitUntilAccepted<T>(
  busy: string,
  random: Random | null,
  decideAndCommit: () => Promise<T | typeof REFUSED>,
): Promise<T> {
  return tryToCommit(random, decideAndCommit, COMMIT_TRIES_MAX, () => {
    throw tooBusy(busy)
  })
}

/**
 * As `commitUntilAccepted`, with other bounds.
 * @param otherwise - The result when no try is accepted.
 */
export async function tryToCommit<T>(
  random: Random | null,
  decideAndCommit: () => Promise<T | typeof REFUSED>,
  triesMax: number,
  otherwise: () => T,
): Promise<T> {
  for (let tries = 0; tries < triesMax; tries++) {
    if (tries > 1 && random !== null) await pause(openBackoff(PAUSES, random)(tries - 2))
    const result = await decideAndCommit()
    if (result !== REFUSED) return result
  }
  return otherwise()
}

/** @param problem - As `busy` above. */
export function tooBusy(problem: string): StoreError {
  return new StoreError('STORAGE_UNAVAILABLE', `${problem}; try again`, { outcome: 'unchanged' })
}
