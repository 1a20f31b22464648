// What the join of a table and an input says of an extent.
import type { StoredRow } from './merged-row.js'
import type { SeenExtent } from './table-rows.js'

/** In place of a number of a row of the input: the slot has no live row, or one whose key the input does not have. */
export const NO_ROW = -2
export const NO_PARTNER = -1

/** Set in the number of the partner of a row whose text is not the same: its values may be. */
export const MAY_DIFFER = 1 << 30

/** Rows of the input, at most. */
export const INCOMING_ROWS_MAX = MAY_DIFFER - 1

/** Of an extent with more rows that may change, one in so many, the texts are not kept: it is read and written anew. */
export const REWRITE_SHARE = 8

/** Characters of rows that may change which are kept until they are compared. Extents with further ones are read anew. */
const KEPT_CHARS_MAX = 16 * 1024 * 1024

/** An extent of the table, and the partners of its rows. */
export type JoinedExtent = {
  readonly extent: number
  readonly seen: Pick<SeenExtent, 'extent' | 'nonce' | 'rowCount' | 'entry'>
  signature: string
  /** For each slot the number of its partner, with `MAY_DIFFER`, or one of the numbers above. */
  readonly partners: Int32Array
  /** Rows that may change. */
  mayDiffer: number
  /** Their texts as they are stored, by slots; null: they are read when they are needed. */
  kept: Map<number, StoredRow> | null
  /** What becomes of them, once that is known: only those that change. */
  changes: ReadonlyMap<number, StoredRow> | null
}

/** The number of the partner of a row; -1: it has none. */
export function partnerOf(partner: number): number {
  return partner < 0 ? -1 : partner & ~MAY_DIFFER
}

/**
 * Whether so many rows of an extent may change that their texts are not kept: it is read and written anew.
 * @param keptChars - Of all extents that are being joined.
 */
export function isToBeRewritten({ seen, mayDiffer }: JoinedExtent, keptChars: number): boolean {
  if (seen.entry === null) return false // It is open: it has few rows, and cannot be rewritten.
  return keptChars > KEPT_CHARS_MAX || REWRITE_SHARE * mayDiffer > seen.rowCount
}

/** An extent of whose rows nothing is known yet. */
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
