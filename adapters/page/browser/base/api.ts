// The requests of the page to the server.
import {
  conditionHeaders,
  dataIn,
  invalidAnswer,
  neededVersionOf,
  readAnswerData,
  readAnswerJson,
  textOf,
} from '../../../../src/client/answers.js'
import type { ClientChange } from '../../../../src/client/client-changes.js'
import { ClientError } from '../../../../src/client/client-error.js'
import type { Client, ClientRow, ClientTableInfo } from '../../../../src/client/client-types.js'
import { type ClientRequest, Requests } from '../../../../src/client/requests.js'
import { tablePath } from '../../../../src/client/table-operation.js'
import { watchChanges } from '../../../../src/client/watch-changes.js'
import { parseJson } from './json-text.js'

/** A kind is any string: a server that is newer than the page may have kinds that the client does not know. */
export type ColumnType = Readonly<{ kind: string; items?: Readonly<{ kind: string }> }>
export type Column = Readonly<{ id: string; displayName?: string; type: ColumnType }>
export type Schema = Readonly<{ columns: readonly Column[] }>

/** The description of a table in the body of an answer. Unlike the client's, its version is a number. */
export type TableInfo = Omit<ClientTableInfo, 'schema' | 'version'> &
  Readonly<{ schema: Schema; version: number }>
export type TableName = Pick<TableInfo, 'id' | 'name'>

export type Row = ClientRow

export type VersionedRow = Readonly<{ row: Row; version: number }>

export type RowsRequest = Readonly<{
  from?: number | undefined
  limit: number
  continuation?: string | undefined
  where?: object | undefined
  /** A text that must occur in some column of text, in upper or lower case. */
  search?: string | undefined
  searchIgnoreAccents?: true | undefined
  sort?: readonly Readonly<{ column: string; descending: boolean; ignoreCase?: true }>[] | undefined
  columns?: readonly string[] | undefined
  /** Whether all rows that match are counted. */
  total?: boolean
}>

/** Which rows, in which order, with which columns. */
export type RowsQuery = Pick<
  RowsRequest,
  'where' | 'search' | 'searchIgnoreAccents' | 'sort' | 'columns'
>

export type RowsPage = Readonly<{
  rows: readonly Row[]
  continuation: string | undefined
  version: number
  /** Only if it was asked for. */
  total?: number | undefined
}>

/** Rows with equal values. */
export type Group = Readonly<{ values: Readonly<Record<string, unknown>>; count: number }>

/** `booleans`: the words for true and false. */
type Conversion = Readonly<{ column: string; type: ColumnType; booleans?: readonly string[] }>

/** `row`: from 0 in the table. `value`: its JSON. */
export type ConversionCheck = Readonly<{
  rows: number
  problems: readonly Readonly<{ row: number; value?: string; rule: string }>[]
  problemCount: number
}>

/** What is staged under an ID. Times are in milliseconds since 1970. */
export type StashInfo = Awaited<ReturnType<Client['stashes']>>[number]

export type JobInfo = Readonly<{
  id: string
  kind: string
  tableID: string
  status: string
  createdAt: number
}>

export type UploadInfo = Readonly<{
  id: string
  appID: string
  fileName: string
  contentType: string
  bytes?: number
  createdAt: number
  endsAt: number
}>

export type FileInfo = Readonly<{
  id: string
  url: string
  fileName: string
  contentType: string
  bytes: number
  completedAt: number
  keptUntil: number
}>

/** What a server did in five minutes. Those without a request have no sample. `at`: their beginning. */
export type DaySample = Readonly<
  Record<'at' | 'requests' | 'failed' | 'rowsIn' | 'rowsOut' | 'commits' | 'writtenBytes', number> &
    Partial<Record<'medianSeconds' | 'slowSeconds' | 'memoryBytes' | 'cacheBytes', number>>
>

/** `seconds`: the length of the time that a sample covers. */
export type Day = Readonly<{ seconds: number; samples: readonly DaySample[] }>

export type FilesPage = Readonly<{ data: readonly FileInfo[]; continuation?: string }>

/** Attempts for each request. Their pauses are together long enough for a server to start again. */
const TRIES_MAX = 8

/** Who made a version of a table, when, and of how many rows. */
export type TableChange = Readonly<{
  version: number
  operation: string
  at: number
  author?: string
  note?: string
  counts: Readonly<{ added: number; changed: number; removed: number }>
}>

type Signal = AbortSignal | undefined

export class Api {
  readonly requests: Requests
  /** Called when a request has failed and will be repeated after a pause. */
  onRetry: () => void = () => undefined
  /** The URL of the contract, without a slash at the end. */
  readonly url: string
  /** null: the session has the right to see metrics; undefined: nobody has given a key. */
  adminKey: string | undefined | null

  /** Sends requests that are not repeated after a failure. */
  readonly #once: Requests

  constructor(url: string, key: string, adminKey: string | undefined | null) {
    this.url = url
    this.adminKey = adminKey
    this.requests = makeRequests(url, key, TRIES_MAX, () => this.onRetry())
    this.#once = makeRequests(url, key, 1)
  }

