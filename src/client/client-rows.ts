// Tables, pages and rows of a server, as `rowstash/client` returns them.
import type { OrderBy, Search, Where } from '../engine/types/find-types.js'
import type { AlterRequest } from '../engine/types/life-types.js'
import type { PreflightReport } from '../engine/types/preflight-types.js'
import type { TableSchema } from '../schema/column-kind.js'
import type { Abortable, OnSchemaError } from './import-types.js'

/** A row: its ID and its non-empty cells, as JSON.parse returns them. */
export type ClientRow = Readonly<{ $rowID: string } & Record<string, unknown>>

/** The description of a table. Times are in milliseconds since 1970 UTC; null: unknown. */
export type ClientTableInfo = Readonly<{
  /** The ID of the table. */
  id: string
  /** The name of the table; other tables may have the same name. */
  name: string
  /** The columns of the table. */
  schema: TableSchema
  /** IDs of the key columns: no two rows have the same values in all of them. Absent: the table has no key. */
  key?: readonly string[]
  /** The number of rows. */
  rowCount: number
  /** Bytes of the stored rows. */
  bytes: number
  /** The version, as an ETag without quotes. */
  version: string
  /** When the table was created. */
  createdAt: number | null
  /** When it was last changed. */
  updatedAt: number | null
}>

/** Cells by column ID. null empties a cell. */
export type ClientCells = Readonly<Record<string, unknown>>

/** Some rows of a table, in its order. */
export type ClientPage = Readonly<{
  /** The rows, at most `limit`. */
  rows: readonly ClientRow[]
  /** Present if more rows follow. */
  continuation?: string
  /** The version of the table that the page shows, as an ETag without quotes. */
  version: string
  /** With `total`: how many rows match, on all pages. */
  total?: number
}>

/** Which rows and cells are read. Needs a rowstash server; others may return all rows or reject the request. */
export type ClientFind = Readonly<{
  /** Conditions by column ID, in the form of `table.scan`. Default: all rows. */
  where?: Where | undefined
  /** A search, in the form of `table.scan`. Default: all rows. */
  search?: string | Search | undefined
  /** The columns whose cells are returned. Default: all. */
  columns?: readonly string[] | undefined
  /** The columns that rows are sorted by, in the form of `table.page`. Default: order of insertion. */
  orderBy?: OrderBy | undefined
}>

/** A condition on a version, for reads. */
export type IfNoneMatch = Readonly<{
  /**
   * A `version` that was read before. If it is still the current one, the call fails with the type `not_modified` and
   * reads no rows. Needs a rowstash server. Default: no condition.
   */
  ifNoneMatch?: string | undefined
}>

/** Which rows a page has. */
export type PagePart = Readonly<{
  /** Maximum number of rows of the page: a positive integer. Default: as many as the server allows. */
  limit?: number | undefined
  /** The `continuation` of the previous page. Default: the page begins at `from`. */
  continuation?: string | undefined
  /** The number of the first row, in the order of the page. Default: 0. Range: 0 to 2^53 - 1. */
  from?: number | undefined
  /** Whether to count all rows that match. Default: false. */
  total?: boolean | undefined
}>

/** A row and the version that it must still have, for `updateRows` and `deleteRows`. */
type NamedRow = Readonly<{
  /** The ID of the row. */
  rowId: string
  /** A `version` that was read. If the row has changed since, no row is changed. Default: no condition. */
  ifMatch?: string | undefined
}>

/** A column and its new type, for `convertColumn`. */
type ColumnConversion = NonNullable<AlterRequest['convert']> &
  Readonly<{
    /** A `version` that was read. If the table has changed since, nothing is changed. Default: no condition. */
    ifMatch?: string | undefined
  }>

/** Changes of many rows, all or none, in one version. Needs a rowstash server. */
export interface ClientManyRows<Cells = ClientCells> {
  /**
   * Changes cells of at most 10,000 rows. No row may occur twice.
   * @param options - `onSchemaError`: what the server does with cells that do not fit. Default: `abort`.
   * @throws {ClientError} `row_not_found`, `precondition_failed` (412), or the type of the error of a cell that does
   *   not fit; `problems` of the error lists the rows
   * @example
   * const { tableId } = await client.importRows([{ id: 1 }, { id: 2 }], { name: 'Orders' })
   * const { rows, version } = await client.table(tableId).page()
   * const updates = rows.map(({ $rowID, id }) => ({ rowId: $rowID, cells: { id: Number(id) * 10 }, ifMatch: version }))
   * await client.table(tableId).updateRows(updates)
   * console.log((await client.table(tableId).page()).rows.map(({ id }) => id)) // [10,20]
   */
  updateRows(
    updates: readonly (NamedRow & Readonly<{ cells: Cells }>)[],
    options?: Abortable & Readonly<{ onSchemaError?: OnSchemaError | undefined }>,
  ): Promise<Readonly<{ version: string }>>
  /**
   * Deletes at most 10,000 rows.
   * @param rows - Their IDs, or objects with `ifMatch`.
   * @returns the version, how many rows were deleted, and how many IDs named no row
   * @throws {ClientError} `precondition_failed` (412), with `problems`
   * @example
   * const { tableId } = await client.importRows([{ id: 1 }, { id: 2 }], { name: 'Orders' })
   * const { rows } = await client.table(tableId).page({ where: { id: 1 } })
   * const { deleted } = await client.table(tableId).deleteRows(rows.map(({ $rowID }) => $rowID))
   * console.log(deleted) // 1
   */
  deleteRows(
    rows: readonly (string | NamedRow)[],
    options?: Abortable,
  ): Promise<Readonly<{ version: string; deleted: number; missing: number }>>
  /**
   * Gives a column another type, and its cells the form of that type: strings are parsed like fields of CSV; numbers
   * become strings. A column that already has the type does not change.
   * @throws {ClientError} `column_has_invalid_value`, with `problems`
   * @example
   * const { tableId } = await client.importRows([{ total: '5' }, { total: '7.50' }], { name: 'Orders' })
   * await client.table(tableId).convertColumn({ column: 'total', type: 'number' })
   * console.log((await client.table(tableId).page()).rows.map(({ total }) => total)) // [5,7.5]
   */
  convertColumn(
    request: ColumnConversion,
    options?: Abortable,
  ): Promise<Readonly<{ version: string }>>
  /**
   * Finds the cells that `convertColumn` would reject. Changes nothing.
   * @returns the first 1,000 such cells, the number of all such cells, and the version that was checked
   * @throws {ClientError} for errors of `convertColumn` other than such cells
   * @example
   * const { tableId } = await client.importRows([{ total: '5' }, { total: 'x' }], { name: 'Orders' })
   * const { problems } = await client.table(tableId).checkConversion({ column: 'total', type: 'number' })
   * console.log(problems.map(({ row, value }) => `${row}: ${value}`)) // ["1: \"x\""]
   */
  checkConversion(
    request: ColumnConversion,
    options?: Abortable,
  ): Promise<Omit<PreflightReport, 'schema'> & Readonly<{ version: string }>>
}
