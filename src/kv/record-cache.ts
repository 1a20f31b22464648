// Records that were read lately, by the text of their LevelDB key; null for those that are not there.
import type { Bytes } from '../base/bytes.js'

/** What an entry costs beside its key and value, about. */
const ENTRY_BYTES = 128

/**
 * Two generations instead of an order of use: what was not read since the younger one began goes with
 * the older one. So a hit moves nothing, and at most `bytesMax` is held.
 */
export class RecordCache {
  readonly #generationBytesMax: number
  #young = new Map<string, Bytes | null>()
  #old = new Map<string, Bytes | null>()
  #youngBytes = 0

  constructor(bytesMax: number) {
    this.#generationBytesMax = bytesMax / 2
  }

  /** undefined: it is not known whether there is such a record. */
  get(key: string): Bytes | null | undefined {
    const value = this.#young.get(key)
    if (value !== undefined) return value
    const old = this.#old.get(key)
    if (old !== undefined) this.set(key, old)
    return old
  }

  set(key: string, value: Bytes | null): void {
    const bytes = ENTRY_BYTES + key.length + (value?.length ?? 0)
    if (bytes > this.#generationBytesMax) return
    if (this.#youngBytes + bytes > this.#generationBytesMax) {
      this.#old = this.#young
      this.#young = new Map()
      this.#youngBytes = 0
    }
    this.#young.set(key, value)
    this.#youngBytes += bytes
  }

  delete(key: string): void {
    this.#young.delete(key)
    this.#old.delete(key)
  }
}
