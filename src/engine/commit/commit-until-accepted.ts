// Retries commits that others refuse, so that the losers of a race never see a refusal. The second attempt follows at
// once, later ones after pauses: two refusals mean continuing contention.
import { openBackoff } from '../../base/backoff.js'
import { pause } from '../../base/pause.js'
import type { Random } from '../../base/random.js'
import { StoreError } from '../../base/store-error.js'

/** The result of an attempt whose commit was refused. It wrote nothing; another attempt may succeed. */
export const REFUSED: unique symbol = Symbol('refused')

/** Maximum number of attempts. Operations of one process take turns, so only other processes cause refusals. */
const COMMIT_TRIES_MAX = 100

/**
 * The pause before the third attempt is at most `firstMs`. This maximum doubles with each further attempt, up to
 * `maxMs`.
 */
const PAUSES = { firstMs: 2, maxMs: 64 }

/**
 * Decides and commits until a commit is accepted, or none is needed.
 * @param busy - The problem to report when every attempt was refused, as a sentence without a full stop.
 * @param random - Randomises the pauses between attempts; null: no pauses, because each attempt takes a long time.
 * @param decideAndCommit - Reads again all that it decides on. Resolves to the result, or to `REFUSED`.
 * @throws {StoreError} STORAGE_UNAVAILABLE with outcome `unchanged` after `COMMIT_TRIES_MAX` refusals; what an attempt
 *   throws
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
 * Decides and commits up to `triesMax` times.
 * @param otherwise - The result when every attempt was refused.
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

/** @param problem - A sentence without a full stop. */
export function tooBusy(problem: string): StoreError {
  return new StoreError('STORAGE_UNAVAILABLE', `${problem}; try again`, { outcome: 'unchanged' })
}
