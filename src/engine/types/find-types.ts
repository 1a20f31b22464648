// Finding rows: conditions as data, and the reads that take them.
import type { NumberForm } from '../../schema/parse-rendered.js'
import type { PageRequest } from './read-types.js'

/** A value in a condition. A `Date` is its ISO text. */
export type WhereValue = string | number | bigint | boolean | Date

/**
 * Conditions on a cell, all of which must hold. The members that a column takes depend on its type: see READING.md,
 * "Finding rows".
 */
export type WhereCell = Readonly<{
  /** Equal to the value. null stands for an empty cell. */
  eq?: WhereValue | null
  /** The opposite of `eq`: an empty cell is not equal to a value. */
  ne?: WhereValue | null
  /** Greater than the value. READING.md says how values are compared. */
  gt?: WhereValue
  /** Greater than the value, or equal to it. */
  gte?: WhereValue
  /** Less than the value. */
  lt?: WhereValue
  /** Less than the value, or equal to it. */
  lte?: WhereValue
  /** Equal to one of these values, of which there may be at most 1,000. */
  in?: readonly WhereValue[]
  /** An array with an element that is equal to the value. */
  has?: WhereValue
  /** Text that begins with this one. */
  startsWith?: string
  /** Text that contains this one. */
  contains?: string
  /** Whether the cell is empty. An array without elements is not an empty cell. */
  isEmpty?: boolean
  /** Whether `eq`, `ne`, `in`, `startsWith` and `contains` ignore the case of text. Default: false. */
  ignoreCase?: boolean
  /** With `ignoreCase`: whether accents are ignored too, so that `é` equals `e`. Default: false. */
  ignoreAccents?: boolean
}>

/**
 * The rows to find: conditions by column ID, all of which must hold. A plain value means `{ eq: value }`. `$and`, `$or`
 * and `$not` combine conditions. A column ID that begins with `$` is written with a second `$`: `$$price`. A condition
 * with `undefined` is refused.
 */
export type Where = Readonly<{
  /** All of the conditions must hold. */
  $and?: readonly Where[]
  /** One of the conditions must hold. */
  $or?: readonly Where[]
  /** The condition must not hold. */
  $not?: Where
}> &
  Readonly<{ [column: string]: WhereValue | null | WhereCell | Where | readonly Where[] }>

/**
 * The columns to sort by: rows with equal values in the first are sorted by the second, and so on, finally by their
 * order in the table. READING.md, "Sorting rows", says how values are compared.
 */
export type OrderBy = readonly Readonly<{
  /** The ID of a column that holds no arrays and no durations. */
  column: string
  /** Whether the greatest values come first. Empty cells are last in either case. Default: false. */
  descending?: boolean | undefined
  /** Whether the case of texts is ignored. Default: false. */
  ignoreCase?: boolean | undefined
  /** The language whose order of texts is used, as a BCP 47 tag. Default: the order of code points. */
  locale?: string | undefined
}>[]

/** A text to search for. */
export type Search = Readonly<{
  /** At most 256 characters. */
  text: string
  /** Whether accents are ignored, as in `where`. Default: false. */
  ignoreAccents?: boolean | undefined
}>

/** The rows and cells to read. */
export type FindBounds = Readonly<{
  /** Conditions by column ID, which the rows must meet. Default: all rows. */
  where?: Where | undefined
  /**
   * A text that a text column of the row must contain: at most 256 characters. Case is ignored; accents are ignored
   * only if `ignoreAccents` of an object says so. Default, and for an empty text: all rows.
   */
  search?: string | Search | undefined
  /** Only the cells of these columns, in this order. Default: all. */
  columns?: readonly string[] | undefined
  /**
   * The row to begin at, by its number in the table, counted from 0; `where` does not change the numbers. Default: 0.
   * Range: 0 to 2^53 - 1.
   */
  from?: number | undefined
  /** The order of the rows. Default: that of the table. `from` counts in this order. */
  orderBy?: OrderBy | undefined
}>

/**
 * A request for a page of row objects. With `where` a page compares at most 262,144 rows, or fewer if the condition has
 * more than 128 tests, so a page may have a continuation but no rows. A request with a continuation must have the same
 * `where`, `search` and `columns` as the first one, and no `from`.
 *
 * With `orderBy`, further pages keep the order that the rows had when the first page was read, but show the rows as
 * they are now: rows deleted since then are left out, and rows added since then do not appear. The continuation fails
 * with CONTINUATION_INVALID if the table has changed and the order is no longer cached: begin again, or continue with
 * `from`.
 */
export type FindPageRequest = PageRequest &
  FindBounds &
  Readonly<{
    /** Whether the page has `total`, which requires comparing all rows. Default: false. */
    total?: boolean | undefined
  }>

/** Options of `count`. */
export type CountOptions = Readonly<{
  /** A text that a text column of the row must contain. See `FindBounds`. */
  search?: string | Search | undefined
  /** Ends the call, which fails with ABORTED. Default: none. */
  signal?: AbortSignal | undefined
}>

/** The rows that `groups` combines, and what it computes from them. `Column`: the IDs of the columns. */
export type GroupsRequest<W = Where, Column extends string = string> = CountOptions &
  Readonly<{
    /**
     * Rows with equal values in all of these columns form a group: at most 4 columns, none with arrays. Empty cells are
     * equal. Default: none; then all rows form one group, which exists even if there are no rows.
     */
    by?: readonly Column[] | undefined
    /** Conditions by column ID, which the rows must meet. Default: all rows. */
    where?: W | undefined
    /** Columns of numbers whose exact sum is computed per group. Default: none. */
    sum?: readonly Column[] | undefined
    /** Columns of numbers, dates or times whose least value is computed per group. Default: none. */
    least?: readonly Column[] | undefined
    /**
     * Columns whose greatest value is computed per group, of the kinds of `least`. `sum`, `least` and `greatest` take
     * at most 8 columns together. Default: none.
     */
    greatest?: readonly Column[] | undefined
    /** Maximum number of groups returned: 1 to 10,000. Default: 10,000. */
    limit?: number | undefined
  }>

/** Rows with equal values. */
export type Group = Readonly<{
  /** The values of the columns of `by`, written as in the first row of the group; null: an empty cell. */
  values: Readonly<Record<string, unknown>>
  /** The number of rows. */
  count: number
  /**
   * The exact sums by column, as texts with as many decimals as the summed number that has most decimals; null: all
   * cells are empty.
   */
  sum?: Readonly<Record<string, string | null>>
  /** The least values by column; null: all cells are empty. */
  least?: Readonly<Record<string, unknown>>
  /** The greatest values by column; null: all cells are empty. */
  greatest?: Readonly<Record<string, unknown>>
}>

/** Options of `scan` and `find`. */
export type ScanOptions = FindBounds &
  CountOptions &
  Readonly<{
    /** Maximum number of rows: a positive integer. Default: all. */
    limit?: number | undefined
    /** The form of numbers, as in `ReadOptions`. Default: `'number'`. */
    numbers?: NumberForm
  }>
