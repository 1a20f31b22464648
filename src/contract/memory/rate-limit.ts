// A rate limit by token buckets, one per key: a bucket fills at a steady rate, and each event takes a token. A key
// without a bucket counts as having a full one.
import { BoundedMap } from '../../base/bounded-map.js'
import { monotonicMs } from '../../base/clock.js'

/**
 * Maximum number of buckets. If there are more, the oldest is dropped and so counts as full again: with more active
 * keys than this, the limit is inexact.
 */
const BUCKETS_MAX = 10_000

type Bucket = { tokens: number; at: number }

export class RateLimit {
  readonly #countMax: number
  readonly #tokenMs: number
  readonly #buckets = new BoundedMap<string, Bucket>(BUCKETS_MAX)

  /**
   * @param countMax - Maximum number of events per period on average, and in one burst.
   * @param periodMs - The period, in milliseconds.
   */
  constructor(countMax: number, periodMs: number) {
    this.#countMax = countMax
    this.#tokenMs = periodMs / countMax
  }

  /** Takes a token if there is one. @returns 0 if a token was taken; otherwise the milliseconds until there is one. */
  take(key: string): number {
    const ms = this.wait(key)
    if (ms > 0) return ms
    const bucket = this.#buckets.get(key)
    if (bucket === undefined) {
      this.#buckets.set(key, { tokens: this.#countMax - 1, at: monotonicMs() })
    } else bucket.tokens--
    return 0
  }

  /** Milliseconds until the key has a token; 0 if it has one. No token is taken. */
  wait(key: string): number {
    const bucket = this.#buckets.get(key)
    if (bucket === undefined) return 0
    const now = monotonicMs()
    bucket.tokens = Math.min(this.#countMax, bucket.tokens + (now - bucket.at) / this.#tokenMs)
    bucket.at = now
    return bucket.tokens >= 1 ? 0 : (1 - bucket.tokens) * this.#tokenMs
  }
}
