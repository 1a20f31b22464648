/**
 * One row from a scanner: parallel lists of column IDs and cell texts.
 *
 * From JSON: the last value of a duplicate key is at the first one's place; null cells are null; `tokens` are JSON
 * tokens as sent, without white space around or in arrays and objects, and without the minus of `-0`, `-0.0`, `-0e5` …
 * (also in arrays). From CSV or TSV: `tokens` are unquoted fields; empty fields are left out. `$rowID` is in neither
 * list: it becomes `rowId` if its value is a string, and is dropped otherwise.
 */
export type ScannedRow = {
  readonly ids: readonly string[]
  readonly tokens: readonly (string | null)[]
  readonly rowId: string | undefined
  /** 1-based line on which the record starts; only from CSV and TSV. */
  readonly line?: number
  /** Number of characters or bytes read for the row, including skipped ones; absent for row objects. */
  readonly work?: number
}

export type ScanLimits = Readonly<{
  /** The maximum number of distinct columns of one input. */
  columnsMax: number
  /** The maximum number of UTF-16 units in the source text of one row; no longer row is ever built. */
  rowCharsMax: number
}>
