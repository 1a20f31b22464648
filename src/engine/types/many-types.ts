// Changes of many rows of a table in one call.

import type { Authored } from './call-types.js'
import type { Where } from './find-types.js'
import type { OnSchemaError, RowInput } from './row-types.js'

/** One row of `updateRows`, and its new cells. */
export type RowUpdate = Readonly<{
  /** The ID of the row. */
  rowId: string
  /** The new cells: null empties a cell, absent columns stay. */
  cells: RowInput
  /** Fails with PRECONDITION_FAILED if the row's version is greater than this. Any size. Default: no condition. */
  ifMatch?: number | bigint | undefined
}>

/** The update of one row as JSON text, whose tokens are stored unchanged. */
export type RowTextUpdate = Omit<RowUpdate, 'cells'> &
  Readonly<{
    /** The text of a JSON object. Of two members with one name, the last counts. */
    json: string
  }>

/** Options of `updateRows`. */
export type UpdateRowsOptions = Authored &
  Readonly<{
    /** What to do with cells that do not fit the schema. Default: `abort`. */
    onSchemaError?: OnSchemaError | undefined
  }>

/** The version of the table, how many rows were deleted, and how many IDs named no row. */
export type DeleteRowsResult = Readonly<{ version: number; deleted: number; missing: number }>

/**
 * A condition on the rows to delete. A condition that every row matches is refused without `all: true`; `all: true` may
 * also stand alone. Default of `all`: false.
 */
export type ConditionToDelete<W = Where> =
  | Readonly<{ where: W; all?: boolean | undefined }>
  | Readonly<{ all: true }>

/** A row to delete if it has not changed. A row that does not exist counts as missing. */
export type RowToDelete = Pick<RowUpdate, 'rowId' | 'ifMatch'>

/** The rows to delete, at most 10,000: their IDs, or a condition that they match. */
export type RowsToDelete = readonly (string | RowToDelete)[] | ConditionToDelete
