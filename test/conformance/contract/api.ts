// The suite's client of the contract: sends requests, and compares every reply with the shapes.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type CheckedReply, checkReply } from '../contract-shapes.js'

/** A server of the contract, with keys of two teams that nobody else uses. */
export type ContractServer = Readonly<{
  /** The base URL, without a slash at the end. */
  url: string
  /** A key of a team. */
  key: string
  /** A key of another team. */
  otherKey: string
  /** Moves the server's clock forward, and lets it finish what has expired. Without it, cases of expiry do nothing. */
  later?(milliseconds: number): Promise<void>
  /** Called with every request and its answer, for checks beyond the suite's. */
  onExchange?(exchange: ContractExchange): void
  /** Stops the server, and frees its resources. */
  close(): Promise<void>
}>

/** A request and its answer. */
export type ContractExchange = Readonly<{
  /** The method, in upper case. */
  method: string
  /** Path and query as sent, without the base URL. */
  path: string
  /** The HTTP status of the answer. */
  status: number
  /** The headers of the answer. */
  headers: Headers
  /** The body of the answer as text. */
  text: string
  /** The request's headers and body. */
  request: Readonly<{
    /** The headers that were sent. */
    headers: Headers
    /** The body; undefined if there was none, or if it was not text. */
    text?: string | undefined
  }>
}>

export type SendOptions = Readonly<{
  /** Text and bytes are sent unchanged, anything else as JSON. */
  body?: unknown
  /** Content-Type. Default: JSON if there is a body. null: none. */
  type?: string | null
  headers?: Readonly<Record<string, string>>
  /** null: no Authorization header. */
  key?: string | null
}>

export type Reply = Readonly<{
  status: number
  headers: Headers
  text: string
  /** The parsed body; undefined when there is none. */
  json: unknown
}>

export type Row = Readonly<{ $rowID: string } & Record<string, unknown>>

export type TableAt = Readonly<{
  id: string
  path: string
  rows: string
  rowIds: readonly string[]
}>

export const CSV = 'text/csv'
export const TSV = 'text/tab-separated-values'

export class Api {
  constructor(readonly server: ContractServer) {}

