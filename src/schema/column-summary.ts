// The summary of all values of one column of a chunk. It decides whether a chunk of any size fits a schema, without
// reading its rows.
//
// Invariants:
// - Masks only lose bits, and seen-flags only gain bits, so chunks can be merged with AND and OR, in any order.
// - Empty cells (null, absent, an empty CSV field) are ignored. `""` in JSON only sets `emptyText`, and excludes no
//   kind.
// - A value that fits no kind sets only `misfit` (or `object`), so the rest of a summary describes the other values.

/** Bits of `seen`. Written to disk: never change or reuse a number. */
export const SEEN = Object.freeze({
  number: 1 << 0, // a JSON number, or CSV text that is a finite number token
  boolean: 1 << 1, // true or false, or in CSV text, in any letter case
  text: 1 << 2, // a JSON string other than "", or any other CSV text
  array: 1 << 3,
  object: 1 << 4,
  misfit: 1 << 5, // 1e400, a lone surrogate; in an array: null, an array or an object
  emptyText: 1 << 6, // "" (JSON only; not counted as `text`)
  fromText: 1 << 7, // the chunk is CSV or TSV
  // CSV integer token of more than 15 digits, perhaps an identifier. In chunks staged before the rule was limited to
  // integers, also a token with a point or an exponent; such a column stays text.
  longInteger: 1 << 8,
  elementNumber: 1 << 9, // elements of arrays, like the first three
  elementBoolean: 1 << 10,
  elementText: 1 << 11, // any JSON string in an array, including ""
  storedNumbers: 1 << 12, // from text: all non-empty cells of the segment are stored as number tokens
  storedBooleans: 1 << 13, // from text: all non-empty cells of the segment are stored as true or false
  storedText: 1 << 14, // from text: the cells of the segment are stored as strings
  scalarToken: 1 << 15, // a number, boolean or text of a JSON body; only text of CSV may spell an array
})

export type ColumnSummary = {
  /** The column ID in the rows. */
  readonly id: string
  /** Kinds that every scalar value of the column fits. Starts as ALL_KINDS. */
  scalarMask: number
  /**
   * Kinds that every element of every array of the column fits. CSV text counts as the array that it spells; text that
   * spells none fits no kind. Starts as ALL_KINDS.
   */
  elementMask: number
  /** Flags of seen values: see SEEN. */
  seen: number
}

/** Merges the summary of the same column in other rows. The order does not matter. */
export function mergeSummary(into: ColumnSummary, from: ColumnSummary): void {
  into.scalarMask &= from.scalarMask
  into.elementMask &= from.elementMask
  into.seen |= from.seen
}
