// Decides whether a slot of an extent has a live row. Reads, compactions, counts and verification all use this rule:
//
//   a row record      decides alone: a row is live, a tombstone is deleted
//   a segment         shows its row, unless a compaction marked the slot as deleted
//   a compacted extent   without a segment had no live row when it was compacted
//   nothing           is damage: a slot without a segment below it must have a row record
//
// Record and segment are looked at in the same view, so an extent that a compaction swaps meanwhile agrees with its
// records.
import { StoreError } from '../../base/store-error.js'
import type { ExtentEntry, SegmentRef } from '../../format/extent-page.js'

/** The state of the row record over a slot, which decides whether the slot is live. */
export const LAID = Object.freeze({ none: 0, row: 1, tombstone: 2 })

/** Tells the slots that a compaction marked as deleted; null: it marked no slots. */
export type DeletedSlots = ((slot: number) => boolean) | null

/** The fields of an extent entry that the rule needs. */
type Below = Pick<ExtentEntry, 'segment' | 'compacted'>

/** @param record - The row record of a slot; undefined: the slot has none. */
export function laidBy(record: Readonly<{ text: string | null }> | undefined): number {
  if (record === undefined) return LAID.none
  return record.text === null ? LAID.tombstone : LAID.row
}

/**
 * @param laid - One of `LAID`.
 * @param below - The entry of the extent; null: the extent is open.
 * @throws {StoreError} DATA_CORRUPT: if the slot must have a row record and has none.
 */
export function isLiveSlot(
  laid: number,
  below: Below | null,
  deleted: DeletedSlots,
  slot: number,
): boolean {
  if (laid !== LAID.none) return laid === LAID.row
  if (needsRecords(below)) throw missingRecord(slot)
  return below?.segment != null && showsSegment(false, deleted, slot)
}

/** Whether the row of a segment shows in its slot. Pages call this for each row. */
export function showsSegment(hasRecord: boolean, deleted: DeletedSlots, slot: number): boolean {
  return !hasRecord && (deleted === null || !deleted(slot))
}

/**
 * The segment whose row shows in a slot without a row record; null: the row is deleted.
 * @throws {StoreError} DATA_CORRUPT: if the slot must have a row record.
 */
export function shownSegment(
  below: Below | null,
  deleted: DeletedSlots,
  slot: number,
): SegmentRef | null {
  return isLiveSlot(LAID.none, below, deleted, slot) ? (below?.segment ?? null) : null
}

/** Whether every slot of an extent must have a row record. A tombstone counts. */
export function needsRecords(below: Below | null): boolean {
  return below === null || (below.segment === null && !below.compacted)
}

/**
 * The segment of a compacted extent, whose footer lists the slots that were deleted at the compaction; null: there is
 * none.
 */
export function compactedSegment(below: Below | null): SegmentRef | null {
  return below?.compacted ? below.segment : null
}

function missingRecord(slot: number): StoreError {
  return new StoreError('DATA_CORRUPT', `The record of the row in slot ${slot} is missing`)
}
