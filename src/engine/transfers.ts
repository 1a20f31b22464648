// How many bodies of files are read at one time: each holds a connection, an open file and a few buffers.
import { StoreError } from '../base/store-error.js'

/** Those who wait hold a connection and no bytes; beyond this many the answer is "try again". */
const WAITING_MAX = 1_000

/** First come, first served. */
export class Transfers {
  readonly #max: number
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(max: number) {
    this.#max = max
  }

  /** Runs a transfer when it has its turn. @throws {StoreError} RATE_LIMITED: too many wait already. */
  async run<T>(transfer: () => Promise<T>): Promise<T> {
    await this.#enter()
    try {
      return await transfer()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#running--
      else next() // Takes over the place.
    }
  }

  async #enter(): Promise<void> {
    if (this.#running < this.#max) {
      this.#running++
      return
    }
    if (this.#waiting.length >= WAITING_MAX) {
      throw new StoreError('RATE_LIMITED', 'Too many files are on their way; try again')
    }
    await new Promise<void>((enter) => this.#waiting.push(enter))
  }
}
