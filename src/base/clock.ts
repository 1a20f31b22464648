import { type Awaitable, chain } from './awaitable.js'
import { waitAtMost } from './platform.js'
import { StoreError } from './store-error.js'

/** The time source of a store. Tests can replace it to let hours pass. */
export interface Clock {
  /** Milliseconds since 1970 UTC. */
  now(): number
  /**
   * Milliseconds since some time in the past, not affected when the clock is set. It measures waits, and a lifetime
   * passes no faster than this time. Default: waits use the system's monotonic time, and lifetimes use `now`.
   */
  monotonicMs?(): number
}

export const systemClock: Clock = { now: () => Date.now(), monotonicMs }

/** Milliseconds since some time in the past, not affected when the system's clock is set. */
export function monotonicMs(): number {
  return performance.now()
}

/** How long a stamp waits for a comparison with the database's clock. */
const COMPARISON_MS_MAX = 15_000

/** Number of comparisons in a row, if the clock is set during each of them. */
const COMPARISONS_MAX = 3

/** The clock of an open store. */
export class StoreClock implements Clock {
  readonly #clock: Clock
  #lifetimeMs: number
  /** The monotonic time at which `#lifetimeMs` was last updated. */
  #measuredAt: number
  readonly #skewMsMax: number
  /** A lower bound of this clock's lead over the database's clock; negative: it is behind. */
  #aheadMs = 0
  /** How far this clock was ahead of the monotonic time when it was last compared; undefined: it was never compared. */
  #comparedMs: number | undefined
  /** Compares again; undefined: it was never compared. */
  #again: (() => Promise<void>) | undefined
  /** The comparison that stamps wait for. */
  #comparing: Promise<void> | undefined

  /** @param skewMsMax - The greatest allowed difference from the database's clock, in milliseconds. */
  constructor(clock: Clock, skewMsMax: number) {
    this.#clock = clock
    this.#skewMsMax = skewMsMax
    this.#lifetimeMs = clock.now()
    this.#measuredAt = this.monotonicMs()
  }

  now(): number {
    const now = this.#clock.now()
    this.#measure(now)
    return now
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs?.() ?? monotonicMs()
  }

  /**
   * Compares the clock with the database's clock.
   * @param ask - Returns the database's time, in milliseconds since 1970 UTC.
   */
  async compare(ask: () => Promise<number>): Promise<void> {
    this.#again = () => this.compare(ask)
    for (let tries = 0; tries < COMPARISONS_MAX; tries++) {
      const askedAt = this.monotonicMs()
      const comparedMs = this.#aheadOfMonotonicMs()
      const aheadMs = -(await ask()) + this.now()
      const takenMs = this.monotonicMs() - askedAt
      this.#aheadMs = aheadMs < 0 ? aheadMs : Math.max(0, aheadMs - takenMs)
      this.#comparedMs = comparedMs
      if (Math.abs(this.#setMs()) <= this.#skewMsMax) return
    }
  }

  /**
   * The current time for the beginning of a lifetime, in milliseconds since 1970 UTC. If the clock was set since it was
   * compared with the database's, or the machine was suspended, it is compared again first.
   * @throws {StoreError} STORAGE_UNAVAILABLE: the clock differs too much from the database's, or cannot be compared
   */
  stampMs(): Awaitable<number> {
    return chain(this.#checkSkew(), () => this.now())
  }

  /**
   * The current time for the end of lifetimes, in milliseconds since 1970 UTC: never ahead of `now`, and no faster than
   * monotonic time. So nothing ends early when the clock is set forward, or set back and then corrected.
   * @throws {StoreError} as `stampMs`
   */
  lifetimeMs(): Awaitable<number> {
    return chain(this.#checkSkew(), () => {
      this.#measure(this.#clock.now())
      return Math.floor(this.#lifetimeMs)
    })
  }

  /** A clock that seems wrong is compared first. A wrong stamp would never be corrected. */
  #checkSkew(): Awaitable<void> {
    if (this.#again === undefined || this.#problem() === null) return
    this.#comparing ??= this.#again().finally(() => {
      this.#comparing = undefined
    })
    return waitAtMost(this.#comparing, COMPARISON_MS_MAX).then(() => {
      const problem = this.#problem()
      if (problem === null) return
      throw new StoreError('STORAGE_UNAVAILABLE', problem, { outcome: 'unchanged' })
    })
  }

  #problem(): string | null {
    const setMs = Math.round(this.#setMs())
    const aheadMs = Math.round(this.#aheadMs) + setMs
    if (Math.abs(setMs) > this.#skewMsMax) {
      const problem = `The clock of this process moved by ${setMs} ms: it was set, or the machine was suspended`
      return `${problem}. It could not be compared with that of the database; try again`
    }
    if (Math.abs(aheadMs) <= this.#skewMsMax) return null
    const where = aheadMs > 0 ? 'ahead of' : 'behind'
    const problem = `The clock of this process is ${Math.abs(aheadMs)} ms ${where} that of the database`
    return `${problem}; set it right, or raise clockSkewMs (${this.#skewMsMax})`
  }

  /** By how many milliseconds the clock was set since it was last compared. */
  #setMs(): number {
    const hasMonotonic = this.#clock.monotonicMs !== undefined
    if (this.#comparedMs === undefined || !hasMonotonic) return 0
    return this.#aheadOfMonotonicMs() - this.#comparedMs
  }

  #aheadOfMonotonicMs(): number {
    return this.#clock.now() - this.monotonicMs()
  }

  #measure(now: number): void {
    const measuredAt = this.monotonicMs()
    const passed = this.#lifetimeMs + measuredAt - this.#measuredAt
    this.#lifetimeMs = this.#clock.monotonicMs === undefined ? now : Math.min(now, passed)
    this.#measuredAt = measuredAt
  }
}
