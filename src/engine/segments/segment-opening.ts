// The first read of a segment whose frame index is not in memory, from a store where each request is expensive. It
// reads the footer and, with it, the frames of some rows.
//
// The record that names a segment has the lengths of the segment and its footer, and the number of rows. So the place
// of the footer is known, and the place of a row is estimated as if all rows had the same length. Frames that the
// estimate misses are read from the place that the index gives.
//
//   header │ frames … [ row ] … frames │ footer │ trailer │
//                    ├────────────────────────────────────┤   one request, if the frames that follow
//                                                             cost less than another
//                    ├───────┤         ├──────────────────┤   else two, at the same time

import { tryCall } from '../../base/awaitable.js'
import type { Bytes } from '../../base/bytes.js'
import type { SegmentRef } from '../../format/extent-page.js'
import type { FramePlace } from '../../format/segment-footer.js'
import { SEGMENT_HEADER } from '../../format/segment-layout.js'
import { footerRange } from '../../format/segment-reader.js'
import type { ByteRange } from '../../objects/objects.js'
import type { SegmentReads } from './segment-reads.js'

/** Rows `start` (included) to `limit` (not included) of a segment. */
export type RowRun = Readonly<{ ref: SegmentRef; start: number; limit: number }>

/**
 * The slack of the estimate is the cost of a request divided by `SLACK_PARTS`, but at least `SLACK_BYTES_MIN`: one
 * frame of short rows.
 */
const SLACK_PARTS = 8
const SLACK_BYTES_MIN = 24 * 1024

/**
 * A frame of long rows has at most this many rows, with at most this many bytes of text (FORMAT.md, section 6). The
 * wanted row may be the first or the last of its frame.
 */
const FRAME_ROWS = 64
const FRAME_BYTES = 256 * 1024

export type OpeningLimits = Readonly<{
  /** The cost of one more request; see `ObjectStore`. */
  requestCostBytes: number
  /** Maximum size of the wanted frames, in bytes. */
  windowBytes: number
  /** Maximum number of bytes of frames that are read. */
  bytesMax: number
}>

export type Opening = Readonly<{
  /** The probable place of the frames of the rows. */
  window: ByteRange
  /** Whether one request reads the window and the footer. Otherwise two requests run concurrently. */
  isOne: boolean
  /** Whether the window extends to the last wanted row. */
  isWhole: boolean
  /** The memory needed for the bytes from the start of the window on, in bytes. */
  bytes: number
}>

/**
 * Plans what to read of a segment to get its footer and, if reading them at once is worth their bytes, the frames of
 * some rows.
 */
export function planSegmentOpening(
  { ref, start, limit }: RowRun,
  { requestCostBytes, windowBytes, bytesMax }: OpeningLimits,
): Opening {
  const { rowCount, objectBytes } = ref
  const first = SEGMENT_HEADER.length
  const end = footerRange(ref).start
  const isMissing = end <= first || start >= rowCount
  const rowBytes = (end - first) / rowCount
  const slack = Math.max(requestCostBytes / SLACK_PARTS, SLACK_BYTES_MIN)
  const margin = slack + Math.min(FRAME_ROWS * rowBytes, FRAME_BYTES)
  const from = Math.max(first, Math.floor(first + start * rowBytes - margin))
  const to = limit >= rowCount ? end : Math.ceil(first + limit * rowBytes + margin)
  const firstTo = Math.ceil(first + start * rowBytes + margin) // At least the frame of the first row is read.
  const cut = Math.min(end, to, Math.max(firstTo, from + windowBytes))
  const isWhole = cut === Math.min(end, to)
  if (!isMissing && end - cut <= requestCostBytes && end - from <= bytesMax) {
    const window = { start: from, limit: end }
    return { window, isOne: true, isWhole: true, bytes: objectBytes - from }
  }
  if (isMissing || cut - from > bytesMax || 2 * margin > requestCostBytes) {
    const window = { start: end, limit: end }
    return { window, isOne: true, isWhole: isMissing, bytes: objectBytes - end }
  }
  return { window: { start: from, limit: cut }, isOne: false, isWhole, bytes: cut - from }
}

/** The bytes that the opening of a segment has read. */
export type Opened = Readonly<{
  footer: Bytes
  /** The bytes of the segment from `offset` on. */
  frames: Bytes
  offset: number
}>

/** @throws {StoreError} DATA_CORRUPT: if the segment is missing; STORAGE_UNAVAILABLE */
export async function readOpening(
  reads: SegmentReads,
  ref: SegmentRef,
  { window, isOne }: Opening,
  memory: Bytes,
): Promise<Opened> {
  const { start: end, limit } = footerRange(ref)
  const offset = window.start
  if (isOne) {
    const bytes = await reads.range(ref, { start: offset, limit }, memory)
    return { footer: bytes.subarray(end - offset), frames: bytes.subarray(0, end - offset), offset }
  }
  // Both reads must end before the memory is reused, even if one of them fails.
  const [footer, frames] = await Promise.allSettled([
    tryCall(() => reads.range(ref, { start: end, limit })),
    tryCall(() => reads.range(ref, window, memory)),
  ])
  if (footer.status === 'rejected') throw footer.reason
  if (frames.status === 'rejected') throw frames.reason
  return { footer: footer.value, frames: frames.value, offset }
}

/** The stored bytes of a frame; undefined: the estimate missed it. */
export function frameIn({ frames, offset }: Opened, place: FramePlace): Bytes | undefined {
  const start = place.offset - offset
  const limit = start + place.bytes
  return start < 0 || limit > frames.length ? undefined : frames.subarray(start, limit)
}

/** The frames of an opening from frame `index` to the row `limit`. */
export function framesIn(
  opened: Opened,
  places: readonly FramePlace[],
  index: number,
  limit: number,
): FramePlace[] {
  const found: FramePlace[] = []
  for (let at = index; at < places.length; at++) {
    const place = places[at]
    if (place === undefined || place.firstRow >= limit || frameIn(opened, place) === undefined)
      break
    found.push(place)
  }
  return found
}
