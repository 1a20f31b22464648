// The public interfaces of a store, its teams, tables and stashes.

import type { Bytes } from '../../base/bytes.js'
import type { DisposableIterator, Disposing } from '../../base/disposable.js'
import type { TableSchema } from '../../schema/column-kind.js'
import type { AnySchema } from '../../schema/row-types.js'
import type { StoreActivity } from './activity-types.js'
import type { BackupOptions } from './backup-types.js'
import type { Files, PublicFiles } from './file-types.js'
import type { Find, FindBounds, FindPageRequest } from './find-types.js'
import type { TableHistory } from './history-types.js'
import type { Job, JobEntry, JobRequest } from './job-types.js'
import type { ApiKeys } from './key-types.js'
import type { TableExports, TableLife, TeamTables } from './life-types.js'
import type { ManyRows } from './many-types.js'
import type { StoreMemory } from './memory-types.js'
import type { Merges } from './merge-types.js'
import type { Preflight, TablePreflightReport } from './preflight-types.js'
import type {
  DeleteResult,
  Page,
  PageBounds,
  PageRequest,
  ReadOptions,
  ReadResult,
  RowWithId,
} from './read-types.js'
import type { Receipts } from './receipt-types.js'
import type { StoreStatus, SweepReport } from './report-types.js'
import type {
  Abortable,
  AddOptions,
  ChangeResult,
  CreateResult,
  CreateTableRequest,
  ImportTableRequest,
  OverwriteRequest,
  RowInput,
  RowsInput,
  SchemaInput,
  Stash,
  StashEntry,
  TablePreflightRequest,
  UpdateOptions,
} from './row-types.js'
import type { Transactions } from './transaction-types.js'
import type { TypedRows } from './typed-types.js'
import type { KeyValues } from './unique-types.js'
import type { VerifyOptions, VerifyReport } from './verify-types.js'

export type { DeleteResult, Page, PageBounds, PageRequest, ReadOptions, ReadResult, RowWithId }

/** A request for a page as JSON bytes. */
export type PageBytesRequest = PageBounds &
  Readonly<{
    /**
     * A buffer for the JSON, which the caller may reuse between pages; allocating one for each page keeps the garbage
     * collector busy. Do not touch it until the call settles. Its content is overwritten even if the call fails. The
     * size of the rows' texts plus 64 bytes a row is enough. Default, and if the buffer is too small: a new one.
     */
    memory?: Bytes | undefined
  }>

/** Changes a reservation of memory to this many bytes. Returns undefined if no wait is needed. */
export type ReserveMemory = (bytes: number) => Promise<void> | undefined

/** A request for a page of some rows or cells as JSON bytes. See `FindPageRequest`. */
export type FindBytesRequest = PageBounds &
  FindBounds &
  Readonly<{
    /** As in `OpenPageRequest`, for the row records of the page. Its JSON and what is read for it take 4 MiB at most. */
    reserve?: ReserveMemory | undefined
  }>

/** A request for a page in pieces. */
export type OpenPageRequest = PageBounds &
  Readonly<{
    /** Called before the page takes more memory than the last call reserved. Default: nothing is reserved. */
    reserve?: ReserveMemory | undefined
  }>

/** The start of a piece. Only valid for the page that returned it. */
export type PieceStart = Readonly<{
  /** Internal: give it back as it is. */
  run: number
  /** Internal, as `run`. */
  slot: number
  /** Rows before the piece. */
  rowCount: number
  /** Bytes before the piece. */
  textBytes: number
}>

/** A request for one piece of a page. */
export type PieceRequest = Readonly<{
  /** Default: the beginning of the page. */
  start?: PieceStart | undefined
  /** The piece ends with the row that reaches this length, in bytes: at least 1,024. */
  bytes: number
  /** Memory that reading the piece may take: at least three times `bytes`, for stored bytes, rows and JSON. */
  memoryBytes: number
  /** As in `PageBytesRequest`. */
  memory?: Bytes | undefined
}>

/** One piece of a page: a part of its JSON. */
export type PagePiece = Readonly<{
  /** Bytes of the JSON, which may begin and end anywhere. */
  json: Bytes
  /** The start of the next piece; absent in the last one. */
  next?: PieceStart
  /** Only in the last piece, and only if more rows exist. */
  continuation?: string
}>

/**
 * A page whose rows are chosen and whose bytes are read in pieces, so that it is never in memory as a whole.
 * Joined, the pieces are what `pageBytes` returns. A piece may be read again and is the same then.
 */
export interface OpenPage {
  /** The version of the table that the page shows. */
  readonly version: number
  /**
   * @returns The piece; or `needs`, the `memoryBytes` that the next row takes: call again with that many.
   * @throws {StoreError} DATA_CORRUPT, STORAGE_UNAVAILABLE
   */
  piece(request: PieceRequest): Promise<PagePiece | Readonly<{ needs: number }>>
}

