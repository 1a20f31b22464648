// Whether this process stood still for so long that what its operations were reading may be gone.
//
// An object that nothing names is kept for `orphanGraceMs`, for readers that found it before. A reader whose process was
// stopped, or whose machine was suspended, may come later than that: then a missing object is no damage.
import { monotonicMs, systemClock } from '../../base/clock.js'
import { every } from '../../base/platform.js'
import { StoreError } from '../../base/store-error.js'

/** Looks at the time while a grace passes. */
const LOOKS = 10

type Moment = Readonly<{ monotonic: number; wall: number }>

export class Pauses {
  readonly #graceMs: number
  #last = thisMoment()
  /** How long the last pause was, and the monotonic time of its end. */
  #pause: Readonly<{ ms: number; endedAt: number }> | undefined

  /** @param graceMs - A pause is at least as long; 0: none is noticed. */
  constructor(graceMs: number) {
    this.#graceMs = graceMs
  }

  /** Looks at the time from now on. @returns what ends that */
  begin(): () => void {
    if (this.#graceMs === 0) return () => undefined
    return every(Math.ceil(this.#graceMs / LOOKS), () => this.#look())
  }

  /**
   * Call it when an object is missing.
   * @throws {StoreError} STORAGE_UNAVAILABLE: a pause ended less than a grace ago
   */
  check(): void {
    if (this.#graceMs === 0) return
    const { monotonic } = this.#look()
    if (this.#pause === undefined || monotonic - this.#pause.endedAt >= this.#graceMs) return
    const what = `This process stood still for ${Math.round(this.#pause.ms)} ms`
    const message = `${what}, longer than orphanGraceMs: what it was reading may be gone; try again`
    throw new StoreError('STORAGE_UNAVAILABLE', message, { outcome: 'unchanged' })
  }

  #look(): Moment {
    const now = thisMoment()
    // The monotonic clock stands still while a machine is suspended.
    const ms = Math.max(now.monotonic - this.#last.monotonic, now.wall - this.#last.wall)
    if (ms >= this.#graceMs) this.#pause = { ms, endedAt: now.monotonic }
    this.#last = now
    return now
  }
}

function thisMoment(): Moment {
  return { monotonic: monotonicMs(), wall: systemClock.now() }
}
