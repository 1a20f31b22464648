// Finding rows: conditions as data, and the reads that take them.
import type { DisposableIterator } from '../../base/disposable.js'
import type { NumberForm } from '../../schema/parse-rendered.js'
import type { PageRequest, ReadOptions, ReadResult, RowWithId } from './read-types.js'

/** A value in a condition. A `Date` is its ISO text. */
export type WhereValue = string | number | bigint | boolean | Date

/**
 * What a cell must be; of several members all must hold. The members that a column takes depend on its type: see
 * EMBEDDING.md, "Finding rows".
 */
export type WhereCell = Readonly<{
  /** Equal to the value. null stands for an empty cell. */
  eq?: WhereValue | null
  /** The opposite of `eq`: an empty cell is not equal to a value. */
  ne?: WhereValue | null
  /** Greater than the value. EMBEDDING.md says how values are compared. */
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

/** Which rows and cells are read. */
export type FindBounds = Readonly<{
  /** Conditions by column ID, which the rows must meet. Default: all rows. */
  where?: Where | undefined
  /** Only the cells of these columns, in this order. Default: all. */
  columns?: readonly string[] | undefined
  /**
   * The row to begin at, by its number in the table, counted from 0; `where` does not change the numbers. Default: 0.
   * Range: 0 to 2^53 - 1.
   */
  from?: number | undefined
}>

/**
 * A request for a page of row objects. With `where` a page ends after the 262,144 rows that it compares at most, or
 * fewer if the condition has more than 128 tests, so a page with a continuation may have no rows: pass the same `where`
 * and `columns` with it. `from` cannot be combined with a continuation.
 */
export type FindPageRequest = PageRequest & FindBounds

/** Options of `count`. */
export type CountOptions = Readonly<{
  /** Ends the call, which fails with ABORTED. Default: none. */
  signal?: AbortSignal | undefined
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

/** Finding rows. A condition is compared to the stored bytes; a row that does not match never becomes an object. */
export interface Find {
  /**
   * All rows, or those that `options` select, in order, in bounded memory: 1,000 at a time. A concurrent overwrite does
   * not affect it. If objects are on another machine, the next 1,000 are read while the caller uses the current ones.
   * @throws {StoreError} TABLE_NOT_FOUND, REQUEST_VALIDATION_ERROR, ABORTED, DATA_CORRUPT
   * @example
   * const { tableId } = await team.createTable({ name: 'Orders', rows: { csv: 'id,total\n1,5\n2,12' } })
   * for await (const row of team.table(tableId).scan({ columns: ['total'], from: 1 })) console.log(row.total) // 12
   */
  scan(options?: ScanOptions): DisposableIterator<RowWithId>
  /**
   * The rows that match: `scan` with `where`.
   * @throws {StoreError} as `scan`
   * @example
   * const { tableId } = await team.createTable({ name: 'Orders', rows: { csv: 'id,total\n1,5\n2,12' } })
   * for await (const { id } of team.table(tableId).find({ total: { gt: 10 } })) console.log(id) // 2
   */
  find(where: Where, options?: Omit<ScanOptions, 'where'>): DisposableIterator<RowWithId>
  /**
   * The number of rows that match. Without a condition no row is read.
   * @throws {StoreError} as `scan`
   * @example
   * const { tableId } = await team.createTable({ name: 'Orders', rows: { csv: 'id,total\n1,5\n2,12' } })
   * console.log(await team.table(tableId).count({ total: { gte: 5, lt: 10 } })) // 1
   */
  count(where?: Where, options?: CountOptions): Promise<number>
  /**
   * Rows by their IDs, in the order of the IDs, all as they were at one moment; null for an ID without a row.
   * @param rowIds - At most 10,000.
   * @throws {StoreError} TABLE_NOT_FOUND, REQUEST_VALIDATION_ERROR, DATA_CORRUPT
   * @example
   * const { tableId, rowIds } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * const found = await team.table(tableId).getMany([rowIds.get(1), rowIds.get(0)])
   * console.log(found.map((result) => result?.row.id)) // [2,1]
   */
  getMany(rowIds: readonly string[], options?: ReadOptions): Promise<readonly (ReadResult | null)[]>
}
