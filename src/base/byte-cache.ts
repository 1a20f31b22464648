/**
 * A cache with a budget of bytes. Instead of an order of use it has two generations: entries of the older generation
 * that were not used since the younger one began are dropped together. So a hit moves nothing in an order, and the
 * budget is never exceeded.
 */
export class ByteCache<Value> {
  readonly #generationBytesMax: number
  /** The younger generation. A key is in at most one generation. */
  #young = new Map<string, Value>()
  #old = new Map<string, Value>()
  #youngBytes = 0
  #oldBytes = 0
  #hits = 0
  #misses = 0
  readonly #bytesOf: (key: string, value: Value) => number

  /**
   * @param bytesMax - Greatest size of the cache, in bytes; 0 caches nothing.
   * @param bytesOf - The cost of an entry, positive and constant.
   */
  constructor(bytesMax: number, bytesOf: (key: string, value: Value) => number) {
    this.#generationBytesMax = bytesMax / 2
    this.#bytesOf = bytesOf
  }

  /** The cost of all entries, in bytes. */
  get bytes(): number {
    return this.#youngBytes + this.#oldBytes
  }

  /** Number of lookups that found an entry. */
  get hits(): number {
    return this.#hits
  }

  /** Number of lookups that found no entry. */
  get misses(): number {
    return this.#misses
  }

  get(key: string): Value | undefined {
    const value = this.#young.get(key)
    if (value !== undefined) {
      this.#hits++
      return value
    }
    const old = this.#old.get(key)
    if (old === undefined) {
      this.#misses++
      return undefined
    }
    this.#hits++
    this.set(key, old)
    return old
  }

  /** Replaces the value of an entry, if there is one. @param keep - Makes the value to store, such as a copy. */
  replace(key: string, value: Value, keep: (value: Value) => Value): void {
    const before = this.#young.get(key)
    if (before === undefined && !this.#old.has(key)) return
    const kept = keep(value)
    const bytes = this.#bytesOf(key, kept)
    const grows = before === undefined ? bytes : bytes - this.#bytesOf(key, before)
    if (before === undefined || this.#youngBytes + grows > this.#generationBytesMax) {
      this.set(key, kept)
      return
    }
    this.#youngBytes += grows
    this.#young.set(key, kept)
  }

  /** An entry that costs more than half the budget is not kept. */
  set(key: string, value: Value): void {
    const bytes = this.#bytesOf(key, value)
    if (bytes > this.#generationBytesMax) {
      this.delete(key)
      return
    }
    const before = this.#young.get(key)
    if (before === undefined) this.#deleteOld(key)
    const freed = before === undefined ? 0 : this.#bytesOf(key, before)
    if (this.#youngBytes - freed + bytes > this.#generationBytesMax) {
      if (before !== undefined) this.#young.delete(key)
      this.#old = this.#young
      this.#oldBytes = this.#youngBytes - freed
      this.#young = new Map()
      this.#youngBytes = bytes
    } else this.#youngBytes += bytes - freed
    this.#young.set(key, value)
  }

  delete(key: string): void {
    const value = this.#young.get(key)
    if (value === undefined) {
      this.#deleteOld(key)
      return
    }
    this.#youngBytes -= this.#bytesOf(key, value)
    this.#young.delete(key)
  }

  #deleteOld(key: string): void {
    const value = this.#old.get(key)
    if (value === undefined) return
    this.#oldBytes -= this.#bytesOf(key, value)
    this.#old.delete(key)
  }
}
