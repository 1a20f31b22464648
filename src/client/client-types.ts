// The public types of `rowstash/client`.

import type { KeyValues } from '../engine/types/call-types.js'
import type { Group, GroupsRequest, OrderBy } from '../engine/types/find-types.js'
import type { StashEntry } from '../engine/types/row-types.js'
import type {
  AnySchema,
  CellsOf,
  ColumnOf,
  Row,
  RowOf,
  SpecsOf,
  TypedWhere,
} from '../schema/row-types.js'
import type { ClientChanges } from './client-changes.js'
import type { ClientError } from './client-error.js'
import type {
  ClientCells,
  ClientFind,
  ClientManyRows,
  ClientPage,
  ClientRow,
  ClientTableInfo,
  IfNoneMatch,
  PagePart,
} from './client-rows.js'
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

export type * from './client-changes.js'
export type * from './client-rows.js'
export type * from './import-types.js'

/** Options of `createClient`. Unknown names are rejected. */
export interface ClientOptions {
  /** The http or https URL of the server, with its base path. */
  readonly url: string
  /** The API key of a team, sent with every request. */
  readonly key: string
  /**
   * Maximum number of attempts for each request. A request is repeated after a 429, and, if a repeat is safe, after a
   * 408, a 5xx, or no readable answer. Each pause has a random length: the first is up to 0.5 seconds, each further one
   * up to twice the previous maximum, and none more than 15 seconds. If the server sends `Retry-After`, the pause is as
   * long as that says, but at most two minutes. Default: 8, which takes up to 46 seconds without `Retry-After`; but 3
   * if no server listens and the API has never answered this client. Range: 1 to 100.
   */
  readonly triesMax?: number | undefined
  /**
   * Whether the server supports `Idempotency-Key`, as rowstash does. If not, creates and adds whose outcome is unknown
   * are not repeated. Default: true.
   */
  readonly idempotencyKeys?: boolean | undefined
  /**
   * Called before each pause between attempts, with the failure and the pause in milliseconds. An error that it throws
   * ends the call. Default: none.
   */
  readonly onRetry?: ((failure: ClientError, pauseMs: number) => void) | undefined
  /** Replaces `fetch`, for tests and proxies. Default: the platform's `fetch`. */
  readonly fetch?: typeof fetch | undefined
}

/** A file to upload. */
export type UploadOptions = Abortable &
  Readonly<{
    /** The app that the file belongs to; the server may accept only certain apps. */
    appId: string
    /** The name of the file. Default: the `name` of a File, else `file`. */
    fileName?: string | undefined
    /** The media type of the file. Default: the type of the Blob, or `application/octet-stream`. */
    contentType?: string | undefined
    /**
     * Called with the number of bytes that were handed to the connection, from 0 to the size of the file. If the upload
     * is repeated, the number begins at 0 again. In a browser, which cannot stream a file, it is called only at the
     * end. Default: none.
     */
    onProgress?: ((bytes: number) => void) | undefined
  }>

/**
 * A client of a server of the contract. Failures are `ClientError`, with the `status` of the answer and a `type` that
 * the contract lists. `answer_cut` or `answer_invalid`: a successful answer could not be read. The status 0 without a
 * `type` means that there was no answer; with a `type`, such as `argument_invalid`, it means that the client rejected
 * the call. An unknown or out-of-range option throws a `StoreError` with the code OPTION_NOT_ALLOWED, before anything
 * is sent.
 */
