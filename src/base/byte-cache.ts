/**
 * Values by key, dropped when they cost more than a budget of bytes. In two generations instead of an order
 * of use: what was not asked for since the younger one began goes with the older one. So a hit moves
 * nothing, and never more than the budget is held.
 */
export class ByteCache<Value> {
  readonly #generationBytesMax: number
  /** A key is in one of them at most. */
  #young = new Map<string, Value>()
  #old = new Map<string, Value>()
  #youngBytes = 0
  #oldBytes = 0
  #hits = 0
  #misses = 0
  readonly #bytesOf: (key: string, value: Value) => number

  /**
   * @param bytesMax - Size of the cache, in bytes, at most; 0 caches nothing.
   * @param bytesOf - What an entry costs, more than 0; always the same for the same one.
   */
  constructor(bytesMax: number, bytesOf: (key: string, value: Value) => number) {
    this.#generationBytesMax = bytesMax / 2
    this.#bytesOf = bytesOf
  }

  /** The cost of all entries, in bytes. */
  get bytes(): number {
    return this.#youngBytes + this.#oldBytes
  }

  /** Lookups that found an entry. */
  get hits(): number {
    return this.#hits
  }

  /** Lookups that found none. */
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

  /** Sets the value of an entry, if there is one. @param keep - Makes of the value what is kept. */
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

  /** An entry that costs more than half of the budget is not kept. */
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
