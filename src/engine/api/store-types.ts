// The public interfaces of a store and its teams.

import type { Bytes } from '../../base/bytes.js'
import type { DisposableIterator, Disposing } from '../../base/disposable.js'
import type { AnySchema } from '../../schema/row-types.js'
import type { Abortable } from './abort-types.js'
import type { StoreActivity } from './activity-types.js'
import type { BackupOptions } from './backup-types.js'
import type { Files, PublicFiles } from './file-types.js'
import type { Job, JobEntry, JobRequest, JobsOptions } from './job-types.js'
import type { ApiKeys } from './key-types.js'
import type { TeamTables } from './life-types.js'
import type { StoreMemory } from './memory-types.js'
import type { Preflight } from './preflight-types.js'
import type { StoreStatus, SweepOptions, SweepReport } from './report-types.js'
import type {
  CreateResult,
  CreateTableRequest,
  ImportTableRequest,
  SchemaInput,
  Stash,
  StashEntry,
} from './row-types.js'
import type { Table, TypedTable } from './table-types.js'
import type { Transactions } from './transaction-types.js'
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
  TableJson,
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
export type { Table, TypedTable } from './table-types.js'

/**
 * An open store. Everything in it belongs to a team; see `team`.
 *
 * Every call on it, its teams, tables, stashes, files and jobs may fail with STORE_CLOSED, STORAGE_UNAVAILABLE and, if
 * stored bytes are damaged, DATA_CORRUPT; a change also with INSUFFICIENT_STORAGE, and with DATA_LOSS after the store
 * found that acknowledged commits are missing. The methods name the other codes, and these where they mean more.
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
   * The IDs of the teams that ever stored anything, in the order of their UTF-8 bytes. They may have no tables now.
   * @throws {StoreError} as every call: see `Store`
   * @example
   * await store.team('acme').createTable({ name: 'Orders', rows: [{ id: 1 }] })
   * console.log(await store.teams()) // ["acme"]
   */
  teams(): Promise<readonly string[]>
  /**
   * Folds row records into segments, then deletes what is unreferenced or expired. Both also run in the
   * background. Of several processes that share a store, one does this for each team in the background, until that
   * process ends; this call does it for all teams, and such work of other processes ends without effect. The call reads
   * all records; the background of a shared store does so once a day, and otherwise reads only what changes have left
   * to do.
   * @throws {StoreError} OPTION_NOT_ALLOWED, ABORTED, and as every call: see `Store`
   * @example
   * const { objects, stashes } = await store.sweep() // what was deleted
   * console.log(objects, stashes) // 0 0
   */
  sweep(options?: SweepOptions): Promise<SweepReport>
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
   * Backs up the store while it is in use: its content at one moment, as bytes for `restoreBackup`. They contain
   * secrets, such as the keys that sign upload locations. No object is deleted until the iterator has ended, so
   * read it without long pauses.
   * @throws {StoreError} from the iterator, whose bytes are then no backup: OPTION_NOT_ALLOWED, ABORTED,
   *   STORE_CLOSED (the store was closed meanwhile), DATA_CORRUPT (damaged data is not backed up), STORAGE_UNAVAILABLE
   * @example
   * const pieces: Uint8Array[] = [] // or write them to a file, as `backupToFile` of `rowstash/node` does
   * for await (const bytes of store.backup()) pieces.push(bytes)
   * console.log(pieces.length > 0) // true
   */
  backup(options?: BackupOptions): DisposableIterator<Bytes>
  /**
   * Waits for operations in flight, then frees everything. Later calls fail with STORE_CLOSED, and so do the next call
   * of a transaction and an operation that still reads a stream of bytes. `await using` calls it.
   * @throws {StoreError} STORAGE_UNAVAILABLE, DATA_LOSS: the place of the store was taken away meanwhile; it is
   *   closed anyway
   * @example
   * await store.close()
   * console.log(store.status().writable) // false
   */
  close(): Promise<void>
  /**
   * The current size of the store's caches and buffer pools, for a metrics gauge. Cheap: no entry is visited. The sizes
   * are the estimates to which the limits apply.
   * @example
   * const { cacheBytes, cacheBytesMax } = store.memory()
   * console.log(cacheBytes <= cacheBytesMax, cacheBytesMax) // true 83886080
   */
  memory(): StoreMemory
  /**
   * What the store has done since it was opened, for the counters of metrics. As cheap as `memory`.
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
  /** The limits that are in force. */
  readonly limits: StoreLimits
  /** Operations that take no team: receiving the bytes of uploads, and serving files. */
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

