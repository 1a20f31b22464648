import { StoreError } from './store-error.js'

/** The time source of a store, so that tests can make hours pass. */
export interface Clock {
  /** Milliseconds since 1970 UTC. */
  now(): number
  /**
   * Milliseconds since some time in the past; setting the clock does not change it. Waits are measured by it, and
   * lifetimes pass no faster. Default: waits are measured by the system's, and lifetimes pass as `now` does.
   */
  monotonicMs?(): number
}

export const systemClock: Clock = { now: () => Date.now(), monotonicMs }

/** Milliseconds since some time in the past, which setting the system's clock does not change. */
export function monotonicMs(): number {
  return performance.now()
}

/** The clock of an open store. */
export class StoreClock implements Clock {
  readonly #clock: Clock
  #lifetimeMs: number
  /** The monotonic time at which that was the time. */
  #measuredAt: number
  readonly #skewMsMax: number
  /** How far the clock is ahead of that of the database, at least; negative: behind it. */
  #aheadMs = 0

  /** @param skewMsMax - How far it may be from the clock of the database. */
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

  /** Compares the clock with that of the database. @param ask - Asks for its time, in milliseconds since 1970 UTC. */
  async compare(ask: () => Promise<number>): Promise<void> {
    const askedAt = this.monotonicMs()
    const aheadMs = -(await ask()) + this.now()
    const takenMs = this.monotonicMs() - askedAt
    this.#aheadMs = aheadMs < 0 ? aheadMs : Math.max(0, aheadMs - takenMs)
  }

  /**
   * The time at which a lifetime begins, in milliseconds since 1970 UTC.
   * @throws {StoreError} STORAGE_UNAVAILABLE: the clock is too far from that of the database
   */
  stampMs(): number {
    this.#checkSkew()
    return this.now()
  }

  /**
   * The time that ends lifetimes, in milliseconds since 1970 UTC: never ahead of `now`, and no faster than the monotonic
   * time. So nothing ends early because the clock was set forward, or back and right again.
   * @throws {StoreError} as `stampMs`
   */
  lifetimeMs(): number {
    this.#checkSkew()
    this.#measure(this.#clock.now())
    return Math.floor(this.#lifetimeMs)
  }

  #checkSkew(): void {
    const skewMs = Math.round(Math.abs(this.#aheadMs))
    if (skewMs <= this.#skewMsMax) return
    const where = this.#aheadMs > 0 ? 'ahead of' : 'behind'
    const problem = `The clock of this process is ${skewMs} ms ${where} that of the database`
    const message = `${problem}; set it right, or raise clockSkewMs (${this.#skewMsMax})`
    throw new StoreError('STORAGE_UNAVAILABLE', message, { outcome: 'unchanged' })
  }

  #measure(now: number): void {
    const measuredAt = this.monotonicMs()
    const passed = this.#lifetimeMs + measuredAt - this.#measuredAt
    this.#lifetimeMs = this.#clock.monotonicMs === undefined ? now : Math.min(now, passed)
    this.#measuredAt = measuredAt
  }
}
