/**
 * Values that were made from objects which somebody else holds, such as records in a cache. A value goes with its
 * object; all go when they may have become more than a budget of bytes.
 */
export class WeakCache<Key extends object, Value> {
  readonly #countMax: number
  readonly #valueBytes: number
  #values = new WeakMap<Key, Value>()
  #count = 0
  #hits = 0
  #misses = 0

  /**
   * @param bytesMax - Size of the cache, in bytes, at most; 0 caches nothing.
   * @param valueBytes - What a value costs, about.
   */
  constructor(bytesMax: number, valueBytes: number) {
    this.#countMax = Math.floor(bytesMax / valueBytes)
    this.#valueBytes = valueBytes
  }

  /** The size of the cache in bytes, at most: values that went with their objects are still counted. */
  get bytes(): number {
    return this.#count * this.#valueBytes
  }

  /** Lookups that found a value. */
  get hits(): number {
    return this.#hits
  }

  /** Lookups that found none. */
  get misses(): number {
    return this.#misses
  }

  get(key: Key): Value | undefined {
    const value = this.#values.get(key)
    if (value === undefined) this.#misses++
    else this.#hits++
    return value
  }

  /** Adds the value of an object that has none yet. */
  add(key: Key, value: Value): void {
    if (this.#countMax === 0) return
    if (this.#count === this.#countMax) {
      this.#values = new WeakMap()
      this.#count = 0
    }
    this.#values.set(key, value)
    this.#count++
  }
}
