// Reads one row of a segment and nothing else of it: from the footer where its frame is, and from the frame its
// text. FORMAT.md section 6.
//
// Invariant: what is served passed its crc, and so did all that led to it. What a row does not need is not looked at:
// other sections of the footer are held against theirs by who reads them (segment-reader), and all of them by verify.
import { type Bytes, readUint32, sameBytes } from '../base/bytes.js'
import { sliceText } from '../base/platform.js'
import { objectBytes, type SegmentRef } from './extent-page.js'
import { CODEC } from './frame-codec.js'
import { corrupt, type FramePlace } from './segment-reader.js'
import {
  DIRECTORY_ENTRY_BYTES,
  DIRECTORY_PLACE,
  FRAME_HEADER_BYTES,
  pieceCrc,
  SECTION,
  TRAILER_BYTES,
  TRAILER_MAGIC,
  TRAILER_PLACE,
} from './segment-writer.js'

/** Where the frames of a segment are: for each its offset, its bytes and its first row. */
export type FramePlaces = readonly number[]

const PLACE_NUMBERS = 3
const INDEX_ENTRY_BYTES = 12
const CRC_BYTES = 4

/**
 * @param bytes - What `footerRange` names. Nothing of it is kept.
 * @throws {StoreError} DATA_CORRUPT
 */
export function decodeFramePlaces(ref: SegmentRef, bytes: Bytes): FramePlaces {
  const { footerBytes } = ref
  const id = objectBytes(ref.object)
  if (bytes.length !== footerBytes + TRAILER_BYTES) throw corrupt(ref, 'it is too short')
  const trailer = bytes.subarray(footerBytes, footerBytes + 8)
  if (readUint32(bytes, footerBytes + 8) !== pieceCrc(id, TRAILER_PLACE, trailer)) {
    throw corrupt(ref, 'the checksum of its trailer is wrong')
  }
  if (!sameBytes(bytes.subarray(footerBytes + 12), TRAILER_MAGIC)) {
    throw corrupt(ref, 'it has no magic')
  }
  if (readUint32(trailer, 0) !== footerBytes || readUint32(trailer, 4) !== ref.rowCount) {
    throw corrupt(ref, 'it is not the one that the table names')
  }
  const listedBytes = 1 + DIRECTORY_ENTRY_BYTES * (bytes[0] ?? 0)
  const listed = bytes.subarray(0, listedBytes)
  if (
    listedBytes + CRC_BYTES > footerBytes ||
    readUint32(bytes, listedBytes) !== pieceCrc(id, DIRECTORY_PLACE, listed)
  ) {
    throw corrupt(ref, 'the checksum of its directory is wrong')
  }
  for (let at = 1; at < listedBytes; at += DIRECTORY_ENTRY_BYTES) {
    if (bytes[at] !== SECTION.frameIndex) continue
    return readIndex(ref, bytes, readUint32(bytes, at + 1), readUint32(bytes, at + 5))
  }
  throw corrupt(ref, 'it has no frame index')
}

function readIndex(ref: SegmentRef, bytes: Bytes, offset: number, length: number): FramePlaces {
  const limit = offset + length
  if (limit + CRC_BYTES > ref.footerBytes || length % INDEX_ENTRY_BYTES !== 0) {
    throw corrupt(ref, 'it has no frame index')
  }
  const index = bytes.subarray(offset, limit)
  if (readUint32(bytes, limit) !== pieceCrc(objectBytes(ref.object), SECTION.frameIndex, index)) {
    throw corrupt(ref, 'the checksum of its frame index is wrong')
  }
  const places: number[] = []
  for (let at = offset; at < limit; at += 4) places.push(readUint32(bytes, at))
  return places
}

/** The same of a footer that was decoded. */
export function placesOf(frames: readonly FramePlace[]): FramePlaces {
  return frames.flatMap(({ offset, bytes, firstRow }) => [offset, bytes, firstRow])
}

/** Index of the frame that holds a row: the last that does not begin after it. */
export function frameOf(places: FramePlaces, row: number): number {
  let low = 0
  let high = places.length / PLACE_NUMBERS - 1
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    if ((places[PLACE_NUMBERS * middle + 2] ?? 0) <= row) low = middle
    else high = middle - 1
  }
  return low
}

/** undefined: the segment has no such frame. */
export function placeOf(
  ref: SegmentRef,
  places: FramePlaces,
  index: number,
): FramePlace | undefined {
  const at = PLACE_NUMBERS * index
  const offset = places[at]
  const bytes = places[at + 1]
  const firstRow = places[at + 2]
  if (offset === undefined || bytes === undefined || firstRow === undefined) return undefined
  return { offset, bytes, firstRow, rowCount: (places[at + 5] ?? ref.rowCount) - firstRow }
}

/**
 * The text of row `row` of a frame, counted from its first; null if the frame is compressed.
 * @param bytes - The frame, header to crc.
 * @throws {StoreError} DATA_CORRUPT
 */
export function readRowText(
  ref: SegmentRef,
  place: FramePlace,
  bytes: Bytes,
  row: number,
): string | null {
  const { rowCount, offset } = place
  const limit = place.bytes - CRC_BYTES
  if (bytes.length !== place.bytes) throw corrupt(ref, `the frame at ${offset} is cut off`)
  if (bytes[0] !== CODEC.none) return null
  const crc = pieceCrc(objectBytes(ref.object), offset, bytes.subarray(0, limit))
  if (readUint32(bytes, limit) !== crc) {
    throw corrupt(ref, `the checksum of the frame at ${offset} is wrong`)
  }
  const rawBytes = readUint32(bytes, 3)
  const isOfPlace = (bytes[1] ?? 0) * 256 + (bytes[2] ?? 0) === rowCount
  const isWhole = rawBytes === limit - FRAME_HEADER_BYTES && readUint32(bytes, 7) === rawBytes
  if (!isOfPlace || !isWhole) throw corrupt(ref, `the sizes of the frame at ${offset} do not agree`)
  const texts = FRAME_HEADER_BYTES + 4 * rowCount
  const endOf = FRAME_HEADER_BYTES + 4 * row
  const start = row === 0 ? 0 : readUint32(bytes, endOf - 4)
  const end = readUint32(bytes, endOf)
  if (row >= rowCount || start > end || texts + end > limit) {
    throw corrupt(ref, `the row table of the frame at ${offset} does not fit`)
  }
  return sliceText(bytes, texts + start, texts + end)
}
