// The library surface, as interfaces: what `openStore` gives, and what the HTTP contract is served from.
import type { Bytes } from '../../base/bytes.js'
import type { TableSchema } from '../../schema/column-kind.js'
import type { NumberForm } from '../../schema/parse-rendered.js'
import type { BackupOptions } from './backup-types.js'
import type { Files, PublicFiles } from './file-types.js'
import type { VerifyOptions, VerifyReport } from './verify-types.js'

/**
 * A row as the library takes and gives it: cells by column ID. null and undefined are empty cells. A BigInt is a
 * number of all its digits, in an array too; see ReadOptions for how to read it so.
 */
export type RowObject = Readonly<Record<string, unknown>>

/** A body of rows in a text form. Strings are the decoded text, bytes are UTF-8; a byte order mark is dropped. */
export type TextRows =
  | Readonly<{
      json: Bytes | string
      /** Characters that stood before it in a larger text: messages count from there. Default 0. */
      offset?: number | undefined
    }>
  | Readonly<{ csv: Bytes | string }>
  | Readonly<{ tsv: Bytes | string }>

/** A row as an operation takes it: also an object of a class or interface, but no array and no other iterable. */
export type RowInput = RowObject | (object & { readonly [Symbol.iterator]?: never })

/** Rows as objects (an async iterable of any length is read in bounded memory) or as text. */
export type RowsInput = Iterable<RowInput> | AsyncIterable<RowInput> | TextRows

/**
 * What happens to data that does not fit the schema. `abort` (default): nothing is written, and the
 * first misfit is the error. `dropColumns`: what does not fit is left out, the rest goes in.
 * `updateSchema`: unknown columns are added, and others widened until all values fit; what no type
 * holds is an error as with `abort`.
 */
export type OnSchemaError = 'abort' | 'dropColumns' | 'updateSchema'

/** The IDs of the rows of an operation in input order: computed when asked for, never held as strings. */
export interface RowIds extends Iterable<string> {
  readonly length: number
  /**
   * The ID of the row at an index, from 0 on.
   * @throws {StoreError} REQUEST_VALIDATION_ERROR if the operation has no such row
   */
  get(index: number): string
  /** As `get`, or from the end where the index is negative, as Array.prototype.at; undefined outside. */
  at(index: number): string | undefined
}

export type SchemaInput = Readonly<{
  columns: readonly Readonly<{ id: string; displayName?: string | undefined; type: unknown }>[]
}>

export type CreateTableRequest = Readonly<{
  name: string
  /** Without it the schema is inferred from all rows. */
  schema?: SchemaInput | undefined
  rows: RowsInput | Stash
  onSchemaError?: OnSchemaError | undefined
  /** As in AddOptions: a repeat answers with the table that there is. For the creates of one team. */
  idempotencyKey?: string | undefined
  /** As in AddOptions. */
  requestDigest?: Bytes | undefined
}>

export type AddOptions = Readonly<{
  onSchemaError?: OnSchemaError | undefined
  /**
   * Makes the operation safe to repeat: for `idempotencyTtlMs` a repeat on the same table with the same key
   * has no effect and answers with the result of the first, even if the stash that the first one used is
   * gone. A failed operation leaves the key unused, and so does one without rows. 1 to 64 printable ASCII
   * characters; take a random text.
   *
   * The same key with another request fails with IDEMPOTENCY_KEY_REUSED, and changes nothing. Compared are
   * `onSchemaError`, the name and the schema of a create, and the rows: a text or an array as a whole, a
   * stash by its ID. Other iterables are not compared, as they would have to be read for it: use a key of
   * theirs for one import only.
   */
  idempotencyKey?: string | undefined
  /**
   * 32 bytes that stand for the request, compared instead of the above: for callers that pass on the
   * requests of others, as the HTTP contract does. Only with `idempotencyKey`. Default: none.
   */
  requestDigest?: Bytes | undefined
}>

export type OverwriteRequest = Readonly<{
  /** Without it the table keeps its schema. */
  schema?: SchemaInput | undefined
  rows: RowsInput | Stash
  /** Fails with PRECONDITION_FAILED if the table's version is greater than this. Any size. */
  ifMatch?: number | bigint | undefined
  onSchemaError?: OnSchemaError | undefined
}>

