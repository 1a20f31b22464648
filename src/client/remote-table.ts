// A table of a server.

import type { KeyValues } from '../engine/api/unique-types.js'
import {
  csvRows,
  NDJSON_ROWS,
  pickColumns,
  type RowsWriter,
  wantedCells,
  withRowIds,
} from '../format/rows-writer.js'
import { ClientError } from './client-error.js'
import type {
  ClientCells,
  ClientPage,
  ClientRow,
  ClientTable,
  ClientTableInfo,
  OnSchemaError,
} from './client-types.js'
import { exportRows } from './export-rows.js'
import type { ClientRequest, Requests } from './requests.js'
import { tablePath } from './table-operation.js'
import { versionOf } from './versions.js'

/** Calls of a function that makes new cells of a row, at most. */
const CHANGES_MAX = 10

type PageRequest = Parameters<ClientTable['page']>[0] & {}

type ExportRequest = Parameters<ClientTable['toCSV']>[0] & {}

type Signal = Readonly<{ signal?: AbortSignal | undefined }>

export class RemoteTable implements ClientTable {
  readonly id: string
  readonly #requests: Requests
  readonly #hasIdempotencyKeys: boolean
  readonly #path: string

  constructor(requests: Requests, tableId: string, hasIdempotencyKeys: boolean) {
    this.id = tableId
    this.#requests = requests
    this.#hasIdempotencyKeys = hasIdempotencyKeys
    this.#path = `${tablePath(tableId)}/rows`
  }

  async info({ signal }: Signal = {}): Promise<ClientTableInfo> {
    const answer = await this.#describe(signal)
    const { data } = (await answer.json()) as { data: ClientTableInfo }
    return { ...data, version: versionOf(answer) }
  }

