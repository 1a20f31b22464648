// The HTTP contract over a store (CONTRACT.md): one request in, one answer out, never a throw.
//
// Order of refusals (CONTRACT.md, section 1): key, path, method, query and headers, table 404, body
// 400/413/415, row 404, If-Match 412, data 422. This file makes the first three checks, the operations make the
// others. Routes without a key (public-routes.ts) are recognized by their path before a key is looked for.
import { BufferPool } from '../base/buffer-pool.js'
import type { Bytes } from '../base/bytes.js'
import { isRecord, typeName } from '../base/options.js'
import { StoreError } from '../base/store-error.js'
import type { Store, StoreLimits } from '../engine/api/store-types.js'
import { digestRequest } from '../engine/table/request-digest.js'
import { answerAdmin, isAdminPath } from './admin.js'
import { chargedAnswer, openAnswerRoom } from './answer-memory.js'
import { createAuthenticate, createAuthenticateAdmin, ownerOf } from './auth.js'
import { parseOrigin } from './base-url.js'
import type { BaseUrls, Call, Operation } from './call.js'
import type { ContractOptions, ResolvedContractOptions } from './contract-options.js'
import { resolveContractOptions } from './contract-options.js'
import { errorResponse } from './error-response.js'
import type { BudgetSize } from './memory-accounts.js'
import { MemoryBudget } from './memory-budget.js'
import type { ContractRequest, ContractResponse } from './message.js'
import { answerOpenly, shareWithPages, watched } from './public-routes.js'
import { parseQuery } from './query.js'
import { type ReceivedBody, withBody } from './read-body.js'
import { methodNotAllowed } from './refusal.js'
import type { OpenRoute, Route } from './router.js'
import { matchOpenRoute, matchRoute } from './router.js'
import { addRows, deleteRow, headRows, listRows, readRow, updateRow } from './rows.js'
import { deleteStash, putChunk } from './stashes.js'
import { createTable, listTables, overwriteTable } from './tables.js'
import { completeUpload, createUpload } from './uploads.js'

const BODIES = 'bodies of requests (bodyBytesInFlightMax)'
const ANSWERS = 'answers (answerBytesInFlightMax)'

/** Buffers of bodies that are kept for the next ones. */
const BUFFER_BYTES_MAX = 8 * 1024 * 1024

export interface Contract {
  /** Answers a request. Never rejects: a failure of any kind is an answer. */
  handle(request: ContractRequest): Promise<ContractResponse>
}

/**
 * Serves a store by the contract.
 *
 * @throws {StoreError} OPTION_NOT_ALLOWED
 */
export function createContract(store: Store, options: ContractOptions): Contract {
  checkStore(store)
  const resolved = resolveContractOptions(options)
  const authenticate = createAuthenticate(resolved)
  const authenticateAdmin = createAuthenticateAdmin(resolved.adminKeys)
  const answers = new MemoryBudget(answerBudget(store.limits, resolved), ANSWERS)
  const bodyLimits = bodyLimitsOf(resolved)

  async function answer(request: ContractRequest): Promise<ContractResponse> {
    const teamId = await authenticate(request.headers)
    request.onKey?.()
    const operation = chooseOperation(matchRoute(request.path), request.method)
    const call: Call = {
      team: store.team(teamId),
      query: parseQuery(request.query),
      headers: request.headers,
      pageRowsMax: store.limits.pageRowsMax,
      apps: resolved.apps,
      owner: () => ownerOf(request.headers),
      baseUrls: () => baseUrlsOf(request, resolved),
      digest: (body) => digestOf(request, body),
      openAnswerRoom: () => openAnswerRoom(answers, teamId),
      receive: (formats, use) => withBody(request, formats, { ...bodyLimits, team: teamId }, use),
    }
    const make = () => operation(call)
    const isRead = request.method === 'GET' // What is read may be read again, and HEAD sends nothing.
    const made = await (isRead ? chargedAnswer(make, call.openAnswerRoom) : make())
    return { ...made, body: watched(made.body, resolved.onFailure) }
  }

  function route(request: ContractRequest, open: OpenRoute | undefined): Promise<ContractResponse> {
    if (open !== undefined) return answerOpenly(store, request, open, resolved.onFailure)
    if (resolved.adminKeys.length === 0 || !isAdminPath(request.path)) return answer(request)
    return answerAdmin(store, request, authenticateAdmin, resolved.onFailure)
  }

  return {
    async handle(request) {
      if (!isRequest(request)) return errorResponse(noRequest(request))
      const open = matchOpenRoute(request.path)
      let isKeyRefused = open === undefined
      const onKey = () => {
        isKeyRefused = false
        request.onKey?.()
      }
      const answered = await route({ ...request, onKey }, open).catch((failure: unknown) => {
        const rendered = errorResponse(failure)
        if (rendered.status >= 500) resolved.onFailure(failure)
        // Who has no key holds no connection; a failing look-up of keys says nothing about the client.
        return isKeyRefused && rendered.status < 500 ? { ...rendered, close: true } : rendered
      })
      const response = open === undefined ? answered : shareWithPages(answered)
      return request.method === 'HEAD' ? { ...response, body: null } : response
    },
  }
}