export type UpdateOptions = Readonly<{
  /** Fails with PRECONDITION_FAILED if the row's version is greater than this. Any size. */
  ifMatch?: number | bigint | undefined
  onSchemaError?: OnSchemaError | undefined
}>

export type CreateResult = Readonly<{ tableId: string; version: number; rowIds: RowIds }>
export type ChangeResult = Readonly<{ version: number; rowIds: RowIds }>

export type ReadOptions = Readonly<{
  /**
   * What the numbers of rows become. Default `'number'`: the nearest doubles. `'bigint'` reads large integers
   * exactly, `'text'` every number as it was sent. A BigInt goes in again as the same integer; a text does not
   * fit a `number` column.
   */
  numbers?: NumberForm
}>

export type PageBounds = Readonly<{
  /** Rows at most; above the store's `pageRowsMax` fewer are returned. A positive integer. */
  limit?: number | undefined
  /** The `continuation` of the page before. */
  continuation?: string | undefined
}>

export type PageRequest = PageBounds & ReadOptions

export type PageBytesRequest = PageBounds &
  Readonly<{
    /**
     * Memory of the caller for the JSON, which saves making some for each page: fresh memory of this size keeps the
     * garbage collector busy. Nobody else may use it until the page is there; what was in it is lost, also when the call
     * fails. 64 bytes a row more than the texts of the rows are enough. Default, and if it is too small: memory of its own.
     */
    memory?: Bytes | undefined
  }>

/** Makes the memory that somebody holds so many bytes; undefined: at once. */
export type ReserveMemory = (bytes: number) => Promise<void> | undefined

export type OpenPageRequest = PageBounds &
  Readonly<{
    /** Called before the page holds more in memory than it was last called with. */
    reserve?: ReserveMemory | undefined
  }>

/** Where a piece of a page begins: for the page that gave it. */
export type PieceStart = Readonly<{
  run: number
  slot: number
  rowCount: number
  textBytes: number
}>

export type PieceRequest = Readonly<{
  /** Default: the beginning of the page. */
  start?: PieceStart | undefined
  /** The piece ends with the row that reaches this length, in bytes: at least 1,024. */
  bytes: number
  /** What reading the piece may take: at least three times `bytes`, as what is stored, its rows and the JSON are held together. */
  memoryBytes: number
  /** Memory of the caller for the piece, as in `PageBytesRequest`. */
  memory?: Bytes | undefined
}>

export type PagePiece = Readonly<{
  json: Bytes
  /** Where the next piece begins; undefined: this is the last one. */
  next?: PieceStart
  /** Only with the last piece, and only when more rows exist. */
  continuation?: string
}>

/**
 * A page whose rows were chosen and are read in pieces, so that it is never in memory as a whole. Put together, the pieces
 * are what `pageBytes` gives. A piece may be read again, and is the same then.
 */
export interface OpenPage {
  readonly version: number
  /**
   * @returns `needs`: the next row takes so much memory, in bytes; ask again with that.
   * @throws {StoreError} DATA_CORRUPT, STORAGE_UNAVAILABLE
   */
  piece(request: PieceRequest): Promise<PagePiece | Readonly<{ needs: number }>>
}

/** A row with its `$rowID` and its non-empty cells. */
export type RowWithId = Readonly<{ $rowID: string } & Record<string, unknown>>

export type Page = Readonly<{
  rows: readonly RowWithId[]
  /** Present only when more rows exist. */
  continuation?: string
  /** The version of the table as this page saw it. */
  version: number
}>

/** A page as JSON in UTF-8: an array of row objects. With `memory`, `json` is a part of it, if it had room. */
export type PageBytes = Readonly<{
  json: Bytes
  rowCount: number
  continuation?: string
  version: number
}>

export type TableEntry = Readonly<{ id: string; name: string }>

