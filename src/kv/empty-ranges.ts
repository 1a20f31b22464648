// Ranges of keys known to have no records. Keys are texts that sort like their bytes.

/** The maximum number of ranges remembered. */
const RANGES_MAX = 64

interface EmptyRange {
  readonly start: string
  readonly limit: string
  /** The use counter at the last use of this range. */
  usedAt: number
}

export class EmptyRanges {
  /** The ranges, in key order and without overlaps. */
  readonly #ranges: EmptyRange[] = []
  #uses = 0

  get hasNone(): boolean {
    return this.#ranges.length === 0
  }

  /** Whether one range has all keys from `start` to `limit` (exclusive). */
  covers(start: string, limit: string): boolean {
    const range = this.#find(start)
    if (range === undefined || range.limit < limit) return false
    range.usedAt = ++this.#uses
    return true
  }

  /** Whether a key is in one of the ranges. */
  has(key: string): boolean {
    const range = this.#find(key)
    if (range === undefined) return false
    range.usedAt = ++this.#uses
    return true
  }

  /** Adds a range, merged with the ranges that it overlaps. */
  add(start: string, limit: string): void {
    const ranges = this.#ranges
    const first = this.#endingAfter(start)
    let end = first
    while ((ranges[end]?.start ?? limit) < limit) end++
    const added = { start, limit, usedAt: ++this.#uses }
    for (const overlapped of ranges.slice(first, end)) {
      if (overlapped.start < start) added.start = overlapped.start
      if (limit < overlapped.limit) added.limit = overlapped.limit
    }
    ranges.splice(first, end - first, added)
    if (ranges.length > RANGES_MAX) this.#dropOldest()
  }

  /** Removes a key that got a record: its range is split around it. */
  fill(key: string): void {
    const index = this.#endingAfter(key)
    const range = this.#ranges[index]
    if (range === undefined || key < range.start) return
    this.#ranges.splice(index, 1)
    const next = `${key}\0`
    if (range.start < key) this.add(range.start, key)
    if (next < range.limit) this.add(next, range.limit)
  }

  #find(key: string): EmptyRange | undefined {
    const range = this.#ranges[this.#endingAfter(key)]
    return range === undefined || key < range.start ? undefined : range
  }

  /** Index of the first range that ends after `key`: no other range can contain the key. */
  #endingAfter(key: string): number {
    let [low, high] = [0, this.#ranges.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#ranges[middle]?.limit ?? '') <= key) low = middle + 1
      else high = middle
    }
    return low
  }

  #dropOldest(): void {
    let oldest = 0
    for (const [index, { usedAt }] of this.#ranges.entries()) {
      if (usedAt < (this.#ranges[oldest]?.usedAt ?? 0)) oldest = index
    }
    this.#ranges.splice(oldest, 1)
  }
}
