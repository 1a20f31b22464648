// The header of a zstd frame, RFC 8878 section 3.1.1.
import type { Bytes } from './bytes.js'

const MAGIC = 0xfd2fb528
const CHECKSUM_BYTES = 4
const DICTIONARY_ID_BYTES: readonly number[] = [0, 1, 2, 4]
const CONTENT_SIZE_BYTES: readonly number[] = [0, 2, 4, 8]
const BLOCK_HEADER_BYTES = 3

/** Kinds of blocks. */
const RLE = 1
const RESERVED = 3

/**
 * Whether the bytes are one whole frame: a decoder that is kept would take a frame that stops short for a part,
 * and the next one for what follows.
 */
export function isZstdFrame(bytes: Bytes): boolean {
  if (bytes.length < 5) return false
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (view.getUint32(0, true) !== MAGIC) return false
  const descriptor = view.getUint8(4)
  let at = 5 + headerRest(descriptor)
  for (let isLast = false; !isLast; ) {
    if (at + BLOCK_HEADER_BYTES > bytes.length) return false
    const block = view.getUint16(at, true) | (view.getUint8(at + 2) << 16)
    const kind = (block >> 1) & 3
    if (kind === RESERVED) return false
    isLast = (block & 1) === 1
    at += BLOCK_HEADER_BYTES + (kind === RLE ? 1 : block >> 3)
  }
  return at + (descriptor & 4 ? CHECKSUM_BYTES : 0) === bytes.length
}

/** Bytes of the header after the descriptor. */
function headerRest(descriptor: number): number {
  const isSingleSegment = (descriptor & 0x20) !== 0
  const sizeFlag = descriptor >> 6
  const windowBytes = isSingleSegment ? 0 : 1
  const sizeBytes = sizeFlag === 0 && isSingleSegment ? 1 : (CONTENT_SIZE_BYTES[sizeFlag] ?? 0)
  return windowBytes + (DICTIONARY_ID_BYTES[descriptor & 3] ?? 0) + sizeBytes
}
