// The first read of a segment whose frame index is not in memory, from a store where a request is dear: the footer, and
// with it the frames of some rows.
//
// The record that names a segment has its length, the length of its footer and the number of its rows. So the place of
// the footer is known, and that of a row can be estimated: as if all rows took equally many bytes. Frames that the
// estimate has missed are read from the place that the index gives.

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

/** The estimate may be wrong by what a request costs, divided by this, but at least by a frame of short rows. */
const SLACK_PARTS = 8
const SLACK_BYTES_MIN = 24 * 1024

/** Rows of a frame of long rows, and its text, at most (FORMAT.md, section 6): the row may be its first or its last. */
const FRAME_ROWS = 64
const FRAME_BYTES = 256 * 1024

export type OpeningLimits = Readonly<{
  /** What one more request costs, see `ObjectStore`. */
  requestCostBytes: number
  /** Bytes of frames that are wanted, at most. */
  windowBytes: number
  /** Bytes of frames that are read, at most. */
  bytesMax: number
}>

export type Opening = Readonly<{
  /** Where the frames of the rows probably are. */
  window: ByteRange
  /** Whether one request reads the window and the footer. Otherwise there are two, at the same time. */
  isOne: boolean
  /** Whether the window was not cut before the last row. */
  isWhole: boolean
  /** Memory for what follows the start of the window, in bytes. */
  bytes: number
}>

/** What to read of a segment to get its footer and, if that is worth its bytes, the frames of a run of rows. */
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
  const firstTo = Math.ceil(first + start * rowBytes + margin) // One frame is read in any case.
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

/** The bytes of an opening. */
export type Opened = Readonly<{
  footer: Bytes
  /** The bytes of the segment from `offset` on. */
  frames: Bytes
  offset: number
}>

/** @throws {StoreError} DATA_CORRUPT: the segment is missing; STORAGE_UNAVAILABLE */
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
  // Both have ended before the memory is used again, whatever comes of them.
  const [footer, frames] = await Promise.allSettled([
    tryCall(() => reads.range(ref, { start: end, limit })),
    tryCall(() => reads.range(ref, window, memory)),
  ])
  if (footer.status === 'rejected') throw footer.reason
  if (frames.status === 'rejected') throw frames.reason
  return { footer: footer.value, frames: frames.value, offset }
}

/** The stored bytes of a frame; undefined: the estimate has missed it. */
export function frameIn({ frames, offset }: Opened, place: FramePlace): Bytes | undefined {
  const start = place.offset - offset
  const limit = start + place.bytes
  return start < 0 || limit > frames.length ? undefined : frames.subarray(start, limit)
}

/** The frames of an opening from number `index` on, up to the row `limit`. */
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
