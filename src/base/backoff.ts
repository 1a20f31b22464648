// Repeated attempts. The waits between them double and are random, so that callers that collided do not collide again.
import { readUint32 } from './bytes.js'
import { monotonicMs } from './clock.js'
import { pause } from './pause.js'
import type { Random } from './random.js'

/** The longest wait after the first attempt, and the limit up to which it doubles per attempt; in milliseconds. */
export type BackoffRange = Readonly<{ firstMs: number; maxMs: number }>

/**
 * The wait before the next attempt, in milliseconds: random, from 0 to the longest wait for this attempt (full
 * jitter).
 * @param attempt - 0 for the first failed attempt.
 */
export type Backoff = (attempt: number) => number

export function openBackoff({ firstMs, maxMs }: BackoffRange, random: Random): Backoff {
  return (attempt) => {
    const longest = Math.min(maxMs, firstMs * 2 ** attempt)
    return Math.round((readUint32(random.bytes(4), 0) / 2 ** 32) * longest)
  }
}

/** Bounds of repeated attempts. */
export type RetryBounds = Readonly<{
  backoff: Backoff
  /** The maximum number of attempts. Default: unlimited. */
  attemptsMax?: number
  /** No pause may end after this time of the monotonic clock; the last failure is thrown instead. */
  deadlineMs: number
}>

/**
 * Makes attempts, with pauses between them, until one succeeds.
 * @param leastPauseMs - Returns the shortest pause after a failure, which a server may request; null: do not retry.
 * @throws the failure of the last attempt
 */
export async function retry<T>(
  attempt: () => Promise<T>,
  { backoff, attemptsMax = Number.POSITIVE_INFINITY, deadlineMs }: RetryBounds,
  leastPauseMs: (failure: unknown) => number | null,
): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt()
    } catch (failure) {
      const least = leastPauseMs(failure)
      const ms = Math.max(backoff(attempts - 1), least ?? 0)
      const isLast = attempts >= attemptsMax || monotonicMs() + ms > deadlineMs
      if (least === null || isLast) throw failure
      await pause(ms)
    }
  }
}
