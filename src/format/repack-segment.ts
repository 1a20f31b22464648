// Recompresses a stored segment: the same rows in the same frames, under another object ID. Of the footer, only the
// frame index changes. FORMAT.md section 6.
import type { Bytes } from '../base/bytes.js'
import type { CodecName } from '../base/codecs.js'
import type { ObjectId } from '../objects/objects.js'
import { ByteWriter } from './byte-writer.js'
import type { SegmentRef } from './extent-page.js'
import { CODEC, codecBit, packFrame, type StoredFrame } from './frame-codec.js'
import { objectIdCrc, pieceCrc } from './piece-crc.js'
import {
  CRC_BYTES,
  decodeFrameIndex,
  type FramePlace,
  listFramePlaces,
  readDirectoryEntries,
  sectionAt,
} from './segment-footer.js'
import { FRAME_HEADER_BYTES, SECTION, SEGMENT_HEADER } from './segment-layout.js'
import { decodeFrame, footerRange } from './segment-reader.js'
import { type BuiltSegment, type Sections, setFrameHeader, writeEnd } from './segment-writer.js'
import { TextBuffer } from './text-buffer.js'

/** The maximum number of frames compressed at the same time: the number of available lanes. */
const FRAMES_AT_ONCE = 8

export type RepackedSegment = Pick<BuiltSegment, 'bytes' | 'footerBytes' | 'codecs'>

export type RepackTarget = Readonly<{
  /** The object ID of the new segment. */
  object: ObjectId
  codec: CodecName
  /** Returns a buffer of at least this many bytes. */
  takeBuffer: (bytes: number) => Uint8Array<ArrayBuffer>
}>

/** Whether the frames of a segment are compressed, judging by the first one. @param start - Its first bytes. */
export function isPacked(start: Bytes): boolean {
  return (start[SEGMENT_HEADER.length] ?? CODEC.none) !== CODEC.none
}

/** The number of bytes that `isPacked` needs. */
export const PACKED_SEEN_BYTES = SEGMENT_HEADER.length + 1

/**
 * Recompresses a segment. Verifies every checksum first.
 * @param bytes - The whole segment. The buffer may be reused once the promise has settled.
 * @throws {StoreError} DATA_CORRUPT
 */
export async function repackSegment(
  ref: SegmentRef,
  bytes: Bytes,
  { object, codec, takeBuffer }: RepackTarget,
): Promise<RepackedSegment> {
  const sections = readSections(ref, bytes)
  const index = sections.find(([number]) => number === SECTION.frameIndex)?.[1]
  const places = listFramePlaces(ref, decodeFrameIndex(ref, objectIdCrc(ref.object), index))
  const frames = await packFrames(ref, places, bytes, codec)
  const framesBytes = frames.reduce(
    (sum, { stored }) => sum + FRAME_HEADER_BYTES + stored.length + CRC_BYTES,
    SEGMENT_HEADER.length,
  )
  const newBytes = framesBytes + ref.objectBytes - footerRange(ref).start
  const idCrc = objectIdCrc(object)
  const writer = new TextBuffer(takeBuffer(newBytes)).bytes(SEGMENT_HEADER)
  const newIndex = new ByteWriter(12 * frames.length)
  for (const [at, { firstRow, rowCount }] of places.entries()) {
    const { codec, stored, rawBytes } = frames[at] ?? NO_FRAME
    const offset = writer.length
    writer.skip(FRAME_HEADER_BYTES)
    setFrameHeader(writer.view(), offset, { codec, rowCount, rawBytes }, stored.length)
    writer.bytes(stored)
    writer.u32(pieceCrc(idCrc, offset, writer.written(offset)))
    newIndex
      .u32(offset)
      .u32(writer.length - offset)
      .u32(firstRow)
  }
  const kept = sections.map((section): Sections[number] => {
    return section[0] === SECTION.frameIndex ? [section[0], newIndex.finish()] : section
  })
  const footerBytes = writeEnd(writer, idCrc, ref.rowCount, kept)
  const codecs = frames.reduce((bits, frame) => bits | codecBit(frame.codec), 0)
  return { bytes: writer.finish(), footerBytes, codecs }
}

/** All sections of the footer, in order. */
function readSections(ref: SegmentRef, bytes: Bytes): Sections {
  const footer = bytes.subarray(footerRange(ref).start)
  const idCrc = objectIdCrc(ref.object)
  return readDirectoryEntries(ref, idCrc, footer).map((at) => {
    return [footer[at] ?? 0, sectionAt(ref, idCrc, footer, at)]
  })
}

type PackedFrame = StoredFrame & Readonly<{ rawBytes: number }>

const NO_FRAME: PackedFrame = { codec: CODEC.none, stored: new Uint8Array(0), rawBytes: 0 }

/** Compresses a few frames at a time, so that the main thread can do other work in between. */
async function packFrames(
  ref: SegmentRef,
  places: readonly FramePlace[],
  bytes: Bytes,
  codec: CodecName,
): Promise<PackedFrame[]> {
  const packed: PackedFrame[] = []
  let next = 0
  const pack = async (): Promise<void> => {
    for (let at = next++; at < places.length; at = next++) {
      const place = places[at]
      if (place === undefined) return
      try {
        packed[at] = await packOne(ref, place, bytes, codec)
      } catch (failure) {
        next = places.length
        throw failure
      }
    }
  }
  // All must end before this function does, because the caller then reuses the memory of `bytes`.
  const ended = await Promise.allSettled(Array.from({ length: FRAMES_AT_ONCE }, pack))
  for (const end of ended) if (end.status === 'rejected') throw end.reason
  return packed
}

async function packOne(
  ref: SegmentRef,
  place: FramePlace,
  bytes: Bytes,
  codec: CodecName,
): Promise<PackedFrame> {
  const frame = bytes.subarray(place.offset, place.offset + place.bytes)
  const { bytes: rawBytes } = await decodeFrame(ref, place, frame)
  const stored = frame.subarray(FRAME_HEADER_BYTES, frame.length - CRC_BYTES)
  const stands = frame[0] ?? CODEC.none
  if (stands !== CODEC.none) return { codec: stands, stored, rawBytes }
  return { ...(await packFrame(codec, stored, 'thorough')), rawBytes }
}
