// The public types of `rowstash/client`.
import type { Where } from '../engine/api/find-types.js'
import type { StashEntry } from '../engine/api/row-types.js'
import type { KeyValues } from '../engine/api/unique-types.js'
import type { TableSchema } from '../schema/column-kind.js'
import type {
  AnySchema,
  CellsOf,
  ColumnOf,
  Row,
  RowOf,
  SpecsOf,
  TypedWhere,
} from '../schema/row-types.js'
import type { ClientError } from './client-error.js'
import type {
  Abortable,
  ImportCheck,
  ImportInput,
  ImportOptions,
  ImportResult,
  ImportTarget,
  OnSchemaError,
  SendOptions,
} from './import-types.js'

export type * from './import-types.js'

/** Options of `createClient`. Unknown names are refused. */
export interface ClientOptions {
  /** The URL of the server, with its base path. */
  readonly url: string
  /** A key of a team, which is sent with every request. */
  readonly key: string
  /**
   * Maximum number of attempts for each request. A request is repeated if the answer was 429 or 5xx, or if there was no
   * answer and a repeat is safe. Default: 8. Range: 1 to 100.
   */
  readonly triesMax?: number
  /**
   * Whether the server knows `Idempotency-Key`, as rowstash does. If not, creates and adds are not repeated when it
   * is unknown whether they took effect. Default: true.
   */
  readonly idempotencyKeys?: boolean
  /** Called before each pause between attempts. An error that it throws ends the call. */
  readonly onRetry?: (failure: ClientError, pauseMs: number) => void
  /** Replaces `fetch`, for tests and proxies. Default: that of the platform. */
  readonly fetch?: typeof fetch
}

/** A row: its ID and its non-empty cells, as JSON.parse returns them. */
export type ClientRow = Readonly<{ $rowID: string } & Record<string, unknown>>

/** The description of a table. Times are in milliseconds since 1970 UTC; null: not known. */
export type ClientTableInfo = Readonly<{
  /** The ID of the table. */
  id: string
  /** Its name, which other tables may have too. */
  name: string
  /** Its columns. */
  schema: TableSchema
  /** Columns in which no two rows have the same values. */
  key?: readonly string[]
  /** The number of rows. */
  rowCount: number
  /** Bytes of the rows as they are stored. */
  bytes: number
  /** The version, as an ETag without quotes. */
  version: string
  /** When the table was made. */
  createdAt: number | null
  /** When it was last changed. */
  updatedAt: number | null
}>

/** Cells by column ID. null empties a cell. */
export type ClientCells = Readonly<Record<string, unknown>>

/** Some rows of a table, in its order. */
export type ClientPage = Readonly<{
  /** The rows, at most `limit`. */
  rows: readonly ClientRow[]
  /** Present if more rows follow. */
  continuation?: string
  /** The version of the table that the page shows, as an ETag without quotes. */
  version: string
}>

/**
 * Which rows and cells of a table are read. Only a server of rowstash knows these; others may answer with all rows, or
 * refuse them.
 */
export type ClientFind = Readonly<{
  /** Conditions by column ID, as `where` of `table.scan` takes them. Default: all rows. */
  where?: Where
  /** The columns whose cells are returned. Default: all. */
  columns?: readonly string[]
}>

/** A file to upload. */
export type UploadOptions = Abortable &
  Readonly<{
    /** The app that the file belongs to; the server may accept only certain apps. */
    appId: string
    /** Default: the `name` of a File. */
    fileName?: string
    /** Default: the type of the Blob, or `application/octet-stream`. */
    contentType?: string
    /**
     * Called with the bytes that were handed to the connection, from 0 to the size of the file; from 0 again if the
     * upload is repeated. A browser cannot send a file as a stream: there it is called at the end.
     */
    onProgress?: (bytes: number) => void
  }>

/** A client of a server of the contract. Failures are `ClientError`. */
export interface Client {
  /** The tables of the team. */
  tables(options?: Abortable): Promise<readonly Readonly<{ id: string; name: string }>[]>
  /**
   * As `table`, with rows that the compiler knows. It is not checked whether the table has these columns, and the
   * validator of the schema is not called.
   * @param schema - What `defineSchema` returns.
   */
  table<S extends AnySchema>(tableId: string, schema: S): TypedClientTable<S>
  /** A table by its ID. No request is sent: a missing table fails with the first request. */
  table(tableId: string): ClientTable
  /** The oldest table with a name, typed if a schema is given, as `table`; null: there is none. */
  tableByName<S extends AnySchema>(
    name: string,
    schema: S,
    options?: Abortable,
  ): Promise<TypedClientTable<S> | null>
  /** The oldest table with a name; null: there is none. */
  tableByName(name: string, schema?: undefined, options?: Abortable): Promise<ClientTable | null>
  /**
   * Puts rows as chunks of a stash, several at the same time, and then creates, extends, overwrites or merges into a
   * table in one step. Chunks that the server finds too large are halved. The input is read once, in bounded memory.
   *
   * If it fails or is aborted, a stash without a `stashId` of the caller is deleted. A stash with one stays until it
   * expires: the same call with `resume`, or with `startAt` from the last progress, continues. Nothing is done twice.
   */
  importRows(input: ImportInput, options: ImportOptions): Promise<ImportResult>
  /**
   * Finds all values of an input that do not fit, as `importRows` would meet them, and changes no table. The rows are
   * in a stash for a while. Only a server of rowstash can do it.
   */
  checkRows(input: ImportInput, options: ImportTarget & SendOptions): Promise<ImportCheck>
  /** The stashes of the team, in the order of their IDs. Only a server of rowstash lists them. */
  stashes(options?: Abortable): Promise<readonly StashEntry[]>
  /**
   * The chunks of a stash that the server has acknowledged, in their order. Only a rowstash server reports them; if it
   * has no such stash, the call fails with the type `stash_not_found`.
   */
  stashChunks(
    stashId: string,
    options?: Abortable,
  ): Promise<readonly Readonly<{ serial: string; rows: number }>[]>
  /** Deletes a stash. Also succeeds if there is none. */
  deleteStash(stashId: string, options?: Abortable): Promise<void>
  /** Uploads a file. @returns the URL under which it is read; put it into a row, else it is deleted after 7 days. */
  upload(file: Blob, options: UploadOptions): Promise<Readonly<{ url: string }>>
}

