// Detects that this process paused so long that objects which its operations were reading may have been deleted.
//
// An object that nothing names is kept for `orphanGraceMs`, for readers that read its name earlier. A reader whose
// process was stopped, or whose machine was suspended, may read the object later than that. If it is missing then, it
// is not damage.
import { monotonicMs, systemClock } from '../../base/clock.js'
import { every } from '../../base/platform.js'
import { StoreError } from '../../base/store-error.js'

/** Number of checks of the time per grace period. */
const LOOKS = 10

type Moment = Readonly<{ monotonic: number; wall: number }>

export class Pauses {
  readonly #graceMs: number
  #last = thisMoment()
  /** The length of the last pause, and the monotonic time of its end. */
  #pause: Readonly<{ ms: number; endedAt: number }> | undefined

  /** @param graceMs - The length of the shortest pause that is noticed, in milliseconds; 0: no pause is noticed. */
  constructor(graceMs: number) {
    this.#graceMs = graceMs
  }

  /** Begins to check the time. @returns the function that stops it */
  begin(): () => void {
    if (this.#graceMs === 0) return () => undefined
    return every(Math.ceil(this.#graceMs / LOOKS), () => this.#look())
  }

  /**
   * Called when an object is missing.
   * @throws {StoreError} STORAGE_UNAVAILABLE: if a pause ended less than a grace period ago
   */
  check(): void {
    if (this.#graceMs === 0) return
    const { monotonic } = this.#look()
    if (this.#pause === undefined || monotonic - this.#pause.endedAt >= this.#graceMs) return
    const what = `This process paused for ${Math.round(this.#pause.ms)} ms`
    const message = `${what}, longer than orphanGraceMs: objects that it was reading may be deleted; try again`
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
