import type { Bytes } from '../base/bytes.js'
import { crc32, crc32OfUint32 } from '../base/platform.js'
import type { ObjectId } from '../objects/objects.js'
import { objectBytes } from './extent-page.js'

/** The crc32 of an object's ID, computed once for all its pieces. */
export function objectIdCrc(object: ObjectId): number {
  return crc32(objectBytes(object))
}

/** The crc32 of a piece of an object. It covers the object's ID and the place of the piece in it. */
export function pieceCrc(idCrc: number, place: number, piece: Bytes): number {
  return crc32(piece, crc32OfUint32(place, idCrc))
}
