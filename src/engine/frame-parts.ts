// Frames as they are stored, in parts that are decompressed one after the other.
import type { Bytes } from '../base/bytes.js'
import type { FramePlace } from '../format/segment-footer.js'
import { claimedBytes } from '../format/segment-reader.js'

/** One read of neighbouring frames takes at most so many bytes, and a part has at most about so many of rows. */
export const READ_BYTES_MAX = 1024 * 1024

export type StoredPart = readonly Readonly<{ place: FramePlace; bytes: Bytes }>[]

/**
 * Parts of neighbouring frames. What is stored in little may be much: frames that claim more than about a megabyte of
 * rows together are parted.
 * @param bytes - What holds them, from offset `start` of the segment on.
 */
export function partsOf(
  run: readonly FramePlace[],
  bytes: Bytes,
  start: number,
): readonly StoredPart[] {
  const parts: StoredPart[number][][] = []
  let rawBytes = Number.POSITIVE_INFINITY
  for (const place of run) {
    const stored = bytes.subarray(place.offset - start, place.offset - start + place.bytes)
    const claimed = claimedBytes(stored)
    rawBytes += claimed
    if (rawBytes > READ_BYTES_MAX) {
      parts.push([])
      rawBytes = claimed
    }
    parts[parts.length - 1]?.push({ place, bytes: stored })
  }
  return parts
}
