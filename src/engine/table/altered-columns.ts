// The columns of a table after a change that does not list all of them.
import { isRecord, shown } from '../../base/options.js'
import { invalidArgument, StoreError } from '../../base/store-error.js'
import { lackedColumn } from '../../base/unknown-column.js'
import type { Column, TableSchema } from '../../schema/column-kind.js'
import { parseTableSchema } from '../../schema/table-schema.js'
import type { IndexedSchema } from '../caches/schema-cache.js'

/** What changes of the columns; the others stay. */
export type ColumnChanges = Readonly<{
  add: readonly Column[]
  drop: readonly string[]
  /** New display names by column ID. */
  rename: ReadonlyMap<string, string>
}>

/** @throws {StoreError} REQUEST_VALIDATION_ERROR, COLUMN_ID_NOT_UNIQUE for an added column that is there */
export function changedColumns(
  { schema, columns }: IndexedSchema,
  { add, drop, rename }: ColumnChanges,
  columnsMax: number,
): TableSchema {
  for (const id of [...drop, ...rename.keys()]) {
    if (columns.has(id)) continue
    const details = { column: id }
    throw new StoreError('REQUEST_VALIDATION_ERROR', lackedColumn(columns, id), details)
  }
  const dropped = new Set(drop)
  const kept = schema.columns.flatMap((column) => {
    if (dropped.has(column.id)) return []
    const displayName = rename.get(column.id)
    return displayName === undefined ? column : { ...column, displayName }
  })
  return parseTableSchema({ columns: [...kept, ...add] }, columnsMax)
}

/** Those of the table, of the types that are wanted, and behind them those that it lacks. */
export function ensuredColumns(
  { schema, columns }: IndexedSchema,
  wanted: TableSchema,
  columnsMax: number,
): TableSchema {
  const types = new Map(wanted.columns.map(({ id, type }) => [id, type]))
  const kept = schema.columns.map((column) => ({
    ...column,
    type: types.get(column.id) ?? column.type,
  }))
  const added = wanted.columns.filter(({ id }) => !columns.has(id))
  return parseTableSchema({ columns: [...kept, ...added] }, columnsMax)
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkNewNames(given: unknown): ReadonlyMap<string, string> {
  const names = isRecord(given) ? Object.entries(given) : null
  const isText = (pair: [string, unknown]): pair is [string, string] => typeof pair[1] === 'string'
  if (names?.every(isText)) return new Map(names)
  throw invalidArgument(`rename must have display names by column ID, not ${shown(given)}`)
}
