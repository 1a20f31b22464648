// Objects that contain several consecutive segments. FORMAT.md sections 4 and 6.
//
// Invariant: a segment has a unique ID, whether or not it shares its object. Checksums and caches use this ID; only
// code that reads, copies, marks or deletes bytes uses `storedIn`.
import { type Bytes, toHex } from '../base/bytes.js'
import type { ByteRange, ObjectId } from '../objects/objects.js'
import type { ByteReader } from './byte-reader.js'
import type { ByteWriter } from './byte-writer.js'
import { counterOf, earlierId, incarnationOf } from './object-id.js'

/** The place of a segment in a shared object. */
export type SharedPlace = Readonly<{ object: ObjectId; offset: number }>

/** The maximum number of bytes of a shared object. */
export const SHARED_OBJECT_BYTES_MAX = 4 * 1024 * 1024

/** Number of bytes of a segment's place in a record. */
export const SHARED_BYTES = 8

const BACK_MAX = 0xffffffff

/** The place of a segment. */
type Placed = Readonly<{
  /** The segment's ID. It is also the ID of its object, unless the object is shared. */
  object: ObjectId
  shared?: SharedPlace
}>

export type PlacedInShared = Required<Placed>

/** The object with the bytes of a segment. */
export function storedIn({ object, shared }: Placed): ObjectId {
  return shared?.object ?? object
}

/** Translates a range of a segment to a range of its object. */
export function rangeInObject({ shared }: Placed, range: ByteRange): ByteRange {
  if (shared === undefined) return range
  return { start: shared.offset + range.start, limit: shared.offset + range.limit }
}

/**
 * Whether a record can express that an object contains a segment: the object's ID must be an earlier ID of the same
 * incarnation.
 */
export function mayShare(object: ObjectId, segment: ObjectId): boolean {
  const isOfSame = incarnationOf(object) === incarnationOf(segment)
  const back = counterOf(object) - counterOf(segment)
  return isOfSame && back >= 1 && back <= BACK_MAX
}

/** Whether a segment shares its object, so that records need places. */
export function someShare(segments: Iterable<Placed | null>): boolean {
  for (const segment of segments) if (segment?.shared !== undefined) return true
  return false
}

/** Writes `shared`. @param segment - null: the extent has no object. */
export function writeShared(writer: ByteWriter, segment: Placed | null): void {
  const { shared, object } = segment ?? {}
  if (shared === undefined || object === undefined) writer.u32(0).u32(0)
  else writer.u32(shared.offset).u32(counterOf(shared.object) - counterOf(object))
}

/**
 * Reads `shared`.
 * @param object - The object in the record.
 * @returns null: the segment fills this object
 * @throws {StoreError} DATA_CORRUPT
 */
export function readShared(reader: ByteReader, object: Bytes): PlacedInShared | null {
  const offset = reader.u32()
  const back = reader.u32()
  if (back === 0) return null
  const segment = earlierId(object, back)
  if (segment === null) throw reader.corrupt('a record says that a segment shares an older object')
  return { object: segment, shared: { object: toHex(object), offset } }
}
