// Frames as they are stored, in parts that are decompressed one after the other.
import type { Bytes } from '../../base/bytes.js'
import type { FramePlace } from '../../format/segment-footer.js'
import { claimedBytes } from '../../format/segment-reader.js'

/** One read of neighbouring frames takes at most so many bytes, and a part has at most about so many of rows. */
export const READ_BYTES_MAX = 1024 * 1024

export type StoredPart = readonly Readonly<{ place: FramePlace; bytes: Bytes }>[]

/**
 * Parts of neighbouring frames. What is stored in little may be much: frames that claim more than about `partBytesMax`
 * of rows together are parted.
 * @param bytes - What holds them, from offset `start` of the segment on.
 */
export function partsOf(
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

/** How much of a segment is read and held at one time. */
export type ReadBounds = Readonly<{
  /** Frames that are read together, and rows that are decompressed together, are not larger; a single one may be. */
  bytes: number
  /** What a single frame, its rows and a copy of them may take together. */
  memoryBytes: number
}>

export const READ_AT_WILL: ReadBounds = {
  bytes: READ_BYTES_MAX,
  memoryBytes: Number.POSITIVE_INFINITY,
}

/** Thrown before more memory is taken than may be. */
export class NeedsMemory extends Error {
  /** @param bytes - What would do for the next row. */
  constructor(readonly bytes: number) {
    super('A row needs more memory than was given')
  }
}

/** A frame as it is stored, its rows, and a copy of them. */
const COPIES = 3

/** @param bytes - Of a frame as it is stored, or of its rows. @throws {NeedsMemory} */
export function checkMemoryFor(bytes: number, { memoryBytes }: ReadBounds): void {
  if (COPIES * bytes > memoryBytes) throw new NeedsMemory(COPIES * bytes)
}
