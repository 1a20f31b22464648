// Reads the index of a table's key.
//
// Invariant: the index leads to every row of its generation whose key has no empty cell, and perhaps to rows that were
// deleted or now have another key. So a row that the index names counts only if its key has the hash.
import { type Awaitable, chain } from '../../base/awaitable.js'
import { type Bytes, sameBytes } from '../../base/bytes.js'
import { StoreError } from '../../base/store-error.js'
import type { KeyHasher } from '../../format/key-hash.js'
import {
  decodeKeyBucket,
  decodeKeyEntry,
  decodeKeyIndex,
  hashBucket,
  type IndexPlace,
  type KeyBucket,
  type KeyIndexRecord,
  keyBucketKey,
  keyEntryKey,
  keyIndexKey,
  positionsInBucket,
} from '../../format/key-index.js'
import type { Position, TableKey } from '../../format/keys.js'
import type { Generation } from '../../format/records.js'
import type { ReadRecord } from '../../kv/kv.js'
import { type FoundRow, findRowAt, type RowSources } from '../read/row-lookup.js'

const NO_ENTRIES: KeyBucket = { hashes: [], positions: [] }

export class KeyIndex {
  readonly place: IndexPlace
  readonly record: KeyIndexRecord
  readonly #read: ReadRecord

  constructor(place: IndexPlace, record: KeyIndexRecord, read: ReadRecord) {
    this.place = place
    this.record = record
    this.#read = read
  }

  /** The positions of rows that may have a key. Synchronous if everything is in memory. */
  positionsOf(hash: Bytes): Awaitable<readonly Position[]> {
    return chain(this.#read(keyEntryKey(this.place, hash)), (entry) => {
      return this.#inRuns(hash, entry === null ? [] : [decodeKeyEntry(entry)], 0)
    })
  }

  /** @param found - Collects the positions. @param at - The index of the first run to search. */
  #inRuns(hash: Bytes, found: Position[], at: number): Awaitable<readonly Position[]> {
    const next = this.record.runs[at]
    if (next === undefined) return found
    const word = new DataView(hash.buffer, hash.byteOffset).getUint32(0)
    const bucket = keyBucketKey(this.place, next.run, hashBucket(word, next.bits))
    return chain(this.#read(bucket), (bytes) => {
      if (bytes !== null) found.push(...positionsInBucket(bytes, hash))
      return this.#inRuns(hash, found, at + 1)
    })
  }

  /** The entries of a bucket of a run; no entries if the bucket has no record. */
  async bucket(run: number, bucket: number): Promise<KeyBucket> {
    const record = await this.#read(keyBucketKey(this.place, run, bucket))
    return record === null ? NO_ENTRIES : decodeKeyBucket(record)
  }
}

/** @throws {StoreError} DATA_CORRUPT: if the head of the table names a missing index */
export function readKeyIndex(table: TableKey, index: Bytes, read: ReadRecord): Awaitable<KeyIndex> {
  const place = { table, index }
  return chain(read(keyIndexKey(place)), (record) => {
    if (record !== null) return new KeyIndex(place, decodeKeyIndex(record), read)
    throw new StoreError('DATA_CORRUPT', 'The key index of the table is missing')
  })
}

/** A generation, and how the keys of its rows are hashed. */
export type KeyedGeneration = Readonly<{
  sources: RowSources
  table: TableKey
  generation: Generation
  hasher: KeyHasher
  read: ReadRecord
}>

/** The row at a position, if it exists and its key has the hash; otherwise null. */
export function rowWithKey(
  { sources, table, generation, hasher, read }: KeyedGeneration,
  position: Position,
  hash: Bytes,
): Awaitable<FoundRow | null> {
  return chain(findRowAt(sources, read, table, generation, position), (row) => {
    const known = row === null ? null : hasher.ofText(row.text)
    return known !== null && sameBytes(known, hash) ? row : null
  })
}