function checkStore(store: Store): void {
  if (isRecord(store?.limits)) return
  const message = `A store is needed, such as openDirectory resolves to, not ${typeName(store)}`
  throw new StoreError('REQUEST_VALIDATION_ERROR', message)
}

function bodyLimitsOf({ bodyBytesMax, bodyBytesInFlightMax }: ResolvedContractOptions) {
  const size = { bytesMax: bodyBytesInFlightMax, holderBytesMax: bodyBytesMax }
  return {
    bytesMax: bodyBytesMax,
    budget: new MemoryBudget(size, BODIES),
    buffers: new BufferPool(BUFFER_BYTES_MAX),
  }
}

/** Method, path, query, media type and body: what makes a request another one. */
function digestOf({ method, path, query }: ContractRequest, body: ReceivedBody): Promise<Bytes> {
  const about = ['http', method, path.replace(/\/$/, ''), query, body.format]
  return digestRequest(about, body.bytes)
}

/** Whether an adapter has handed over what it must. */
function isRequest(given: unknown): given is ContractRequest {
  if (!isRecord(given) || !Array.isArray(given['headers'])) return false
  const { origin } = given
  if (origin !== undefined && typeof origin !== 'string') return false
  return ['method', 'path', 'query'].every((name) => typeof given[name] === 'string')
}

function noRequest(given: unknown): StoreError {
  const message = `handle takes { method, path, query, headers, origin, body }, not ${typeName(given)}`
  return new StoreError('REQUEST_VALIDATION_ERROR', message)
}

/** Row records that are read for a page beyond those that are on it, and a few copies of a piece. */
const PAGE_BYTES_MORE = 8 * 1024 * 1024

function answerBudget(
  { pageBytesMax }: StoreLimits,
  { answerBytesInFlightMax }: ResolvedContractOptions,
): BudgetSize {
  const holderBytesMax = pageBytesMax + PAGE_BYTES_MORE
  return { bytesMax: Math.max(answerBytesInFlightMax, holderBytesMax), holderBytesMax }
}

function baseUrlsOf({ origin }: ContractRequest, options: ResolvedContractOptions): BaseUrls {
  const api = options.baseUrl ?? parseOrigin(origin)
  return { api, files: options.publicBaseUrl ?? api }
}

/** HEAD is answered as GET would be, unless a path has its own; its body is dropped above. */
function chooseOperation(route: Route, method: string): Operation {
  const operations = operationsOf(route)
  const own = operations.get(method) ?? (method === 'HEAD' ? operations.get('GET') : undefined)
  if (own !== undefined) return own
  const methods = [...operations.keys()]
  if (operations.has('GET') && !operations.has('HEAD')) methods.push('HEAD')
  throw methodNotAllowed(method, methods.join(', '))
}

function operationsOf(route: Route): ReadonlyMap<string, Operation> {
  switch (route.name) {
    case 'tables':
      return new Map([
        ['GET', listTables],
        ['POST', createTable],
      ])
    case 'table':
      return new Map([['PUT', (call: Call) => overwriteTable(call, route.tableId)]])
    case 'rows':
      return new Map([
        ['GET', (call: Call) => listRows(call, route.tableId)],
        ['HEAD', (call: Call) => headRows(call, route.tableId)],
        ['POST', (call: Call) => addRows(call, route.tableId)],
      ])
    case 'row':
      return new Map([
        ['GET', (call: Call) => readRow(call, route.tableId, route.rowId)],
        ['PATCH', (call: Call) => updateRow(call, route.tableId, route.rowId)],
        ['DELETE', (call: Call) => deleteRow(call, route.tableId, route.rowId)],
      ])
    case 'stash':
      return new Map([['DELETE', (call: Call) => deleteStash(call, route.stashId)]])
    case 'chunk':
      return new Map([['PUT', (call: Call) => putChunk(call, route.stashId, route.serial)]])
    case 'uploads':
      return new Map([['POST', (call: Call) => createUpload(call, route.appId)]])
    case 'completion':
      return new Map([['POST', (call: Call) => completeUpload(call, route.appId, route.uploadId)]])
  }
}
