// Encodes and decodes objects in a key-value store. FORMAT.md section 11.
import { type Bytes, fromUtf8, utf8 } from '../base/bytes.js'
import { prefixRange } from '../kv/key-range.js'
import type { KeyRange } from '../kv/kv.js'
import type { ObjectId } from '../objects/objects.js'
import { ByteReader } from './byte-reader.js'
import { ByteWriter } from './byte-writer.js'
import { RECORD_VERSION } from './record-frame.js'

/** Key spaces of the partition. Never change or reuse a number. */
const SPACE = { head: 0x01, piece: 0x02, unfinished: 0x03 } as const

const ID_CHARS = 32

export function objectHeadKey(id: ObjectId): Bytes {
  return spaceKey(SPACE.head, id)
}

export function unfinishedObjectKey(id: ObjectId): Bytes {
  return spaceKey(SPACE.unfinished, id)
}

export function objectPieceKey(id: ObjectId, number: number): Bytes {
  return new ByteWriter().bytes(spaceKey(SPACE.piece, id)).u32(number).finish()
}

/** The heads of objects whose IDs have a prefix. */
export function objectHeadsRange(prefix: string): KeyRange {
  return prefixRange(spaceKey(SPACE.head, prefix))
}

export function objectPiecesRange(id: ObjectId): KeyRange {
  return prefixRange(spaceKey(SPACE.piece, id))
}

export const UNFINISHED_OBJECTS_RANGE: KeyRange = prefixRange(Uint8Array.of(SPACE.unfinished))

export function objectIdOfKey(key: Bytes): ObjectId {
  return fromUtf8(key.subarray(1, 1 + ID_CHARS))
}

export function encodeObjectHead(bytes: number): Bytes {
  return new ByteWriter().u8(RECORD_VERSION).u48(bytes).finish()
}

/** The length of the object. @throws {StoreError} DATA_CORRUPT */
export function decodeObjectHead(record: Bytes): number {
  const reader = new ByteReader(record, 'object head')
  reader.recordVersion()
  const bytes = reader.u48()
  reader.end()
  return bytes
}

function spaceKey(space: number, id: string): Bytes {
  return Uint8Array.of(space, ...utf8(id))
}
