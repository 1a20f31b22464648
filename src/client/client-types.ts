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

/** Options of `createClient`. Unknown names are refused. */
export interface ClientOptions {
  /** The http or https URL of the server, with its base path. */
  readonly url: string
  /** A key of a team, which is sent with every request. */
  readonly key: string
  /**
   * Maximum number of attempts for each request. A request is repeated if the answer was 429, or if it was 408 or 5xx
   * or there was none that could be read and a repeat is safe. Pauses are random: up to 0.5 seconds, then up to twice
   * as long each time, at most 15; or as long as `Retry-After` says, at most two minutes. Default: 8, which takes up to
   * 46 seconds without `Retry-After`; but 3 where no server of the API listens, until one has answered this client.
   * Range: 1 to 100.
   */
  readonly triesMax?: number | undefined
  /**
   * Whether the server knows `Idempotency-Key`, as rowstash does. If not, creates and adds are not repeated when it
   * is unknown whether they took effect. Default: true.
   */
  readonly idempotencyKeys?: boolean | undefined
  /**
   * Called before each pause between attempts, with what failed and the length of the pause in milliseconds. An error
   * that it throws ends the call. Default: none.
   */
  readonly onRetry?: ((failure: ClientError, pauseMs: number) => void) | undefined
  /** Replaces `fetch`, for tests and proxies. Default: that of the platform. */
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
     * Called with the bytes that were handed to the connection, from 0 to the size of the file; from 0 again if the
     * upload is repeated. A browser cannot send a file as a stream: there it is called at the end.
     * Default: none.
     */
    onProgress?: ((bytes: number) => void) | undefined
  }>

/**
 * A client of a server of the contract. Failures are `ClientError`: with the `status` and the `type` of the answer,
 * which the contract lists; with the type `answer_cut` or `answer_invalid` if a good answer could not be read; with the
 * status 0 and no `type` if there was no answer; with the status 0 and a `type` if
 * the client refused the call itself, such as `argument_invalid` of an argument that cannot be sent. Options that are
 * unknown or out of their range are a `StoreError` with the code OPTION_NOT_ALLOWED, before anything is sent.
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
   * As `table`, with rows that the compiler knows. It is not checked whether the table has these columns, and the
   * validator of the schema is not called.
   * @param schema - What `defineSchema` returns.
   * @example
   * import { defineSchema } from 'rowstash/client'
   *
   * const Order = defineSchema({ columns: { name: 'string', total: 'number' } })
   * const { tableId } = await client.importRows([{ name: 'Tea', total: 3 }], { name: 'Orders', schema: Order })
   * for await (const { total = 0 } of client.table(tableId, Order).scan()) console.log(total.toFixed(2)) // 3.00
   */
  table<S extends AnySchema>(tableId: string, schema: S): TypedClientTable<S>
  /**
   * A table by its ID. No request is sent: a missing table fails with the first request.
   * @example
   * const { tableId } = await client.importRows([{ id: 1 }, { id: 2 }], { name: 'Orders' })
   * console.log((await client.table(tableId).page()).rows.length) // 2
   */
  table(tableId: string): ClientTable
  /** The oldest table with a name, typed if a schema is given, as `table`; null: there is none. */
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
   * Puts rows as chunks of a stash, several at the same time, and then creates, extends, overwrites or merges into a
   * table in one step. Chunks that the server finds too large are halved. The input is read once, in bounded memory.
   *
   * If it fails or is aborted, a stash without a `stashId` of the caller is deleted. A stash with one stays until it
   * expires: the same call with `resume`, or with `startAt` from the last progress, continues. Nothing is done twice.
   * @throws {ClientError} with `place` if it is about rows of the input; `argument_invalid`: the input has what is no
   *   row; `stash_differs`: the stash has other chunks
   * @throws {StoreError} OPTION_NOT_ALLOWED
   * @example
   * const file = new File(['id,total\n1,34.50\n2,12\n'], 'orders.csv')
   * const { tableId, rows } = await client.importRows(file, { name: 'Orders', stashId: 'orders-1', resume: true })
   * await client.importRows([{ id: 2, total: 13 }], { tableId, mode: 'merge', key: ['id'] })
   * console.log(rows) // 2
   */
  importRows(input: ImportInput, options: ImportOptions): Promise<ImportResult>
  /**
   * Finds all values of an input that do not fit, as `importRows` would meet them, and changes no table. The rows are
   * in a stash for a while. Only a server of rowstash can do it. If all values of a merge fit, it compares the keys too,
   * and counts in `merged` what the merge would do.
   * @throws {ClientError} as `importRows`, such as `key_not_unique` of a merge
   * @example
   * const schema = { columns: [{ id: 'total', type: { kind: 'number' } }] } as const
   * const { problems } = await client.checkRows([{ total: 1 }, { total: 'x' }], { name: 'Orders', schema })
   * console.log(problems.map(({ row, column, rule }) => `${row} ${column}: ${rule}`)) // ["1 total: a finite number"]
   */
  checkRows(input: ImportInput, options: ImportTarget & SendOptions): Promise<ImportCheck>
  /**
   * The stashes of the team, in the order of their IDs. Only a server of rowstash lists them.
   * @example
   * await team.stash('orders').put(0, [{ id: 1 }]) // on the server
   * console.log((await client.stashes()).map(({ id, chunks }) => `${id}: ${chunks}`)) // ["orders: 1"]
   */
  stashes(options?: Abortable): Promise<readonly StashEntry[]>
  /**
   * The chunks of a stash that the server has acknowledged, in their order. Only a rowstash server reports them; if it
   * has no such stash, the call fails with the type `stash_not_found`.
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
   * @returns the URL under which it is read. Put it into a row: a file that no row names is deleted after the server's
   *   `fileRetentionMs`, by default 7 days.
   * @example
   * const file = new File(['a picture'], 'cat.png', { type: 'image/png' })
   * const { url: picture } = await client.upload(file, { appId: 'my-app' })
   * console.log(await (await fetch(picture)).text()) // a picture
   */
  upload(file: Blob, options: UploadOptions): Promise<Readonly<{ url: string }>>
}