export interface Store {
  /** The objects of one team. `teamId`: 1 to 128 UTF-16 units of well-formed text. */
  team(teamId: string): Team
  /**
   * Folds row records into segments, then deletes what nothing references and what has expired. Both
   * run in the background too.
   */
  sweep(): Promise<SweepReport>
  /**
   * Holds the store against its own rules, while it is in use: that all is there that its records name, and
   * with `full` that every byte and row is what was stored. Changes nothing.
   * @throws {StoreError} OPTION_NOT_ALLOWED, ABORTED, STORE_CLOSED (a close ends it)
   */
  verify(options?: VerifyOptions): Promise<VerifyReport>
  /**
   * Backs the store up while it is in use: the bytes of all that it held at one moment, as `restoreBackup`
   * takes them. It holds as well what must be kept secret, such as the keys that sign upload locations.
   * Until it is read to its end or given up, no object is deleted: so read on without long pauses.
   * @throws {StoreError} OPTION_NOT_ALLOWED, ABORTED, STORE_CLOSED (a close ends it), DATA_CORRUPT (what is
   *   damaged is not backed up), STORAGE_UNAVAILABLE; from the iterator, whose bytes are none of a backup then
   */
  backup(options?: BackupOptions): AsyncIterableIterator<Bytes>
  /** Waits for operations in flight, then frees everything. Later calls fail with STORE_CLOSED. */
  close(): Promise<void>
  readonly limits: StoreLimits
  /** What needs no team: taking the bytes of uploads, and serving files. */
  readonly files: PublicFiles
}

/** What one sweep did: what it deleted, and extents whose row records became a segment. */
export type SweepReport = Readonly<{
  folds: number
  objects: number
  stashes: number
  generations: number
  files: number
  uploads: number
}>

/** The limits in force, for adapters: see StoreOptions for meanings and ranges. */
export type StoreLimits = Readonly<{
  bodyBytesMax: number
  bodyBytesInFlightMax: number
  pageRowsMax: number
  pageBytesMax: number
  fileBytesMax: number
}>

export interface Team {
  readonly id: string
  readonly files: Files
  createTable(request: CreateTableRequest): Promise<CreateResult>
  /** All tables in order of creation; a table is listed as soon as it was created. */
  tables(): Promise<readonly TableEntry[]>
  table(tableId: string): Table
  /** @throws {StoreError} REQUEST_VALIDATION_ERROR if the ID breaks the contract's rule. */
  stash(stashId: string): Stash
}

export interface Stash {
  readonly id: string
  /**
   * Stores or replaces one chunk; durable when it resolves. Parallel puts are normal.
   * @param serial - A number, 0 or above, stands for its decimal digits.
   * @throws {StoreError} STASH_NOT_FOUND: earlier chunks have expired, or may have been lost; delete the stash, and put
   *   them again. That a stash has expired is remembered for 30 days, of the 10,000 of a team that expired last.
   */
  put(serial: string | number, rows: RowsInput): Promise<void>
  /** Also resolves when there is no such stash. Tables made from it stay. */
  delete(): Promise<void>
}

export interface Table {
  readonly id: string
  addRows(rows: RowsInput | Stash, options?: AddOptions): Promise<ChangeResult>
  /** Replaces all rows at once, and with `schema` the schema too. */
  overwrite(request: OverwriteRequest): Promise<ChangeResult>
  page(request?: PageRequest): Promise<Page>
  /** As `page`, without parsing the rows: what the HTTP contract sends. */
  pageBytes(request?: PageBytesRequest): Promise<PageBytes>
  /** As `pageBytes`, to be read in pieces: for a server that sends pages to many at the same time. */
  openPage(request?: OpenPageRequest): Promise<OpenPage>
  /** Every row of one generation, in order, in bounded memory. */
  scan(options?: ReadOptions): AsyncIterableIterator<RowWithId>
  /** @throws {StoreError} TABLE_NOT_FOUND, ROW_NOT_FOUND, DATA_CORRUPT */
  get(rowId: string, options?: ReadOptions): Promise<Readonly<{ row: RowWithId; version: number }>>
  /** As `get`, the row as JSON text. */
  getJson(rowId: string): Promise<Readonly<{ json: string; version: number }>>
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
  /** As `updateRow`, from the text of a JSON object, so that its tokens are stored as they are. */
  updateRowJson(
    rowId: string,
    json: Bytes | string,
    options?: UpdateOptions,
  ): Promise<Readonly<{ version: number }>>
  /** Also resolves when there is no such row; then the version stays. */
  deleteRow(rowId: string): Promise<Readonly<{ version: number }>>
  /** @throws {StoreError} TABLE_NOT_FOUND */
  version(): Promise<number>
  schema(): Promise<TableSchema>
}
