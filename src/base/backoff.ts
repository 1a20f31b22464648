// Waits before the next attempt: they double, and are random, so that those who met do not meet again.
import { readUint32 } from './bytes.js'
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

/** Resolves after a time in milliseconds. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