/** A table of a server. Failures are `ClientError`, as of `Client`; a missing table has the type `table_not_found`. */
export interface ClientTable extends ClientChanges, ClientManyRows {
  /** The ID of the table. */
  readonly id: string
  /**
   * The description of the table. Only a rowstash server has it.
   * @example
   * const { tableId } = await client.importRows([{ id: 1 }, { id: 2 }], { name: 'Orders' })
   * const { name, rowCount } = await client.table(tableId).info()
   * console.log(name, rowCount) // Orders 2
   */
  info(options?: Abortable): Promise<ClientTableInfo>
  /**
   * Renames the table. Only a rowstash server can do it.
   * @example
   * const { tableId } = await client.importRows([{ id: 1 }, { id: 2 }], { name: 'Orders' })
   * await client.table(tableId).rename('Orders of 2026')
   * console.log((await client.tables()).map(({ name }) => name)) // ["Orders of 2026"]
   */
  rename(name: string, options?: Abortable): Promise<Readonly<{ version: string }>>
  /**
   * Deletes the table with all its rows. Also succeeds if there is none. Only a rowstash server can do it.
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
   * Some rows, from the beginning, a continuation or a number on.
   * @example
   * const { tableId } = await client.importRows([{ id: 1 }, { id: 2 }], { name: 'Orders' })
   * const { rows, continuation } = await client.table(tableId).page({ limit: 1 })
   * const next = await client.table(tableId).page({ limit: 1, ...(continuation && { continuation }) })
   * console.log(rows[0]?.id, next.rows[0]?.id) // 1 2
   */
  page(request?: Abortable & ClientFind & IfNoneMatch & PagePart): Promise<ClientPage>
  /**
   * The number of rows, or of those that match a condition, which a server of rowstash counts.
   * @example
   * const { tableId } = await client.importRows([{ id: 1 }, { id: 2 }], { name: 'Orders' })
   * console.log(await client.table(tableId).count({ id: { gt: 1 } })) // 1
   */
  count(
    where?: ClientFind['where'],
    options?: Abortable & Pick<ClientFind, 'search'>,
  ): Promise<number>
  /**
   * As `groups` of a table of the library. Only a server of rowstash has it.
   * @example
   * const { tableId } = await client.importRows([{ id: 1 }, { id: 1 }], { name: 'Orders' })
   * console.log((await client.table(tableId).groups({ by: ['id'] }))[0]) // {"values":{"id":1},"count":2}
   */
  groups(request: GroupsRequest): Promise<readonly Group[]>
  /**
   * All rows, or those that match, in order, page by page.
   * @param options - `limit`: rows at most, a positive integer. Default: all. `pageSize`: rows that are asked for at once,
   *   a positive integer. Default: as many as the server allows. `signal` ends the rows at the next one. `ifNoneMatch`: the
   *   `version` of the table, which `version` and `page` return.
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
  /** @deprecated The name of `scan` in programs of earlier checkouts. */
  rows: ClientTable['scan']
  /**
   * Rows as CSV, as `table.toCSV` of the library, a page at a time. Rows that are changed meanwhile are as they were or
   * as they are.
   * @param options - `limit`: rows at most, a positive integer, by default all; `delimiter`: between fields, a comma
   *   or a tab, by default a comma; `$rowID` in `columns` puts the row IDs in front.
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
   * As `toCSV`, as one JSON object per line, without row IDs unless `columns` has `$rowID`. Every digit is kept.
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
   * @param row - Its ID; or the values of all key columns of a table with a key, such as `{ email: 'a@b.example' }`,
   *   which a server of rowstash finds without a scan. It refuses others with the status 400.
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
   * Adds rows at the end, in one request. For many rows there is `importRows`.
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
   * @param change - The cells; or a function that makes them of the row as it is. If others change the row meanwhile, it is
   *   called again, 10 times in all. If it returns null, nothing is changed.
   * @returns the version of the table, or of the row if nothing was changed
   * @throws {ClientError} `row_not_found`; `precondition_failed` (412): the row changed, with `ifMatch` or during 10
   *   calls
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
         * `precondition_failed`. Not with a function, which has that of the row that it got. Default: no condition.
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

/** As `ClientFind`, with the columns of a schema; `limit`: rows at most. */
type TypedFind<S extends AnySchema, Column extends ColumnOf<S>> = Abortable &
  IfNoneMatch &
  Readonly<{
    where?: TypedWhere<S> | undefined
    search?: string | undefined
    columns?: readonly Column[] | undefined
    orderBy?: readonly (OrderBy[number] & Readonly<{ column: ColumnOf<S> }>)[] | undefined
    limit?: number | undefined
  }>

/**
 * A table of a server with the rows of a schema. Its methods, their options and errors are as those of `ClientTable`.
 */
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
  /** @deprecated The name of `scan` in programs of earlier checkouts. */
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
