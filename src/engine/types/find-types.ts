// Finding rows: conditions as data, and the reads that take them.
import type { NumberForm } from '../../schema/parse-rendered.js'
import type { PageRequest } from './read-types.js'

/** A value in a condition. A `Date` is its ISO text. */
export type WhereValue = string | number | bigint | boolean | Date

/**
 * What a cell must be; of several members all must hold. The members that a column takes depend on its type: see
 * READING.md, "Finding rows".
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
  /** Equal to one of the values. At most 1,000. */
  in?: readonly WhereValue[]
  /** An array with an element that is equal to the value. */
  has?: WhereValue
  /** Text that begins with this one. */
  startsWith?: string
  /** Text that contains this one. */
  contains?: string
  /** Whether the cell is empty. An array without elements is not. */
  isEmpty?: boolean
  /** Whether `eq`, `ne`, `in`, `startsWith` and `contains` of text take all forms of a letter as one. Default: false. */
  ignoreCase?: boolean
  /** With `ignoreCase`: whether `é` is `e`, too. Default: false. */
  ignoreAccents?: boolean
}>

/**
 * Which rows are wanted: conditions by column ID, all of which must hold. A value alone is `{ eq: value }`. `$and`,
 * `$or` and `$not` combine conditions. A column ID that begins with `$` is written with a second one: `$$price`.
 * A condition with `undefined` is refused.
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
 * The columns that rows are sorted by: those with equal values in the first by the second, and so on; at last in the
 * order of the table. READING.md, "Sorting rows", says how values are compared.
 */
export type OrderBy = readonly Readonly<{
  /** The ID of a column that holds no arrays and no durations. */
  column: string
  /** Greatest values first; empty cells are last all the same. Default: false. */
  descending?: boolean | undefined
  /** Whether the case of texts is ignored. Default: false. */
  ignoreCase?: boolean | undefined
  /** The language, as a BCP 47 tag, in whose order texts are. Default: that of their code points. */
  locale?: string | undefined
}>[]

/** A text that is searched for. */
export type Search = Readonly<{
  /** At most 256 characters. */
  text: string
  /** Whether accents do not count, as in `where`. Default: false. */
  ignoreAccents?: boolean | undefined
}>

/** Which rows and cells are read. */
export type FindBounds = Readonly<{
  /** Conditions by column ID, which the rows must meet. Default: all rows. */
  where?: Where | undefined
  /**
   * A text that a text column of the row contains, without case; accents count, unless an object says otherwise. At most
   * 256 characters. Default, also if it is empty: all rows.
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
 * A request for a page of row objects. With `where` a page ends after the 262,144 rows that it compares at most, or
 * fewer if the condition has more than 128 tests, so a page with a continuation may have no rows: pass the same `where`,
 * `search` and `columns` with it. `from` cannot be combined with a continuation.
 *
 * With `orderBy` a continuation goes on in the order of the version that the first page had, with the rows as they are
 * now: those deleted since are left out, those added since are not there. It fails with CONTINUATION_INVALID if the
 * table has changed and the order is no longer kept: begin again, or go on with `from`.
 */
export type FindPageRequest = PageRequest &
  FindBounds &
  Readonly<{
    /** Whether the page has `total`, for which all rows are compared. Default: false. */
    total?: boolean | undefined
  }>

/** Options of `count`. */
export type CountOptions = Readonly<{
  /** As in `FindBounds`. */
  search?: string | Search | undefined
  /** Ends the call, which fails with ABORTED. Default: none. */
  signal?: AbortSignal | undefined
}>

/** Which rows `groups` takes together, and what it shows of them. `Column`: the IDs of the columns. */
export type GroupsRequest<W = Where, Column extends string = string> = CountOptions &
  Readonly<{
    /**
     * Rows with equal values in all of these columns are one group: at most 4, none with arrays. Empty cells are equal.
     * Default: none; all rows are one group, even if there is none.
     */
    by?: readonly Column[] | undefined
    /** Conditions by column ID, which the rows must meet. Default: all rows. */
    where?: W | undefined
    /** Columns of numbers, of which the groups have the exact sum. Default: none. */
    sum?: readonly Column[] | undefined
    /** Columns of numbers, dates or times, of which the groups have the least value. Default: none. */
    least?: readonly Column[] | undefined
    /** As `least`: the greatest value. `sum`, `least` and `greatest` take 8 columns together. Default: none. */
    greatest?: readonly Column[] | undefined
    /** Groups that are returned, at most: 1 to 10,000. Default: 10,000. */
    limit?: number | undefined
  }>

/** Rows with equal values. */
export type Group = Readonly<{
  /** Their values, as the first of them has them; null: an empty cell. */
  values: Readonly<Record<string, unknown>>
  /** How many there are. */
  count: number
  /** The exact sums by column, as texts with the decimals of the number that has most; null: all cells are empty. */
  sum?: Readonly<Record<string, string | null>>
  /** The least values by column; null: all cells are empty. */
  least?: Readonly<Record<string, unknown>>
  /** The greatest values. */
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
