// A table of a server.

import { isRecord, optionError, typeName } from '../base/options.js'
import { pickById } from '../base/pick-by-id.js'
import type { Group, GroupsRequest } from '../engine/types/find-types.js'
import {
  csvRows,
  NDJSON_ROWS,
  type RowsWriter,
  wantedCells,
  withRowIds,
} from '../format/rows-writer.js'
import {
  changedVersion,
  conditionHeaders,
  dataIn,
  invalidAnswer,
  neededVersionOf,
  readAnswerData,
  readAnswerJson,
  textOf,
  versionOf,
} from './answers.js'
import { checkCall, checkIdArgument, checkNameArgument, GROUP_COLUMNS } from './call-options.js'
import { ClientError, invalidCall } from './client-error.js'
import type { ClientManyRows } from './client-rows.js'
import type {
  Abortable,
  ClientCells,
  ClientPage,
  ClientRow,
  ClientTable,
  ClientTableInfo,
} from './client-types.js'
import { exportRows, type PageTexts, rowsOf } from './export-rows.js'
import { ownSignal } from './own-realm.js'
import type { ClientRequest, Requests } from './requests.js'
import { keyQuery, rowText, whereText } from './row-text.js'
import { schemaQuery, tablePath } from './table-operation.js'
import type { changesOf, WatchOptions } from './watch-changes.js'

/** Maximum number of calls of a function that makes new cells of a row. */
const CHANGES_MAX = 10

type Many = ClientManyRows

type Conversion = Parameters<Many['convertColumn']>

type PageRequest = Parameters<ClientTable['page']>[0] & {}

type ExportRequest = Parameters<ClientTable['toCSV']>[0] & {}

type ScanRequest = Parameters<ClientTable['scan']>[0] & {}

type GetOptions = Parameters<ClientTable['get']>[1] & {}

type AddOptions = Parameters<ClientTable['addRows']>[1] & {}

type UpdateOptions = Parameters<ClientTable['updateRow']>[2] & {}

const OF_ROWS = ['where', 'search', 'columns', 'orderBy', 'limit', 'signal']

export class RemoteTable implements ClientTable {
  readonly id: string
  readonly #requests: Requests
  readonly #hasIdempotencyKeys: boolean
  readonly #path: string

  constructor(requests: Requests, tableId: string, hasIdempotencyKeys: boolean) {
    checkIdArgument('tableId', tableId)
    this.id = tableId
    this.#requests = requests
    this.#hasIdempotencyKeys = hasIdempotencyKeys
    this.#path = `${tablePath(tableId)}/rows`
  }

  async info(options: Abortable = {}): Promise<ClientTableInfo> {
    checkCall('info', options, ['signal'])
    return this.#describe(options.signal)
  }

