// The rate of sent rows, and the remaining time.
import type { StageProgress } from './import-run.js'

export type Rate = Readonly<{ rows: number; bytes: number; secondsLeft: number }>

/** The rate of the chunks sent now. Those staged before take almost no time, so their rate would mislead. */
export class RateClock {
  readonly #now: () => number
  #began: number

  constructor(now: () => number) {
    this.#now = now
    this.#began = now()
  }

  /** @param share - The staged share of the file, 0 to 1. */
  rateOf({ rows, bytes, skipped }: StageProgress, share: number): Rate {
    const sent = bytes - skipped.bytes
    if (sent <= 0) this.#began = this.#now()
    const seconds = Math.max(0.001, (this.#now() - this.#began) / 1_000)
    const sharePerSecond = (share * (sent / Math.max(1, bytes))) / seconds
    return {
      rows: (rows - skipped.rows) / seconds,
      bytes: sent / seconds,
      secondsLeft: (1 - share) / sharePerSecond,
    }
  }
}