export interface Client {
  /**
   * The tables of the team.
   * @example
   * await client.importRows([{ id: 1 }], { name: 'Orders' })
   * console.log((await client.tables()).map(({ name }) => name)) // ["Orders"]
   */
  tables(options?: Abortable): Promise<readonly Readonly<{ id: string; name: string }>[]>
  /**
   * A table with typed rows. The client checks neither the columns of the table nor the rows with the schema's
   * validator.
   * @param schema - The result of `defineSchema`.
   * @example
   * import { defineSchema } from 'rowstash/client'
   *
   * const Order = defineSchema({ columns: { name: 'string', total: 'number' } })
   * const { tableId } = await client.importRows([{ name: 'Tea', total: 3 }], { name: 'Orders', schema: Order })
   * for await (const { total = 0 } of client.table(tableId, Order).scan()) console.log(total.toFixed(2)) // 3.00
   */
  table<S extends AnySchema>(tableId: string, schema: S): TypedClientTable<S>
  /**
   * A table by its ID. No request is sent: if the table is missing, its first request fails.
   * @example
   * const { tableId } = await client.importRows([{ id: 1 }, { id: 2 }], { name: 'Orders' })
   * console.log((await client.table(tableId).page()).rows.length) // 2
   */
  table(tableId: string): ClientTable
  /** The oldest table with a name, typed if a schema is given; null: there is none. */
  tableByName<S extends AnySchema>(
    name: string,
    schema: S,
    options?: Abortable,
  ): Promise<TypedClientTable<S> | null>
  /**
   * The oldest table with a name; null: there is none.
   * @example
   * await client.importRows([{ id: 1 }], { name: 'Orders' })
   * const table = await client.tableByName('Orders')
   * console.log((await table?.page())?.rows[0]?.id) // 1
   */
  tableByName(name: string, schema?: undefined, options?: Abortable): Promise<ClientTable | null>
  /**
   * Puts rows into a stash, several chunks at the same time, and then creates, extends or overwrites a table with them,
   * or merges them into a table, in one step. A chunk that is too large for the server is divided into halves. The
   * input is read once, in bounded memory.
   *
   * After a failure or an abort, a stash without a given `stashId` is deleted. A stash with a given `stashId` stays
   * until it expires, so the same call with `resume`, or with `startAt` from the last progress, continues the import.
   * Nothing is done twice.
   * @throws {ClientError} with `place` if rows of the input cause the error; `argument_invalid`: the input has a value
   *   that is no row; `stash_differs`: the stash has other chunks
   * @throws {StoreError} OPTION_NOT_ALLOWED
   * @example
   * const file = new File(['id,total\n1,34.50\n2,12\n'], 'orders.csv')
   * const { tableId, rows } = await client.importRows(file, { name: 'Orders', stashId: 'orders-1', resume: true })
   * await client.importRows([{ id: 2, total: 13 }], { tableId, mode: 'merge', key: ['id'] })
   * console.log(rows) // 2
   */
  importRows(input: ImportInput, options: ImportOptions): Promise<ImportResult>
  /**
   * Finds all values that `importRows` would reject, and changes no table. Meanwhile the rows are in a stash. If all
   * values of a merge fit, `checkRows` also compares keys, and counts in `merged` what the merge would do. Needs a
   * rowstash server.
   * @throws {ClientError} for other errors of `importRows`, such as `key_not_unique`
   * @example
   * const schema = { columns: [{ id: 'total', type: { kind: 'number' } }] } as const
   * const { problems } = await client.checkRows([{ total: 1 }, { total: 'x' }], { name: 'Orders', schema })
   * console.log(problems.map(({ row, column, rule }) => `${row} ${column}: ${rule}`)) // ["1 total: a finite number"]
   */
  checkRows(input: ImportInput, options: ImportTarget & SendOptions): Promise<ImportCheck>
  /**
   * The stashes of the team, in the order of their IDs. Needs a rowstash server.
   * @example
   * await team.stash('orders').put(0, [{ id: 1 }]) // on the server
   * console.log((await client.stashes()).map(({ id, chunks }) => `${id}: ${chunks}`)) // ["orders: 1"]
   */
  stashes(options?: Abortable): Promise<readonly StashEntry[]>
  /**
   * The acknowledged chunks of a stash, in order. Fails with `stash_not_found` if there is no such stash. Needs a
   * rowstash server.
   * @example
   * await team.stash('orders').put(0, [{ id: 1 }]) // on the server
   * console.log(await client.stashChunks('orders')) // [{"serial":"0","rows":1}]
   */
  stashChunks(
    stashId: string,
    options?: Abortable,
  ): Promise<readonly Readonly<{ serial: string; rows: number }>[]>
  /**
   * Deletes a stash. Also succeeds if there is none.
   * @example
   * await team.stash('orders').put(0, [{ id: 1 }]) // on the server
   * await client.deleteStash('orders')
   * console.log((await client.stashes()).length) // 0
   */
  deleteStash(stashId: string, options?: Abortable): Promise<void>
  /**
   * Uploads a file.
   * @returns the URL of the file. Put the URL into a row: a file that no row names is deleted after the server's
   *   `fileRetentionMs`, by default 7 days.
   * @example
   * const file = new File(['a picture'], 'cat.png', { type: 'image/png' })
   * const { url: picture } = await client.upload(file, { appId: 'my-app' })
   * console.log(await (await fetch(picture)).text()) // a picture
   */
  upload(file: Blob, options: UploadOptions): Promise<Readonly<{ url: string }>>
}

