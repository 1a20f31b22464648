// Reads of rows: their options and results.
import type { NumberForm } from '../../schema/parse-rendered.js'

/** Options of reads. */
export type ReadOptions = Readonly<{
  /**
   * The form of numbers. `'number'`: the nearest double. `'bigint'`: integers beyond 2^53 as BigInt. `'text'`:
   * every number as it was sent. A BigInt can be written back as the same integer; a text does not fit a
   * `number` column. Default: `'number'`.
   */
  numbers?: NumberForm
}>

/** The start and the size of a page. */
export type PageBounds = Readonly<{
  /** Maximum number of rows of the page: a positive integer. Default, and for a greater number: `pageRowsMax`. */
  limit?: number | undefined
  /** The `continuation` of the previous page. Default: the page begins at the first row. */
  continuation?: string | undefined
}>

/** A request for a page of row objects. */
export type PageRequest = PageBounds & ReadOptions

/** A row with its `$rowID` and its non-empty cells. */
export type RowWithId = Readonly<{ $rowID: string } & Record<string, unknown>>

/** A row and its version: the version of the table when the row was last written. */
export type ReadResult = Readonly<{ row: RowWithId; version: number }>

/** The version of the table, and whether the row was there. */
export type DeleteResult = Readonly<{ version: number; deleted: boolean }>

/** A page of row objects. */
export type Page = Readonly<{
  /** The rows, in the order of the table or of `orderBy`. */
  rows: readonly RowWithId[]
  /** Present if and only if more rows exist. */
  continuation?: string
  /** The version of the table that this page shows. */
  version: number
  /**
   * With `total`: how many rows match `where`, on all pages. With `orderBy`, it is the number at the version whose
   * order the pages keep.
   */
  total?: number
}>
