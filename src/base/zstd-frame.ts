// The length of a zstd frame, and of its content. RFC 8878 section 3.1.1.
import { type Bytes, sameBytes } from './bytes.js'

const MAGIC = 0xfd2fb528
const CHECKSUM_BYTES = 4
const DICTIONARY_ID_BYTES: readonly number[] = [0, 1, 2, 4]
const CONTENT_SIZE_BYTES: readonly number[] = [0, 2, 4, 8]
/** A content size in two bytes is stored as its difference to this number. */
const TWO_BYTE_SIZE_MIN = 256
const BLOCK_HEADER_BYTES = 3

/** Kinds of blocks. */
const RLE = 1
const RESERVED = 3

/** An empty frame, as the encoder writes it. */
const EMPTY_FRAME = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0)

/**
 * The only frame in the bytes, without an empty frame that may follow it; undefined: the bytes are anything else. If
 * a frame ends exactly at the end of a buffer, Node's zlib calls the encoder once more, which adds an empty frame.
 */
export function soleZstdFrame(bytes: Bytes): Bytes | undefined {
  const length = frameLength(bytes)
  if (length === undefined) return undefined
  if (length === bytes.length) return bytes
  return sameBytes(bytes.subarray(length), EMPTY_FRAME) ? bytes.subarray(0, length) : undefined
}

/**
 * The length of the first frame; undefined: it is not complete. A reused decoder would treat the next piece as the rest
 * of a truncated frame.
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

/**
 * The decompressed size that a complete frame states; a decoder produces no more. undefined: not stated, or 4 GiB and
 * more.
 */
export function zstdContentBytes(frame: Bytes): number | undefined {
  const descriptor = frame[4] ?? 0
  const sizeBytes = contentSizeBytes(descriptor)
  const at = 5 + headerRest(descriptor) - sizeBytes
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength)
  if (sizeBytes === 1) return view.getUint8(at)
  if (sizeBytes === 2) return view.getUint16(at, true) + TWO_BYTE_SIZE_MIN
  return sizeBytes === 4 ? view.getUint32(at, true) : undefined
}

/** Bytes of the header after the descriptor. */
function headerRest(descriptor: number): number {
  const windowBytes = isSingleSegment(descriptor) ? 0 : 1
  return windowBytes + (DICTIONARY_ID_BYTES[descriptor & 3] ?? 0) + contentSizeBytes(descriptor)
}

function contentSizeBytes(descriptor: number): number {
  const sizeFlag = descriptor >> 6
  return sizeFlag === 0 && isSingleSegment(descriptor) ? 1 : (CONTENT_SIZE_BYTES[sizeFlag] ?? 0)
}

function isSingleSegment(descriptor: number): boolean {
  return (descriptor & 0x20) !== 0
}
