// A minimum rate for the other side of a connection. A limit on the total time would be too short for large bodies, or
// give small ones hours.
//
// Invariants:
// - Only time spent waiting for the other side counts.
// - Bytes restore patience, up to its initial amount: one fast second does not earn an hour of silence.

/** Minimum rate: 16 KB/s. */
const BYTES_PER_MS_MIN = 16

export class Patience {
  readonly #msMax: number
  #ms: number

  /** @param msMax - The maximum silence of the other side, in milliseconds, and the period of the minimum rate. */
  constructor(msMax: number) {
    this.#msMax = msMax
    this.#ms = msMax
  }

  /** Counts bytes that the other side sent or took. */
  earn(bytes: number): void {
    this.#ms = Math.min(this.#msMax, this.#ms + bytes / BYTES_PER_MS_MIN)
  }

  /**
   * Waits for the other side.
   * @param onOver - Called once if patience ends first. It must end the connection, or the wait continues.
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
