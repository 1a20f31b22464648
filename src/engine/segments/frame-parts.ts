// Divides stored frames into parts, which are decompressed in sequence.
import type { Bytes } from '../../base/bytes.js'
import type { FramePlace } from '../../format/segment-footer.js'
import { claimedBytes } from '../../format/segment-reader.js'

/**
 * Maximum size of a read of adjacent frames, and of the claimed rows of a part, in bytes. A single frame may be larger.
 */
export const READ_BYTES_MAX = 1024 * 1024

export type StoredPart = readonly Readonly<{ place: FramePlace; bytes: Bytes }>[]

/**
 * Divides adjacent frames into parts of at most `partBytesMax` bytes of rows. The sizes of rows are those that the
 * frames claim, because the rows of a small compressed frame may be much larger. A single frame may exceed the limit.
 * @param bytes - The stored frames, from offset `start` of the segment on.
 */
export function divideFrames(
  run: readonly FramePlace[],
  bytes: Bytes,
  start: number,
  partBytesMax = READ_BYTES_MAX,
): readonly StoredPart[] {
  const parts: StoredPart[number][][] = []
  let rawBytes = Number.POSITIVE_INFINITY
  for (const place of run) {
    const stored = bytes.subarray(place.offset - start, place.offset - start + place.bytes)
    const claimed = claimedBytes(stored)
    rawBytes += claimed
    if (rawBytes > partBytesMax) {
      parts.push([])
      rawBytes = claimed
    }
    parts[parts.length - 1]?.push({ place, bytes: stored })
  }
  return parts
}

/** Limits of the memory of one read of a segment. */
export type ReadBounds = Readonly<{
  /** Maximum size of the frames read together, and of the rows decompressed together. A single frame may be larger. */
  bytes: number
  /** Maximum total size of one frame, its rows, and a copy of the rows. */
  memoryBytes: number
}>

export const READ_AT_WILL: ReadBounds = {
  bytes: READ_BYTES_MAX,
  memoryBytes: Number.POSITIVE_INFINITY,
}

/** Thrown before a read would take more memory than its limit. */
export class NeedsMemory extends Error {
  /** @param bytes - The value of `memoryBytes` that reading the next row requires. */
  constructor(readonly bytes: number) {
    super('A row does not fit into the given memory')
  }
}

/** Number of parts in memory at once: a stored frame, its rows, and a copy of the rows. */
export const COPIES = 3

/** @param bytes - Size of a stored frame, or of its rows. @throws {NeedsMemory} */
export function checkMemoryFor(bytes: number, { memoryBytes }: ReadBounds): void {
  if (COPIES * bytes > memoryBytes) throw new NeedsMemory(COPIES * bytes)
}
