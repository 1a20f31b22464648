// The public interfaces of a store and its teams.

import type { Bytes } from '../../base/bytes.js'
import type { DisposableIterator, Disposing } from '../../base/disposable.js'
import type { AnySchema } from '../../schema/row-types.js'
import type { StoreActivity, StoreMemory } from './activity-types.js'
import type { BackupOptions } from './backup-types.js'
import type { Abortable, Authored } from './call-types.js'
import type { MaintainOptions, MaintenanceReport, StoreStatus } from './event-types.js'
import type { Files, PublicFiles } from './file-types.js'
import type { Job, JobEntry, JobRequest, JobsOptions } from './job-types.js'
import type { ApiKeys } from './key-types.js'
import type { DeleteAllOptions, TableEntry, TableInfo, TableNamesOptions } from './life-types.js'
import type { PreflightReport } from './preflight-types.js'
import type {
  CreateResult,
  CreateTableRequest,
  EnsureTableRequest,
  ImportTableRequest,
  SchemaInput,
  Stash,
  StashEntry,
} from './row-types.js'
import type { Table } from './table-types.js'
import type { Transaction } from './transaction-types.js'
import type { TypedTable } from './typed-types.js'
import type { VerifyOptions, VerifyReport } from './verify-types.js'

export type {
  FindBytesRequest,
  OpenPage,
  OpenPageRequest,
  PageBytes,
  PageBytesRequest,
  PagePiece,
  PieceRequest,
  PieceStart,
  ReadJsonResult,
  ReserveMemory,
} from './json-types.js'
export type {
  DeleteResult,
  Page,
  PageBounds,
  PageRequest,
  ReadOptions,
  ReadResult,
  RowWithId,
} from './read-types.js'
export type { Table } from './table-types.js'
export type { TypedTable } from './typed-types.js'

/**
 * An open store. Everything in it belongs to a team; see `team`.
 *
 * Every call on it, its teams, tables, stashes, files and jobs may fail with STORE_CLOSED, STORAGE_UNAVAILABLE and, if
 * stored bytes are damaged, DATA_CORRUPT; a change also with INSUFFICIENT_STORAGE, and with DATA_LOSS after the store
 * found that acknowledged commits are missing. Each method lists its other codes, and one of these codes only where it
 * has a further meaning.
 */