/** A table of a server. Failures are `ClientError`; a missing table has the type `table_not_found`. */
export interface ClientTable extends ClientChanges, ClientManyRows {
  /** The ID of the table. */
  readonly id: string
  /**
   * The description of the table. Needs a rowstash server.
   * @example
   * const { tableId } = await client.importRows([{ id: 1 }, { id: 2 }], { name: 'Orders' })
   * const { name, rowCount } = await client.table(tableId).info()
   * console.log(name, rowCount) // Orders 2
   */
  info(options?: Abortable): Promise<ClientTableInfo>
  /**
   * Renames the table. Needs a rowstash server.
   * @example
   * const { tableId } = await client.importRows([{ id: 1 }, { id: 2 }], { name: 'Orders' })
   * await client.table(tableId).rename('Orders of 2026')
   * console.log((await client.tables()).map(({ name }) => name)) // ["Orders of 2026"]
   */
  rename(name: string, options?: Abortable): Promise<Readonly<{ version: string }>>
  /**
   * Deletes the table with all its rows. Also succeeds if there is none. Needs a rowstash server.
   * @example
   * const { tableId } = await client.importRows([{ id: 1 }, { id: 2 }], { name: 'Orders' })
   * await client.table(tableId).delete()
   * console.log((await client.tables()).length) // 0
   */
  delete(options?: Abortable): Promise<void>
  /**
   * The version of the table.
   * @example
   * const { tableId } = await client.importRows([{ id: 1 }, { id: 2 }], { name: 'Orders' })
   * const before = await client.table(tableId).version()
   * await client.table(tableId).addRows([{ id: 3 }])
   * console.log((await client.table(tableId).version()) === before) // false
   */
  version(options?: Abortable): Promise<string>
  /**
   * A page of rows, which begins at the first row, at a continuation, or at a row number.
   * @example
   * const { tableId } = await client.importRows([{ id: 1 }, { id: 2 }], { name: 'Orders' })
   * const { rows, continuation } = await client.table(tableId).page({ limit: 1 })
   * const next = await client.table(tableId).page({ limit: 1, ...(continuation && { continuation }) })
   * console.log(rows[0]?.id, next.rows[0]?.id) // 1 2
   */
  page(request?: Abortable & ClientFind & IfNoneMatch & PagePart): Promise<ClientPage>
  /**
   * The number of rows. Counting the rows that match a condition needs a rowstash server.
   * @example
   * const { tableId } = await client.importRows([{ id: 1 }, { id: 2 }], { name: 'Orders' })
   * console.log(await client.table(tableId).count({ id: { gt: 1 } })) // 1
   */
  count(
    where?: ClientFind['where'],
    options?: Abortable & Pick<ClientFind, 'search'>,
  ): Promise<number>
  /**
   * Groups of rows, as from `groups` of the library. Needs a rowstash server.
   * @example
   * const { tableId } = await client.importRows([{ id: 1 }, { id: 1 }], { name: 'Orders' })
   * console.log((await client.table(tableId).groups({ by: ['id'] }))[0]) // {"values":{"id":1},"count":2}
   */
  groups(request: GroupsRequest): Promise<readonly Group[]>
  /**
   * All rows, or the rows that match, in order, page by page.
   * @param options - `limit`: maximum number of rows, a positive integer. Default: all. `pageSize`: rows per request, a
   *   positive integer. Default: as many as the server allows. `signal` ends the iterator before its next row.
   *   `ifNoneMatch`: a version that `version` or `page` has returned.
   * @example
   * const { tableId } = await client.importRows([{ id: 1 }, { id: 2 }], { name: 'Orders' })
   * for await (const { id } of client.table(tableId).scan({ where: { id: { gt: 1 } } })) console.log(id) // 2
   */
  scan(
    options?: Abortable &
      ClientFind &
      IfNoneMatch &
      Readonly<{ limit?: number | undefined; pageSize?: number | undefined }>,
  ): AsyncIterableIterator<ClientRow>
  /** @deprecated The former name of `scan`. */
  rows: ClientTable['scan']
  /**
   * Rows as CSV, as from `table.toCSV` of the library, a page at a time. A row that changes meanwhile is in its old or
   * its new state.
   * @param options - `limit`: maximum number of rows, a positive integer, by default all; `delimiter`: a comma
   *   (default) or a tab; `$rowID` in `columns` puts the row IDs first.
   * @example
   * const { tableId } = await client.importRows([{ id: 1 }, { id: 2 }], { name: 'Orders' })
   * let text = ''
   * for await (const part of client.table(tableId).toCSV()) text += part
   * console.log(text.split('\n')) // ["id","1","2",""]
   */
  toCSV(
    options?: Abortable &
      ClientFind &
      Readonly<{ limit?: number | undefined; delimiter?: ',' | '\t' | undefined }>,
  ): AsyncIterableIterator<string>
  /**
   * Rows as one JSON object per line, with the options as in `toCSV`. They contain row IDs only if `columns` has
   * `$rowID`. Numbers keep all digits.
   * @example
   * const { tableId } = await client.importRows([{ id: 1 }, { id: 2 }], { name: 'Orders' })
   * let text = ''
   * for await (const part of client.table(tableId).toNDJSON({ limit: 1 })) text += part
   * console.log(JSON.parse(text)) // {"id":1}
   */
  toNDJSON(
    options?: Abortable & ClientFind & Readonly<{ limit?: number | undefined }>,
  ): AsyncIterableIterator<string>
  /**
   * A row and its version; null: there is none.
   * @param row - The ID of the row; or, on a rowstash server, the values of all key columns, such as
   *   `{ email: 'a@b.example' }`, by which the server finds the row without a scan. Other columns are rejected with the
   *   status 400.
   * @example
   * const { tableId } = await client.importRows([{ id: 1 }, { id: 2 }], { name: 'Orders' })
   * const { rowIds } = await client.table(tableId).addRows([{ id: 3 }])
   * const found = await client.table(tableId).get(rowIds[0] ?? '')
   * console.log(found?.row.id) // 3
   */
  get(
    row: string | KeyValues,
    options?: Abortable & IfNoneMatch,
  ): Promise<Readonly<{ row: ClientRow; version: string }> | null>
  /**
   * Adds rows at the end, in one request. For many rows, use `importRows`.
   * @param options - `onSchemaError`: what the server does with rows that do not fit. Default: `abort`.
   * @example
   * const { tableId } = await client.importRows([{ id: 1 }, { id: 2 }], { name: 'Orders' })
   * const { rowIds } = await client.table(tableId).addRows([{ id: 3 }])
   * console.log(rowIds.length) // 1
   */
  addRows(
    rows: readonly object[],
    options?: Abortable & Readonly<{ onSchemaError?: OnSchemaError | undefined }>,
  ): Promise<Readonly<{ rowIds: readonly string[]; version: string }>>
  /**
   * Changes cells of a row.
   * @param change - The cells; or a function that makes the cells from the current row. If the row changes meanwhile,
   *   the function is called again, up to 10 times in all. If it returns null, nothing is changed.
   * @returns the new version of the table; if nothing was changed, the version of the row
   * @throws {ClientError} `row_not_found`; `precondition_failed` (412): the row has changed since `ifMatch`, or it
   *   changed during each of 10 calls of the function
   * @example
   * const { tableId } = await client.importRows([{ id: 1 }, { id: 2 }], { name: 'Orders' })
   * const [row] = (await client.table(tableId).page()).rows
   * await client.table(tableId).updateRow(row?.$rowID ?? '', ({ id }) => ({ id: Number(id) + 1 }))
   * console.log((await client.table(tableId).page()).rows[0]?.id) // 2
   */
  updateRow(
    rowId: string,
    change: ClientCells | ((row: ClientRow) => ClientCells | null | Promise<ClientCells | null>),
    options?: Abortable &
      Readonly<{
        /**
         * The `version` that `get` or `page` returned. If the row has changed since, the call fails with
         * `precondition_failed`. Not with a function: its change applies to the version that it received. Default: no
         * condition.
         */
        ifMatch?: string | undefined
        /** What the server does with cells that do not fit. Default: `abort`. */
        onSchemaError?: OnSchemaError | undefined
      }>,
  ): Promise<Readonly<{ version: string }>>
  /**
   * Deletes a row. Also succeeds if there is no such row.
   * @example
   * const { tableId } = await client.importRows([{ id: 1 }, { id: 2 }], { name: 'Orders' })
   * const { rows } = await client.table(tableId).page()
   * await client.table(tableId).deleteRow(rows[0]?.$rowID ?? '')
   * console.log((await client.table(tableId).page()).rows.map(({ id }) => id)) // [2]
   */
  deleteRow(rowId: string, options?: Abortable): Promise<Readonly<{ version: string }>>
}

