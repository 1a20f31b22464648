// The public types of `rowstash/client`.
import type { TableSchema } from '../schema/column-kind.js'
import type { ClientError } from './client-error.js'

/** Options of `createClient`. Unknown names are refused. */
export interface ClientOptions {
  /** The URL of the server, with its base path. */
  readonly url: string
  readonly key: string
  /**
   * Attempts for each request, at most. Repeated is what was answered with 429 or 5xx, and what was not answered, if a
   * second time does no harm. Default: 8. Range: 1 to 100.
   */
  readonly triesMax?: number
  /**
   * Whether the server knows `Idempotency-Key`, as rowstash does. If not, creates and adds are not repeated when nobody
   * knows whether they had an effect. Default: true.
   */
  readonly idempotencyKeys?: boolean
  /** Called before each pause between attempts. */
  readonly onRetry?: (failure: ClientError, pauseMs: number) => void
  /** Takes the place of `fetch`, for tests and proxies. Default: that of the platform. */
  readonly fetch?: typeof fetch
}

/** A row as it is read: its ID and its non-empty cells, as JSON.parse has them. */
export type ClientRow = Readonly<{ $rowID: string } & Record<string, unknown>>

/** Cells by column ID. null empties a cell. */
export type ClientCells = Readonly<Record<string, unknown>>

export type ClientPage = Readonly<{
  rows: readonly ClientRow[]
  /** Present if more rows follow. */
  continuation?: string
  version: string
}>

/** Ends a call when it is aborted. The reason of the signal is thrown. */
export type Abortable = Readonly<{ signal?: AbortSignal | undefined }>

export type OnSchemaError = 'abort' | 'dropColumns' | 'updateSchema'

/** How far an import has come. */
export type ImportProgress = Readonly<{
  /** Rows and bytes of the input that were put. */
  rows: number
  bytes: number
  /** All chunks below this number are on the server: what `startAt` takes to go on. */
  chunks: number
}>

/** What an import makes: a new table, or a change of one. */
export type ImportTarget =
  | Readonly<{ name: string; schema?: TableSchema }>
  | Readonly<{ tableId: string; mode: 'add' }>
  | Readonly<{ tableId: string; mode: 'overwrite'; schema?: TableSchema }>

export type ImportOptions = ImportTarget &
  Abortable &
  Readonly<{
    onSchemaError?: OnSchemaError
    /** The format of a Blob. Default: by the extension of its `name`, if it is a File, or by its type. */
    format?: 'csv' | 'tsv' | 'json' | 'ndjson'
    /**
     * The stash of the chunks, and the idempotency key of what is done with them: 1 to 64 letters, digits, `-` and `_`,
     * beginning with a letter or a digit. Name one to be able to go on after the program has ended. Default: random.
     */
    stashId?: string
    /** Chunks below this number are on the server already; the input must be the same. Default: 0. */
    startAt?: number
    /** Bytes of a chunk, at most; a row may be longer. Default: 1 MiB. Range: 1,024 to 8 MiB. */
    chunkBytes?: number
    /** Chunks that are sent at the same time. Default: 4. Range: 1 to 64. */
    parallel?: number
    onProgress?: (progress: ImportProgress) => void
  }>

export type ImportResult = Readonly<{
  tableId: string
  version: string
  /** Rows of the input. */
  rows: number
}>

/** A file to upload. */
export type UploadOptions = Abortable &
  Readonly<{
    appId: string
    /** Default: the `name` of a File. */
    fileName?: string
    /** Default: the type of the Blob, or `application/octet-stream`. */
    contentType?: string
  }>

/** A client of a server of the contract. Failures are `ClientError`. */
export interface Client {
  /** The tables of the team. */
  tables(options?: Abortable): Promise<readonly Readonly<{ id: string; name: string }>[]>
  table(tableId: string): ClientTable
  /**
   * Puts rows as chunks of a stash, several at the same time, and then creates, extends or overwrites a table in one
   * step. Chunks that the server finds too large are halved. The input is read once, in bounded memory.
   *
   * If it fails or is aborted, the stash stays, until it expires: with its `stashId`, and `startAt` from the last
   * progress, the same call goes on. It does nothing twice.
   * @param rows - Objects, or a Blob with CSV, TSV, JSON or NDJSON.
   */
  importRows(
    rows: Iterable<object> | AsyncIterable<object> | Blob,
    options: ImportOptions,
  ): Promise<ImportResult>
  /** Uploads a file. @returns the URL under which it is read; put it into a row, else it is deleted after 7 days. */
  upload(file: Blob, options: UploadOptions): Promise<Readonly<{ url: string }>>
}

/** A table of a server. */
export interface ClientTable {
  readonly id: string
  /** The version of the table. */
  version(options?: Abortable): Promise<string>
  page(
    request?: Abortable & Readonly<{ limit?: number; continuation?: string }>,
  ): Promise<ClientPage>
  /** All rows, in order, page by page. @param options - `limit`: rows of a page. */
  rows(options?: Abortable & Readonly<{ limit?: number }>): AsyncIterableIterator<ClientRow>
  /** A row and its version; null: there is none. */
  get(
    rowId: string,
    options?: Abortable,
  ): Promise<Readonly<{ row: ClientRow; version: string }> | null>
  addRows(
    rows: readonly object[],
    options?: Abortable & Readonly<{ onSchemaError?: OnSchemaError }>,
  ): Promise<Readonly<{ rowIds: readonly string[]; version: string }>>
  /**
   * Changes cells of a row.
   * @param change - The cells; or a function that makes them of the row as it is. If others change the row meanwhile, it is
   *   called again, 10 times in all. If it returns null, nothing is changed.
   * @returns the version of the table, or of the row if nothing was changed
   */
  updateRow(
    rowId: string,
    change: ClientCells | ((row: ClientRow) => ClientCells | null | Promise<ClientCells | null>),
    options?: Abortable & Readonly<{ ifMatch?: string; onSchemaError?: OnSchemaError }>,
  ): Promise<Readonly<{ version: string }>>
  /** Also succeeds if there is no such row. */
  deleteRow(rowId: string, options?: Abortable): Promise<Readonly<{ version: string }>>
}
