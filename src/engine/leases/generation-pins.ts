// The generations that scans of this process are reading. They are not deleted, even if they are past retention.
import { type Bytes, fromHex, NO_BYTES, toHex } from '../../base/bytes.js'

export class GenerationPins {
  readonly #counts = new Map<string, number>()

  /** Keeps a generation readable until the returned function is called, once. */
  pin(nonce: Bytes): () => void {
    const key = toHex(nonce)
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
    return () => {
      const left = (this.#counts.get(key) ?? 0) - 1
      if (left > 0) this.#counts.set(key, left)
      else this.#counts.delete(key)
    }
  }

  has(nonce: Bytes): boolean {
    return this.#counts.has(toHex(nonce))
  }

  /** The nonces of all pinned generations; null: there are more than `max`. */
  list(max: number): Bytes[] | null {
    if (this.#counts.size > max) return null
    return [...this.#counts.keys()].map((key) => fromHex(key) ?? NO_BYTES)
  }
}
