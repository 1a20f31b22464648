// The public interface of a table.
import type { DisposableIterator } from '../../base/disposable.js'
import type { TableSchema } from '../../schema/column-kind.js'
import type { Abortable, Authored, KeyValues } from './call-types.js'
import type {
  CountOptions,
  FindPageRequest,
  Group,
  GroupsRequest,
  ScanOptions,
  Where,
} from './find-types.js'
import type {
  ChangesRequest,
  PastTable,
  TableChange,
  TableLog,
  WatchRequest,
} from './history-types.js'
import type { TextTable } from './json-types.js'
import type {
  AlterRequest,
  CsvOptions,
  ExportOptions,
  IfTableMatch,
  TableInfo,
} from './life-types.js'
import type {
  DeleteRowsResult,
  RowsToDelete,
  RowTextUpdate,
  RowUpdate,
  UpdateRowsOptions,
} from './many-types.js'
import type { MergeRequest, MergeResult } from './merge-types.js'
import type { TablePreflightReport } from './preflight-types.js'
import type { DeleteResult, Page, ReadOptions, ReadResult, RowWithId } from './read-types.js'
import type { Receipt } from './receipt-types.js'
import type {
  AddOptions,
  ChangeResult,
  OverwriteRequest,
  Repeatable,
  RowInput,
  RowsInput,
  Stash,
  TablePreflightRequest,
  UpdateOptions,
} from './row-types.js'

/**
 * A table, as objects and values. Every change is atomic, durable when it resolves, and makes a new version.
 *
 * A read of a missing row returns null, and a delete returns whether the row existed; the same holds for the files and
 * stashes of a team. A change of a missing row fails with ROW_NOT_FOUND; any operation on a missing table fails with
 * TABLE_NOT_FOUND. `Store` says with which codes every call may fail.
 */
