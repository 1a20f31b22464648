// Reads runs of rows for pages, scans and rewrites: adjacent frames, about 1 MiB at a time.
//
// The frames are not cached, so a walk does not evict the frames of point reads.

import { type Awaitable, isSync, tryCall } from '../../base/awaitable.js'
import { type Bytes, NO_BYTES } from '../../base/bytes.js'
import { freeMemory, yieldToEventLoop } from '../../base/platform.js'
import type { SegmentRef } from '../../format/extent-page.js'
import type { FramePlace } from '../../format/segment-footer.js'
import {
  claimedBytes,
  decodeFrame,
  type Frame,
  type SegmentFooter,
} from '../../format/segment-reader.js'
import { checkMemoryFor, partsOf, type ReadBounds, type StoredPart } from './frame-parts.js'
import type { SegmentReads } from './segment-reads.js'

/** Rows from `first` to `limit` (not included) of a frame; row `first` is in slot `slot`. */
export type FrameRows = Readonly<{ frame: Frame; first: number; limit: number; slot: number }>

/** Rows `start` (included) to `limit` (not included) of a segment. */
export type RowRun = Readonly<{
  ref: SegmentRef
  footer: () => Awaitable<SegmentFooter>
  start: number
  limit: number
}>

/**
 * The rows of a run in their frames. Each piece is valid only until the next is requested.
 * @throws {NeedsMemory} A frame is larger than `bounds` allow.
 */
export async function* readFrames(
  reads: SegmentReads,
  { ref, footer, start, limit }: RowRun,
  bounds: ReadBounds,
): AsyncGenerator<FrameRows[]> {
  const { frames, frameOf } = await footer()
  let index = frameOf(start)
  while (index < frames.length && (frames[index]?.firstRow ?? limit) < limit) {
    const run = frameRun(frames, index, limit, bounds.bytes)
    checkMemoryFor(run.length === 1 ? runBytes(run) : 0, bounds)
    const buffer = reads.buffers.take(runBytes(run))
    try {
      for (const [number, part] of (await readParts(reads, ref, run, buffer, bounds)).entries()) {
        if (number > 0) await yieldToEventLoop() // Decompressing a part takes 1 ms or more.
        checkMemoryFor(part.length === 1 ? claimedBytes(part[0]?.bytes ?? NO_BYTES) : 0, bounds)
        const read = await decodeAll(ref, part)
        try {
          yield read.map((frame, i) => frameRows(frame, part[i]?.place.firstRow ?? 0, start, limit))
        } finally {
          freeAll(read, part)
        }
      }
    } finally {
      reads.buffers.give(buffer)
    }
    index += run.length
  }
}

/** Reads stored frames, in parts that are decompressed in sequence. */
async function readParts(
  reads: SegmentReads,
  ref: SegmentRef,
  run: readonly FramePlace[],
  buffer: Bytes,
  bounds: ReadBounds,
): Promise<readonly StoredPart[]> {
  const first = run[0]
  if (first === undefined) return []
  const range = { start: first.offset, limit: first.offset + runBytes(run) }
  const bytes = await reads.range(ref, range, buffer)
  return partsOf(run, bytes, first.offset, bounds.bytes)
}

/** Length of adjacent frames, which follow each other without gaps. */
function runBytes(run: readonly FramePlace[]): number {
  return run.reduce((bytes, place) => bytes + place.bytes, 0)
}

/**
 * Decodes the frames of a part, small ones without a promise, which would cost more than the decoding. If one fails, the
 * others are awaited first, because they read from a buffer that is reused.
 */
function decodeAll(ref: SegmentRef, part: StoredPart): Awaitable<Frame[]> {
  const frames = part.map(({ place, bytes }) => tryCall(() => decodeFrame(ref, place, bytes)))
  return frames.every(isSync) ? frames : allSettled(frames)
}

/** A frame that was decompressed has memory of its own. */
export function isDecompressed(frame: Frame, stored: Bytes): boolean {
  return frame.texts.buffer !== stored.buffer
}

function freeAll(frames: readonly Frame[], part: StoredPart): void {
  for (const [i, { bytes }] of part.entries()) {
    const frame = frames[i]
    if (frame !== undefined && isDecompressed(frame, bytes)) freeMemory(frame.texts)
  }
}

async function allSettled(frames: readonly Awaitable<Frame>[]): Promise<Frame[]> {
  const settled = await Promise.allSettled(frames)
  return settled.map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason
    return outcome.value
  })
}

/** The adjacent frames from `index` on that one read returns, up to the row `limit`. */
function frameRun(
  frames: readonly FramePlace[],
  index: number,
  limit: number,
  bytesMax: number,
): FramePlace[] {
  const run: FramePlace[] = []
  let bytes = 0
  for (const place of frames.slice(index)) {
    bytes += place.bytes
    if (run.length > 0 && (place.firstRow >= limit || bytes > bytesMax)) break
    run.push(place)
  }
  return run
}

function frameRows(frame: Frame, firstRow: number, start: number, limit: number): FrameRows {
  const first = Math.max(0, start - firstRow)
  return { frame, first, limit: Math.min(frame.rowCount, limit - firstRow), slot: firstRow + first }
}
