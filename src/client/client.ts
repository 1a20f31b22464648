/**
 * A client of a server of the contract: of rowstash, or of the hosted service. It needs nothing but fetch.
 * @module rowstash/client
 */

import {
  checkFunctionOption,
  checkOptionNames,
  integerOption,
  optionError,
  shown,
  typeName,
} from '../base/options.js'
import type { StashEntry } from '../engine/api/row-types.js'
import type { AnySchema } from '../schema/row-types.js'
import { ClientError } from './client-error.js'
import type {
  Abortable,
  Client,
  ClientOptions,
  ClientTable,
  TypedClientTable,
  UploadOptions,
} from './client-types.js'
import { checkRows, deleteStash, type ImportSettings, importRows } from './import-rows.js'
import type {
  ImportCheck,
  ImportInput,
  ImportOptions,
  ImportResult,
  ImportTarget,
  SendOptions,
} from './import-types.js'
import { listChunks } from './remote-stash.js'
import { RemoteTable } from './remote-table.js'
import { Requests } from './requests.js'

export { isStoreError } from '../base/store-error.js'
export { defineSchema } from '../schema/define-schema.js'
export type { Row } from '../schema/row-types.js'
export { type ChunkPlace, ClientError } from './client-error.js'
export type * from './client-types.js'

const OPTIONS: readonly string[] = [
  'url',
  'key',
  'triesMax',
  'idempotencyKeys',
  'onRetry',
  'fetch',
] satisfies (keyof ClientOptions)[]

const TRIES = { default: 8, min: 1, max: 100 }

/** The default until a server has answered: more likely the URL is wrong than a server is just starting. */
const UNREACHED_TRIES_MAX = 3

const CHUNK_BYTES = { default: 1024 ** 2, min: 1_024, max: 8 * 1024 ** 2 }
const PARALLEL = { default: 4, min: 1, max: 64 }
const START_AT = { default: 0, min: 0, max: 2 ** 30 }

const STASH_ID = /^[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}$/

/**
 * Makes a client of a server of the contract. Nothing is asked yet.
 * @throws {StoreError} OPTION_NOT_ALLOWED
 * @example
 * import { createClient } from 'rowstash/client'
 *
 * const client = createClient({ url, key })
 * const { tableId } = await client.importRows([{ id: 1, paid: false }], { name: 'Orders' })
 * const table = client.table(tableId)
 * for await (const { $rowID } of table.rows()) await table.updateRow($rowID, { paid: true })
 * console.log((await table.page()).rows.map(({ paid }) => paid)) // [true]
 */
export function createClient(options: ClientOptions): Client {
  checkOptionNames('createClient', options, (name) => OPTIONS.includes(name), OPTIONS)
  const { key, idempotencyKeys = true, onRetry = () => undefined } = options
  const { fetch = globalThis.fetch } = options
  checkKey(key)
  const triesMax = integerOption('triesMax', options.triesMax, TRIES)
  const sending = {
    url: checkUrl(options.url),
    key,
    triesMax,
    unreachedTriesMax: options.triesMax === undefined ? UNREACHED_TRIES_MAX : triesMax,
    advice: options.onRetry === undefined ? '; see triesMax and onRetry' : '',
    onRetry,
    fetch: ((...request) => fetch(...request)) as typeof globalThis.fetch,
  }
  return new RemoteTeam(new Requests(sending), idempotencyKeys)
}

function checkKey(given: unknown): void {
  if (given === '') throw optionError('key', 'is empty; it must be an API key of the server')
  if (typeof given === 'string') return
  throw optionError('key', `must be an API key of the server, not ${typeName(given)}`)
}

function checkUrl(given: unknown): string {
  const url = typeof given === 'string' && URL.canParse(given) ? new URL(given) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw optionError('url', `must be an http or https URL, not ${shown(given)}`)
  }
  return url.origin + url.pathname.replace(/\/+$/, '')
}

class RemoteTeam implements Client {
  readonly #requests: Requests
  readonly #hasIdempotencyKeys: boolean

  constructor(requests: Requests, hasIdempotencyKeys: boolean) {
    this.#requests = requests
    this.#hasIdempotencyKeys = hasIdempotencyKeys
  }

