// The hashes of the keys of many rows, with the positions of the rows, in little memory. When they are sorted, they
// form a run of an index.
import { type Bytes, compareBytes } from '../../base/bytes.js'
import { sortSteps } from '../../base/sort-steps.js'
import type { StoreError } from '../../base/store-error.js'
import { runAtOnce, type Steps } from '../../base/time-slices.js'
import {
  BUCKET_ENTRY_BYTES,
  bitsOfRun,
  hashBucket,
  KEY_HASH_BYTES,
  type KeyBucket,
} from '../../format/key-index.js'
import type { Position } from '../../format/keys.js'
import { KEYED_ROWS_MAX, tooManyKeys } from './keyed-rows-max.js'

const ROWS_FIRST = 1_024

const NO_ENTRIES = new Uint32Array(0)

/** Number of entries between pauses for other work. */
const ENTRIES_AT_ONCE = 4_096

/** Maximum number of first bits by which entries are sorted before they are compared. */
const SORT_BITS_MAX = 16

export class KeyedRows {
  count = 0
  #bytes = new Uint8Array(ROWS_FIRST * BUCKET_ENTRY_BYTES)
  #view = new DataView(this.#bytes.buffer)
  /** Indexes of entries in the order of their bytes; undefined: entries were added since the last sort. */
  #order: Uint32Array | undefined
  readonly #tooMany: () => StoreError

  /** @param tooMany - Makes the error for one row too many. Default: the error for linked rows. */
  constructor(tooMany: () => StoreError = tooManyKeys) {
    this.#tooMany = tooMany
  }

