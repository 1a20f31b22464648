// Ranges of keys that are known to have no records. Keys are texts, which sort as their bytes do.

/** Ranges that are remembered. */
const RANGES_MAX = 64

interface EmptyRange {
  readonly start: string
  readonly limit: string
  /** Counts uses of all ranges: the one with the least was not used for longest. */
  usedAt: number
}

export class EmptyRanges {
  /** In the order of their keys; no two have a key in common. */
  readonly #ranges: EmptyRange[] = []
  #uses = 0

  get hasNone(): boolean {
    return this.#ranges.length === 0
  }

  /** Whether one of them has all keys from `start` to `limit` (not included). */
  covers(start: string, limit: string): boolean {
    const range = this.#ranges[this.#endingAfter(start)]
    return range !== undefined && limit <= range.limit && this.#use(range, start)
  }

  /** Whether a key is in one of them. */
  has(key: string): boolean {
    const range = this.#ranges[this.#endingAfter(key)]
    return range !== undefined && this.#use(range, key)
  }

  /** Takes the place of the ranges that it overlaps, with their keys. */
  add(start: string, limit: string): void {
    const ranges = this.#ranges
    const added = { start, limit, usedAt: ++this.#uses }
    const first = this.#endingAfter(start)
    let next = first
    for (let other = ranges[next]; other !== undefined && other.start < limit; ) {
      if (other.start < start) added.start = other.start
      if (limit < other.limit) added.limit = other.limit
      other = ranges[++next]
    }
    ranges.splice(first, next - first, added)
    if (ranges.length > RANGES_MAX) this.#dropOldest()
  }

  /** A record is put: of the range that it comes into, what is before and after it stays. */
  fill(key: string): void {
    const index = this.#endingAfter(key)
    const range = this.#ranges[index]
    if (range === undefined || key < range.start) return
    this.#ranges.splice(index, 1)
    const next = `${key}\0`
    if (range.start < key) this.add(range.start, key)
    if (next < range.limit) this.add(next, range.limit)
  }

  /** Index of the first range with keys at or after `key`: no other can have it. */
  #endingAfter(key: string): number {
    let [low, high] = [0, this.#ranges.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#ranges[middle]?.limit ?? '') <= key) low = middle + 1
      else high = middle
    }
    return low
  }

  #use(range: EmptyRange, key: string): boolean {
    if (key < range.start) return false
    range.usedAt = ++this.#uses
    return true
  }

  #dropOldest(): void {
    let oldest = 0
    for (const [index, { usedAt }] of this.#ranges.entries()) {
      if (usedAt < (this.#ranges[oldest]?.usedAt ?? 0)) oldest = index
    }
    this.#ranges.splice(oldest, 1)
  }
}
