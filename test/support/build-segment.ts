import type { Bytes } from '../../src/base/bytes.js'
import type { ClaimRun } from '../../src/format/claims.js'
import type { SegmentRef } from '../../src/format/extent-page.js'
import type { Compression } from '../../src/format/frame-codec.js'
import { decodeFooter, decodeFrame, footerRange } from '../../src/format/segment-reader.js'
import { type BuiltSegment, SegmentBuilder } from '../../src/format/segment-writer.js'
import type { ObjectId } from '../../src/objects/objects.js'
import type { ColumnSummary } from '../../src/schema/column-summary.js'

/** Builds a segment of these rows. */
export function buildSegment(
  object: ObjectId,
  rowTexts: readonly string[],
  columns: readonly ColumnSummary[],
  claims: readonly ClaimRun[] = [],
  compression: Compression = 'none',
): Promise<BuiltSegment> {
  const builder = new SegmentBuilder(object, 64, compression)
  for (const text of rowTexts) builder.add(text)
  return builder.finish(columns, claims)
}

/** The texts of the rows of a segment in memory. */
export async function textsOfSegment(ref: SegmentRef, bytes: Bytes): Promise<string[]> {
  const { start, limit } = footerRange(ref)
  const texts: string[] = []
  for (const place of decodeFooter(ref, bytes.subarray(start, limit)).frames) {
    const stored = bytes.subarray(place.offset, place.offset + place.bytes)
    const frame = await decodeFrame(ref, place, stored)
    texts.push(...frame.rowTexts(0, frame.rowCount))
  }
  return texts
}
