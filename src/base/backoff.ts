// Attempts, and the waits between them: they double, and are random, so that those who met do not meet again.
import { readUint32 } from './bytes.js'
import { monotonicMs } from './clock.js'
import { pause } from './pause.js'
import type { Random } from './random.js'

/** The longest wait after the first attempt, which doubles with each, and the longest of all; in milliseconds. */
export type BackoffRange = Readonly<{ firstMs: number; maxMs: number }>

/**
 * How long to wait before another attempt, in milliseconds: a random time, from 0 to the longest (full jitter).
 * @param attempt - 0 for the first one that failed.
 */
export type Backoff = (attempt: number) => number

export function openBackoff({ firstMs, maxMs }: BackoffRange, random: Random): Backoff {
  return (attempt) => {
    const longest = Math.min(maxMs, firstMs * 2 ** attempt)
    return Math.round((readUint32(random.bytes(4), 0) / 2 ** 32) * longest)
  }
}

/** How long attempts go on. */
export type RetryBounds = Readonly<{
  backoff: Backoff
  /** Default: any number. */
  attemptsMax?: number
  /** The end of the last pause, by the monotonic clock. */
  deadlineMs: number
}>

/**
 * Makes attempts, with pauses between them, until one succeeds.
 * @param leastPauseMs - Of a failure: the shortest pause after it, as a server may ask for; null: it would only come again.
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
