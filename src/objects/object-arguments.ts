// What the implementations of ObjectStore have in common: checks of arguments, and pieces of a stream.
import type { Bytes } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import type { ByteRange, ObjectId } from './objects.js'
import { OBJECT_ID_PATTERN } from './objects.js'

/** The longest piece of a stream, in bytes. */
const PIECE_BYTES_MAX = 65_536

/** A range that has all bytes of any object. */
export const WHOLE_RANGE: ByteRange = Object.freeze({ start: 0, limit: Number.MAX_SAFE_INTEGER })

export function assertObjectId(id: ObjectId): void {
  invariant(OBJECT_ID_PATTERN.test(id), 'an object id has 32 lower-case hex digits')
}

export function assertRange({ start, limit }: ByteRange): void {
  const isValid = Number.isSafeInteger(start) && Number.isSafeInteger(limit)
  invariant(isValid && 0 <= start && start <= limit, 'a byte range does not end before its start')
}

/** Bytes in the pieces of a stream, none of them empty. */
export function* inPieces(bytes: Bytes): Generator<Bytes, void> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES_MAX) {
    yield bytes.subarray(at, at + PIECE_BYTES_MAX)
  }
}
