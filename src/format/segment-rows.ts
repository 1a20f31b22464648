// Reads one row of a segment: finds its frame by the footer, and its text in the frame. FORMAT.md section 6.
//
// Invariant: the served text, and all data used to find it, passed their crc checks. Other sections of the footer are
// checked by their readers (segment-reader), and all by verification.

import { type Bytes, readUint32 } from '../base/bytes.js'
import { sliceText } from '../base/platform.js'
import type { SegmentRef } from './extent-page.js'
import { CODEC } from './frame-codec.js'
import { objectIdCrc } from './piece-crc.js'
import {
  CRC_BYTES,
  checkFrame,
  corrupt,
  decodeFrameIndex,
  type FramePlace,
  type FramePlaces,
  rawBytesOf,
  readDirectoryEntries,
  sectionAt,
} from './segment-footer.js'
import { FRAME_HEADER_BYTES, SECTION } from './segment-layout.js'

/**
 * @param bytes - The bytes of `footerRange`. The result does not refer to them.
 * @throws {StoreError} DATA_CORRUPT
 */
export function decodeFramePlaces(ref: SegmentRef, bytes: Bytes): FramePlaces {
  const idCrc = objectIdCrc(ref.object)
  const entry = readDirectoryEntries(ref, idCrc, bytes).find(
    (at) => bytes[at] === SECTION.frameIndex,
  )
  const index = entry === undefined ? undefined : sectionAt(ref, idCrc, bytes, entry)
  return decodeFrameIndex(ref, idCrc, index)
}

/**
 * The text of row `row` of a frame, counted from 0; null if the frame is compressed.
 * @param bytes - The frame, from header to crc.
 * @throws {StoreError} DATA_CORRUPT
 */
export function readRowText(
  ref: SegmentRef,
  place: FramePlace,
  bytes: Bytes,
  row: number,
): string | null {
  if (bytes[0] !== CODEC.none) return null
  checkFrame(ref, place, bytes)
  const { rowCount, offset } = place
  const limit = place.bytes - CRC_BYTES
  if (rawBytesOf(bytes) !== limit - FRAME_HEADER_BYTES) {
    throw corrupt(ref, `the sizes of the frame at ${offset} do not agree`)
  }
  const texts = FRAME_HEADER_BYTES + 4 * rowCount
  const endOf = FRAME_HEADER_BYTES + 4 * row
  const start = row === 0 ? 0 : readUint32(bytes, endOf - 4)
  const end = readUint32(bytes, endOf)
  if (row >= rowCount || start > end || texts + end > limit) {
    throw corrupt(ref, `the row table of the frame at ${offset} does not fit`)
  }
  return sliceText(bytes, texts + start, texts + end)
}