  /** The published contract does not describe tables, so a server of only that contract has no such route. */
  async #describe(signal: AbortSignal | undefined): Promise<ClientTableInfo> {
    const request = { method: 'GET', path: tablePath(this.id), signal }
    try {
      return await this.#send(request, async (answer) => ({
        ...(await readAnswerData<ClientTableInfo>(answer, { schema: 'object' })),
        version: neededVersionOf(answer),
      }))
    } catch (failure) {
      if (!(failure instanceof ClientError) || !isUnknownRoute(failure)) throw failure
      const { status, type } = failure
      const problem = `The server does not describe its tables (status ${status} for GET /tables/{tableID})`
      const remedy = 'their schema and size are unknown, but scan() and toNDJSON() work'
      throw new ClientError(`${problem}: ${remedy}`, status, type)
    }
  }

  async rename(name: string, options: Abortable = {}): Promise<Readonly<{ version: string }>> {
    checkNameArgument(name)
    checkCall('rename', options, ['signal'])
    const request = {
      method: 'PATCH',
      path: tablePath(this.id),
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name }),
      signal: options.signal,
    }
    return this.#send(request, changedVersion)
  }

  async delete(options: Abortable = {}): Promise<void> {
    checkCall('delete', options, ['signal'])
    const { signal } = options
    try {
      await this.#send({ method: 'DELETE', path: tablePath(this.id), signal }, readAnswerJson)
    } catch (failure) {
      const isGone = failure instanceof ClientError && failure.type === 'table_not_found'
      if (!isGone) throw failure // A missing row counts as deleted: an earlier answer may have been lost.
    }
  }

  async version(options: Abortable = {}): Promise<string> {
    checkCall('version', options, ['signal'])
    return this.#send({ method: 'HEAD', signal: options.signal }, neededVersionOf)
  }

  changes(request: Parameters<ClientTable['changes']>[0]): ReturnType<ClientTable['changes']> {
    return this.#follow('changes', request)
  }

  watch(options: WatchOptions = {}): ReturnType<ClientTable['watch']> {
    return this.#follow('watch', options)
  }

  #follow(call: 'changes' | 'watch', given: WatchOptions): ReturnType<ClientTable['watch']> {
    checkCall(call, given, ['since', 'signal'])
    if (call === 'changes' && given?.since === undefined) throw optionError('since', 'is missing')
    return loadedChanges(call, this.#requests, this.id, given)
  }

  async page(request: PageRequest = {}): Promise<ClientPage> {
    checkCall('page', request, [...OF_ROWS, 'continuation', 'from', 'total', 'ifNoneMatch'])
    return this.#readPage(request, async (answer) => {
      const { data, ...rest } = await readAnswerJson(answer)
      const rows = dataIn<ClientRow[]>(answer, { data }, 'list')
      return { rows, ...rest, version: neededVersionOf(answer) }
    })
  }

  #readPage<T>(
    { ifNoneMatch, signal, ...bounds }: PageRequest,
    read: (answer: Response) => Promise<T>,
  ): Promise<T> {
    const headers = conditionHeaders(undefined, ifNoneMatch)
    return this.#send({ method: 'GET', path: this.#path + queryOf(bounds), headers, signal }, read)
  }

  async count(
    where?: Parameters<ClientTable['count']>[0],
    options: Parameters<ClientTable['count']>[1] = {},
  ): Promise<number> {
    checkCall('count', options, ['search', 'signal'])
    const { search, signal } = options
    const path = `${tablePath(this.id)}/count${queryOf({ where, search })}`
    return this.#send({ method: 'GET', path, signal }, async (answer) => {
      return (await readAnswerData<{ count: number }>(answer, { count: 'number' })).count
    })
  }

  async groups(request: GroupsRequest): Promise<readonly Group[]> {
    checkCall('groups', request, [...GROUP_COLUMNS, 'where', 'search', 'limit', 'signal'])
    const { signal, ...bounds } = request
    const path = `${tablePath(this.id)}/groups${queryOf(bounds)}`
    return this.#send({ method: 'GET', path, signal }, async (answer) => {
      return dataIn<Group[]>(answer, await readAnswerJson(answer), 'list')
    })
  }

  toCSV(options: ExportRequest = {}): AsyncIterableIterator<string> {
    checkCall('toCSV', options, [...OF_ROWS, 'delimiter'])
    return this.#csv(options)
  }

  async *#csv({ delimiter, ...options }: ExportRequest): AsyncIterableIterator<string> {
    const { schema } = await this.info({ signal: options.signal })
    const { columns: ids, hasRowIds } = wantedCells(options.columns)
    const columns = pickById(schema.columns, ids)
    const written = hasRowIds ? withRowIds({ columns }) : { columns }
    yield* this.#export(csvRows(written, delimiter), options)
  }

  toNDJSON(options: ExportRequest = {}): AsyncIterableIterator<string> {
    checkCall('toNDJSON', options, OF_ROWS)
    return this.#export(NDJSON_ROWS, options)
  }

  #export(writer: RowsWriter, { limit, ...given }: ExportRequest): AsyncIterableIterator<string> {
    const { columns, hasRowIds } = wantedCells(given.columns)
    const request = { ...given, ...(columns && { columns }) }
    return exportRows(
      (bounds) => this.#readPage({ ...request, ...bounds }, pageTextsOf),
      writer,
      hasRowIds,
      limit,
    )
  }

  scan(options: ScanRequest = {}): AsyncIterableIterator<ClientRow> {
    checkCall('scan', options, [...OF_ROWS, 'pageSize', 'ifNoneMatch'])
    return this.#walk(options)
  }

  rows(options?: ScanRequest): AsyncIterableIterator<ClientRow> {
    return this.scan(options)
  }

  async *#walk({ limit, pageSize, ...given }: ScanRequest): AsyncIterableIterator<ClientRow> {
    const signal = ownSignal(given.signal)
    let next: string | undefined
    for (let left = limit ?? Number.POSITIVE_INFINITY; left > 0; ) {
      const asked = Math.min(left, pageSize ?? left)
      const { rows, continuation } = await this.page({
        ...given,
        signal,
        ...(Number.isFinite(asked) && { limit: asked }),
        ...(next !== undefined && { continuation: next, ifNoneMatch: undefined }),
      })
      for (const row of rows.slice(0, left)) {
        signal?.throwIfAborted()
        yield row
      }
      if (continuation === undefined) return
      left -= rows.length
      next = continuation
    }
  }

  async get(
    wanted: Parameters<ClientTable['get']>[0],
    options: GetOptions = {},
  ): Promise<Readonly<{ row: ClientRow; version: string }> | null> {
    checkCall('get', options, ['ifNoneMatch', 'signal'])
    const { ifNoneMatch, signal } = options
    const path = isRecord(wanted)
      ? `${tablePath(this.id)}/by-key?${keyQuery(wanted)}`
      : this.#pathOf(checkedRowId(wanted))
    try {
      const headers = conditionHeaders(undefined, ifNoneMatch)
      const request = { method: 'GET', path, headers, signal }
      return await this.#send(request, async (answer) => ({
        row: await readAnswerData<ClientRow>(answer, { $rowID: 'string' }),
        version: neededVersionOf(answer),
      }))
    } catch (failure) {
      if (failure instanceof ClientError && failure.type === 'row_not_found') return null
      throw failure
    }
  }

  async addRows(
    rows: readonly object[],
    options: AddOptions = {},
  ): Promise<Readonly<{ rowIds: readonly string[]; version: string }>> {
    checkCall('addRows', options, ['onSchemaError', 'signal'])
    if (!Array.isArray(rows)) {
      throw invalidCall(`addRows takes an array of objects, not ${typeName(rows)}; see importRows`)
    }
    const { signal, onSchemaError } = options
    const texts = Array.from(rows, (row, i) =>
      rowText(row, `Row ${i} (counted from 0)`, onSchemaError),
    )
    const key = this.#hasIdempotencyKeys
      ? { 'idempotency-key': this.#requests.newId() }
      : ({} as Record<string, string>)
    const request = {
      method: 'POST',
      path: this.#path + schemaQuery(onSchemaError),
      headers: { 'content-type': 'application/json', ...key },
      body: `[${texts.join(',')}]`,
      isRepeatable: this.#hasIdempotencyKeys,
      signal,
    }
    return this.#send(request, async (answer) => {
      const { rowIDs } = await readAnswerData<{ rowIDs: string[] }>(answer, { rowIDs: 'list' })
      return { rowIds: rowIDs, version: versionOf(answer) }
    })
  }

  async updateRow(
    rowId: string,
    change: Parameters<ClientTable['updateRow']>[1],
    options: UpdateOptions = {},
  ): Promise<Readonly<{ version: string }>> {
    checkIdArgument('rowId', rowId)
    checkCall('updateRow', options, ['ifMatch', 'onSchemaError', 'signal'])
    if (typeof change !== 'function') return this.#patch(rowId, change, options)
    if (options.ifMatch !== undefined) {
      throw optionError(
        'ifMatch',
        'cannot be combined with a function, which gets the latest version of the row',
      )
    }
    for (let calls = 1; ; calls++) {
      const found = await this.get(rowId, { signal: options.signal })
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

  async deleteRow(rowId: string, options: Abortable = {}): Promise<Readonly<{ version: string }>> {
    checkIdArgument('rowId', rowId)
    checkCall('deleteRow', options, ['signal'])
    const { signal } = options
    return this.#send({ method: 'DELETE', path: this.#pathOf(rowId), signal }, changedVersion)
  }

  updateRows(...given: Parameters<Many['updateRows']>): ReturnType<Many['updateRows']> {
    return this.#change('updateRows', ...given)
  }

  deleteRows(...given: Parameters<Many['deleteRows']>): ReturnType<Many['deleteRows']> {
    return this.#change('deleteRows', ...given)
  }

  async #change(
    call: 'updateRows' | 'deleteRows',
    ...given: [rows: unknown, options?: Parameters<Many['updateRows']>[1]]
  ): ReturnType<Many['deleteRows']> {
    const rows = { requests: this.#requests, tableId: this.id, hasKeys: this.#hasIdempotencyKeys }
    return (await import('./change-rows.js')).changeRows(rows, call, ...given)
  }

  convertColumn(...given: Conversion): ReturnType<Many['convertColumn']> {
    return this.#convert('convertColumn', ...given)
  }

  checkConversion(...given: Conversion): ReturnType<Many['checkConversion']> {
    return this.#convert('checkConversion', ...given)
  }

  async #convert(
    call: 'convertColumn' | 'checkConversion',
    ...given: Conversion
  ): ReturnType<Many['checkConversion']> {
    const of = { requests: this.#requests, tableId: this.id }
    return (await import('./change-rows.js')).convertColumn(of, call, ...given)
  }

  /** Conditional requests are not repeated: if only the answer was lost, the row has changed, and a repeat fails. */
  async #patch(
    rowId: string,
    cells: ClientCells,
    { ifMatch, onSchemaError, signal }: UpdateOptions,
  ): Promise<Readonly<{ version: string }>> {
    const body = rowText(cells, 'The change of a row', onSchemaError)
    const request = {
      method: 'PATCH',
      path: this.#pathOf(rowId) + schemaQuery(onSchemaError),
      headers: {
        'content-type': 'application/json',
        ...conditionHeaders(ifMatch),
      },
      body,
      isRepeatable: ifMatch === undefined,
      signal,
    }
    return this.#send(request, changedVersion)
  }

  #pathOf(rowId: string): string {
    return `${this.#path}/${encodeURIComponent(rowId)}`
  }

  #send<T>(
    request: Partial<ClientRequest> & Pick<ClientRequest, 'method'>,
    read: (answer: Response) => T | Promise<T>,
  ): Promise<T> {
    return this.#requests.send({ path: this.#path, isRepeatable: true, ...request }, read)
  }
}

