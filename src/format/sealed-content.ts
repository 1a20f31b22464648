// The object of a file: its bytes in leaves, each with a checksum, so that any range can be verified alone. FORMAT.md
// section 10.
//
//     sealed := leaf*
//     leaf   := u8[1..65536] crc:u32        // all but the last have 65,536 bytes
//
// The crc of leaf n is that of section 6 at the place n: over the object's id, n, and the bytes.

import type { Bytes } from '../base/bytes.js'
import { StoreError } from '../base/store-error.js'
import type { ByteRange, ObjectId } from '../objects/objects.js'
import { objectIdCrc, pieceCrc } from './piece-crc.js'

export const LEAF_BYTES = 65_536
const CRC_BYTES = 4
const SEALED_LEAF_BYTES = LEAF_BYTES + CRC_BYTES

/** The size of the object for a file of this many bytes. */
export function sealedBytes(bytes: number): number {
  return bytes + CRC_BYTES * Math.ceil(bytes / LEAF_BYTES)
}

/** The bytes of the object that hold a range of the file: whole leaves, each with its crc. */
export function sealedRange({ start, limit }: ByteRange, bytes: number): ByteRange {
  const first = Math.floor(start / LEAF_BYTES)
  const end = Math.ceil(limit / LEAF_BYTES)
  const whole = sealedBytes(bytes)
  return {
    start: SEALED_LEAF_BYTES * first,
    limit: Math.min(SEALED_LEAF_BYTES * Math.max(first, end), whole),
  }
}

/** The bytes of the object for content in pieces. */
export async function* seal(
  object: ObjectId,
  pieces: AsyncIterable<Bytes>,
): AsyncGenerator<Bytes, void> {
  const idCrc = objectIdCrc(object)
  let leaf = new Uint8Array(SEALED_LEAF_BYTES)
  let length = 0
  let number = 0
  const end = (): Bytes => {
    const crc = pieceCrc(idCrc, number++, leaf.subarray(0, length))
    new DataView(leaf.buffer).setUint32(length, crc)
    const sealed = leaf.subarray(0, length + CRC_BYTES)
    leaf = new Uint8Array(SEALED_LEAF_BYTES)
    length = 0
    return sealed
  }
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; ) {
      const part = piece.subarray(at, at + LEAF_BYTES - length)
      leaf.set(part, length)
      length += part.length
      at += part.length
      if (length === LEAF_BYTES) yield end()
    }
  }
  if (length > 0) yield end()
}

/** A verified leaf: its stored bytes, and the content in them. */
export type Leaf = Readonly<{ stored: Bytes; bytes: Bytes }>

/**
 * Verifies the leaves of an object, starting with `first`.
 * @param first - The number of the first leaf.
 * @throws {StoreError} DATA_CORRUPT if a leaf fails its checksum
 */
export async function* openLeaves(
  object: ObjectId,
  first: number,
  pieces: AsyncIterable<Bytes>,
): AsyncGenerator<Leaf, void> {
  const idCrc = objectIdCrc(object)
  let number = first
  for await (const stored of cutIntoRuns(SEALED_LEAF_BYTES, pieces)) {
    const bytes = stored.subarray(0, Math.max(0, stored.length - CRC_BYTES))
    const isWhole = bytes.length > 0 && storedCrc(stored) === pieceCrc(idCrc, number, bytes)
    if (!isWhole) {
      const message = `The bytes of object ${object} from ${LEAF_BYTES * number} on do not match their checksum`
      throw new StoreError('DATA_CORRUPT', message)
    }
    number++
    yield { stored, bytes }
  }
}

function storedCrc(leaf: Bytes): number {
  return new DataView(leaf.buffer, leaf.byteOffset).getUint32(leaf.length - CRC_BYTES)
}

/** The same bytes in runs of equal length; the last run may be shorter. */
async function* cutIntoRuns(
  length: number,
  pieces: AsyncIterable<Bytes>,
): AsyncGenerator<Bytes, void> {
  let run = new Uint8Array(length)
  let filled = 0
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; ) {
      const part = piece.subarray(at, at + length - filled)
      run.set(part, filled)
      filled += part.length
      at += part.length
      if (filled < length) continue
      yield run
      run = new Uint8Array(length)
      filled = 0
    }
  }
  if (filled > 0) yield run.subarray(0, filled)
}
