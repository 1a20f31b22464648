import type { Bytes } from '../base/bytes.js'
import { crc32, crc32OfUint32 } from '../base/platform.js'
import type { ObjectId } from '../objects/objects.js'
import { objectBytes } from './extent-page.js'

/** The crc32 of an object's id, to be had once for all pieces of the object that are written or checked together. */
export function objectIdCrc(object: ObjectId): number {
  return crc32(objectBytes(object))
}

/** The crc32 of a piece of an object, bound to the object's id and to the piece's place in it. */
export function pieceCrc(idCrc: number, place: number, piece: Bytes): number {
  return crc32(piece, crc32OfUint32(place, idCrc))
}
