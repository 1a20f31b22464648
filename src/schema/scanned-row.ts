/**
 * One row as a scanner hands it on: parallel lists of column IDs and cell texts.
 *
 * From JSON: of duplicate keys the last value stands at the first one's place; null cells are there as null;
 * `tokens` are JSON tokens as they were sent, without white space around or inside arrays and objects,
 * and with `-0`, `-0.0`, `-0e5` … stripped of the minus (also inside arrays).
 * From CSV or TSV: `tokens` are the field texts after unquoting; empty fields are left out.
 * `$rowID` is in neither list: it is `rowId` when its value is a string, else it is dropped.
 */
export type ScannedRow = {
  readonly ids: readonly string[]
  readonly tokens: readonly (string | null)[]
  readonly rowId: string | undefined
  /** 1-based line on which the record starts; only from CSV and TSV. */
  readonly line?: number
  /** Characters or bytes that were read for it, with what became no cell; not of row objects. */
  readonly work?: number
}

export type ScanLimits = Readonly<{
  /** Distinct columns of one input. */
  columnsMax: number
  /** UTF-16 units of the source text of one row; checked so that no row is ever built beyond it. */
  rowCharsMax: number
}>
