// The index of a table's key: maps the hash of a row's key to the row. FORMAT.md sections 3 and 4.
import type { Bytes } from '../base/bytes.js'
import { prefixRange } from '../kv/key-range.js'
import type { KeyRange } from '../kv/kv.js'
import { ByteWriter } from './byte-writer.js'
import { KEY_SPACE, type Position, type TableKey } from './keys.js'
import { newRecord, openRecord } from './record-frame.js'

/** Number of bytes of a key hash. */
export const KEY_HASH_BYTES = 16

/** Number of bytes of an index name. */
export const INDEX_NAME_BYTES = 8

/** Number of bytes of a bucket entry: the hash and the position. */
export const BUCKET_ENTRY_BYTES = KEY_HASH_BYTES + 8

/** Approximate number of entries per bucket. It is small, because buckets are read whole. */
const ENTRIES_OF_A_BUCKET = 128

/** The maximum number of bits that select a bucket. */
const BITS_MAX = 24

/** A run of an index: the keys of the rows that one commit linked, in 2^bits buckets. */
export type KeyRun = Readonly<{ run: number; bits: number; entries: number }>

export type KeyIndexRecord = Readonly<{
  /** IDs of the key columns. */
  columns: readonly string[]
  nextRun: number
  runs: readonly KeyRun[]
}>

/** An index of a table. */
export type IndexPlace = Readonly<{ table: TableKey; index: Bytes }>

export const KEY_ENTRIES_RANGE: KeyRange = prefixRange(Uint8Array.of(KEY_SPACE.keyEntry))
export const KEY_INDEXES_RANGE: KeyRange = prefixRange(Uint8Array.of(KEY_SPACE.keyIndex))

export function keyIndexKey(place: IndexPlace): Bytes {
  return indexKeyWriter(KEY_SPACE.keyIndex, place).finish()
}

export function keyEntryKey(place: IndexPlace, hash: Bytes): Bytes {
  return indexKeyWriter(KEY_SPACE.keyEntry, place).bytes(hash).finish()
}

/** The hash in an entry's key. */
export function hashOfEntryKey(key: Bytes): Bytes {
  return key.subarray(key.length - KEY_HASH_BYTES)
}

export function keyBucketKey(place: IndexPlace, run: number, bucket: number): Bytes {
  return indexKeyWriter(KEY_SPACE.keyIndex, place).u32(run).u32(bucket).finish()
}

/** The index that a record key belongs to. */
export function indexOfKey(key: Bytes): IndexPlace {
  return { table: key.slice(1, 17), index: key.slice(17, 17 + INDEX_NAME_BYTES) }
}

export function keyEntriesRange(place: IndexPlace): KeyRange {
  return prefixRange(indexKeyWriter(KEY_SPACE.keyEntry, place).finish())
}

/** All records of an index. */
export function rangesOfIndex(place: IndexPlace): readonly KeyRange[] {
  return [keyEntriesRange(place), prefixRange(keyIndexKey(place))]
}

function indexKeyWriter(space: number, { table, index }: IndexPlace): ByteWriter {
  return new ByteWriter(48).u8(space).bytes(table).bytes(index)
}

export function encodeKeyIndex({ columns, nextRun, runs }: KeyIndexRecord): Bytes {
  const writer = newRecord(64).u16(columns.length)
  for (const id of columns) writer.text(id)
  writer.u32(nextRun)
  for (const { run, bits, entries } of runs) writer.u32(run).u8(bits).u48(entries)
  return writer.finish()
}

export function decodeKeyIndex(bytes: Bytes): KeyIndexRecord {
  const reader = openRecord(bytes, 'key index')
  const columns = Array.from({ length: reader.u16() }, () => reader.text())
  const nextRun = reader.u32()
  const runs: KeyRun[] = []
  while (reader.left > 0) {
    const run = { run: reader.u32(), bits: reader.u8(), entries: reader.u48() }
    if (run.bits > BITS_MAX || run.run >= nextRun) throw reader.corrupt('a run is out of its range')
    runs.push(run)
  }
  return { columns, nextRun, runs }
}

export function encodeKeyEntry({ extent, slot }: Position): Bytes {
  return newRecord(9).u48(extent).u16(slot).finish()
}

export function decodeKeyEntry(bytes: Bytes): Position {
  const reader = openRecord(bytes, 'key entry')
  const position = { extent: reader.u48(), slot: reader.u16() }
  reader.end()
  return position
}

/** @param entries - The concatenated bytes of the entries. */
export function encodeKeyBucket(entries: Bytes): Bytes {
  return newRecord(1 + entries.length)
    .bytes(entries)
    .finish()
}

/** The entries of a bucket: hashes, and positions in the same order. */
export type KeyBucket = Readonly<{ hashes: readonly Bytes[]; positions: readonly Position[] }>

export function decodeKeyBucket(bytes: Bytes): KeyBucket {
  const reader = openRecord(bytes, 'key bucket')
  const [hashes, positions]: [Bytes[], Position[]] = [[], []]
  while (reader.left > 0) {
    hashes.push(reader.bytes(KEY_HASH_BYTES))
    positions.push({ extent: reader.u48(), slot: reader.u16() })
  }
  return { hashes, positions }
}

/** The positions with a hash in a bucket, without decoding other entries. */
export function positionsInBucket(bytes: Bytes, hash: Bytes): Position[] {
  const reader = openRecord(bytes, 'key bucket')
  if (reader.left % BUCKET_ENTRY_BYTES !== 0) throw reader.corrupt('it ends within an entry')
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const positions: Position[] = []
  for (let at = 1; at < bytes.length; at += BUCKET_ENTRY_BYTES) {
    let same = 0
    while (same < KEY_HASH_BYTES && bytes[at + same] === hash[same]) same++
    if (same < KEY_HASH_BYTES) continue
    const place = at + KEY_HASH_BYTES
    const extent = view.getUint16(place) * 2 ** 32 + view.getUint32(place + 2)
    positions.push({ extent, slot: view.getUint16(place + 6) })
  }
  return positions
}

/** The number of bits that select a bucket in a run with this many entries. */
export function bitsOfRun(entries: number): number {
  const bits = Math.ceil(Math.log2(Math.max(1, entries / ENTRIES_OF_A_BUCKET)))
  return Math.min(bits, BITS_MAX)
}

/** The bucket of a hash. @param word - The first 32 bits of the hash. */
export function hashBucket(word: number, bits: number): number {
  return bits === 0 ? 0 : word >>> (32 - bits)
}
