// Runs of adjacent frames as they are stored. One read returns a whole run.

import type { Awaitable } from '../../base/awaitable.js'
import type { Bytes } from '../../base/bytes.js'
import type { FramePlace } from '../../format/segment-footer.js'
import type { SegmentFooter } from '../../format/segment-reader.js'
import { checkMemoryFor, type ReadBounds } from './frame-parts.js'
import type { RowRun } from './segment-opening.js'
import type { SegmentReads } from './segment-reads.js'

/** Adjacent frames as they are stored. */
export type StoredRun = Readonly<{
  frames: readonly FramePlace[]
  /** The bytes of the segment from `offset` on. */
  bytes: Bytes
  offset: number
  /** The memory that was given to the read. */
  buffer: Bytes
}>

/** The stored frames of some rows, in order. */
export type StoredRuns = Readonly<{
  /** @returns null: there are no more runs. @throws {NeedsMemory} if a frame is larger than the limits allow */
  next(): Promise<StoredRun | null>
  /** Frees the memory of a run, which must be the last one that `next` returned. */
  release(run: StoredRun): void
}>

/** The frames of a segment. */
export type FrameList = Pick<SegmentFooter, 'frames' | 'frameOf'>

/** Reads each run when it is requested. */
export function runsInTurn(
  reads: SegmentReads,
  { ref, start, limit }: RowRun,
  footer: () => Awaitable<FrameList>,
  bounds: ReadBounds,
): StoredRuns {
  let frames: readonly FramePlace[] | undefined
  let index = 0
  return {
    async next() {
      if (frames === undefined) {
        const found = await footer()
        frames = found.frames
        index = found.frameOf(start)
      }
      const run = frameRun(frames, index, limit, bounds.bytes)
      const [first] = run
      if (first === undefined) return null
      index += run.length
      const length = runBytes(run)
      checkMemoryFor(run.length === 1 ? length : 0, bounds)
      const buffer = reads.buffers.take(length)
      const { offset } = first
      try {
        const bytes = await reads.range(ref, { start: offset, limit: offset + length }, buffer)
        return { frames: run, bytes, offset, buffer }
      } catch (failure) {
        reads.buffers.give(buffer)
        throw failure
      }
    },
    release: ({ buffer }) => reads.buffers.give(buffer),
  }
}

/** Total size of adjacent frames, which follow each other without gaps, in bytes. */
export function runBytes(run: readonly FramePlace[]): number {
  return run.reduce((bytes, place) => bytes + place.bytes, 0)
}

/** The adjacent frames from `index` to the row `limit` that one read returns. */
export function frameRun(
  frames: readonly FramePlace[],
  index: number,
  limit: number,
  bytesMax: number,
): FramePlace[] {
  const run: FramePlace[] = []
  let bytes = 0
  for (let at = index; at < frames.length; at++) {
    const place = frames[at]
    if (place === undefined || place.firstRow >= limit) break
    bytes += place.bytes
    if (run.length > 0 && bytes > bytesMax) break
    run.push(place)
  }
  return run
}