  async tables(signal?: Signal): Promise<readonly TableName[]> {
    return this.#get('/tables', listOf<TableName>, signal)
  }

  async info(tableId: string, signal?: Signal): Promise<TableInfo> {
    const read = (answer: Response) => readAnswerData<TableInfo>(answer, { schema: 'object' })
    return this.#get(tablePath(tableId), read, signal)
  }

  /** The current version of a table, if it is later than the known one. @returns undefined: it is not */
  async newerVersion(tableId: string, known: number, signal?: Signal): Promise<number | undefined> {
    const path = `${tablePath(tableId)}/rows`
    const headers = conditionHeaders(undefined, String(known))
    const request = { method: 'HEAD', path, headers, signal }
    try {
      return Number(await this.#send(request, neededVersionOf))
    } catch (failure) {
      if (failure instanceof ClientError && failure.status === 304) return undefined
      throw failure
    }
  }

  /** The changes of a table after a version, as they are made. It fails if there is no feed, or the feed is lost. */
  changes(
    tableId: string,
    since: number,
    signal: AbortSignal,
  ): AsyncIterable<Pick<ClientChange, 'version' | 'counts'>> {
    return watchChanges(this.#once, tableId, { since: String(since), signal })
  }

  async rows(tableId: string, request: RowsRequest, signal?: Signal): Promise<RowsPage> {
    const path = `${tablePath(tableId)}/rows?${queryOf(request)}`
    const read = async (answer: Response): Promise<RowsPage> => {
      const page = await readAnswerJson(answer, parseJson)
      return {
        rows: dataIn<Row[]>(answer, page, 'list'),
        continuation: page['continuation'] as string | undefined,
        version: Number(neededVersionOf(answer)),
        total: page['total'] as number | undefined,
      }
    }
    return this.#get(path, read, signal)
  }

  /** The rows of one version as a file. When `signal` is aborted, the rest of the file is not sent. */
  async exported(
    tableId: string,
    request: Omit<RowsRequest, 'limit'> & Readonly<{ format: string }>,
    signal: AbortSignal,
  ): Promise<Readonly<{ body: ReadableStream<Uint8Array<ArrayBuffer>>; version: number }>> {
    const path = `${tablePath(tableId)}/export?${queryOf(request)}`
    const read = (answer: Response) => {
      if (answer.body === null) throw invalidAnswer(answer, 'has no rows')
      return { body: answer.body, version: Number(neededVersionOf(answer)) }
    }
    return this.#get(path, read, signal)
  }

  /** The largest groups of the rows that match, by the values of a column. */
  async groups(
    tableId: string,
    by: string,
    request: RowsRequest,
    signal?: Signal,
  ): Promise<readonly Group[]> {
    const query = new URLSearchParams([['by', JSON.stringify([by])]])
    const read = (answer: Response) => readAnswerData<readonly Group[]>(answer, 'list', parseJson)
    return this.#get(`${tablePath(tableId)}/groups?${query}&${queryOf(request)}`, read, signal)
  }

  /**
   * A row with its own version.
   * @param at - The version of the table in which the row is read; fails with history_gone if it is no longer kept.
   */
  async row(tableId: string, rowId: string, at?: number): Promise<VersionedRow> {
    const query = at === undefined ? '' : `?at=${at}`
    const path = `${tablePath(tableId)}/rows/${encodeURIComponent(rowId)}${query}`
    return this.#get(path, async (answer) => ({
      row: await readAnswerData<Row>(answer, { $rowID: 'string' }, parseJson),
      version: Number(neededVersionOf(answer)),
    }))
  }

  /** The change that made a version of a table. Fails with history_gone if it is no longer kept. */
  async change(tableId: string, version: number): Promise<TableChange> {
    const read = (answer: Response) => readAnswerData<TableChange>(answer, { at: 'number' })
    return this.#get(`${tablePath(tableId)}/changes/${version}`, read)
  }

  /** All changes after a version. Fails with history_gone if they are not all kept. */
  async pastChanges(tableId: string, since: number): Promise<readonly TableChange[]> {
    return this.#get(`${tablePath(tableId)}/changes?since=${since}`, listOf<TableChange>)
  }

  /** Changes the name of a table and its columns. Fails if `version` is no longer the table's version. */
  async alter(
    tableId: string,
    version: number,
    change: Readonly<{ name: string; schema: Schema; drop?: readonly string[] }>,
  ): Promise<void> {
    await this.#alter(tableId, change, { 'if-match': `"${version}"` })
  }

  async setKey(tableId: string, key: readonly string[] | null): Promise<void> {
    await this.#alter(tableId, { key }, {})
  }

  /** Which cells would not fit if a column had another type. Changes nothing. */
  async checkConversion(
    tableId: string,
    conversion: Conversion,
    signal: AbortSignal,
  ): Promise<ConversionCheck> {
    const path = '/convert?validate=only'
    return this.#convert(tableId, path, conversion, signal, (answer) =>
      readAnswerData<ConversionCheck>(answer, { problems: 'list', problemCount: 'number' }),
    )
  }

  /** Changes the type of a column, and converts its cells. */
  async convert(tableId: string, conversion: Conversion): Promise<void> {
    await this.#convert(tableId, '/convert', conversion, undefined, readAnswerJson)
  }

  #convert<T>(
    tableId: string,
    path: string,
    conversion: Conversion,
    signal: Signal,
    read: Read<T>,
  ): Promise<T> {
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify(conversion)
    const request = { method: 'POST', path: tablePath(tableId) + path, headers, body, signal }
    return this.#send(request, read)
  }

  async #alter(tableId: string, change: object, condition: object): Promise<void> {
    const headers = { 'content-type': 'application/json', ...condition }
    const body = JSON.stringify(change)
    await this.#send({ method: 'PATCH', path: tablePath(tableId), headers, body }, readAnswerJson)
  }

  /** How many cells of a column are not empty. */
  async countValues(tableId: string, column: string): Promise<number | undefined> {
    const where = { [column.replace(/^\$/, '$$$$')]: { isEmpty: false } }
    return (await this.rows(tableId, { where, columns: [column], limit: 1, total: true })).total
  }

  async stashes(signal?: Signal): Promise<readonly StashInfo[]> {
    return this.#get('/stashes', listOf<StashInfo>, signal)
  }

  async deleteStash(stashId: string): Promise<void> {
    await this.#send({ method: 'DELETE', path: `/stashes/${stashId}` }, readAnswerJson)
  }

  async jobs(signal?: Signal): Promise<readonly JobInfo[]> {
    return this.#get('/jobs', listOf<JobInfo>, signal)
  }

  async uploads(signal?: Signal): Promise<readonly UploadInfo[]> {
    return this.#get('/uploads', listOf<UploadInfo>, signal)
  }

  async files(continuation?: string, signal?: Signal): Promise<FilesPage> {
    const query = continuation === undefined ? '' : `?continuation=${continuation}`
    const read = async (answer: Response): Promise<FilesPage> => {
      const page = await readAnswerJson(answer)
      return { ...page, data: dataIn<FileInfo[]>(answer, page, 'list') }
    }
    return this.#get(`/files${query}`, read, signal)
  }

  async deleteFile(fileId: string): Promise<void> {
    await this.#send(
      { method: 'DELETE', path: `/files/${encodeURIComponent(fileId)}` },
      readAnswerJson,
    )
  }

  async deleteTable(tableId: string): Promise<void> {
    await this.#send({ method: 'DELETE', path: tablePath(tableId) }, readAnswerJson)
  }

  /** The metrics in the text format of Prometheus. */
  async metrics(signal?: Signal): Promise<string> {
    return this.#asAdmin({ method: 'GET', path: '/metrics', signal }, textOf)
  }

  /** What the server did in its last day. */
  async day(signal?: Signal): Promise<Day> {
    const request = { method: 'GET', path: '/admin/day', signal }
    return this.#asAdmin(request, (answer) => readAnswerData<Day>(answer, { samples: 'list' }))
  }

  /** Lines of JSON, as `POST /admin/verify` answers them. */
  async verify(isFull: boolean, signal: AbortSignal): Promise<Response> {
    const path = `/admin/verify${isFull ? '?full=true' : ''}`
    return this.#asAdmin({ method: 'POST', path, signal }, (answer) => answer)
  }

  #asAdmin<T>(request: Omit<ClientRequest, 'isRepeatable'>, read: Read<T>): Promise<T> {
    const { adminKey } = this
    if (adminKey === null) return this.#send(request, read)
    const requests = makeRequests(this.url, adminKey ?? '-', 1)
    return requests.send({ isRepeatable: false, ...request }, read)
  }

  #get<T>(path: string, read: Read<T>, signal?: Signal): Promise<T> {
    return this.#send({ method: 'GET', path, signal }, read)
  }

  #send<T>(request: Omit<ClientRequest, 'isRepeatable'>, read: Read<T>): Promise<T> {
    return this.requests.send({ isRepeatable: true, ...request }, read)
  }
}

type Read<T> = (answer: Response) => T | Promise<T>

function listOf<T>(answer: Response): Promise<readonly T[]> {
  return readAnswerData(answer, 'list')
}

function makeRequests(
  url: string,
  key: string,
  triesMax: number,
  onRetry: () => void = () => undefined,
): Requests {
  return new Requests({ url, key, triesMax, onRetry, fetch: (...given) => fetch(...given) })
}

/** The query of a URL: members that are undefined are left out, texts stay as they are, all others become JSON. */
export function queryOf(request: Partial<RowsRequest>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(request)) {
    if (value === undefined) continue
    query.set(name, typeof value === 'string' ? value : JSON.stringify(value))
  }
  return query.toString()
}

/** Whether a failure says that the key is not known, or may not do this. */
export function isRefused(failure: unknown): boolean {
  if (!(failure instanceof ClientError)) return false
  return failure.type === 'scope_missing' || /^API key not found/.test(failure.message)
}
