// The result of a join for one extent.
import type { StoredRow } from './merged-row.js'
import type { SeenExtent } from './table-rows.js'

/** Instead of the number of an input row: the slot has no live row, or the input lacks its key. */
export const NO_ROW = -2
export const NO_PARTNER = -1

/** Set in the number of a partner with another text. Its values may still be equal. */
export const MAY_DIFFER = 1 << 30

/** Maximum number of rows of the input. */
export const INCOMING_ROWS_MAX = MAY_DIFFER - 1

/** If more than one row in so many may change, the extent is read and rewritten, and the texts are not kept. */
export const REWRITE_SHARE = 8

/** Maximum number of characters kept for comparison, of rows that may change. Further extents are read again. */
const KEPT_CHARS_MAX = 16 * 1024 * 1024

/** An extent of the table, with the partners of its rows. */
export type JoinedExtent = {
  readonly extent: number
  readonly seen: Pick<SeenExtent, 'extent' | 'nonce' | 'rowCount' | 'entry'>
  signature: string
  /** For each slot the number of its partner, with `MAY_DIFFER`, or one of the constants above. */
  readonly partners: Int32Array
  /** Rows that may change. */
  mayDiffer: number
  /** The stored texts of these rows, by slot; null: they are read when needed. */
  kept: Map<number, StoredRow> | null
  /** The rows that change, by slot; null: not known yet. */
  changes: ReadonlyMap<number, StoredRow> | null
}

/** The number of the partner of a row; -1: it has none. */
export function partnerOf(partner: number): number {
  return partner < 0 ? -1 : partner & ~MAY_DIFFER
}

/**
 * Whether so many rows of an extent may change that it is read and rewritten, without keeping their texts.
 * @param keptChars - Kept characters of all extents in the join.
 */
export function isToBeRewritten({ seen, mayDiffer }: JoinedExtent, keptChars: number): boolean {
  if (seen.entry === null) return false // It is open: it has few rows and no entry to replace.
  return keptChars > KEPT_CHARS_MAX || REWRITE_SHARE * mayDiffer > seen.rowCount
}

/** An extent before its join. */
export function newJoined(
  { extent, nonce, rowCount, entry, signature }: SeenExtent,
  kept: JoinedExtent['kept'],
): JoinedExtent {
  return {
    extent,
    seen: { extent, nonce, rowCount, entry },
    signature,
    partners: new Int32Array(rowCount).fill(NO_ROW),
    mayDiffer: 0,
    kept,
    changes: null,
  }
}