  async send(method: string, path: string, options: SendOptions = {}): Promise<Reply> {
    const { body, headers = {}, key = this.server.key } = options
    const type =
      options.type === undefined && body !== undefined ? 'application/json' : options.type
    const isRaw = typeof body === 'string' || body instanceof Uint8Array
    const payload = isRaw ? new Uint8Array(Buffer.from(body as string)) : JSON.stringify(body)
    const sent = {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(type ? { 'content-type': type } : {}),
      ...headers,
    }
    const response = await fetch(this.server.url + path, {
      method,
      headers: sent,
      ...(body === undefined ? {} : { body: payload }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
    this.check(
      { method, path, status: response.status, headers: response.headers, text },
      { headers: new Headers(sent), text: isRaw ? undefined : JSON.stringify(body) },
    )
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: isJson && text !== '' ? JSON.parse(text) : undefined,
    }
  }

  /** Throws if a reply has none of the contract's shapes. */
  check(reply: CheckedReply, request: ContractExchange['request']): void {
    checkReply(reply)
    this.server.onExchange?.({ ...reply, request })
  }

  /** Sends a request that must succeed. */
  async ok(method: string, path: string, options: SendOptions = {}): Promise<Reply> {
    const reply = await this.send(method, path, options)
    assert.ok(reply.status < 300, `${method} ${path} answered ${reply.status} ${reply.text}`)
    return reply
  }

  /** Sends a request that must be refused. @returns the message */
  async refused(
    method: string,
    path: string,
    options: SendOptions,
    wanted: Readonly<{ status: number; type: string; message?: string | RegExp }>,
  ): Promise<string> {
    return expectRefusal(await this.send(method, path, options), wanted)
  }

  async createTable(body: Readonly<Record<string, unknown>> = {}): Promise<TableAt> {
    const { json } = await this.ok('POST', '/tables', {
      body: { name: uniqueName('table'), rows: [], ...body },
    })
    const { data } = json as { data: { tableID: string; rowIDs: string[] } }
    return tableAt(data.tableID, data.rowIDs)
  }

  /** Creates a table with these columns, `{ id: kind }`. */
  async createTyped(
    kinds: Readonly<Record<string, unknown>>,
    rows: readonly object[] = [],
  ): Promise<TableAt> {
    const columns = Object.entries(kinds).map(([id, type]) => ({ id, type }))
    return this.createTable({ schema: { columns }, rows })
  }

  async tableCount(name: string): Promise<number> {
    const { json } = await this.ok('GET', '/tables')
    const { data } = json as { data: { id: string; name: string }[] }
    return data.filter((table) => table.name === name).length
  }

  /** All rows of a table, page by page. */
  async rowsOf(table: TableAt, limit?: number): Promise<Row[]> {
    const rows: Row[] = []
    let continuation: string | undefined
    do {
      const page = await this.pageOf(table, { limit, continuation })
      rows.push(...page.data)
      continuation = page.continuation
    } while (continuation !== undefined)
    return rows
  }

  async pageOf(
    table: TableAt,
    { limit, continuation }: { limit?: number | undefined; continuation?: string | undefined } = {},
  ): Promise<Readonly<{ data: Row[]; continuation?: string; etag: string }>> {
    const query = new URLSearchParams()
    if (limit !== undefined) query.set('limit', String(limit))
    if (continuation !== undefined) query.set('continuation', continuation)
    const { json, headers } = await this.ok('GET', `${table.rows}?${query}`)
    const page = json as { data: Row[]; continuation?: string }
    return { ...page, etag: headers.get('etag') ?? '' }
  }

  /** The rows of a table without their IDs. */
  async cellsOf(table: TableAt): Promise<Readonly<Record<string, unknown>>[]> {
    return (await this.rowsOf(table)).map(({ $rowID: _, ...cells }) => cells)
  }

  /** The text of the answer to GET rows, for differences that JSON.parse hides. */
  async textOf(table: TableAt): Promise<string> {
    return (await this.ok('GET', table.rows)).text
  }

  async versionOf(table: TableAt): Promise<number> {
    const { headers } = await this.ok('HEAD', table.rows)
    return Number((headers.get('etag') ?? '').slice(1, -1))
  }

  async putChunk(stashId: string, serial: string, rows: readonly object[]): Promise<void> {
    await this.ok('PUT', `/stashes/${stashId}/${serial}`, { body: rows })
  }
}

export function expectRefusal(
  { status, text }: Pick<Reply, 'status' | 'text'>,
  wanted: Readonly<{ status: number; type: string; message?: string | RegExp }>,
): string {
  const body = JSON.parse(text) as { error?: { type: string; message: string } }
  assert.deepEqual([status, body.error?.type], [wanted.status, wanted.type], text)
  const message = body.error?.message ?? ''
  if (typeof wanted.message === 'string') assert.equal(message, wanted.message)
  else if (wanted.message !== undefined) assert.match(message, wanted.message)
  return message
}

export function tableAt(id: string, rowIds: readonly string[] = []): TableAt {
  return { id, path: `/tables/${id}`, rows: `/tables/${id}/rows`, rowIds }
}

export function rowIdsOf(reply: Reply): readonly string[] {
  return (reply.json as { data: { rowIDs: string[] } }).data.rowIDs
}

export function etagOf(reply: Reply): string {
  return reply.headers.get('etag') ?? ''
}

export function uniqueName(prefix: string): string {
  return `${prefix}-${randomUUID()}`
}

/** A case that gets the client; the suite opens its server. */
export type ContractCase = Readonly<{ name: string; run: (api: Api) => Promise<void> }>

export const VALIDATION = { status: 400, type: 'request_validation_error' } as const
export const TABLE_NOT_FOUND = { status: 404, type: 'table_not_found' } as const
export const ROW_NOT_FOUND = { status: 404, type: 'row_not_found' } as const
export const REQUEST_ERROR = { status: 404, type: 'request_error' } as const
export const PRECONDITION = { status: 412, type: 'precondition_failed' } as const
export const UNSUPPORTED = { status: 415, type: 'unsupported_media_type' } as const
export const TOO_LARGE = { status: 413, type: 'request_too_large' } as const
export const METHOD = { status: 405, type: 'method_not_allowed' } as const
export const STASH_NOT_FOUND = { status: 400, type: 'stash_not_found' } as const
export const CONTINUATION = { status: 400, type: 'continuation_invalid' } as const
export const RESERVED = { status: 422, type: 'column_id_reserved' } as const
export const NOT_UNIQUE = { status: 422, type: 'column_id_not_unique' } as const

export function unknownColumn(id: string) {
  const message = beginningWith(`Unknown column ID '${id}'`)
  return { status: 422, type: 'column_id_not_found', message } as const
}

export function invalidValue(id: string) {
  const message = beginningWith(`Invalid value for column '${id}'`)
  return { status: 422, type: 'column_has_invalid_value', message } as const
}

/** Clients match on the beginning of some messages. The place of the wrong data follows it. */
function beginningWith(phrase: string): RegExp {
  return new RegExp(`^${phrase.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&')}`)
}
