// How slow the other side of a connection may be. A limit of the whole time would be too short for a large body,
// or give a small one hours; so there is a minimum rate.
//
// Invariants:
// - Only time spent waiting for the other side counts.
// - Bytes restore patience, up to its initial amount: one fast second does not earn an hour of silence.

/** 16 KB a second. */
const BYTES_PER_MS_MIN = 16

export class Patience {
  readonly #msMax: number
  #ms: number

  /** @param msMax - How long the other side may be silent, which is also the time over which its rate counts. */
  constructor(msMax: number) {
    this.#msMax = msMax
    this.#ms = msMax
  }

  /** Counts bytes that came, or were taken. */
  earn(bytes: number): void {
    this.#ms = Math.min(this.#msMax, this.#ms + bytes / BYTES_PER_MS_MIN)
  }

  /**
   * Waits for the other side.
   * @param onOver - Called once if patience ends first. It must end the connection, or this waits on.
   */
  async wait<T>(event: Promise<T>, onOver: () => void): Promise<T> {
    const begunAt = performance.now()
    const timer = setTimeout(onOver, Math.max(0, this.#ms))
    try {
      return await event
    } finally {
      clearTimeout(timer)
      this.#ms -= performance.now() - begunAt
    }
  }
}
