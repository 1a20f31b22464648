// Changes of many rows of a table in one call.

import type { Abortable } from './abort-types.js'
import type { Where } from './find-types.js'
import type { OnSchemaError, RowInput } from './row-types.js'

/** One row of `updateRows`, and its new cells. */
export type RowUpdate = Readonly<{
  /** The ID of the row. */
  rowId: string
  /** As of `updateRow`: null empties a cell, absent columns stay. */
  cells: RowInput
  /** Fails with PRECONDITION_FAILED if the row's version is greater than this. Any size. Default: no condition. */
  ifMatch?: number | bigint | undefined
}>

/** Options of `updateRows`. */
export type UpdateRowsOptions = Readonly<{
  /** What to do with cells that do not fit the schema. Default: `abort`. */
  onSchemaError?: OnSchemaError | undefined
}>

/** The version of the table, how many rows were deleted, and how many IDs named no row. */
export type DeleteRowsResult = Readonly<{ version: number; deleted: number; missing: number }>

/**
 * The rows that match a condition. One that every row matches needs `all: true`, which may also stand alone.
 * Default of `all`: false.
 */
export type ConditionToDelete<W = Where> =
  | Readonly<{ where: W; all?: boolean | undefined }>
  | Readonly<{ all: true }>

/** Rows by their IDs, or those that match a condition, at most 10,000. */
export type RowsToDelete = readonly string[] | ConditionToDelete

/** Operations of a table on many rows, each in one commit. */
export interface ManyRows {
  /**
   * Changes the given cells of many rows, all or none, in one commit: all of them get the same version. At most 10,000
   * rows, and 16 MiB of their text after the update. No row may occur twice. An update without cells only checks its
   * row.
   *
   * Errors in this order: TABLE_NOT_FOUND, REQUEST_VALIDATION_ERROR (the arguments and the cells), then for the first
   * update that fails ROW_NOT_FOUND and PRECONDITION_FAILED (`ifMatch` against the row's version), then those of its
   * cells. The error's `row` is the index of the update; its message has the index and the row ID.
   * @throws {StoreError} those above; of the cells: COLUMN_ID_NOT_FOUND, COLUMN_HAS_INVALID_VALUE, COLUMN_ID_RESERVED,
   *   KEY_NOT_UNIQUE
   * @example
   * const { tableId, rowIds } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * const updates = [...rowIds].map((rowId) => ({ rowId, cells: { id: 7 } }))
   * await team.table(tableId).updateRows(updates)
   * console.log(await team.table(tableId).count({ id: 7 })) // 2
   */
  updateRows(
    updates: readonly RowUpdate[],
    options?: UpdateRowsOptions,
  ): Promise<Readonly<{ version: number }>>
  /**
   * Deletes rows, all in one commit. An ID without a row is not an error: it is counted as missing, and so is the
   * second occurrence of one ID. If no row is there, the version stays. With `where`, the rows that match are deleted,
   * all of them as the table is at that moment. A condition that every row matches, such as `{}`, is refused without
   * `all: true`.
   * @param options - `signal`, which ends the search with ABORTED before the next 256 KiB of rows.
   * @throws {StoreError} TABLE_NOT_FOUND; REQUEST_VALIDATION_ERROR, also if there are more than 10,000 rows; ABORTED;
   *   TRANSACTION_CONFLICT with outcome `unchanged` if other processes changed the table during each of 8 searches
   * @example
   * const { tableId, rowIds } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * await team.table(tableId).deleteRows([rowIds.get(0)])
   * const { deleted } = await team.table(tableId).deleteRows({ where: { id: { gt: 1 } } })
   * console.log(deleted, await team.table(tableId).count()) // 1 0
   */
  deleteRows(rows: RowsToDelete, options?: Abortable): Promise<DeleteRowsResult>
}
