// The public interface of a table.
import type { TableSchema } from '../../schema/column-kind.js'
import type { AnySchema } from '../../schema/row-types.js'
import type { Abortable } from './abort-types.js'
import type { Find, FindPageRequest } from './find-types.js'
import type { TableHistory } from './history-types.js'
import type { TableJson } from './json-types.js'
import type { TableExports, TableLife } from './life-types.js'
import type { ManyRows } from './many-types.js'
import type { Merges } from './merge-types.js'
import type { Preflight, TablePreflightReport } from './preflight-types.js'
import type { DeleteResult, Page, ReadOptions, ReadResult } from './read-types.js'
import type { Receipts } from './receipt-types.js'
import type {
  AddOptions,
  ChangeResult,
  OverwriteRequest,
  RowInput,
  RowsInput,
  Stash,
  TablePreflightRequest,
  UpdateOptions,
} from './row-types.js'
import type { TypedRows } from './typed-types.js'
import type { KeyValues } from './unique-types.js'

/**
 * A table, as objects and values. Every change is atomic, durable when it resolves, and makes a new version.
 *
 * A read of a missing row returns null, and a delete returns whether the row existed; so do the files and stashes of a
 * team. A change of a missing row fails with ROW_NOT_FOUND, any operation on a missing table with TABLE_NOT_FOUND.
 * `Store` says with which codes every call may fail.
 */
