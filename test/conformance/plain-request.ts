// Sends a plain request to a server of the suite, and makes one for each operation of the document.
import type { OperationAt } from '../support/openapi.js'
import type { SendOptions } from './contract/api.js'
import type { ContractServer } from './contract-suite.js'

export type PlainReply = Readonly<{ status: number; json: unknown }>

/** Sends a request, and reports it to the server with its answer. */
export async function send(
  server: ContractServer,
  method: string,
  path: string,
  { body, type = 'application/json', key = server.key }: SendOptions = {},
): Promise<PlainReply> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const headers = {
    ...(key === null ? {} : { authorization: `Bearer ${key}` }),
    ...(type !== null && text !== undefined && { 'content-type': type }),
  }
  const sent = text === undefined ? { method, headers } : { method, headers, body: text }
  const response = await fetch(server.url + path, sent)
  const answer = await response.text()
  server.onExchange?.({
    method,
    path,
    status: response.status,
    headers: response.headers,
    text: answer,
    request: { headers: new Headers(headers), text },
  })
  const isJson = response.headers.get('content-type')?.startsWith('application/json')
  return { status: response.status, json: isJson && answer ? JSON.parse(answer) : undefined }
}

/** Valid bodies by operation. */
const BODIES: Readonly<Record<string, unknown>> = {
  createTable: { name: 'T', rows: [] },
  importTable: { fromUrl: 'http://source.test/rows.csv' },
  updateRow: {},
  updateRows: [],
  convertColumn: { column: 'n', type: 'string' },
  createUpload: { contentType: 'image/png', fileName: 'a.png' },
  putUpload: 'x',
  addKey: { teamID: 'first' },
}

/** Queries that operations require. */
const QUERIES: Readonly<Record<string, string>> = { mergeRows: '?key=n' }

/** A request that reaches the store. */
export function requestOf({
  id,
  method,
  path,
  requestContent,
}: OperationAt): SendOptions & Readonly<{ method: string; path: string }> {
  const body = requestContent.size === 0 ? undefined : (BODIES[id] ?? [])
  return { method, path: path.replace(/\{\w+\}/g, 'x') + (QUERIES[id] ?? ''), body }
}
