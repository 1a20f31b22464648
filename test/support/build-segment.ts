import type { ClaimRun } from '../../src/format/claims.js'
import type { Compression } from '../../src/format/frame-codec.js'
import { type BuiltSegment, SegmentBuilder } from '../../src/format/segment-writer.js'
import type { ObjectId } from '../../src/objects/objects.js'
import type { ColumnSummary } from '../../src/schema/column-summary.js'

/** A segment of these rows. */
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
