// Returns the same object as long as the bytes of a record are the same: callers use it as a key for decoded values.
import { Buffer } from 'node:buffer'
import { ByteCache } from '../../src/base/byte-cache.js'
import type { Bytes } from '../../src/base/bytes.js'
import type { KvCache } from '../../src/kv/kv.js'

/** The maximum size of a cached record, in bytes: a few larger records would evict all others. */
const CACHED_BYTES_MAX = 64 * 1024

/** Estimated memory of an entry besides its key and value. */
const ENTRY_BYTES = 128

export class RecordCache implements KvCache {
  #bytesMax: number
  readonly #isFixed: boolean
  #records: ByteCache<Bytes>

  constructor(bytesMax: number, isFixed: boolean) {
    this.#bytesMax = bytesMax
    this.#isFixed = isFixed
    this.#records = newCache(bytesMax)
  }

  get bytes(): number {
    return this.#records.bytes
  }

  get bytesMax(): number {
    return this.#bytesMax
  }

  setShare(bytesMax: number): void {
    if (this.#isFixed) return
    this.#bytesMax = bytesMax
    this.#records = newCache(bytesMax)
  }

  /** The object returned for this record before, if its bytes are the same. */
  same(key: string, value: Bytes): Bytes {
    const known = this.#records.get(key)
    if (known !== undefined && Buffer.compare(known, value) === 0) return known
    if (value.length <= CACHED_BYTES_MAX) this.#records.set(key, value)
    return value
  }
}

function newCache(bytesMax: number): ByteCache<Bytes> {
  return new ByteCache(bytesMax, (key, value) => ENTRY_BYTES + key.length + value.length)
}