/** A table of a server. */
export interface ClientTable {
  /** The ID of the table. */
  readonly id: string
  /** The description of the table. Only a rowstash server has it. */
  info(options?: Abortable): Promise<ClientTableInfo>
  /** Renames the table. Only a rowstash server can do it. */
  rename(name: string, options?: Abortable): Promise<Readonly<{ version: string }>>
  /** Deletes the table with all its rows. Also succeeds if there is none. Only a rowstash server can do it. */
  delete(options?: Abortable): Promise<void>
  /** The version of the table. */
  version(options?: Abortable): Promise<string>
  /** Some rows, from the beginning or from a continuation on. `limit` has the default of the server. */
  page(
    request?: Abortable & ClientFind & Readonly<{ limit?: number; continuation?: string }>,
  ): Promise<ClientPage>
  /** All rows, or those that match, in order, page by page. @param options - `limit`: rows of a page. */
  rows(
    options?: Abortable & ClientFind & Readonly<{ limit?: number }>,
  ): AsyncIterableIterator<ClientRow>
  /**
   * Rows as CSV, as `table.toCSV` of the library, a page at a time. Rows that are changed meanwhile are as they were or
   * as they are. @param options - `limit`: rows at most; `delimiter`: between fields, a comma or a tab. Default: a
   * comma.
   */
  toCSV(
    options?: Abortable & ClientFind & Readonly<{ limit?: number; delimiter?: ',' | '\t' }>,
  ): AsyncIterableIterator<string>
  /** As `toCSV`, as one JSON object per line, without row IDs: nothing is lost, as no number is parsed. */
  toNDJSON(
    options?: Abortable & ClientFind & Readonly<{ limit?: number }>,
  ): AsyncIterableIterator<string>
  /**
   * A row and its version; null: there is none.
   * @param row - Its ID; or the values of all key columns of a table with a key, such as `{ email: 'a@b.example' }`. Then
   *   a server of rowstash is asked for the key and for the rows that match, which it finds by a scan. If these are not the
   *   columns of the key, the call fails with the type `not_the_key`.
   */
  get(
    row: string | KeyValues,
    options?: Abortable,
  ): Promise<Readonly<{ row: ClientRow; version: string }> | null>
  /** Adds rows at the end, in one request. For many rows there is `importRows`. */
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
    options?: Abortable &
      Readonly<{
        /** The `version` that `get` or `page` returned. If the row has changed since, the call fails with `precondition_failed`. */
        ifMatch?: string
        onSchemaError?: OnSchemaError
      }>,
  ): Promise<Readonly<{ version: string }>>
  /** Also succeeds if there is no such row. */
  deleteRow(rowId: string, options?: Abortable): Promise<Readonly<{ version: string }>>
}

type TypedFind<S extends AnySchema, Column extends ColumnOf<S>> = Abortable &
  Readonly<{ where?: TypedWhere<S>; columns?: readonly Column[]; limit?: number }>

/** A table of a server with the rows of a schema. Its methods are those of `ClientTable`. */
export interface TypedClientTable<S extends AnySchema>
  extends Pick<
    ClientTable,
    'id' | 'info' | 'rename' | 'delete' | 'version' | 'deleteRow' | 'toCSV' | 'toNDJSON'
  > {
  page<Column extends ColumnOf<S> = ColumnOf<S>>(
    request?: TypedFind<S, Column> & Readonly<{ continuation?: string }>,
  ): Promise<
    Readonly<{
      rows: readonly RowOf<Pick<SpecsOf<S>, Column>>[]
      continuation?: string
      version: string
    }>
  >
  rows<Column extends ColumnOf<S> = ColumnOf<S>>(
    options?: TypedFind<S, Column>,
  ): AsyncIterableIterator<RowOf<Pick<SpecsOf<S>, Column>>>
  get(
    row: string | KeyValues,
    options?: Abortable,
  ): Promise<Readonly<{ row: Row<S>; version: string }> | null>
  addRows(
    rows: readonly CellsOf<S>[],
    options?: Parameters<ClientTable['addRows']>[1],
  ): ReturnType<ClientTable['addRows']>
  updateRow(
    rowId: string,
    change: CellsOf<S> | ((row: Row<S>) => CellsOf<S> | null | Promise<CellsOf<S> | null>),
    options?: Parameters<ClientTable['updateRow']>[2],
  ): ReturnType<ClientTable['updateRow']>
}
