// Ranges of keys that are known to have no records. Keys are texts, which sort as their bytes do.

/** Ranges that are remembered; each written record is compared with all of them. */
const RANGES_MAX = 64

export class EmptyRanges {
  /** Where each begins, by where it ends: the one that was not used for longest first. */
  readonly #ranges = new Map<string, string>()

  get hasNone(): boolean {
    return this.#ranges.size === 0
  }

  /** Whether one of them has all keys from `start` to `limit` (not included). */
  covers(start: string, limit: string): boolean {
    const from = this.#ranges.get(limit)
    if (from === undefined || from > start) return false
    this.#use(from, limit)
    return true
  }

  /** Whether a key is in one of them. */
  has(key: string): boolean {
    for (const [limit, start] of this.#ranges) {
      if (key < start || limit <= key) continue
      this.#use(start, limit)
      return true
    }
    return false
  }

  add(start: string, limit: string): void {
    const before = this.#ranges.get(limit) ?? start
    this.#ranges.delete(limit)
    this.#ranges.set(limit, before < start ? before : start)
    const [oldest] = this.#ranges.keys()
    if (this.#ranges.size > RANGES_MAX && oldest !== undefined) this.#ranges.delete(oldest)
  }

  /** A record is put: of the ranges that it comes into, what is before and after it stays. */
  fill(key: string): void {
    // Those that are added on the way do not have the key.
    for (const [limit, start] of this.#ranges) {
      if (key < start || limit <= key) continue
      this.#ranges.delete(limit)
      const next = `${key}\0`
      if (start < key) this.add(start, key)
      if (next < limit) this.add(next, limit)
    }
  }

  #use(start: string, limit: string): void {
    if (this.#ranges.size === 1) return
    this.#ranges.delete(limit)
    this.#ranges.set(limit, start)
  }
}
