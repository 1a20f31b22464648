// The length of a zstd frame, RFC 8878 section 3.1.1.
import { type Bytes, sameBytes } from './bytes.js'

const MAGIC = 0xfd2fb528
const CHECKSUM_BYTES = 4
const DICTIONARY_ID_BYTES: readonly number[] = [0, 1, 2, 4]
const CONTENT_SIZE_BYTES: readonly number[] = [0, 2, 4, 8]
const BLOCK_HEADER_BYTES = 3

/** Kinds of blocks. */
const RLE = 1
const RESERVED = 3

/** A frame of no bytes, as the encoder makes it. */
const EMPTY_FRAME = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0)

/**
 * The one frame that the bytes consist of, without an empty frame behind it; undefined if they are anything else. When
 * a frame ends exactly at the end of a buffer of Node's zlib, the encoder is called once more and adds an empty frame.
 */
export function soleZstdFrame(bytes: Bytes): Bytes | undefined {
  const length = frameLength(bytes)
  if (length === undefined) return undefined
  if (length === bytes.length) return bytes
  return sameBytes(bytes.subarray(length), EMPTY_FRAME) ? bytes.subarray(0, length) : undefined
}

/**
 * The length of the frame that the bytes begin with; undefined: they do not contain a whole frame. A decoder that is
 * kept would take a frame that stops short for a part, and the next one for what follows.
 */
function frameLength(bytes: Bytes): number | undefined {
  if (bytes.length < 5) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (view.getUint32(0, true) !== MAGIC) return undefined
  const descriptor = view.getUint8(4)
  let at = 5 + headerRest(descriptor)
  for (let isLast = false; !isLast; ) {
    if (at + BLOCK_HEADER_BYTES > bytes.length) return undefined
    const block = view.getUint16(at, true) | (view.getUint8(at + 2) << 16)
    const kind = (block >> 1) & 3
    if (kind === RESERVED) return undefined
    isLast = (block & 1) === 1
    at += BLOCK_HEADER_BYTES + (kind === RLE ? 1 : block >> 3)
  }
  const length = at + (descriptor & 4 ? CHECKSUM_BYTES : 0)
  return length <= bytes.length ? length : undefined
}

/** Bytes of the header after the descriptor. */
function headerRest(descriptor: number): number {
  const isSingleSegment = (descriptor & 0x20) !== 0
  const sizeFlag = descriptor >> 6
  const windowBytes = isSingleSegment ? 0 : 1
  const sizeBytes = sizeFlag === 0 && isSingleSegment ? 1 : (CONTENT_SIZE_BYTES[sizeFlag] ?? 0)
  return windowBytes + (DICTIONARY_ID_BYTES[descriptor & 3] ?? 0) + sizeBytes
}