/** Options as in `ClientFind`, with the columns of a schema. `limit`: maximum number of rows. */
type TypedFind<S extends AnySchema, Column extends ColumnOf<S>> = Abortable &
  IfNoneMatch &
  Readonly<{
    where?: TypedWhere<S> | undefined
    search?: string | undefined
    columns?: readonly Column[] | undefined
    orderBy?: readonly (OrderBy[number] & Readonly<{ column: ColumnOf<S> }>)[] | undefined
    limit?: number | undefined
  }>

/** A table with the rows of a schema. Its methods, options and errors are as those of `ClientTable`. */
export interface TypedClientTable<S extends AnySchema>
  extends Pick<
      ClientTable,
      'id' | 'info' | 'rename' | 'delete' | 'version' | 'deleteRow' | 'toCSV' | 'toNDJSON'
    >,
    ClientChanges,
    ClientManyRows<CellsOf<S>> {
  page<Column extends ColumnOf<S> = ColumnOf<S>>(
    request?: TypedFind<S, Column> & PagePart,
  ): Promise<
    Readonly<{
      rows: readonly RowOf<Pick<SpecsOf<S>, Column>>[]
      continuation?: string
      version: string
      total?: number
    }>
  >
  count(where?: TypedWhere<S>, options?: Abortable & Pick<ClientFind, 'search'>): Promise<number>
  groups(request: GroupsRequest<TypedWhere<S>, ColumnOf<S>>): Promise<readonly Group[]>
  scan<Column extends ColumnOf<S> = ColumnOf<S>>(
    options?: TypedFind<S, Column> & Readonly<{ pageSize?: number | undefined }>,
  ): AsyncIterableIterator<RowOf<Pick<SpecsOf<S>, Column>>>
  /** @deprecated The former name of `scan`. */
  rows: TypedClientTable<S>['scan']
  get(
    row: string | KeyValues,
    options?: Abortable & IfNoneMatch,
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