export interface Table
  extends TableJson,
    TableLife,
    Find,
    Merges,
    TableExports,
    Preflight<TablePreflightRequest, TablePreflightReport>,
    ManyRows,
    TableHistory,
    Receipts {
  /** The ID of the table, which `createTable` gave. */
  readonly id: string
  /**
   * Adds rows at the end, all or none. Adding no rows makes no version.
   * @throws {StoreError} TABLE_NOT_FOUND, REQUEST_VALIDATION_ERROR, STASH_NOT_FOUND, IDEMPOTENCY_KEY_REUSED,
   *   LIMIT_EXCEEDED, ABORTED; of the rows, with their place: COLUMN_ID_NOT_FOUND, COLUMN_HAS_INVALID_VALUE,
   *   COLUMN_ID_RESERVED, COLUMN_ID_NOT_UNIQUE, KEY_NOT_UNIQUE
   * @example
   * const { tableId } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * const { rowIds } = await team.table(tableId).addRows([{ id: 3 }], { idempotencyKey: 'order-3' })
   * console.log((await team.table(tableId).get(rowIds.get(0)))?.row.id) // 3
   */
  addRows(rows: RowsInput | Stash, options?: AddOptions & Abortable): Promise<ChangeResult>
  /**
   * Replaces all rows at once, and with `schema` the schema too. A row with the `$rowID` of a row of the table
   * keeps that ID. Errors in this order: TABLE_NOT_FOUND, REQUEST_VALIDATION_ERROR (schema and rows),
   * PRECONDITION_FAILED (`ifMatch` against the table's version), then those of the rows.
   * @throws {StoreError} those above; STASH_NOT_FOUND, LIMIT_EXCEEDED, ABORTED; of the rows, with their place:
   *   COLUMN_ID_NOT_FOUND, COLUMN_HAS_INVALID_VALUE, COLUMN_ID_RESERVED, COLUMN_ID_NOT_UNIQUE, KEY_NOT_UNIQUE
   * @example
   * const { tableId, version } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * await team.table(tableId).overwrite({ rows: { csv: 'id\n7\n' }, ifMatch: version })
   * console.log((await team.table(tableId).page()).rows.map(({ id }) => id)) // [7]
   */
  overwrite(request: OverwriteRequest & Abortable): Promise<ChangeResult>
  /**
   * One page of rows in order of insertion. Pass its `continuation` to get the next one. A walk to the end shows
   * each row that existed all the time exactly once.
   * @throws {StoreError} TABLE_NOT_FOUND, REQUEST_VALIDATION_ERROR, CONTINUATION_INVALID, DATA_CORRUPT
   * @example
   * const { tableId } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * const { rows, continuation } = await team.table(tableId).page({ limit: 1 })
   * const next = await team.table(tableId).page({ limit: 1, continuation })
   * console.log(rows[0]?.id, next.rows[0]?.id, next.continuation) // 1 2 undefined
   */
  page(request?: FindPageRequest): Promise<Page>
  /**
   * One row and its version; null if the table has no such row.
   * @param row - Its ID, or the values of the key columns of a table with a key: `{ email: 'a@b.example' }`. The index of
   *   the key leads to the row, without a scan.
   * @throws {StoreError} TABLE_NOT_FOUND, DATA_CORRUPT; REQUEST_VALIDATION_ERROR: these are not the columns of the key
   * @example
   * const rows = [{ email: 'a@example.com', plan: 'pro' }]
   * const { tableId, rowIds } = await team.createTable({ name: 'Customers', rows, key: ['email'] })
   * const table = team.table(tableId)
   * const found = await table.get(rowIds.get(0)) // by ID
   * console.log(found?.row.plan, (await table.get({ email: 'a@example.com' }))?.row.plan) // pro pro
   */
  get(row: string | KeyValues, options?: ReadOptions): Promise<ReadResult | null>
  /**
   * Changes the given cells of a row: null empties a cell, absent columns stay.
   * Errors in this order: TABLE_NOT_FOUND, REQUEST_VALIDATION_ERROR (the cells), ROW_NOT_FOUND,
   * PRECONDITION_FAILED (`ifMatch` against the row's version), then those of the cells.
   * @throws {StoreError} those above; of the cells: COLUMN_ID_NOT_FOUND, COLUMN_HAS_INVALID_VALUE, COLUMN_ID_RESERVED,
   *   KEY_NOT_UNIQUE
   * @example
   * const { tableId, rowIds } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * const table = team.table(tableId)
   * const found = await table.get(rowIds.get(0))
   * await table.updateRow(rowIds.get(0), { id: 7 }, { ifMatch: found?.version })
   * console.log((await table.get(rowIds.get(0)))?.row.id) // 7
   */
  updateRow(
    rowId: string,
    cells: RowInput,
    options?: UpdateOptions,
  ): Promise<Readonly<{ version: number }>>
  /**
   * Deletes a row. The result says whether there was such a row; if not, the version stays.
   * @throws {StoreError} TABLE_NOT_FOUND, REQUEST_VALIDATION_ERROR
   * @example
   * const { tableId, rowIds } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * const { deleted } = await team.table(tableId).deleteRow(rowIds.get(0))
   * console.log(deleted, await team.table(tableId).count()) // true 1
   */
  deleteRow(rowId: string): Promise<DeleteResult>
  /**
   * The version of the table.
   * @throws {StoreError} TABLE_NOT_FOUND
   * @example
   * const { tableId, version } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }] })
   * await team.table(tableId).addRows([{ id: 2 }])
   * console.log((await team.table(tableId).version()) > version) // true
   */
  version(): Promise<number>
  /**
   * The schema of the table.
   * @throws {StoreError} TABLE_NOT_FOUND
   * @example
   * const { tableId } = await team.createTable({ name: 'Orders', rows: [{ id: 1, day: '2024-02-15' }] })
   * const { columns } = await team.table(tableId).schema() // inferred from the rows
   * console.log(columns.map(({ id, type }) => `${id}: ${type.kind}`)) // ["id: number","day: date"]
   */
  schema(): Promise<TableSchema>
}

/**
 * A table with the rows of a schema.
 *
 * The first operation on rows checks that the table has the columns of the schema, with the same types; if not, it
 * fails with SCHEMA_MISMATCH and the `column`. The table may have more columns; rows have their cells, but the compiler
 * does not know them. What others do to the columns afterwards is not noticed: get the table from the team again. The
 * rows of `at` are those of the columns of its version, which may be others: they have no types.
 */
export interface TypedTable<S extends AnySchema>
  extends TypedRows<S>,
    Pick<
      Table,
      'id' | 'info' | 'version' | 'schema' | 'deleteRow' | 'receipt' | keyof TableExports
    >,
    Pick<Table, 'rename' | 'alter' | 'delete' | 'at'> {
  /** The same table without types and checks: for JSON text, preflights, and columns that the schema lacks. */
  readonly untyped: Table
}
