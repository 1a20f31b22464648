/** Values by key, the least recently used ones dropped when they cost more than a budget of bytes. */
export class ByteCache<Value extends { readonly bytes: number }> {
  readonly #bytesMax: number
  /** In order of last use, oldest first. */
  readonly #values = new Map<string, Value>()
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get(key: string): Value | undefined {
    const value = this.#values.get(key)
    if (value === undefined) return undefined
    this.#values.delete(key)
    this.#values.set(key, value)
    return value
  }

  set(key: string, value: Value): void {
    this.#bytes += value.bytes - (this.#values.get(key)?.bytes ?? 0)
    this.#values.delete(key)
    this.#values.set(key, value)
    for (const [oldest, { bytes }] of this.#values) {
      if (this.#bytes <= this.#bytesMax) return
      this.#values.delete(oldest)
      this.#bytes -= bytes
    }
  }
}