/** The tables, stashes and files of one team. Nothing of another team can be seen through it. Errors: see `Store`. */
export interface Team extends Preflight<CreateTableRequest>, TeamTables<Table>, Transactions {
  /** The ID that `store.team` was called with. */
  readonly id: string
  /** The files of the team. */
  readonly files: Files
  /**
   * Creates a table with its rows, in one commit: on any error there is no table. Two creates with the same
   * name make two tables.
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
   * Starts an operation that runs in the background, and is continued after a crash. Rows in the request are read and
   * durable when this resolves; a stash of the caller must exist until the job has ended. A request that is invalid by
   * itself is refused here, as the operation would refuse it.
   * @throws {StoreError} REQUEST_VALIDATION_ERROR, TABLE_NOT_FOUND, STASH_NOT_FOUND, LIMIT_EXCEEDED,
   *   COLUMN_ID_NOT_FOUND, COLUMN_HAS_INVALID_VALUE, COLUMN_ID_RESERVED, COLUMN_ID_NOT_UNIQUE; RATE_LIMITED: the team
   *   has 100 open jobs here, or as many as all teams leave free of 1,000; SOURCE_URL_NOT_ALLOWED: an import, in a process without `sources`
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
   * The open jobs, and those that ended at most `jobTtlMs` ago, the newest last.
   * @throws {StoreError} as every call: see `Store`; REQUEST_VALIDATION_ERROR for an option that is none
   * @example
   * const job = await team.startJob({ create: { name: 'Orders', rows: [{ id: 1 }] }, note: 'nightly' })
   * await job.wait()
   * console.log((await team.jobs()).map(({ kind, status, note }) => `${kind} ${status} ${note}`)) // ["create succeeded nightly"]
   */
  jobs(options?: JobsOptions): Promise<readonly JobEntry[]>
  /**
   * As `table`, with rows that the compiler knows.
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
   * @throws {StoreError} REQUEST_VALIDATION_ERROR for what is no well-formed text
   * @example
   * const { tableId } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * console.log(await team.table(tableId).count()) // 2
   */
  table(tableId: string): Table
  /**
   * As `tableByName`, with rows that the compiler knows.
   * @param schema - What `defineSchema` returns.
   * @throws {StoreError} as every call: see `Store`; REQUEST_VALIDATION_ERROR; SCHEMA_MISMATCH from the first
   *   operation on rows
   */
  tableByName<S extends AnySchema>(name: string, schema: S): Promise<TypedTable<S> | null>
  /**
   * The oldest table with a name; null: there is none.
   * @throws {StoreError} REQUEST_VALIDATION_ERROR for what is no text
   * @example
   * await team.createTable({ name: 'Orders', rows: [{ id: 1 }] })
   * const orders = await team.tableByName('Orders')
   * console.log(await orders?.count()) // 1
   */
  tableByName(name: string): Promise<Table | null>
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
   * The stashes that have neither expired nor may have lost chunks, in the order of their IDs.
   * @throws {StoreError} as every call: see `Store`
   * @example
   * await team.stash('orders').put(0, [{ id: 1 }, { id: 2 }])
   * console.log((await team.stashes()).map(({ id, rows }) => `${id}: ${rows} rows`)) // ["orders: 2 rows"]
   */
  stashes(): Promise<readonly StashEntry[]>
}