export interface Store extends Disposing {
  /**
   * The tables, stashes and files of one team. `teamId`: 1 to 128 UTF-16 units of well-formed text.
   * @throws {StoreError} REQUEST_VALIDATION_ERROR for another ID
   * @example
   * await store.team('acme').createTable({ name: 'Orders', rows: [{ id: 1 }] })
   * console.log(await store.team('globex').tables()) // []
   */
  team(teamId: string): Team
  /**
   * The IDs of all teams that have ever stored anything, ordered by their UTF-8 bytes. They may have no tables now.
   * @throws {StoreError} as every call: see `Store`
   * @example
   * await store.team('acme').createTable({ name: 'Orders', rows: [{ id: 1 }] })
   * console.log(await store.teams()) // ["acme"]
   */
  teams(): Promise<readonly string[]>
  /**
   * Compacts row records into segments, then deletes what is unreferenced or expired. Both also run in the background.
   * On a shared store, one process does this for each team in the background, until that process ends; this call does
   * it for all teams, and concurrent background work of other processes ends without effect. The call reads all
   * records. The background work of a shared store reads all records once a day, and otherwise only those of tables and
   * teams where changes have left work.
   * @throws {StoreError} OPTION_NOT_ALLOWED, ABORTED, and as every call: see `Store`
   * @example
   * const { objects, stashes } = await store.maintain() // what was deleted
   * console.log(objects, stashes) // 0 0
   */
  maintain(options?: MaintainOptions): Promise<MaintenanceReport>
  /**
   * Verifies the store while it is in use. Everything that its records name must exist; with `full`, every row and byte
   * is checked against its checksum too. Changes nothing.
   * @throws {StoreError} OPTION_NOT_ALLOWED, ABORTED, STORE_CLOSED (the store was closed meanwhile)
   * @example
   * const { ok, damageCount } = await store.verify({ full: true })
   * console.log(ok, damageCount) // true 0
   */
  verify(options?: VerifyOptions): Promise<VerifyReport>
  /**
   * Backs up the store while it is in use: its content at one moment, as bytes for `restoreBackup`. The bytes contain
   * secrets, such as the keys that sign upload locations. No object is deleted until the iterator has ended, so read it
   * without long pauses.
   * @throws {StoreError} from the iterator, whose bytes are then no backup: OPTION_NOT_ALLOWED, ABORTED,
   *   STORE_CLOSED (the store was closed meanwhile), DATA_CORRUPT (damaged data is not backed up), STORAGE_UNAVAILABLE
   * @example
   * const pieces: Uint8Array[] = [] // or write them to a file, as `backupToFile` of `rowstash/node` does
   * for await (const bytes of store.backup()) pieces.push(bytes)
   * console.log(pieces.length > 0) // true
   */
  backup(options?: BackupOptions): DisposableIterator<Bytes>
  /**
   * Waits for operations in progress, then frees all resources. Later calls fail with STORE_CLOSED, and so do the next
   * call of a transaction and an operation that still reads a stream of bytes. `await using` calls it.
   * @throws {StoreError} STORAGE_UNAVAILABLE, DATA_LOSS: the store lost its directory, or the lock on it; it is
   *   closed anyway
   * @example
   * await store.close()
   * console.log(store.status().writable) // false
   */
  close(): Promise<void>
  /**
   * The current size of the store's caches and buffer pools, for a metrics gauge. The call is cheap, because no entry
   * of a cache is visited. The sizes are the estimates to which the limits apply.
   * @example
   * const { cacheBytes, cacheBytesMax } = store.memory()
   * console.log(cacheBytes <= cacheBytesMax, cacheBytesMax) // true 100663296
   */
  memory(): StoreMemory
  /**
   * What the store has done since it was opened, for the counters of metrics. As fast as `memory`.
   * @example
   * await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * console.log(store.activity().rowsIn) // 2
   */
  activity(): StoreActivity
  /**
   * Whether the store accepts changes now. Reads only memory, so it is cheap to call often.
   * @example
   * const status = store.status()
   * console.log(status.writable ? 'ready' : status.code) // ready
   */
  status(): StoreStatus
  /** The limits in force. */
  readonly limits: StoreLimits
  /** Operations that need no team: receiving the bytes of uploads, and serving files. */
  readonly files: PublicFiles
  /** API keys that the store keeps, for `createContract` with `storedKeys`, or a server of your own. */
  readonly keys: ApiKeys
}

/** The limits in force: see StoreOptions for meanings and ranges. */
export type StoreLimits = Readonly<{
  pageRowsMax: number
  pageBytesMax: number
  fileBytesMax: number
}>

