// Caches decoded heads of tables by the bytes of their records. While a record stays in memory, each read returns the
// same bytes object, and its content cannot change.
import type { Bytes } from '../../base/bytes.js'
import { WeakCache } from '../../base/weak-cache.js'
import { decodeTableHead, type TableHead } from '../../format/records.js'

/** Estimated memory of a decoded head. */
export const HEAD_BYTES = 1_024

export class TableHeads {
  readonly #heads: WeakCache<Bytes, TableHead>

  /** @param bytesMax - Maximum size of the cache, in bytes; 0 caches nothing. */
  constructor(bytesMax: number) {
    this.#heads = new WeakCache(bytesMax, HEAD_BYTES)
  }

  /** Estimated size, in bytes. */
  get bytes(): number {
    return this.#heads.bytes
  }

  /** Number of lookups that found an entry. `misses` is the number of all other lookups. */
  get hits(): number {
    return this.#heads.hits
  }

  get misses(): number {
    return this.#heads.misses
  }

  /** @throws {StoreError} DATA_CORRUPT */
  decode(bytes: Bytes): TableHead {
    const known = this.#heads.get(bytes)
    if (known !== undefined) return known
    const head = decodeTableHead(bytes)
    this.#heads.add(bytes, head)
    return head
  }
}
