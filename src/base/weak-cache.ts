/**
 * Values derived from objects that another owner keeps, such as cached records. A value is dropped with its object;
 * all values are dropped once they may exceed a budget of bytes.
 */
export class WeakCache<Key extends object, Value> {
  readonly #countMax: number
  readonly #valueBytes: number
  #values = new WeakMap<Key, Value>()
  #count = 0
  #hits = 0
  #misses = 0

  /**
   * @param bytesMax - Greatest size of the cache, in bytes; 0 caches nothing.
   * @param valueBytes - The approximate size of a value, in bytes.
   */
  constructor(bytesMax: number, valueBytes: number) {
    this.#countMax = Math.floor(bytesMax / valueBytes)
    this.#valueBytes = valueBytes
  }

  /** An upper bound of the size in bytes: values dropped with their objects are still counted. */
  get bytes(): number {
    return this.#count * this.#valueBytes
  }

  /** Number of lookups that found a value. */
  get hits(): number {
    return this.#hits
  }

  /** Number of lookups that found no value. */
  get misses(): number {
    return this.#misses
  }

  get(key: Key): Value | undefined {
    const value = this.#values.get(key)
    if (value === undefined) this.#misses++
    else this.#hits++
    return value
  }

  /** Adds a value for an object that has none. */
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
