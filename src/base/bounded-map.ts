/** A map of so many entries at most: one more drops the one that was set first. For what can be found out again. */
export class BoundedMap<Key, Value> {
  readonly #countMax: number
  readonly #entries = new Map<Key, Value>()

  constructor(countMax: number) {
    this.#countMax = countMax
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key)
  }

  set(key: Key, value: Value): void {
    if (this.#entries.size >= this.#countMax && !this.#entries.has(key)) {
      const oldest = this.#entries.keys().next()
      if (!oldest.done) this.#entries.delete(oldest.value)
    }
    this.#entries.set(key, value)
  }

  delete(key: Key): void {
    this.#entries.delete(key)
  }

  clear(): void {
    this.#entries.clear()
  }
}