  async tables({ signal }: { signal?: AbortSignal | undefined } = {}) {
    const request = { method: 'GET', path: '/tables', isRepeatable: true, signal }
    const answer = await this.#requests.send(request)
    return ((await answer.json()) as { data: { id: string; name: string }[] }).data
  }

  table<S extends AnySchema>(tableId: string, schema: S): TypedClientTable<S>
  table(tableId: string): ClientTable
  table<S extends AnySchema>(tableId: string, _schema?: S): ClientTable | TypedClientTable<S> {
    return new RemoteTable(this.#requests, tableId, this.#hasIdempotencyKeys)
  }

  tableByName<S extends AnySchema>(
    name: string,
    schema: S,
    options?: Abortable,
  ): Promise<TypedClientTable<S> | null>
  tableByName(name: string, schema?: undefined, options?: Abortable): Promise<ClientTable | null>
  async tableByName<S extends AnySchema>(
    name: string,
    _schema?: S,
    options?: Abortable,
  ): Promise<ClientTable | TypedClientTable<S> | null> {
    const found = (await this.tables(options)).find((table) => table.name === name)
    return found === undefined ? null : this.table(found.id)
  }

  async importRows(input: ImportInput, options: ImportOptions): Promise<ImportResult> {
    return importRows(this.#requests, input, checkImport(options), this.#hasIdempotencyKeys)
  }

  async checkRows(input: ImportInput, options: ImportTarget & SendOptions): Promise<ImportCheck> {
    return checkRows(this.#requests, input, checkImport(options))
  }

  async stashes({ signal }: Abortable = {}) {
    const request = { method: 'GET', path: '/stashes', isRepeatable: true, signal }
    const answer = await this.#requests.send(request)
    return ((await answer.json()) as { data: StashEntry[] }).data
  }

  stashChunks(stashId: string, { signal }: Abortable = {}) {
    return listChunks(this.#requests, stashId, signal)
  }

  async deleteStash(stashId: string, options: Abortable = {}): Promise<void> {
    await deleteStash(this.#requests, stashId, options)
  }

  async upload(file: Blob, options: UploadOptions): Promise<Readonly<{ url: string }>> {
    const { appId, signal, onProgress } = options
    checkFunctionOption('onProgress', onProgress)
    const { fileName = (file as Partial<File>).name ?? 'file' } = options
    const contentType = options.contentType || file.type || 'application/octet-stream'
    const path = `/apps/${encodeURIComponent(appId)}/uploads`
    const about = { contentType, contentLength: file.size, fileName }
    const { uploadID, uploadLocation } = await this.#post<{
      uploadID: string
      uploadLocation: string
    }>(path, about, signal)
    await this.#requests.send({
      method: 'PUT',
      path: new URL(uploadLocation),
      headers: { 'content-type': contentType },
      body: file,
      isRepeatable: true,
      signal,
      onProgress,
    })
    onProgress?.(file.size)
    return this.#post(`${path}/${encodeURIComponent(uploadID)}/complete`, undefined, signal)
  }

  async #post<T>(path: string, body: unknown, signal: AbortSignal | undefined): Promise<T> {
    const answer = await this.#requests.send({
      method: 'POST',
      path,
      ...(body === undefined
        ? {}
        : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      isRepeatable: true,
      signal,
    })
    return ((await answer.json()) as { data: T }).data
  }
}

/** @throws {StoreError} OPTION_NOT_ALLOWED */
function checkImport(options: ImportOptions): ImportSettings {
  const { stashId, resume = false, startAt } = options
  if (stashId !== undefined && !STASH_ID.test(stashId)) {
    throw optionError('stashId', `must be 1 to 64 letters, digits, - and _, not ${shown(stashId)}`)
  }
  if (resume && stashId === undefined) throw optionError('resume', 'needs a `stashId`')
  if (resume && startAt !== undefined)
    throw optionError('startAt', 'cannot be combined with `resume`')
  if (!('name' in options) && !('tableId' in options)) {
    throw new ClientError('importRows needs a `name` for a new table, or a `tableId`', 0)
  }
  checkFunctionOption('onProgress', options.onProgress)
  return {
    ...options,
    startAt: integerOption('startAt', startAt, START_AT),
    chunkBytes: integerOption('chunkBytes', options.chunkBytes, CHUNK_BYTES),
    parallel: integerOption('parallel', options.parallel, PARALLEL),
  }
}
