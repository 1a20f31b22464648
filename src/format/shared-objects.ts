// Objects that hold several segments, one after the other. FORMAT.md sections 4 and 6.
//
// Invariant: a segment has an ID that nothing else has, whether it shares its object or not. Its checksums and all that
// is remembered of it go by this ID; only what reads, copies, marks or deletes bytes goes by `storedIn`.
import { type Bytes, toHex } from '../base/bytes.js'
import type { ByteRange, ObjectId } from '../objects/objects.js'
import type { ByteReader } from './byte-reader.js'
import type { ByteWriter } from './byte-writer.js'
import { counterOf, earlierId, incarnationOf } from './object-id.js'

/** Where a segment is that shares its object. */
export type SharedPlace = Readonly<{ object: ObjectId; offset: number }>

/** Bytes of a shared object, at most. */
export const SHARED_OBJECT_BYTES_MAX = 4 * 1024 * 1024

/** Bytes of the place of a segment behind what records say of it. */
export const SHARED_BYTES = 8

const BACK_MAX = 0xffffffff

/** A segment, as far as its place is concerned. */
type Placed = Readonly<{
  /** Its own ID, which is that of its object unless it shares one. */
  object: ObjectId
  shared?: SharedPlace
}>

export type PlacedInShared = Required<Placed>

/** The object that has the bytes of a segment. */
export function storedIn({ object, shared }: Placed): ObjectId {
  return shared?.object ?? object
}

/** A range of a segment, as one of its object. */
export function rangeInObject({ shared }: Placed, range: ByteRange): ByteRange {
  if (shared === undefined) return range
  return { start: shared.offset + range.start, limit: shared.offset + range.limit }
}

/** Whether records can say that an object holds a segment: it is of the same incarnation, and was begun before. */
export function mayShare(object: ObjectId, segment: ObjectId): boolean {
  const isOfSame = incarnationOf(object) === incarnationOf(segment)
  const back = counterOf(object) - counterOf(segment)
  return isOfSame && back >= 1 && back <= BACK_MAX
}

/** Whether records must say of some of the segments where they are in their objects. */
export function someShare(segments: Iterable<Placed | null>): boolean {
  for (const segment of segments) if (segment?.shared !== undefined) return true
  return false
}

/** Writes `shared`. @param segment - null: an extent without an object. */
export function writeShared(writer: ByteWriter, segment: Placed | null): void {
  const { shared, object } = segment ?? {}
  if (shared === undefined || object === undefined) writer.u32(0).u32(0)
  else writer.u32(shared.offset).u32(counterOf(shared.object) - counterOf(object))
}

/**
 * Reads `shared`.
 * @param object - That of the record.
 * @returns null: the segment has this object alone
 * @throws {StoreError} DATA_CORRUPT
 */
export function readShared(reader: ByteReader, object: Bytes): PlacedInShared | null {
  const offset = reader.u32()
  const back = reader.u32()
  if (back === 0) return null
  const segment = earlierId(object, back)
  if (segment === null) throw reader.corrupt('a segment is said to share an object that is older')
  return { object: segment, shared: { object: toHex(object), offset } }
}