/** A row as JSON text, and its version. */
export type ReadJsonResult = Readonly<{ json: string; version: number }>

/** A page as JSON in UTF-8: an array of row objects. `json` lies in `memory` of the request if that was large enough. */
export type PageBytes = Readonly<{
  /** The JSON text. */
  json: Bytes
  /** The number of rows. */
  rowCount: number
  /** Present if more rows follow. */
  continuation?: string
  /** The version of the table that the page shows. */
  version: number
}>

/** An open store. Everything in it belongs to a team; see `team`. */
export interface Store extends Disposing {
  /** The tables, stashes and files of one team. `teamId`: 1 to 128 UTF-16 units of well-formed text. */
  team(teamId: string): Team
  /** The IDs of the teams that ever stored anything, in the order of their UTF-8 bytes. They may have no tables now. */
  teams(): Promise<readonly string[]>
  /**
   * Folds row records into segments, then deletes what is unreferenced or expired. Both also run in the
   * background. Of several processes that share a store, one does this for each team in the background, until that
   * process ends; this call does it for all teams, and such work of other processes ends without effect. The call reads
   * all records; the background of a shared store does so once a day, and otherwise reads only what changes have left
   * to do.
   */
  sweep(): Promise<SweepReport>
  /**
   * Verifies the store while it is in use. Everything that its records name must exist; with `full`, every row and byte
   * is checked against its checksum too. Changes nothing.
   * @throws {StoreError} OPTION_NOT_ALLOWED, ABORTED, STORE_CLOSED (the store was closed meanwhile)
   */
  verify(options?: VerifyOptions): Promise<VerifyReport>
  /**
   * Backs up the store while it is in use: its content at one moment, as bytes for `restoreBackup`. They contain
   * secrets, such as the keys that sign upload locations. No object is deleted until the iterator has ended, so
   * read it without long pauses.
   * @throws {StoreError} from the iterator, whose bytes are then no backup: OPTION_NOT_ALLOWED, ABORTED,
   *   STORE_CLOSED (the store was closed meanwhile), DATA_CORRUPT (damaged data is not backed up), STORAGE_UNAVAILABLE
   */
  backup(options?: BackupOptions): DisposableIterator<Bytes>
  /** Waits for operations in flight, then frees everything. Later calls fail with STORE_CLOSED. `await using` calls it. */
  close(): Promise<void>
  /**
   * The current size of the store's caches and buffer pools, for a metrics gauge. Cheap: no entry is visited. The sizes
   * are the estimates to which the limits apply.
   */
  memory(): StoreMemory
  /** What the store has done since it was opened, for the counters of metrics. As cheap as `memory`. */
  activity(): StoreActivity
  /** Whether the store accepts changes now. Reads only memory, so it is cheap to call often. */
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

/** The tables, stashes and files of one team. Nothing of another team can be seen through it. */
export interface Team extends Preflight<CreateTableRequest>, TeamTables<Table>, Transactions {
  /** The ID that `store.team` was called with. */
  readonly id: string
  /** The files of the team. */
  readonly files: Files
  /**
   * Creates a table with its rows, in one commit: on any error there is no table. Two creates with the same
   * name make two tables.
   * @throws {StoreError} REQUEST_VALIDATION_ERROR, COLUMN_…, STASH_NOT_FOUND, IDEMPOTENCY_KEY_REUSED, ABORTED,
   *   STORAGE_UNAVAILABLE, INSUFFICIENT_STORAGE
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
   * @throws {StoreError} as `createTable`; SOURCE_URL_…, FILE_TOO_LARGE, RATE_LIMITED
   */
  importTable(request: ImportTableRequest & Abortable): Promise<CreateResult>
  /**
   * Starts an operation that runs in the background, and is continued after a crash. Rows in the request are read and
   * durable when this resolves; a stash of the caller must exist until the job has ended. A request that is invalid by
   * itself is refused here, as the operation would refuse it.
   * @throws {StoreError} REQUEST_VALIDATION_ERROR, TABLE_NOT_FOUND, COLUMN_…, STORAGE_…; RATE_LIMITED: the team has 100
   *   open jobs here
   */
  startJob(request: JobRequest): Promise<Job>
  /** A job by its ID. Does not check that it exists: its methods fail with JOB_NOT_FOUND. */
  job(jobId: string): Job
  /** The open jobs, and those that ended at most `jobTtlMs` ago, the newest last. */
  jobs(): Promise<readonly JobEntry[]>
  /** As `table`, with rows that the compiler knows. @param schema - What `defineSchema` returns. */
  table<S extends AnySchema>(tableId: string, schema: S): TypedTable<S>
  /** A table by its ID. Does not check that it exists: its operations fail with TABLE_NOT_FOUND. */
  table(tableId: string): Table
  /** As `tableByName`, with rows that the compiler knows. @param schema - What `defineSchema` returns. */
  tableByName<S extends AnySchema>(name: string, schema: S): Promise<TypedTable<S> | null>
  /** The oldest table with a name; null: there is none. */
  tableByName(name: string): Promise<Table | null>
  /**
   * A stash by an ID of the caller: 1 to 256 letters, digits, `-` and `_`, beginning with a letter or a digit.
   * @throws {StoreError} REQUEST_VALIDATION_ERROR for another ID
   */
  stash(stashId: string): Stash
  /** The stashes that have neither expired nor may have lost chunks, in the order of their IDs. */
  stashes(): Promise<readonly StashEntry[]>
}

/** Operations of a table on the JSON text of rows: for servers and proxies, which neither parse nor render rows. */
export interface TableJson {
  /** As `page`, as JSON bytes. */
  pageBytes(request?: PageBytesRequest): Promise<PageBytes>
  /** As `page` with `where`, `columns` or `from`, as JSON bytes. */
  findBytes(request: FindBytesRequest): Promise<PageBytes>
  /** As `pageBytes`, read in pieces: for a server that sends many pages at the same time. */
  openPage(request?: OpenPageRequest): Promise<OpenPage>
  /** As `get`, with the row as JSON text. */
  getJson(rowId: string): Promise<ReadJsonResult | null>
  /** As `updateRow`, from the text of a JSON object, whose tokens are stored as they are. */
  updateRowJson(
    rowId: string,
    json: Bytes | string,
    options?: UpdateOptions,
  ): Promise<Readonly<{ version: number }>>
}

/**
 * A table, as objects and values. Every change is atomic, durable when it resolves, and makes a new version.
 *
 * A read of a missing row returns null, and a delete returns whether the row existed; so do the files and stashes of a
 * team. A change of a missing row fails with ROW_NOT_FOUND, any operation on a missing table with TABLE_NOT_FOUND.
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
  /** Adds rows at the end, all or none. Adding no rows makes no version. */
  addRows(rows: RowsInput | Stash, options?: AddOptions & Abortable): Promise<ChangeResult>
  /**
   * Replaces all rows at once, and with `schema` the schema too. A row with the `$rowID` of a row of the table
   * keeps that ID. Errors in this order: TABLE_NOT_FOUND, REQUEST_VALIDATION_ERROR (schema and rows),
   * PRECONDITION_FAILED (`ifMatch` against the table's version), COLUMN_….
   */
  overwrite(request: OverwriteRequest & Abortable): Promise<ChangeResult>
  /**
   * One page of rows in order of insertion. Pass its `continuation` to get the next one. A walk to the end shows
   * each row that existed all the time exactly once.
   * @throws {StoreError} TABLE_NOT_FOUND, CONTINUATION_INVALID, DATA_CORRUPT
   */
  page(request?: FindPageRequest): Promise<Page>
  /**
   * One row and its version; null if the table has no such row.
   * @param row - Its ID, or the values of the key columns of a table with a key: `{ email: 'a@b.example' }`. The index of
   *   the key leads to the row, without a scan.
   * @throws {StoreError} TABLE_NOT_FOUND, DATA_CORRUPT; REQUEST_VALIDATION_ERROR: these are not the columns of the key
   */
  get(row: string | KeyValues, options?: ReadOptions): Promise<ReadResult | null>
  /**
   * Changes the given cells of a row: null empties a cell, absent columns stay.
   * Errors in this order: TABLE_NOT_FOUND, REQUEST_VALIDATION_ERROR (the cells), ROW_NOT_FOUND,
   * PRECONDITION_FAILED (`ifMatch` against the row's version), COLUMN_….
   */
  updateRow(
    rowId: string,
    cells: RowInput,
    options?: UpdateOptions,
  ): Promise<Readonly<{ version: number }>>
  /**
   * Deletes a row. The result says whether there was such a row; if not, the version stays.
   * @throws {StoreError} TABLE_NOT_FOUND
   */
  deleteRow(rowId: string): Promise<DeleteResult>
  /** The version of the table. @throws {StoreError} TABLE_NOT_FOUND */
  version(): Promise<number>
  /** The schema of the table. @throws {StoreError} TABLE_NOT_FOUND */
  schema(): Promise<TableSchema>
}

/**
 * A table with the rows of a schema.
 *
 * The first operation on rows checks that the table has the columns of the schema, with the same types; if not, it
 * fails with SCHEMA_MISMATCH and the `column`. The table may have more columns; rows have their cells, but the compiler
 * does not know them. What others do to the columns afterwards is not noticed: get the table from the team again.
 */
export interface TypedTable<S extends AnySchema>
  extends TypedRows<S>,
    Pick<
      Table,
      'id' | 'info' | 'version' | 'schema' | 'deleteRow' | 'receipt' | keyof TableExports
    >,
    Pick<Table, 'rename' | 'alter' | 'delete' | keyof TableHistory> {
  /** The same table without types and checks: for JSON text, preflights, and columns that the schema lacks. */
  readonly untyped: Table
}