export interface Table extends TableLog, TextTable {
  /** The ID of the table, as returned by `createTable`. */
  readonly id: string
  /**
   * The current description of the table. Reads a few records, however many rows it has.
   * @throws {StoreError} TABLE_NOT_FOUND
   * @example
   * const { tableId } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * const { name, rowCount, schema } = await team.table(tableId).info()
   * console.log(name, rowCount, schema.columns.length) // Orders 2 1
   */
  info(): Promise<TableInfo>
  /**
   * The schema of the table.
   * @throws {StoreError} TABLE_NOT_FOUND
   * @example
   * const { tableId } = await team.createTable({ name: 'Orders', rows: [{ id: 1, day: '2024-02-15' }] })
   * const { columns } = await team.table(tableId).schema() // inferred from the rows
   * console.log(columns.map(({ id, type }) => `${id}: ${type.kind}`)) // ["id: number","day: date"]
   */
  schema(): Promise<TableSchema>
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
   * One page of rows in order of insertion. Pass its `continuation` to get the next page. All pages together contain
   * each row that existed from the first to the last page exactly once.
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
   * @param row - Its ID, or the values of the key columns of a table with a key: `{ email: 'a@b.example' }`. The key
   *   index finds the row without a scan.
   * @throws {StoreError} TABLE_NOT_FOUND, DATA_CORRUPT; REQUEST_VALIDATION_ERROR: `row` does not have exactly the
   *   columns of the key
   * @example
   * const rows = [{ email: 'a@example.com', plan: 'pro' }]
   * const { tableId, rowIds } = await team.createTable({ name: 'Customers', rows, key: ['email'] })
   * const table = team.table(tableId)
   * const found = await table.get(rowIds.get(0)) // by ID
   * console.log(found?.row.plan, (await table.get({ email: 'a@example.com' }))?.row.plan) // pro pro
   */
  get(row: string | KeyValues, options?: ReadOptions): Promise<ReadResult | null>
  /**
   * Rows by their IDs, in the order of the IDs, all at one moment; null for an ID without a row.
   * @param rowIds - At most 10,000.
   * @throws {StoreError} TABLE_NOT_FOUND, REQUEST_VALIDATION_ERROR, DATA_CORRUPT
   * @example
   * const { tableId, rowIds } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * const found = await team.table(tableId).getMany([rowIds.get(1), rowIds.get(0)])
   * console.log(found.map((result) => result?.row.id)) // [2,1]
   */
  getMany(rowIds: readonly string[], options?: ReadOptions): Promise<readonly (ReadResult | null)[]>
  /**
   * All rows, or those that `options` select, in order and in bounded memory: 1,000 rows are read at a time. A
   * concurrent overwrite does not affect it. If objects are on another machine, the next 1,000 are read while the
   * caller uses the current ones.
   * @throws {StoreError} TABLE_NOT_FOUND, REQUEST_VALIDATION_ERROR, ABORTED, DATA_CORRUPT
   * @example
   * const { tableId } = await team.createTable({ name: 'Orders', rows: { csv: 'id,total\n1,5\n2,12' } })
   * for await (const row of team.table(tableId).scan({ columns: ['total'], from: 1 })) console.log(row.total) // 12
   */
  scan(options?: ScanOptions): DisposableIterator<RowWithId>
  /**
   * The rows that match: `scan` with `where`. The condition is checked on the stored bytes, so a row that does not
   * match never becomes an object.
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
   * Groups the matching rows by the values of some columns. The largest groups come first; equally large groups are
   * ordered by their values. The table is scanned once. There may be at most 10,000 groups, with at most 4 MiB of
   * values.
   * @param request - `numbers`: the form of numbers in `values`, `least` and `greatest`, as in `ReadOptions`.
   * @throws {StoreError} as `scan`; REQUEST_VALIDATION_ERROR, also if there are more groups, or if a sum has more than
   *   400 digits on one side of its point; TRANSACTION_CONFLICT if columns are changed again and again meanwhile
   * @example
   * const { tableId } = await team.createTable({ name: 'Orders', rows: { csv: 'day,total\nMo,5.10\nMo,12\nTu,7' } })
   * const [first] = await team.table(tableId).groups({ by: ['day'], sum: ['total'], limit: 1 })
   * console.log(first) // {"values":{"day":"Mo"},"count":2,"sum":{"total":"17.10"}}
   */
  groups(request: GroupsRequest & Pick<ReadOptions, 'numbers'>): Promise<readonly Group[]>
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
   * Changes the given cells of a row: null empties a cell, absent columns stay. Errors in this order:
   * TABLE_NOT_FOUND, REQUEST_VALIDATION_ERROR (the cells), ROW_NOT_FOUND, PRECONDITION_FAILED (`ifMatch` against the
   * row's version), then errors of the cells.
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
   * Changes the given cells of many rows, all or none, in one commit: all of them get the same version. There may be at
   * most 10,000 rows, whose text has at most 16 MiB after the update. No row may occur twice. An update without cells
   * only checks its row.
   *
   * Errors in this order: TABLE_NOT_FOUND, REQUEST_VALIDATION_ERROR (the arguments and the cells), ROW_NOT_FOUND,
   * PRECONDITION_FAILED (`ifMatch` against the row's version), then errors of the cells. The error's `row` is the
   * index of the update; its message has the index and the row ID. `problems` lists all updates that fail.
   * @throws {StoreError} those above; of the cells: COLUMN_ID_NOT_FOUND, COLUMN_HAS_INVALID_VALUE, COLUMN_ID_RESERVED,
   *   KEY_NOT_UNIQUE
   * @example
   * const { tableId, rowIds } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * const updates = [...rowIds].map((rowId) => ({ rowId, cells: { id: 7 } }))
   * await team.table(tableId).updateRows(updates)
   * console.log(await team.table(tableId).count({ id: 7 })) // 2
   */
  updateRows(
    updates: readonly (RowUpdate | RowTextUpdate)[],
    options?: UpdateRowsOptions & Repeatable,
  ): Promise<Readonly<{ version: number }>>
  /**
   * Deletes a row. The result says whether the row existed; if not, the version stays.
   * @throws {StoreError} TABLE_NOT_FOUND, REQUEST_VALIDATION_ERROR
   * @example
   * const { tableId, rowIds } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * const { deleted } = await team.table(tableId).deleteRow(rowIds.get(0))
   * console.log(deleted, await team.table(tableId).count()) // true 1
   */
  deleteRow(rowId: string, options?: Authored): Promise<DeleteResult>
  /**
   * Deletes rows, all or none, in one commit. An ID without a row is not an error: it counts as missing, and so does
   * the second occurrence of an ID. If no row exists, the version stays. With `where`, all rows that match at the
   * commit are deleted. A condition that every row matches, such as `{}`, is refused without `all: true`.
   * @param options - `signal` ends the search with ABORTED before the next 256 KiB of rows are read.
   * @throws {StoreError} TABLE_NOT_FOUND; REQUEST_VALIDATION_ERROR, also if there are more than 10,000 rows;
   *   PRECONDITION_FAILED with `problems`, as `updateRows`; ABORTED; IDEMPOTENCY_KEY_REUSED; TRANSACTION_CONFLICT with
   *   the outcome `unchanged` if other processes changed the table during each of 8 searches
   * @example
   * const { tableId, rowIds } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * await team.table(tableId).deleteRows([rowIds.get(0)])
   * const { deleted } = await team.table(tableId).deleteRows({ where: { id: { gt: 1 } } })
   * console.log(deleted, await team.table(tableId).count()) // 1 0
   */
  deleteRows(
    rows: RowsToDelete,
    options?: Abortable & Authored & Repeatable,
  ): Promise<DeleteRowsResult>
  /**
   * Merges rows into the table by key, in one operation: an input row with a key that the table has changes that row;
   * the other input rows are added. Rows with equal values are not written. Memory is bounded by `mergeBytesMax`,
   * whatever the size of table and input.
   * @throws {StoreError} KEY_NOT_UNIQUE if two rows of the input have the same key, or two rows of the table have the
   *   key of an input row; COLUMN_HAS_INVALID_VALUE if a key cell of the input is empty; PRECONDITION_FAILED; as
   *   `addRows`
   * @example
   * const { tableId } = await team.createTable({ name: 'Stock', rows: [{ code: 'a', left: 1 }, { code: 'b', left: 2 }] })
   * const rows = [{ code: 'b', left: 5 }, { code: 'c', left: 7 }]
   * const { added, changed } = await team.table(tableId).merge({ rows, key: ['code'] })
   * console.log(added, changed) // 1 1
   */
  merge(request: MergeRequest): Promise<MergeResult>
  /**
   * Replaces all rows at once, and with `schema` the schema too. A row with the `$rowID` of a row of the table keeps
   * that ID. Errors in this order: TABLE_NOT_FOUND, REQUEST_VALIDATION_ERROR (schema and rows), PRECONDITION_FAILED
   * (`ifMatch` against the table's version), then errors of the rows.
   * @throws {StoreError} those above; STASH_NOT_FOUND, LIMIT_EXCEEDED, ABORTED; of the rows, with their place:
   *   COLUMN_ID_NOT_FOUND, COLUMN_HAS_INVALID_VALUE, COLUMN_ID_RESERVED, COLUMN_ID_NOT_UNIQUE, KEY_NOT_UNIQUE
   * @example
   * const { tableId, version } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * await team.table(tableId).overwrite({ rows: { csv: 'id\n7\n' }, ifMatch: version })
   * console.log((await team.table(tableId).page()).rows.map(({ id }) => id)) // [7]
   */
  overwrite(request: OverwriteRequest & Abortable): Promise<ChangeResult>
  /**
   * Checks a request and writes nothing. The request is that of an overwrite, with `operation: 'add'` that of an add,
   * and with `convert` that of an `alter`. Values that do not fit, and columns that the schema lacks, are in the
   * report. Every other failure is the error of the operation itself, such as KEY_NOT_UNIQUE for two rows with the same
   * key, if all values fit. All rows are read for this, including those of a stash.
   * @param request - Its `signal` ends the call with ABORTED before the next segment of rows is read.
   * @throws {StoreError} as `overwrite`, `addRows` and `alter`
   * @example
   * const { tableId } = await team.createTable({ name: 'Orders', rows: [{ total: 5 }] })
   * const { problems } = await team.table(tableId).preflight({ rows: [{ total: 'five' }], operation: 'add' })
   * console.log(problems.map(({ row, column }) => `row ${row}, ${column}`)) // ["row 0, total"]
   */
  preflight(
    request: (TablePreflightRequest | Pick<AlterRequest, 'convert' | 'ifMatch'>) & Abortable,
  ): Promise<TablePreflightReport>
  /**
   * The receipt of the operation that made a version of the table. null: the operation ran without `receipt`, or the
   * receipt was deleted. A receipt is kept as long as `change` returns the log entry of its version.
   * @throws {StoreError} TABLE_NOT_FOUND, REQUEST_VALIDATION_ERROR, DATA_CORRUPT
   * @example
   * const { tableId, version } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }], receipt: true })
   * const receipt = await team.table(tableId).receipt(version)
   * console.log(receipt?.operation, receipt?.rows) // create 1
   */
  receipt(version: number): Promise<Receipt | null>
  /**
   * The changes after a version, one per version, in order. The iterator ends at the version that is current when it
   * gets there. The changes are read from committed records, so each appears exactly once, even after a crash, with
   * several processes, and after compactions and garbage collections. A change of the schema alone has no rows.
   *
   * The history of a table is kept for `historyRetentionMs`. It begins with the first change made while the store was
   * open with that option. A request for a version before the earliest kept one, or before a restore or a loss of
   * commits, fails with HISTORY_GONE: read the whole table again, and continue from the version of the page.
   * @throws {StoreError} from the iterator: TABLE_NOT_FOUND, REQUEST_VALIDATION_ERROR, HISTORY_GONE, ABORTED
   * @example
   * // of a store with `historyRetentionMs`
   * const { tableId, version } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }] })
   * await team.table(tableId).addRows([{ id: 2 }, { id: 3 }])
   * for await (const { added } of team.table(tableId).changes({ since: version })) console.log(added.length) // 2
   */
  changes(request: ChangesRequest): DisposableIterator<TableChange>
  /**
   * The changes of `changes`, then new changes as they are made. Changes of this process appear at once, and those of
   * other processes on a shared store as soon as with `watchLog`.
   * @throws {StoreError} as `changes`
   * @example
   * // of a store with `historyRetentionMs`
   * const { tableId, version } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }] })
   * await team.table(tableId).addRows([{ id: 2 }])
   * for await (const change of team.table(tableId).watch({ since: version })) {
   *   for await (const { id } of change.rows()) console.log(id) // 2
   *   break // without it, it waits for the next change
   * }
   */
  watch(request?: WatchRequest): DisposableIterator<TableChange>
  /**
   * The table at a version that is still kept. The current version is kept until it changes. Files that only past rows
   * name are not kept for them.
   * @throws {StoreError} REQUEST_VALIDATION_ERROR for an invalid version; from the calls of the result, see
   *   `PastTable`
   * @example
   * // of a store with `historyRetentionMs`
   * const { tableId, version } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }] })
   * await team.table(tableId).overwrite({ rows: [{ id: 2 }] })
   * console.log((await team.table(tableId).at(version).page()).rows[0]?.id) // 1
   */
  at(version: number): PastTable
  /**
   * All rows, or those that match, as CSV, in bounded memory: the column IDs, then one line per row, in order. A table
   * created from this CSV with the same schema and columns has the same rows, with new IDs, except that an empty text
   * becomes an empty cell. Arrays are written as JSON.
   * @throws {StoreError} from the iterator: TABLE_NOT_FOUND, REQUEST_VALIDATION_ERROR, ABORTED, DATA_CORRUPT
   * @example
   * const { tableId } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * let text = ''
   * for await (const bytes of team.table(tableId).toCSV()) text += new TextDecoder().decode(bytes)
   * console.log(text.split('\n')) // ["id","1","2",""]
   */
  toCSV(options?: CsvOptions): DisposableIterator<Uint8Array>
  /**
   * The rows of `toCSV` as one JSON object per line, without row IDs unless `columns` has `$rowID`. No value is
   * changed.
   * @throws {StoreError} as `toCSV`
   * @example
   * const { tableId } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * let text = ''
   * for await (const bytes of team.table(tableId).toNDJSON({ limit: 1 })) text += new TextDecoder().decode(bytes)
   * console.log(JSON.parse(text)) // {"id":1}
   */
  toNDJSON(options?: ExportOptions): DisposableIterator<Uint8Array>
  /**
   * Renames the table. A rename to the same name makes no version.
   * @throws {StoreError} TABLE_NOT_FOUND, REQUEST_VALIDATION_ERROR, PRECONDITION_FAILED, LIMIT_EXCEEDED
   * @example
   * const { tableId } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * await team.table(tableId).rename('Orders of 2026')
   * console.log((await team.table(tableId).info()).name) // Orders of 2026
   */
  rename(name: string, options?: IfTableMatch & Authored): Promise<Readonly<{ version: number }>>
  /**
   * Changes the name and the columns of the table in one version, without reading or writing a row. A request that
   * changes nothing makes no version. If a column is dropped, all rows have the new version. A column of the key can
   * neither be dropped nor converted to arrays. With `key`, all rows are read; with `convert`, they are also rewritten.
   * @throws {StoreError} TABLE_NOT_FOUND, REQUEST_VALIDATION_ERROR, COLUMN_ID_RESERVED, COLUMN_ID_NOT_UNIQUE,
   *   PRECONDITION_FAILED, LIMIT_EXCEEDED, KEY_NOT_UNIQUE, ABORTED
   * @example
   * const { tableId } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * const columns = [{ id: 'id', type: 'number' }, { id: 'paid', type: 'boolean' }] as const
   * await team.table(tableId).alter({ schema: { columns } }) // adds the column "paid", and writes no row
   * console.log((await team.table(tableId).schema()).columns.map(({ id }) => id)) // ["id","paid"]
   */
  alter(request: AlterRequest): Promise<Readonly<{ version: number }>>
  /**
   * Deletes the table with all its rows, at once: from then on its operations fail with TABLE_NOT_FOUND. Scans in
   * progress still read all rows. The garbage collection frees the space; files that no other row names are deleted as
   * after an overwrite. The ID is never used again.
   * @throws {StoreError} TABLE_NOT_FOUND, PRECONDITION_FAILED
   * @example
   * const { tableId } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * await team.table(tableId).delete()
   * console.log((await team.tables()).length) // 0
   */
  delete(options?: IfTableMatch): Promise<void>
}
