/**
 * A client of a server of the contract: a rowstash server, or the hosted service. It needs only `fetch`.
 * @module rowstash/client
 */

import {
  booleanOption,
  checkFunctionOption,
  checkOptions,
  integerOption,
  optionError,
  shown,
  typeName,
} from '../base/options.js'
import type { StashEntry } from '../engine/types/row-types.js'
import type { AnySchema } from '../schema/row-types.js'
import { readAnswerData, textOf } from './answers.js'
import { checkCall, checkIdArgument, checkNameArgument, checkNames } from './call-options.js'
import { invalidCall } from './client-error.js'
import type {
  Abortable,
  Client,
  ClientOptions,
  ClientTable,
  TypedClientTable,
  UploadOptions,
} from './client-types.js'
import { checkImportOptions } from './import-options.js'
import { checkRows, deleteStash, importRows } from './import-rows.js'
import type {
  ImportCheck,
  ImportInput,
  ImportOptions,
  ImportResult,
  ImportTarget,
  SendOptions,
} from './import-types.js'
import { isBlob, ownBlob } from './own-realm.js'
import { requestChunks } from './remote-stash.js'
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

/**
 * The default of `triesMax` until a server has answered: the URL is more likely wrong than the server just starting.
 */
const UNREACHED_TRIES_MAX = 3

const OF_UPLOAD = [
  'appId',
  'fileName',
  'contentType',
  'onProgress',
  'signal',
] satisfies (keyof UploadOptions)[]

/**
 * Creates a client of a server of the contract, without sending a request.
 * @throws {StoreError} OPTION_NOT_ALLOWED
 * @example
 * import { createClient } from 'rowstash/client'
 *
 * const client = createClient({ url, key })
 * const { tableId } = await client.importRows([{ id: 1, paid: false }], { name: 'Orders' })
 * const table = client.table(tableId)
 * for await (const { $rowID } of table.scan()) await table.updateRow($rowID, { paid: true })
 * console.log((await table.page()).rows.map(({ paid }) => paid)) // [true]
 */
export function createClient(options: ClientOptions): Client {
  checkOptions('createClient', options)
  checkNames('createClient', options, OPTIONS)
  const { key, onRetry = () => undefined, fetch = globalThis.fetch } = options
  checkApiKey(key)
  checkFunctionOption('onRetry', onRetry)
  checkFunctionOption('fetch', fetch)
  const idempotencyKeys = booleanOption('idempotencyKeys', options.idempotencyKeys, true)
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

function checkApiKey(given: unknown): void {
  if (given === '') throw optionError('key', 'is empty; it must be an API key of the server')
  if (typeof given === 'string' && isHeaderText(given.trim())) return
  throw optionError('key', `must be an API key of the server, not ${typeName(given)}`)
}

/** Whether a text can be sent in a header. With other characters, fetch fails as if the server had not answered. */
function isHeaderText(text: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(text)
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

  async tables(options: Abortable = {}) {
    checkCall('tables', options, ['signal'])
    const { signal } = options
    const request = { method: 'GET', path: '/tables', isRepeatable: true, signal }
    return this.#requests.send(request, (answer) =>
      readAnswerData<{ id: string; name: string }[]>(answer, 'list'),
    )
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
    checkNameArgument(name)
    checkCall('tableByName', options, ['signal'])
    const found = (await this.tables(options)).find((table) => table.name === name)
    return found === undefined ? null : this.table(found.id)
  }

  async importRows(input: ImportInput, options: ImportOptions): Promise<ImportResult> {
    const settings = checkImportOptions('importRows', options)
    return importRows(this.#requests, input, settings, this.#hasIdempotencyKeys)
  }

  async checkRows(input: ImportInput, options: ImportTarget & SendOptions): Promise<ImportCheck> {
    return checkRows(this.#requests, input, checkImportOptions('checkRows', options))
  }

  async stashes(options: Abortable = {}) {
    checkCall('stashes', options, ['signal'])
    const { signal } = options
    const request = { method: 'GET', path: '/stashes', isRepeatable: true, signal }
    return this.#requests.send(request, (answer) => readAnswerData<StashEntry[]>(answer, 'list'))
  }

  async stashChunks(stashId: string, options: Abortable = {}) {
    checkIdArgument('stashId', stashId)
    checkCall('stashChunks', options, ['signal'])
    return requestChunks(this.#requests, stashId, options.signal)
  }

  async deleteStash(stashId: string, options: Abortable = {}): Promise<void> {
    checkIdArgument('stashId', stashId)
    checkCall('deleteStash', options, ['signal'])
    await deleteStash(this.#requests, stashId, options)
  }

  async upload(file: Blob, options: UploadOptions): Promise<Readonly<{ url: string }>> {
    if (!isBlob(file)) {
      const problem = `upload takes a Blob or a File, not ${typeName(file)}`
      throw invalidCall(`${problem}; wrap bytes in new Blob([bytes])`)
    }
    checkCall('upload', options ?? {}, OF_UPLOAD)
    const { appId, signal, onProgress } = options ?? {}
    if (appId === undefined) throw optionError('appId', 'is missing: every file belongs to an app')
    const { fileName = (file as Partial<File>).name ?? 'file' } = options
    const contentType = options.contentType || file.type || 'application/octet-stream'
    const path = `/apps/${encodeURIComponent(appId)}/uploads`
    const about = { contentType, contentLength: file.size, fileName }
    const { uploadID, uploadLocation } = await this.#post(path, about, signal, {
      uploadID: 'string',
      uploadLocation: 'string',
    })
    const put = {
      method: 'PUT',
      path: new URL(uploadLocation),
      headers: { 'content-type': contentType },
      body: await ownBlob(file),
      isRepeatable: true,
      signal,
      onProgress,
    }
    await this.#requests.send(put, textOf)
    onProgress?.(file.size)
    const complete = `${path}/${encodeURIComponent(uploadID)}/complete`
    return this.#post(complete, undefined, signal, { url: 'string' })
  }

  #post<Name extends string>(
    path: string,
    body: unknown,
    signal: AbortSignal | undefined,
    shape: Readonly<Record<Name, 'string'>>,
  ): Promise<Readonly<Record<Name, string>>> {
    const request = {
      method: 'POST',
      path,
      ...(body === undefined
        ? {}
        : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      isRepeatable: true,
      signal,
    }
    return this.#requests.send(request, (answer) => readAnswerData(answer, shape))
  }
}
