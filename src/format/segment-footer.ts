// The footer of a segment: trailer, directory, sections, and the places of frames. FORMAT.md section 6.

import { type Bytes, readUint32, sameBytes } from '../base/bytes.js'
import { StoreError } from '../base/store-error.js'
import type { SegmentRef } from './extent-page.js'
import { pieceCrc } from './piece-crc.js'
import {
  DIRECTORY_ENTRY_BYTES,
  DIRECTORY_PLACE,
  FRAME_HEADER_BYTES,
  TRAILER_BYTES,
  TRAILER_MAGIC,
  TRAILER_PLACE,
} from './segment-layout.js'

export type FramePlace = Readonly<{
  /** The crc of the segment's ID: see `objectIdCrc`. */
  idCrc: number
  offset: number
  bytes: number
  firstRow: number
  rowCount: number
}>

/** The places of a segment's frames. */
export type FramePlaces = Readonly<{
  idCrc: number
  /** Per frame: its offset, its bytes and its first row. */
  numbers: readonly number[]
}>

const PLACE_NUMBERS = 3
const INDEX_ENTRY_BYTES = 12

export const CRC_BYTES = 4

/**
 * Verifies the checksums of trailer and directory, and that the trailer agrees with the table's reference.
 * @param bytes - The bytes of `footerRange`.
 * @param idCrc - The result of `objectIdCrc`.
 * @returns the beginnings of the directory's entries, for `sectionAt`.
 * @throws {StoreError} DATA_CORRUPT
 */
export function readDirectoryEntries(
  ref: SegmentRef,
  idCrc: number,
  bytes: Bytes,
): readonly number[] {
  const { footerBytes } = ref
  if (bytes.length !== footerBytes + TRAILER_BYTES) throw corrupt(ref, 'it is too short')
  const trailer = bytes.subarray(footerBytes, footerBytes + 8)
  if (readUint32(bytes, footerBytes + 8) !== pieceCrc(idCrc, TRAILER_PLACE, trailer)) {
    throw corrupt(ref, 'the checksum of its trailer is wrong')
  }
  if (!sameBytes(bytes.subarray(footerBytes + 12), TRAILER_MAGIC)) {
    throw corrupt(ref, 'its magic number is missing')
  }
  if (readUint32(trailer, 0) !== footerBytes || readUint32(trailer, 4) !== ref.rowCount) {
    throw corrupt(ref, 'it is not the segment that the table refers to')
  }
  const listedBytes = 1 + DIRECTORY_ENTRY_BYTES * (bytes[0] ?? 0)
  const listed = bytes.subarray(0, listedBytes)
  if (
    listedBytes + CRC_BYTES > footerBytes ||
    readUint32(bytes, listedBytes) !== pieceCrc(idCrc, DIRECTORY_PLACE, listed)
  ) {
    throw corrupt(ref, 'the checksum of its directory is wrong')
  }
  const entries: number[] = []
  for (let at = 1; at < listedBytes; at += DIRECTORY_ENTRY_BYTES) entries.push(at)
  return entries
}

/** The section of an entry, with a verified checksum. The section's number is the byte at `entry`. */
export function sectionAt(ref: SegmentRef, idCrc: number, bytes: Bytes, entry: number): Bytes {
  const number = bytes[entry] ?? 0
  const offset = readUint32(bytes, entry + 1)
  const limit = offset + readUint32(bytes, entry + 5)
  if (limit + CRC_BYTES > ref.footerBytes) throw corrupt(ref, `section ${number} does not fit`)
  const section = bytes.subarray(offset, limit)
  if (readUint32(bytes, limit) !== pieceCrc(idCrc, number, section)) {
    throw corrupt(ref, `the checksum of section ${number} is wrong`)
  }
  return section
}

/** @param index - The section of the frame index; undefined: missing. */
export function decodeFrameIndex(
  ref: SegmentRef,
  idCrc: number,
  index: Bytes | undefined,
): FramePlaces {
  if (index === undefined || index.length % INDEX_ENTRY_BYTES !== 0) {
    throw corrupt(ref, 'it has no frame index')
  }
  const numbers: number[] = []
  for (let at = 0; at < index.length; at += 4) numbers.push(readUint32(index, at))
  return { idCrc, numbers }
}

/** The index of the frame with a row, which is the last frame that does not begin after the row. */
export function findFrameIndex({ numbers }: FramePlaces, row: number): number {
  let low = 0
  let high = numbers.length / PLACE_NUMBERS - 1
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    if ((numbers[PLACE_NUMBERS * middle + 2] ?? 0) <= row) low = middle
    else high = middle - 1
  }
  return low
}

/** The place of a frame; undefined: there is no such frame. */
export function framePlaceAt(
  ref: SegmentRef,
  { idCrc, numbers }: FramePlaces,
  index: number,
): FramePlace | undefined {
  const at = PLACE_NUMBERS * index
  const offset = numbers[at]
  const bytes = numbers[at + 1]
  const firstRow = numbers[at + 2]
  if (offset === undefined || bytes === undefined || firstRow === undefined) return undefined
  return { idCrc, offset, bytes, firstRow, rowCount: (numbers[at + 5] ?? ref.rowCount) - firstRow }
}

/** The places of all frames. */
export function listFramePlaces(ref: SegmentRef, places: FramePlaces): FramePlace[] {
  const frames: FramePlace[] = []
  for (;;) {
    const place = framePlaceAt(ref, places, frames.length)
    if (place === undefined) return frames
    frames.push(place)
  }
}

/**
 * Verifies a stored frame, from header to crc, against its checksum and its index entry.
 * @throws {StoreError} DATA_CORRUPT
 */
export function checkFrame(ref: SegmentRef, place: FramePlace, bytes: Bytes): void {
  const { idCrc, offset, rowCount } = place
  const limit = bytes.length - CRC_BYTES
  const storedBytes = limit - FRAME_HEADER_BYTES
  if (bytes.length !== place.bytes || storedBytes < 0) {
    throw corrupt(ref, `the frame at ${offset} is cut off`)
  }
  if (readUint32(bytes, limit) !== pieceCrc(idCrc, offset, bytes.subarray(0, limit))) {
    throw corrupt(ref, `the checksum of the frame at ${offset} is wrong`)
  }
  const isOfPlace = (bytes[1] ?? 0) * 256 + (bytes[2] ?? 0) === rowCount
  if (!isOfPlace || readUint32(bytes, 7) !== storedBytes) {
    throw corrupt(ref, `the sizes of the frame at ${offset} do not agree`)
  }
}

/** The number of row bytes according to a frame's header. */
export function rawBytesOf(frame: Bytes): number {
  return readUint32(frame, 3)
}

export function corrupt(ref: SegmentRef, problem: string, cause?: unknown): StoreError {
  const message = `Segment ${ref.object} cannot be read: ${problem}`
  return new StoreError('DATA_CORRUPT', message, { cause })
}
