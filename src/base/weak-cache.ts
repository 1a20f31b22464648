/**
 * Values that were made from objects which somebody else holds, such as records in a cache. A value goes with its
 * object; all go when they may have become more than a budget of bytes.
 */
export class WeakCache<Key extends object, Value> {
  readonly #countMax: number
  readonly #valueBytes: number
  #values = new WeakMap<Key, Value>()
  #count = 0

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

  get(key: Key): Value | undefined {
    return this.#values.get(key)
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