  /** @throws {StoreError} REQUEST_VALIDATION_ERROR: too many rows */
  add(hash: Bytes, { extent, slot }: Position): void {
    if (this.count === KEYED_ROWS_MAX) throw this.#tooMany()
    const at = this.count++ * BUCKET_ENTRY_BYTES
    if (at === this.#bytes.length) this.#grow()
    this.#bytes.set(hash, at)
    this.#view.setUint16(at + KEY_HASH_BYTES, Math.floor(extent / 2 ** 32))
    this.#view.setUint32(at + KEY_HASH_BYTES + 2, extent >>> 0)
    this.#view.setUint16(at + KEY_HASH_BYTES + 6, slot)
    this.#order = undefined
  }

  #grow(): void {
    const grown = new Uint8Array(2 * this.#bytes.length)
    grown.set(this.#bytes)
    this.#bytes = grown
    this.#view = new DataView(grown.buffer)
  }

  addAll({ hashes, positions }: KeyBucket): void {
    for (const [at, position] of positions.entries()) {
      const hash = hashes[at]
      if (hash !== undefined) this.add(hash, position)
    }
  }

  /** The hash of the entry at a place in the order. */
  hashAt(place: number): Bytes {
    const at = this.#entryAt(place)
    return this.#bytes.subarray(at, at + KEY_HASH_BYTES)
  }

  positionAt(place: number): Position {
    const at = this.#entryAt(place) + KEY_HASH_BYTES
    const extent = this.#view.getUint16(at) * 2 ** 32 + this.#view.getUint32(at + 2)
    return { extent, slot: this.#view.getUint16(at + 6) }
  }

  #entryAt(place: number): number {
    return (this.#inOrder[place] ?? 0) * BUCKET_ENTRY_BYTES
  }

  /** The place of the first entry with a hash; -1: there is none. */
  find(hash: Bytes): number {
    let low = 0
    let high = this.count
    while (low < high) {
      const middle = (low + high) >>> 1
      if (compareBytes(this.hashAt(middle), hash) < 0) low = middle + 1
      else high = middle
    }
    return low < this.count && compareBytes(this.hashAt(low), hash) === 0 ? low : -1
  }

  /** The place of the first entry that has the same hash as its predecessor; -1: there is none. */
  *firstTwice(): Steps<number> {
    yield* this.sort()
    for (let place = 1; place < this.count; place++) {
      if (this.#compare(this.#entryAt(place - 1), this.#entryAt(place), KEY_HASH_BYTES) === 0) {
        return place
      }
      if (place % ENTRIES_AT_ONCE === 0) yield ENTRIES_AT_ONCE
    }
    return -1
  }

  /** The numbers of the buckets of a run to which the entries belong, ascending. */
  *bucketsOf(bits: number): Generator<number, void> {
    let last = -1
    for (let place = 0; place < this.count; place++) {
      const bucket = this.#bucketAt(place, bits)
      if (bucket !== last) yield bucket
      last = bucket
    }
  }

  #bucketAt(place: number, bits: number): number {
    return hashBucket(this.#view.getUint32(this.#entryAt(place)), bits)
  }

  /** All entries, as buckets of a run. */
  *buckets(): Generator<Readonly<{ bucket: number; entries: Bytes }>, void> {
    const bits = bitsOfRun(this.count)
    for (let first = 0; first < this.count; ) {
      const bucket = this.#bucketAt(first, bits)
      let limit = first + 1
      while (limit < this.count && this.#bucketAt(limit, bits) === bucket) limit++
      const entries = new Uint8Array((limit - first) * BUCKET_ENTRY_BYTES)
      for (let place = first; place < limit; place++) {
        const at = this.#entryAt(place)
        const entry = this.#bytes.subarray(at, at + BUCKET_ENTRY_BYTES)
        entries.set(entry, (place - first) * BUCKET_ENTRY_BYTES)
      }
      yield { bucket, entries }
      first = limit
    }
  }

  get #inOrder(): Uint32Array {
    if (this.#order === undefined) runAtOnce(this.sort())
    return this.#order ?? NO_ENTRIES
  }

  /**
   * Sorts by the first bits of the entries, then compares entries with equal bits. Methods that need the order sort
   * without pauses; if there are many rows, run `sort` before them.
   */
  *sort(): Steps<void> {
    if (this.#order !== undefined) return
    const bits = Math.min(SORT_BITS_MAX, 32 - Math.clz32(this.count)) // A part has about one entry.
    const ends = new Uint32Array(2 ** bits + 1)
    const partOf = (entry: number): number =>
      hashBucket(this.#view.getUint32(entry * BUCKET_ENTRY_BYTES), bits)
    for (let entry = 0; entry < this.count; entry++) {
      const part = partOf(entry) + 1
      ends[part] = (ends[part] ?? 0) + 1
      if (entry % ENTRIES_AT_ONCE === 0) yield ENTRIES_AT_ONCE
    }
    for (let part = 1; part < ends.length; part++) {
      ends[part] = (ends[part] ?? 0) + (ends[part - 1] ?? 0)
    }
    const order = new Uint32Array(this.count)
    const next = ends.slice()
    for (let entry = 0; entry < this.count; entry++) {
      const part = partOf(entry)
      const at = next[part] ?? 0
      order[at] = entry
      next[part] = at + 1
      if (entry % ENTRIES_AT_ONCE === 0) yield ENTRIES_AT_ONCE
    }
    const compare = (left: number, right: number): number =>
      this.#compare(left * BUCKET_ENTRY_BYTES, right * BUCKET_ENTRY_BYTES, BUCKET_ENTRY_BYTES)
    for (let part = 0, last = 0; part < 2 ** bits; part++) {
      const same = order.subarray(ends[part] ?? 0, ends[part + 1] ?? 0)
      if (same.length > 1) yield* sortSteps(same, compare)
      const done = (ends[part + 1] ?? 0) - last
      if (done < ENTRIES_AT_ONCE) continue
      yield done
      last += done
    }
    this.#order = order
  }

  /** Compares the first bytes of two entries. @param bytes - The number of bytes to compare. It is divisible by 4. */
  #compare(left: number, right: number, bytes: number): number {
    for (let at = 0; at < bytes; at += 4) {
      const difference = this.#view.getUint32(left + at) - this.#view.getUint32(right + at)
      if (difference !== 0) return difference
    }
    return 0
  }
}
