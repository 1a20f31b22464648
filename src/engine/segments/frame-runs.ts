// Reads runs of rows for pages, scans and rewrites: adjacent frames, about 1 MiB at a time.
//
// The frames are not cached, so a walk does not evict the frames of point reads.

import { type Awaitable, isSync, tryCall } from '../../base/awaitable.js'
import { type Bytes, NO_BYTES } from '../../base/bytes.js'
import { freeMemory, yieldToEventLoop } from '../../base/platform.js'
import type { SegmentRef } from '../../format/extent-page.js'
import { claimedBytes, decodeFrame, type Frame } from '../../format/segment-reader.js'
import { checkMemoryFor, partsOf, type ReadBounds, type StoredPart } from './frame-parts.js'
import type { RowRun } from './segment-opening.js'
import type { StoredRuns } from './stored-runs.js'

/** Rows from `first` to `limit` (not included) of a frame; row `first` is in slot `slot`. */
export type FrameRows = Readonly<{ frame: Frame; first: number; limit: number; slot: number }>

/** The frames of the runs of a walk. */
export interface FrameSource {
  /**
   * The rows of a run in their frames. Each piece is valid only until the next is requested. The runs are asked for in
   * the order of the walk.
   * @throws {NeedsMemory} A frame is larger than the limits of the walk allow.
   */
  frames(run: RowRun): AsyncGenerator<FrameRows[]>
  /** Ends the walk, wherever it is. Never fails. */
  close(): Awaitable<void>
}

/**
 * The rows of a run in their frames. Each piece is valid only until the next is requested.
 * @throws {NeedsMemory} A frame is larger than `bounds` allow.
 */
export async function* readFrames(
  runs: StoredRuns,
  { ref, start, limit }: RowRun,
  bounds: ReadBounds,
): AsyncGenerator<FrameRows[]> {
  for (let run = await runs.next(); run !== null; run = await runs.next()) {
    try {
      const { frames, bytes, offset } = run
      for (const [number, part] of partsOf(frames, bytes, offset, bounds.bytes).entries()) {
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
      runs.release(run)
    }
  }
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

function frameRows(frame: Frame, firstRow: number, start: number, limit: number): FrameRows {
  const first = Math.max(0, start - firstRow)
  return { frame, first, limit: Math.min(frame.rowCount, limit - firstRow), slot: firstRow + first }
}