/** The changes of `changesOf`, whose module is loaded on first use, because few programs need it. */
async function* loadedChanges(
  ...given: Parameters<typeof changesOf>
): ReturnType<typeof changesOf> {
  yield* (await import('./watch-changes.js')).changesOf(...given)
}

async function pageTextsOf(answer: Response): Promise<PageTexts> {
  const text = await textOf(answer)
  try {
    return rowsOf(text)
  } catch {
    throw invalidAnswer(answer, 'is not a page of rows')
  }
}

/** The query for rows, with its question mark. */
function queryOf(bounds: object): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(bounds)) {
    if (value === undefined) continue
    if (name === 'search' && isRecord(value)) {
      query.set(name, String(value['text']))
      query.set('searchIgnoreAccents', String(value['ignoreAccents'] ?? false))
      continue
    }
    const toText =
      name === 'where' ? whereText : typeof value === 'object' ? JSON.stringify : String
    query.set(name === 'orderBy' ? 'sort' : name, toText(value))
  }
  return query.size === 0 ? '' : `?${query}`
}

function checkedRowId(rowId: string): string {
  checkIdArgument('The row to get', rowId)
  return rowId
}

/**
 * Whether a failure means that the server lacks the route, as opposed to the table or the key. An answer without a type
 * does not come from the API.
 */
function isUnknownRoute({ status, type, message }: ClientError): boolean {
  if (status === 405) return true
  const isOfKey = message.startsWith('API key not found') // The published contract has no type for this error.
  return status === 404 && type !== '' && type !== 'table_not_found' && !isOfKey
}
