// The result of a join for one extent.
import type { StoredRow } from './merged-row.js'
import type { SeenExtent } from './table-rows.js'

/**
 * These stand instead of the number of an input row. `NO_ROW`: the slot has no live row. `NO_PARTNER`: the input lacks
 * the row's key.
 */
export const NO_ROW = -2
export const NO_PARTNER = -1

/** The bit that is set in the number of a partner whose text differs from the row's. The values may still be equal. */
export const MAY_DIFFER = 1 << 30

/** Maximum number of rows of the input. */
export const INCOMING_ROWS_MAX = MAY_DIFFER - 1

/** If more than one row in 8 of an extent may change, the extent is read again and rewritten, and no texts are kept. */
export const REWRITE_SHARE = 8

/**
 * Rows that may change are kept for the comparison, up to this number of characters in all extents. Further extents
 * are read again instead.
 */
const KEPT_CHARS_MAX = 16 * 1024 * 1024

/** An extent of the table, with the partners of its rows. */
export type JoinedExtent = {
  readonly extent: number
  readonly seen: Pick<SeenExtent, 'extent' | 'nonce' | 'rowCount' | 'entry'>
  signature: string
  /** For each slot the number of its partner, perhaps with `MAY_DIFFER`; or one of the two constants. */
  readonly partners: Int32Array
  /** Number of rows that may change. */
  mayDiffer: number
  /** The stored texts of the rows that may change, by slot; null: the texts are read when needed. */
  kept: Map<number, StoredRow> | null
  /** The rows that change, by slot; null: they are not known yet. */
  changes: ReadonlyMap<number, StoredRow> | null
}

/** The number of the partner of a row; -1: the row has no partner. */
export function partnerOf(partner: number): number {
  return partner < 0 ? -1 : partner & ~MAY_DIFFER
}

/**
 * Whether an extent is read again and rewritten, so that no texts are kept: many of its rows may change, or too many
 * characters are kept already.
 * @param keptChars - Number of kept characters of all extents in the join.
 */
export function isToBeRewritten({ seen, mayDiffer }: JoinedExtent, keptChars: number): boolean {
  if (seen.entry === null) return false // The extent is open: it has few rows, and no entry to replace.
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
