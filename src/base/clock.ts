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
    const askedAt = this.monotonicMs()
    const aheadMs = -(await ask()) + this.now()
    const takenMs = this.monotonicMs() - askedAt
    this.#aheadMs = aheadMs < 0 ? aheadMs : Math.max(0, aheadMs - takenMs)
    this.#comparedMs = this.#aheadOfMonotonicMs()
  }

  /**
   * The current time for the beginning of a lifetime, in milliseconds since 1970 UTC.
   * @throws {StoreError} STORAGE_UNAVAILABLE: the clock differs too much from the database's
   */
  stampMs(): number {
    this.#checkSkew()
    return this.now()
  }

  /**
   * The current time for the end of lifetimes, in milliseconds since 1970 UTC: never ahead of `now`, and no faster than
   * monotonic time. So nothing ends early when the clock is set forward, or set back and then corrected.
   * @throws {StoreError} as `stampMs`
   */
  lifetimeMs(): number {
    this.#checkSkew()
    this.#measure(this.#clock.now())
    return Math.floor(this.#lifetimeMs)
  }

  #checkSkew(): void {
    const skewMs = Math.round(Math.abs(this.#aheadMs))
    if (skewMs > this.#skewMsMax) {
      const where = this.#aheadMs > 0 ? 'ahead of' : 'behind'
      const problem = `The clock of this process is ${skewMs} ms ${where} that of the database`
      throw unusable(`${problem}; set it right, or raise clockSkewMs (${this.#skewMsMax})`)
    }
    // The next comparison comes within a third of a lease; a wrong stamp made until then would never be corrected.
    const setMs = Math.round(this.#setMs())
    if (Math.abs(this.#aheadMs + setMs) <= this.#skewMsMax) return
    const problem = `The clock of this process moved by ${setMs} ms since it was compared with that of the database`
    throw unusable(`${problem}: it was set, or the machine was suspended; try again`)
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

function unusable(message: string): StoreError {
  return new StoreError('STORAGE_UNAVAILABLE', message, { outcome: 'unchanged' })
}
