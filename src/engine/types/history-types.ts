// The history of a table: what its commits changed, and earlier forms of its rows.
import type { DisposableIterator } from '../../base/disposable.js'
import type { TableSchema } from '../../schema/column-kind.js'
import type { Page, PageRequest, ReadOptions, ReadResult, RowWithId } from './read-types.js'
import type { RowIds } from './row-types.js'

/** What the log of a table says about the commit that made a version. */
export type ChangeEntry = Readonly<{
  /** The version that the commit made. */
  version: number
  /** The operation; `transaction`: several operations in a transaction. An import is a create. */
  operation:
    | 'create'
    | 'add'
    | 'overwrite'
    | 'merge'
    | 'update'
    | 'delete'
    | 'alter'
    | 'transaction'
  /** The time of the commit, in milliseconds since 1970 UTC. */
  at: number
  /** The author, if the call named one; over HTTP, the `author` of the API key, by default its `keyId`. */
  author?: string
  /** The reason, if the call gave one. */
  note?: string
  /** The numbers of rows. An overwrite removes all earlier rows and adds all of its own. */
  counts: Readonly<{ added: number; changed: number; removed: number }>
}>

/** The changes that one commit made to a table. */
export type TableChange = Readonly<{
  /** The version that the commit made. */
  version: number
  /** The operation; absent in a change of an earlier version of this package. */
  operation?: ChangeEntry['operation']
  /** The time of the commit, in milliseconds since 1970 UTC. */
  at: number
  /** The author, if the call named one. */
  author?: string
  /** The reason, if the call gave one. */
  note?: string
  /**
   * Whether the commit replaced all rows, as an overwrite does. Then `added` has all rows of the table, including
   * those that kept their IDs, and `changed` and `removed` are empty.
   */
  replaced: boolean
  /**
   * Whether the commit changed the type of a column: any row may then be served in another form than before; see
   * `at(version)`.
   */
  retyped: boolean
  /** IDs of the added rows, in the order of the table, where added rows come after all others. */
  added: RowIds
  /** IDs of earlier rows whose cells the commit changed, in the order of the table. */
  changed: RowIds
  /** IDs of the rows that the commit deleted, in the order of the table. */
  removed: RowIds
  /**
   * The changed rows, then the added ones, as they were at this version.
   * @throws {StoreError} from the iterator: HISTORY_GONE if these rows are no longer kept; as `get` of a table
   */
  rows(options?: ReadOptions): DisposableIterator<RowWithId>
}>

/** Which changes of a table to read. */
export type ChangesRequest = Readonly<{
  /** The changes after this version of the table. Range: 0 to 2^53 - 1. */
  since: number
  /** Ends the iterator with ABORTED. Default: none. */
  signal?: AbortSignal | undefined
}>

/** Which changes of a table to follow. */
export type WatchRequest = Readonly<{
  /**
   * The changes after this version of the table. Default: the current version when the first change is requested.
   * Range: 0 to 2^53 - 1.
   */
  since?: number | undefined
  /** Ends the iterator with ABORTED. Default: none. */
  signal?: AbortSignal | undefined
}>

/** Which entries of the log of a table to read. */
export type LogRequest = Readonly<{
  /**
   * The entries of the changes after this version. Default: the current version, which has none. Range: 0 to 2^53 - 1.
   */
  since?: number | undefined
  /** Maximum number of entries. Default: 1,000. Range: 1 to 2^53 - 1; a greater number than 1,000 counts as 1,000. */
  limit?: number | undefined
}>

/** Entries of the log of a table, in their order. */
export type LogPage = Readonly<{
  /** The version of the table. More entries follow if the version of the last one is smaller. */
  version: number
  /** The entries, at most `limit`. */
  entries: readonly ChangeEntry[]
}>

/** The log of a table; a part of `Table`. */
export interface TableLog {
  /**
   * The log entry of a version of the table: which operation made the version, when, and who. The version of a row is
   * the version of its last change. null: the entry was deleted, or an earlier version of this package made the
   * version. A table keeps an entry for `historyRetentionMs`. Without a history, it keeps an entry for 24 hours, and a
   * garbage collection leaves at most 10,000 entries and 1 MiB; the newest entry is never deleted.
   * @throws {StoreError} TABLE_NOT_FOUND, REQUEST_VALIDATION_ERROR, DATA_CORRUPT
   * @example
   * const { tableId, rowIds } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }] })
   * const table = team.table(tableId)
   * const { version } = await table.updateRow(rowIds.get(0), { id: 2 }, { author: 'ann', note: 'a typo' })
   * const change = await table.change(version)
   * console.log(change?.operation, change?.author, change?.note) // update ann a typo
   */
  change(version: number): Promise<ChangeEntry | null>
  /**
   * The log entries of all versions after `since`, in order: one per commit, whatever its size, even without a history.
   * If the next entry was deleted, or `since` is from before a restore or a loss of commits, the call fails with
   * HISTORY_GONE: read the whole table again, and continue from the version of the page.
   * @throws {StoreError} TABLE_NOT_FOUND, REQUEST_VALIDATION_ERROR, HISTORY_GONE, DATA_CORRUPT
   * @example
   * const { tableId, version } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }] })
   * await team.table(tableId).addRows([{ id: 2 }, { id: 3 }])
   * const { entries } = await team.table(tableId).log({ since: version })
   * console.log(entries.map(({ operation, counts }) => `${operation} ${counts.added}`)) // ["add 2"]
   */
  log(request?: LogRequest): Promise<LogPage>
  /**
   * The entries of `log`, then those of new changes as they are made. Changes of this process appear at once. Changes
   * of other processes on a shared store appear after at most 25 milliseconds and the time of one query per team with
   * watched tables. Several watches of one table share what they read.
   * @throws {StoreError} from the iterator: as `log`; ABORTED, STORE_CLOSED
   * @example
   * const { tableId, version } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }] })
   * await team.table(tableId).addRows([{ id: 2 }])
   * for await (const { operation } of team.table(tableId).watchLog({ since: version })) {
   *   console.log(operation) // add
   *   break // without it, it waits for the next change
   * }
   */
  watchLog(request?: WatchRequest): DisposableIterator<ChangeEntry>
}

/** Options of a scan of past rows. */
export type PastScanOptions = ReadOptions &
  Readonly<{
    /** Ends the iterator with ABORTED before the next page, of 1,000 rows. Default: none. */
    signal?: AbortSignal | undefined
  }>

/** A table as it was at a version. Errors are those of `Table`, and HISTORY_GONE. */
export interface PastTable {
  /** The version that it shows. */
  readonly version: number
  /** A row at that version; null: there was none. */
  get(rowId: string, options?: ReadOptions): Promise<ReadResult | null>
  /** The row that `get` returns, as JSON text. */
  getJson(rowId: string): Promise<Readonly<{ json: string; version: number }> | null>
  /** One page of rows. A continuation must be one of the same version. */
  page(request?: PageRequest): Promise<Page>
  /** All rows at that version, in order. */
  scan(options?: PastScanOptions): DisposableIterator<RowWithId>
  /** The columns at that version. */
  schema(): Promise<TableSchema>
}
