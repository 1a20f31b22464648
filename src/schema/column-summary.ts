// The summary of all values of one column of a chunk. It decides whether a chunk of any size fits a schema without a
// look at its rows.
//
// Invariants:
// - Masks only lose bits, seen-flags only gain bits; so merging chunks is AND and OR, in any order.
// - Empty cells (null, absent, an empty CSV field) are not seen at all. `""` of JSON only sets
//   `emptyText`; it strikes out nothing.
// - A value that fits nothing sets `misfit` (or `object`) and nothing else. So without these two flags a summary
//   describes the other values.

/** Bits of `seen`. Written to disk: never change or reuse a number. */
export const SEEN = Object.freeze({
  number: 1 << 0, // a JSON number, or CSV text that is the token of a finite one
  boolean: 1 << 1, // true or false, or CSV text that is one in any letter case
  text: 1 << 2, // a JSON string other than "", or any other CSV text
  array: 1 << 3,
  object: 1 << 4,
  misfit: 1 << 5, // 1e400, a lone surrogate, null or an array or an object in an array
  emptyText: 1 << 6, // "" (JSON only; not counted as `text`)
  fromText: 1 << 7, // the chunk is CSV or TSV
  // CSV integer token of more than 15 digits: an identifier, perhaps. In chunks that were stashed before
  // the rule was for integers alone, also a token with a point or an exponent; such a column stays text.
  longInteger: 1 << 8,
  elementNumber: 1 << 9, // elements of arrays, as the first three
  elementBoolean: 1 << 10,
  elementText: 1 << 11, // any JSON string in an array, "" too
  storedNumbers: 1 << 12, // from text: all non-empty cells of the segment are stored as number tokens
  storedBooleans: 1 << 13, // from text: all non-empty cells of the segment are stored as true or false
  storedText: 1 << 14, // from text: the cells of the segment are stored as strings
  scalarToken: 1 << 15, // number, boolean or text was seen in JSON: never an array, as CSV text may be
})

export type ColumnSummary = {
  /** The column ID as the rows name it. */
  readonly id: string
  /** Kinds that every scalar value of the column fits. Starts as ALL_KINDS. */
  scalarMask: number
  /**
   * Kinds that every element of every array of the column fits, where CSV text counts as the array
   * that it spells, and keeps no kind when it spells none. Starts as ALL_KINDS.
   */
  elementMask: number
  /** Flags of seen values, see SEEN. */
  seen: number
}

/** Merges the summary of the same column in other rows. The order of merging does not matter. */
export function mergeSummary(into: ColumnSummary, from: ColumnSummary): void {
  into.scalarMask &= from.scalarMask
  into.elementMask &= from.elementMask
  into.seen |= from.seen
}
