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
  /** The author, if the call named one; over HTTP the `author` or the `keyId` of the key. */
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
  /** Whether the commit changed the type of a column: any row may then be served in another form; see `at(version)`. */
  retyped: boolean
  /** In the order of the table. Added rows come after all others. */
  added: RowIds
  /** Earlier rows that have other cells now. In the order of the table. */
  changed: RowIds
  /** Rows that the commit deleted. In the order of the table. */
  removed: RowIds
  /**
   * The changed rows, then the added ones, as they were at this version.
   * @throws {StoreError} from the iterator: HISTORY_GONE if they are no longer kept; as `get` of a table
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
  /** The entries of the changes after this version. Default: the current version, and none. Range: 0 to 2^53 - 1. */
  since?: number | undefined
  /** Maximum number of entries. Default and maximum: 1,000. Range: 1 to 2^53 - 1. */
  limit?: number | undefined
}>

/** Entries of the log of a table, in their order. */
export type LogPage = Readonly<{
  /** The version of the table. More entries follow if the version of the last one is smaller. */
  version: number
  /** At most `limit`. */
  entries: readonly ChangeEntry[]
}>

/** The log of a table; a part of `Table`. */
export interface TableLog {
  /**
   * What made a version of the table, when, and who. The version of a row is the version of its last change. null:
   * the entry was deleted, or an earlier version of this package made the version. A table keeps it for
   * `historyRetentionMs`; without a history for 24 hours, and after a garbage collection at most 10,000 of them and 1
   * MiB, the newest always.
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
   * The entries of `change` for all versions after one, in order: one per commit, whatever its size, even without a
   * history. HISTORY_GONE: the next entry was deleted, or the version is from before a restore or a loss of commits.
   * Then read the whole table again, and continue from the version of the page.
   * @throws {StoreError} TABLE_NOT_FOUND, REQUEST_VALIDATION_ERROR, HISTORY_GONE, DATA_CORRUPT
   * @example
   * const { tableId, version } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }] })
   * await team.table(tableId).addRows([{ id: 2 }, { id: 3 }])
   * const { entries } = await team.table(tableId).log({ since: version })
   * console.log(entries.map(({ operation, counts }) => `${operation} ${counts.added}`)) // ["add 2"]
   */
  log(request?: LogRequest): Promise<LogPage>
  /**
   * The entries of `log`, then those of new changes as they are made: of this process at once, of other processes on
   * a shared store after at most 25 milliseconds and one query per team with watched tables. Many watches of a table
   * share what they read.
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
  /** The same as JSON text. */
  getJson(rowId: string): Promise<Readonly<{ json: string; version: number }> | null>
  /** One page of rows. A continuation must be one of the same version. */
  page(request?: PageRequest): Promise<Page>
  /** All rows at that version, in order. */
  scan(options?: PastScanOptions): DisposableIterator<RowWithId>
  /** The columns at that version. */
  schema(): Promise<TableSchema>
}
