// Reads runs of rows for pages, scans and rewrites: adjacent frames, about 1 MiB at a time.
//
// The frames are not cached, so a walk does not evict the frames of point reads.

import { type Awaitable, isSync, tryCall } from '../../base/awaitable.js'
import type { BufferPool } from '../../base/buffer-pool.js'
import { type Bytes, NO_BYTES } from '../../base/bytes.js'
import { freeMemory, yieldToEventLoop } from '../../base/platform.js'
import type { SegmentRef } from '../../format/extent-page.js'
import { CODEC } from '../../format/frame-codec.js'
import { claimedBytes, decodeFrame, type Frame } from '../../format/segment-reader.js'
import {
  checkMemoryFor,
  divideFrames,
  READ_BYTES_MAX,
  type ReadBounds,
  type StoredPart,
} from './frame-parts.js'
import type { RowRun } from './segment-opening.js'
import type { StoredRuns } from './stored-runs.js'

/** Rows from `first` to `limit` (not included) of a frame; row `first` is in slot `slot`. */
export type FrameRows = Readonly<{ frame: Frame; first: number; limit: number; slot: number }>

/** The frames of a walk's runs. */
export interface FrameSource {
  /**
   * The rows of a run, in their frames. The caller asks for runs in the order of the walk. Each piece is valid only
   * until the next is requested.
   * @throws {NeedsMemory} if a frame is larger than the limits of the walk allow
   */
  frames(run: RowRun): AsyncGenerator<FrameRows[]>
  /** Ends the walk, which need not be at its end. Never fails. */
  close(): Awaitable<void>
}

/**
 * The rows of a run, in their frames. Each piece is valid only until the next is requested.
 * @param buffers - Memory for decompressed rows.
 * @throws {NeedsMemory} if a frame is larger than `bounds` allow
 */
export async function* readFrames(
  runs: StoredRuns,
  { ref, start, limit }: RowRun,
  bounds: ReadBounds,
  buffers: BufferPool,
): AsyncGenerator<FrameRows[]> {
  for (let run = await runs.next(); run !== null; run = await runs.next()) {
    try {
      const { frames, bytes, offset } = run
      for (const [number, part] of divideFrames(frames, bytes, offset, bounds.bytes).entries()) {
        if (number > 0) await yieldToEventLoop() // Decompressing a part takes 1 ms or more.
        checkMemoryFor(part.length === 1 ? claimedBytes(part[0]?.bytes ?? NO_BYTES) : 0, bounds)
        const memory = memoryForPart(part, buffers)
        try {
          const read = await decodeAll(ref, part, memory)
          try {
            yield makeFrameRows(read, part, start, limit)
          } finally {
            freeAll(read, part, memory)
          }
        } finally {
          if (memory !== undefined) buffers.give(memory)
        }
      }
    } finally {
      runs.release(run)
    }
  }
}

/**
 * Memory for the rows of a part's zstd frames, by their claimed sizes; undefined: the part has no zstd frames, or it is
 * one large frame, which allocates its own memory.
 */
function memoryForPart(part: StoredPart, buffers: BufferPool): Bytes | undefined {
  const claimed = part.reduce((sum, { bytes }) => sum + packedBytes(bytes), 0)
  return claimed === 0 || claimed > READ_BYTES_MAX ? undefined : buffers.take(claimed)
}

/** The claimed bytes of rows of a zstd frame; 0: another codec, whose rows need no such memory. */
function packedBytes(stored: Bytes): number {
  return stored[0] === CODEC.zstd ? claimedBytes(stored) : 0
}

/**
 * Decodes the frames of a part. Small frames are decoded without a promise, which would cost more than decoding. If a
 * frame fails, the others are awaited before the failure is thrown, because they read from a reused buffer.
 * @param memory - Receives the rows of compressed frames, one after the other.
 */
function decodeAll(
  ref: SegmentRef,
  part: StoredPart,
  memory: Bytes | undefined,
): Awaitable<Frame[]> {
  let at = 0
  // No `map`: with `map`, V8 makes another kind of array once this function is compiled (PERFORMANCE.md, P49).
  const frames: Awaitable<Frame>[] = []
  for (const { place, bytes } of part) {
    const from = at
    if (memory !== undefined) at += packedBytes(bytes)
    const room = memory?.subarray(from, at)
    frames.push(tryCall(() => decodeFrame(ref, place, bytes, room)))
  }
  return frames.every(isSync) ? frames : allSettled(frames)
}

/**
 * Whether a frame has memory of its own, as decompressed frames have.
 * @param given - The memory that was given for the frame to use.
 */
export function isAlone({ texts }: Frame, given: readonly (Bytes | undefined)[]): boolean {
  return given.every((bytes) => texts.buffer !== bytes?.buffer)
}

function freeAll(frames: readonly Frame[], part: StoredPart, memory: Bytes | undefined): void {
  for (const [i, { bytes }] of part.entries()) {
    const frame = frames[i]
    if (frame !== undefined && isAlone(frame, [bytes, memory])) freeMemory(frame.texts)
  }
}

async function allSettled(frames: readonly Awaitable<Frame>[]): Promise<Frame[]> {
  const settled = await Promise.allSettled(frames)
  return settled.map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason
    return outcome.value
  })
}

/** No `map` here: see `decodeAll`. */
function makeFrameRows(
  frames: readonly Frame[],
  part: StoredPart,
  start: number,
  limit: number,
): FrameRows[] {
  const rows: FrameRows[] = []
  for (const [i, frame] of frames.entries()) {
    rows.push(frameRows(frame, part[i]?.place.firstRow ?? 0, start, limit))
  }
  return rows
}

function frameRows(frame: Frame, firstRow: number, start: number, limit: number): FrameRows {
  const first = Math.max(0, start - firstRow)
  return { frame, first, limit: Math.min(frame.rowCount, limit - firstRow), slot: firstRow + first }
}
