/** A map with a maximum size: adding an entry beyond it drops the oldest. For values that can be computed again. */
export class BoundedMap<Key, Value> {
  readonly #countMax: number
  readonly #entries = new Map<Key, Value>()

  constructor(countMax: number) {
    this.#countMax = countMax
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key)
  }

  has(key: Key): boolean {
    return this.#entries.has(key)
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

  /** The oldest entries, at most `countMax`. */
  oldest(countMax: number): [Key, Value][] {
    return [...this.#entries].slice(0, countMax)
  }
}