/** The tables, stashes and files of one team. It gives no access to other teams. Errors: see `Store`. */
export interface Team {
  /** The ID that `store.team` was called with. */
  readonly id: string
  /** The files of the team. */
  readonly files: Files
  /**
   * Creates a table with its rows, in one commit: on any error no table exists. Two creates with the same name make
   * two tables.
   * @throws {StoreError} REQUEST_VALIDATION_ERROR, STASH_NOT_FOUND, IDEMPOTENCY_KEY_REUSED, LIMIT_EXCEEDED, ABORTED;
   *   of the rows, with their place: COLUMN_ID_NOT_FOUND, COLUMN_HAS_INVALID_VALUE, COLUMN_ID_RESERVED,
   *   COLUMN_ID_NOT_UNIQUE, KEY_NOT_UNIQUE (with `key`)
   * @example
   * const stash = team.stash('orders')
   * await Promise.all([stash.put(0, [{ id: 1 }]), stash.put(1, { csv: 'id\n2' })])
   * const { tableId, rowIds } = await team.createTable({ name: 'Orders', rows: stash })
   * console.log((await team.table(tableId).get(rowIds.get(1)))?.row.id) // 2
   */
  createTable<S extends SchemaInput = SchemaInput>(
    request: CreateTableRequest<S> & Abortable,
  ): Promise<CreateResult>
  /**
   * Returns the table with a name, which then has at least the requested columns. If there is none, it is created;
   * otherwise the columns that it lacks are added, and types are widened by the rules of `updateSchema`. Rows, display
   * names and other columns stay as they are. Concurrent calls create only one table. If several tables have the name,
   * the oldest is used.
   * @throws {StoreError} as `createTable`; REQUEST_VALIDATION_ERROR if the requested type of a column is neither the
   *   type that it has nor a wider one, if a column of the key would change from numbers to texts, or if the table has
   *   another key
   * @example
   * import { defineSchema } from 'rowstash'
   *
   * const Order = defineSchema({ columns: { sku: 'string', total: 'number' } })
   * const orders = await team.ensureTable({ name: 'Orders', schema: Order, key: ['sku'] })
   * await orders.addRows([{ sku: 'tea', total: 3 }])
   * console.log(await orders.count()) // 1
   */
  ensureTable<S extends AnySchema>(
    request: EnsureTableRequest<S> & Abortable,
  ): Promise<TypedTable<S>>
  /**
   * `ensureTable` with any schema, for a table without types.
   * @throws {StoreError} as the `ensureTable` above
   * @example
   * const columns = [{ id: 'total', type: 'number' }] as const
   * const orders = await team.ensureTable({ name: 'Orders', schema: { columns } })
   * console.log(await orders.count()) // 0
   */
  ensureTable(request: EnsureTableRequest & Abortable): Promise<Table>
  /**
   * Creates a table from a CSV, TSV, JSON or NDJSON file at a URL, in one commit. The file is read as it arrives, in
   * bounded memory; its schema is inferred from all rows.
   * @throws {StoreError} as `createTable`; SOURCE_URL_NOT_ALLOWED, SOURCE_URL_FAILED, SOURCE_URL_TIMEOUT,
   *   FILE_TOO_LARGE, RATE_LIMITED (too many transfers wait)
   * @example
   * const { tableId } = await team.importTable({ fromUrl: 'https://files.example.com/orders.csv' })
   * const { name, rowCount } = await team.table(tableId).info()
   * console.log(name, rowCount) // orders 2
   */
  importTable(request: ImportTableRequest & Abortable): Promise<CreateResult>
  /**
   * Checks the request of a create and writes nothing. Its `idempotencyKey` has no effect. Values that do not fit, and
   * columns that the schema lacks, are in the report. Every other failure is the error of the create itself, such as
   * KEY_NOT_UNIQUE for two rows with the same key, if all values fit. All rows are read for this, including those of a
   * stash.
   * @param request - Its `signal` ends the call with ABORTED before the next segment of rows is read.
   * @throws {StoreError} as `createTable`
   * @example
   * const schema = { columns: [{ id: 'total', type: 'number' }] } as const
   * const rows = [{ total: 5 }, { total: 'five' }]
   * const { problems } = await team.preflight({ name: 'Orders', schema, rows })
   * console.log(problems.map(({ row, column, rule }) => `row ${row}, ${column}: ${rule}`)) // ["row 1, total: a finite number"]
   */
  preflight(request: CreateTableRequest & Abortable): Promise<PreflightReport>
  /**
   * A table by its ID, whose rows the compiler knows.
   * @param schema - What `defineSchema` returns.
   * @throws {StoreError} as `table`; the first operation on rows also SCHEMA_MISMATCH
   * @example
   * import { defineSchema } from 'rowstash'
   *
   * const Order = defineSchema({ columns: { name: 'string', total: 'number' } })
   * const { tableId } = await team.createTable({ name: 'Orders', schema: Order, rows: [{ name: 'Tea', total: 3 }] })
   * for await (const { total = 0 } of team.table(tableId, Order).scan()) console.log(total.toFixed(2)) // 3.00
   */
  table<S extends AnySchema>(tableId: string, schema: S): TypedTable<S>
  /**
   * A table by its ID. Does not check that it exists: its operations fail with TABLE_NOT_FOUND.
   * @throws {StoreError} REQUEST_VALIDATION_ERROR for anything but well-formed text
   * @example
   * const { tableId } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * console.log(await team.table(tableId).count()) // 2
   */
  table(tableId: string): Table
  /**
   * The oldest table with a name, whose rows the compiler knows; null: there is none.
   * @param schema - What `defineSchema` returns.
   * @throws {StoreError} as every call: see `Store`; REQUEST_VALIDATION_ERROR; SCHEMA_MISMATCH from the first
   *   operation on rows
   */
  tableByName<S extends AnySchema>(name: string, schema: S): Promise<TypedTable<S> | null>
  /**
   * The oldest table with a name; null: there is none.
   * @throws {StoreError} REQUEST_VALIDATION_ERROR for anything but a text
   * @example
   * await team.createTable({ name: 'Orders', rows: [{ id: 1 }] })
   * const orders = await team.tableByName('Orders')
   * console.log(await orders?.count()) // 1
   */
  tableByName(name: string): Promise<Table | null>
  /**
   * All tables in order of creation, including every table whose create has resolved.
   * @throws {StoreError} as every call: see `Store`
   * @example
   * await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * console.log((await team.tables()).map(({ name, rowCount }) => `${name}: ${rowCount} rows`)) // ["Orders: 2 rows"]
   */
  tables(): Promise<readonly TableInfo[]>
  /**
   * The IDs and names of all tables in order of creation, which is faster than `tables`.
   * @throws {StoreError} as `tables`; what `reserve` throws
   * @example
   * await team.createTable({ name: 'Orders', rows: [{ id: 1 }] })
   * console.log((await team.tableNames()).map(({ name }) => name)) // ["Orders"]
   */
  tableNames(options?: TableNamesOptions): Promise<readonly TableEntry[]>
  /**
   * All tables with a name, the oldest first.
   * @throws {StoreError} as `tables`; REQUEST_VALIDATION_ERROR for anything but a text
   * @example
   * await team.createTable({ name: 'Orders', rows: [{ id: 1 }] })
   * await team.createTable({ name: 'Orders', rows: [{ id: 2 }] })
   * console.log((await team.tablesByName('Orders')).length) // 2
   */
  tablesByName(name: string): Promise<readonly Table[]>
  /**
   * Runs a function whose changes of tables are committed together when it resolves, or not at all when it rejects.
   *
   * All its reads show one moment, and nobody changes any of the tables between that moment and the commit: the
   * transactions and all other operations of the team are serializable. Nothing is locked. If other operations have
   * meanwhile changed a table that the function read or changed, the function is called again, on the current tables,
   * up to 10 times in all. So the function must have no other side effects, and must await all that it calls. Even in a
   * call that will be repeated, its reads show one moment.
   *
   * Each call that changes a table with a key checks the key at once, with the rows as the earlier calls left them: to
   * exchange the keys of two rows, use one `updateRows`.
   *
   * Limits of one transaction: 100 tables, 20,000 records and 16 MiB of changes (a changed row is one record; a segment
   * of added rows counts as a part of one), and 100,000 rows that are read. Merges, receipts, idempotency keys, jobs,
   * imports, files and other transactions cannot be part of it: a call of `team.transaction` within the function is a
   * transaction of its own, which does not see the changes of the outer one. If it changes the same tables, the outer
   * function is called again.
   *
   * A `signal` ends the transaction with ABORTED, and nothing is committed: the function is not called again, its
   * next call of the transaction fails, and its result is not used. The function itself is awaited. Once the commit
   * has begun, the signal has no effect: the transaction resolves if it was committed, fails with ABORTED if the
   * commit was refused because of other changes, and fails as without a signal if the outcome is unknown.
   * @param options - `signal`, and `author` and `note` for the logs of the changed tables.
   * @returns the result of the function.
   * @throws {StoreError} TRANSACTION_CONFLICT with the outcome `unchanged` after 10 calls; LIMIT_EXCEEDED; what the
   *   function throws; ABORTED; STORAGE_UNAVAILABLE, INSUFFICIENT_STORAGE
   * @example
   * const { tableId, rowIds } = await team.createTable({ name: 'Accounts', rows: [{ left: 10 }, { left: 0 }] })
   * await team.transaction(async (transaction) => {
   *   const table = transaction.table(tableId)
   *   await table.updateRow(rowIds.get(0), { left: 7 })
   *   await table.updateRow(rowIds.get(1), { left: 3 })
   * })
   * console.log((await team.table(tableId).page()).rows.map(({ left }) => left)) // [7,3]
   */
  transaction<T>(
    run: (transaction: Transaction) => Promise<T>,
    options?: Abortable & Authored,
  ): Promise<T>
  /**
   * A stash by an ID of the caller: 1 to 256 letters, digits, `-` and `_`, beginning with a letter or a digit.
   * @throws {StoreError} REQUEST_VALIDATION_ERROR for another ID
   * @example
   * const stash = team.stash('orders-2024-02-15')
   * await stash.put(0, [{ id: 1 }])
   * console.log((await stash.chunks()).length) // 1
   */
  stash(stashId: string): Stash
  /**
   * The usable stashes, ordered by ID. A stash is not usable if it has expired or may have lost chunks.
   * @throws {StoreError} as every call: see `Store`
   * @example
   * await team.stash('orders').put(0, [{ id: 1 }, { id: 2 }])
   * console.log((await team.stashes()).map(({ id, rows }) => `${id}: ${rows} rows`)) // ["orders: 2 rows"]
   */
  stashes(): Promise<readonly StashEntry[]>
  /**
   * Starts an operation that runs in the background, and continues after a crash. When this resolves, the rows in the
   * request are read and durable; a stash of the caller must exist until the job has ended. A request that is invalid
   * by itself is refused here, as the operation would refuse it.
   * @throws {StoreError} REQUEST_VALIDATION_ERROR, TABLE_NOT_FOUND, STASH_NOT_FOUND, LIMIT_EXCEEDED,
   *   COLUMN_ID_NOT_FOUND, COLUMN_HAS_INVALID_VALUE, COLUMN_ID_RESERVED, COLUMN_ID_NOT_UNIQUE; RATE_LIMITED: the team
   *   has 100 open jobs in this process, or at least as many as places are free (of 1,000 for all teams);
   *   SOURCE_URL_NOT_ALLOWED: the job is an import, and the store has no `sources`
   * @example
   * const job = await team.startJob({ create: { name: 'Orders', rows: [{ id: 1 }] } })
   * const status = await job.wait()
   * if (status.status === 'succeeded') console.log(status.result.rowIds.length) // 1
   */
  startJob(request: JobRequest): Promise<Job>
  /**
   * A job by its ID. Does not check that it exists: its methods fail with JOB_NOT_FOUND.
   * @example
   * const { id } = await team.startJob({ create: { name: 'Orders', rows: [{ id: 1 }] } })
   * console.log((await team.job(id).wait()).status) // succeeded
   */
  job(jobId: string): Job
  /**
   * The open jobs, and those that ended at most `jobTtlMs` ago, newest last.
   * @throws {StoreError} as every call: see `Store`; REQUEST_VALIDATION_ERROR for an unknown option
   * @example
   * const job = await team.startJob({ create: { name: 'Orders', rows: [{ id: 1 }] }, note: 'nightly' })
   * await job.wait()
   * console.log((await team.jobs()).map(({ kind, status, note }) => `${kind} ${status} ${note}`)) // ["create succeeded nightly"]
   */
  jobs(options?: JobsOptions): Promise<readonly JobEntry[]>
  /**
   * Deletes everything of the team: tables, stashes, uploads, files, jobs, receipts, and the results under idempotency
   * keys. Running jobs fail. When it resolves, the team is as if it had never been used, except for its API keys, and
   * for rows that scans in progress still read. An interrupted call can be repeated: what is deleted stays deleted.
   * Data that others add meanwhile is afterwards either complete or deleted.
   * @throws {StoreError} STORAGE_UNAVAILABLE: others keep adding data to the team. The `outcome` of every failure of
   *   the storage is `unknown`: some data may be deleted. REQUEST_VALIDATION_ERROR, ABORTED
   * @example
   * await team.createTable({ name: 'Orders', rows: [{ id: 1 }] })
   * await team.deleteAll()
   * console.log((await team.tables()).length) // 0
   */
  deleteAll(options?: DeleteAllOptions): Promise<void>
}