  /** The published contract has no such route: a server that speaks no more than that has none. */
  async #describe(signal: AbortSignal | undefined): Promise<Response> {
    try {
      return await this.#send({ method: 'GET', path: tablePath(this.id), signal })
    } catch (failure) {
      if (!(failure instanceof ClientError) || !isUnknownRoute(failure)) throw failure
      const { status, type } = failure
      const problem = `The server does not describe its tables (status ${status} for GET /tables/{tableID})`
      const remedy = 'their schema and size are not known here, while rows() and toNDJSON() work'
      throw new ClientError(`${problem}: ${remedy}`, status, type)
    }
  }

  async rename(name: string, { signal }: Signal = {}): Promise<Readonly<{ version: string }>> {
    const answer = await this.#send({
      method: 'PATCH',
      path: tablePath(this.id),
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name }),
      signal,
    })
    return { version: versionOf(answer) }
  }

  async delete({ signal }: Signal = {}): Promise<void> {
    try {
      await this.#send({ method: 'DELETE', path: tablePath(this.id), signal })
    } catch (failure) {
      const isGone = failure instanceof ClientError && failure.type === 'table_not_found'
      if (!isGone) throw failure // Its answer may have been lost, and the request repeated.
    }
  }

  async version({ signal }: Signal = {}): Promise<string> {
    return versionOf(await this.#send({ method: 'HEAD', signal }))
  }

  async page(request: PageRequest = {}): Promise<ClientPage> {
    const answer = await this.#readPage(request)
    const { data, ...rest } = (await answer.json()) as {
      data: ClientRow[]
      continuation?: string
    }
    return { rows: data, ...rest, version: versionOf(answer) }
  }

  #readPage({ limit, continuation, where, columns, signal }: PageRequest): Promise<Response> {
    const query = new URLSearchParams()
    if (limit !== undefined) query.set('limit', String(limit))
    if (continuation !== undefined) query.set('continuation', continuation)
    if (where !== undefined) query.set('where', JSON.stringify(where, numberText))
    if (columns !== undefined) query.set('columns', JSON.stringify(columns))
    const path = query.size === 0 ? this.#path : `${this.#path}?${query}`
    return this.#send({ method: 'GET', path, signal })
  }

  async *toCSV({ delimiter, ...options }: ExportRequest = {}): AsyncIterableIterator<string> {
    const { schema } = await this.info(options)
    const { columns: ids, hasRowIds } = wantedCells(options.columns)
    const columns = pickColumns(schema, ids)
    const written = hasRowIds ? withRowIds({ columns }) : { columns }
    yield* this.#export(csvRows(written, delimiter), options)
  }

  toNDJSON(options: ExportRequest = {}): AsyncIterableIterator<string> {
    return this.#export(NDJSON_ROWS, options)
  }

  #export(writer: RowsWriter, { limit, ...given }: ExportRequest): AsyncIterableIterator<string> {
    const { columns, hasRowIds } = wantedCells(given.columns)
    const request = { ...given, ...(columns && { columns }) }
    return exportRows(
      async (bounds) => (await this.#readPage({ ...request, ...bounds })).text(),
      writer,
      hasRowIds,
      limit,
    )
  }

  async *rows(
    options: Parameters<ClientTable['rows']>[0] & {} = {},
  ): AsyncIterableIterator<ClientRow> {
    let next: string | undefined
    do {
      const { rows, continuation } = await this.page({
        ...options,
        ...(next === undefined ? {} : { continuation: next }),
      })
      yield* rows
      next = continuation
    } while (next !== undefined)
  }

  async get(
    wanted: Parameters<ClientTable['get']>[0],
    { signal }: Signal = {},
  ): Promise<Readonly<{ row: ClientRow; version: string }> | null> {
    const rowId = typeof wanted === 'string' ? wanted : await this.#rowIdOf(wanted, signal)
    if (rowId === null) return null
    try {
      const answer = await this.#send({ method: 'GET', path: this.#pathOf(rowId), signal })
      const { data } = (await answer.json()) as { data: ClientRow }
      return { row: data, version: versionOf(answer) }
    } catch (failure) {
      if (failure instanceof ClientError && failure.type === 'row_not_found') return null
      throw failure
    }
  }

  /** The ID of the row with a key; null: there is none. */
  async #rowIdOf(values: KeyValues, signal: AbortSignal | undefined): Promise<string | null> {
    const { key = [] } = await this.info({ signal })
    const ids = Object.keys(values)
    if (key.length === 0 || ids.length !== key.length || !key.every((id) => ids.includes(id))) {
      const columns = key.length === 0 ? 'has no key' : `has the key ${key.join(', ')}`
      const problem = `The table '${this.id}' ${columns}, not ${ids.join(', ') || 'no column'}`
      throw new ClientError(problem, 0, 'not_the_key')
    }
    const conditions = Object.entries(values).map(([id, value]) => {
      return [id.startsWith('$') ? `$${id}` : id, { eq: value }] as const
    })
    const where = Object.fromEntries(conditions)
    for await (const { $rowID } of this.rows({ where, columns: [...key], limit: 1, signal })) {
      return $rowID
    }
    return null
  }

  async addRows(
    rows: readonly object[],
    {
      signal,
      onSchemaError,
    }: Signal & Readonly<{ onSchemaError?: OnSchemaError | undefined }> = {},
  ): Promise<Readonly<{ rowIds: readonly string[]; version: string }>> {
    const key = this.#hasIdempotencyKeys
      ? { 'idempotency-key': crypto.randomUUID() }
      : ({} as Record<string, string>)
    const answer = await this.#send({
      method: 'POST',
      path: this.#path + schemaQuery(onSchemaError),
      headers: { 'content-type': 'application/json', ...key },
      body: JSON.stringify(rows),
      isRepeatable: this.#hasIdempotencyKeys,
      signal,
    })
    const { data } = (await answer.json()) as { data: { rowIDs: string[] } }
    return { rowIds: data.rowIDs, version: versionOf(answer) }
  }

  async updateRow(
    rowId: string,
    change: Parameters<ClientTable['updateRow']>[1],
    options: Parameters<ClientTable['updateRow']>[2] & {} = {},
  ): Promise<Readonly<{ version: string }>> {
    if (typeof change !== 'function') return this.#patch(rowId, change, options)
    for (let calls = 1; ; calls++) {
      const found = await this.get(rowId, options)
      if (found === null)
        throw new ClientError(`Row with ID '${rowId}' not found`, 404, 'row_not_found')
      const { row, version } = found
      const cells = await change(row)
      if (cells === null) return { version }
      try {
        return await this.#patch(rowId, cells, { ...options, ifMatch: version })
      } catch (failure) {
        const isBeaten = failure instanceof ClientError && failure.status === 412
        if (!isBeaten || calls === CHANGES_MAX) throw failure
      }
    }
  }

  async deleteRow(rowId: string, { signal }: Signal = {}): Promise<Readonly<{ version: string }>> {
    const answer = await this.#send({ method: 'DELETE', path: this.#pathOf(rowId), signal })
    return { version: versionOf(answer) }
  }

  /** With a condition, a repeat of a change whose answer was lost would be refused because of that change. */
  async #patch(
    rowId: string,
    cells: ClientCells,
    { ifMatch, onSchemaError, signal }: Parameters<ClientTable['updateRow']>[2] & {},
  ): Promise<Readonly<{ version: string }>> {
    const answer = await this.#send({
      method: 'PATCH',
      path: this.#pathOf(rowId) + schemaQuery(onSchemaError),
      headers: {
        'content-type': 'application/json',
        ...(ifMatch === undefined ? {} : { 'if-match': `"${ifMatch}"` }),
      },
      body: JSON.stringify(cells),
      isRepeatable: ifMatch === undefined,
      signal,
    })
    return { version: versionOf(answer) }
  }

  #pathOf(rowId: string): string {
    return `${this.#path}/${encodeURIComponent(rowId)}`
  }

  #send(request: Partial<ClientRequest> & Pick<ClientRequest, 'method'>): Promise<Response> {
    return this.#requests.send({ path: this.#path, isRepeatable: true, ...request })
  }
}

/** JSON has no BigInt; a condition takes the text of a number too. */
function numberText(_: string, value: unknown): unknown {
  if (typeof value !== 'bigint') return value
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : String(value)
}

function schemaQuery(onSchemaError: OnSchemaError | undefined): string {
  return onSchemaError === undefined ? '' : `?onSchemaError=${onSchemaError}`
}

/** Whether an answer is not about the table or the key; one without a type comes from no API. */
function isUnknownRoute({ status, type, message }: ClientError): boolean {
  if (status === 405) return true
  const isOfKey = message.startsWith('API key not found') // The published contract has no type of its own for it.
  return status === 404 && type !== '' && type !== 'table_not_found' && !isOfKey
}
