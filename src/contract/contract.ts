// The HTTP contract over a store (CONTRACT.md): a function from requests to responses that never rejects.
import { monotonicMs } from '../base/clock.js'
import { isRecord, typeName } from '../base/options.js'
import { StoreError } from '../base/store-error.js'
import { lentBuffersOf } from '../engine/arguments/lent-buffers.js'
import type { Store, StoreLimits } from '../engine/types/store-types.js'
import { createTeamAnswer } from './answer-team.js'
import type { BodyLimits } from './bodies/collect-body.js'
import { type Receive, type ReceiveFor, withBody } from './bodies/read-body.js'
import { reportAnswer, type SeenRequest } from './calls/access-log.js'
import type { ContractOptions, ResolvedContractOptions } from './calls/contract-options.js'
import { resolveContractOptions } from './calls/contract-options.js'
import { tellAudit } from './calls/hooks.js'
import type { OnRoute, Sender } from './calls/order-of-refusals.js'
import { createEntries } from './entries.js'
import { shared } from './http/cors.js'
import { errorResponse } from './http/error-response.js'
import type { ContractRequest, ContractResponse } from './http/message.js'
import { busy } from './http/refusal.js'
import { createPathTest, isAdminPath, matchOpenRoute } from './http/router.js'
import type { BudgetSize } from './memory/memory-accounts.js'
import { MemoryBudget } from './memory/memory-budget.js'
import { OpenFeeds } from './memory/open-feeds.js'
import { Metrics, NO_OPERATION } from './metrics/metrics.js'
import { ROUTES } from './routes.js'

/** Headers of all answers. An answer's own headers of the same names replace them. */
const SECURITY_HEADERS = Object.freeze({
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-cache',
})

const isTeamPath = createPathTest(ROUTES.map(([method, path]) => [method, path, undefined]))

const BODIES = 'bodies of requests (bodyBytesInFlightMax)'
const ANSWERS = 'answers (answerBytesInFlightMax)'

/**
 * The HTTP contract of a store, without a server. `createContract` makes one; `nodeHandler` and `fetchHandler` make
 * their own.
 */
export interface Contract {
  /** Handles a request. Never rejects: every failure becomes a response. */
  handle(request: ContractRequest): Promise<ContractResponse>
  /**
   * Whether a path, as in `ContractRequest`, belongs to the contract, so that a host can route all other paths itself.
   * What the IDs in the path name need not exist.
   */
  isRoute(path: string): boolean
  /** All metrics in the text format of Prometheus, as `GET /metrics` returns them for an admin key. */
  metrics(): string
  /**
   * Counts the bytes of an answer for the metrics, if its body is text or bytes. The adapter calls it for each such
   * answer, because it knows the encoded length. Bodies in pieces are counted by the contract, as the pieces are read.
   */
  countSent(bytes: number): void
}

/**
 * Serves a store by the contract.
 *
 * @throws {StoreError} OPTION_NOT_ALLOWED
 * @example
 * import { createContract } from 'rowstash'
 *
 * const contract = createContract(store, { keys: [{ key: 'a-long-random-text', teamId: 'acme' }] })
 * const body = (async function* () {})()
 * const answer = await contract.handle({ method: 'GET', path: '/healthz', query: '', headers: [], body })
 * console.log(answer.status) // 200
 */
export function createContract(store: Store, options: ContractOptions): Contract {
  checkStore(store)
  const resolved = resolveContractOptions(options)
  const { metrics, entryOf } = openServices(store, resolved)
  return {
    metrics: () => metrics.render(),
    isRoute: (path) =>
      matchOpenRoute(path, resolved.probes) !== undefined ||
      (resolved.adminKeys.length > 0 && isAdminPath(path)) ||
      isTeamPath(path),
    countSent: metrics.sent,
    async handle(request) {
      if (!isRequest(request)) return errorResponse(noRequest(request))
      const began = monotonicMs()
      const { isKeyless, cors, answer, ...entry } = entryOf(request)
      let seen: SeenRequest = { operation: entry.operation ?? NO_OPERATION, team: undefined }
      const onRoute: OnRoute = (route, { teamId, keyId }, effect) => {
        const operation = `${request.method} ${route}`
        seen = { operation, team: teamId, change: { keyId, effect } }
      }
      let isKeyRefused = !isKeyless
      const onKey = (sender: Sender) => {
        isKeyRefused = false
        if (request.onKey !== undefined) resolved.tell('onKey', () => request.onKey?.(sender))
        if (request.admits?.(sender) === false) throw busy('Too many connections of this team')
      }
      const made = await answer(onKey, onRoute).catch((failure: unknown) => {
        return failed(failure, isKeyRefused, resolved.onFailure)
      })
      const response = cors === undefined ? made : shared(made, request.headers, cors)
      const headers = { ...SECURITY_HEADERS, ...response.headers }
      const body = request.method === 'HEAD' ? null : response.body
      const sent = { ...response, headers, body }
      const ms = monotonicMs() - began
      metrics.answered(seen.operation, sent.status, ms)
      reportAnswer(resolved, request, seen, sent, ms)
      tellAudit(resolved, request.method, seen, sent.status, ms)
      return sent
    },
  }
}

/** Opens the services that answer the groups of routes, and the metrics. */
function openServices(
  store: Store,
  options: ResolvedContractOptions,
): Readonly<{ metrics: Metrics; entryOf: ReturnType<typeof createEntries> }> {
  const { waitMsMax } = options
  const answers = new MemoryBudget(answerBudget(store.limits, options), ANSWERS, waitMsMax)
  const bodyLimits = makeBodyLimits(store, options)
  const feeds = new OpenFeeds(options.feedsPerKeyMax)
  const budgets = { answers, bodies: bodyLimits.budget }
  const metrics = new Metrics(store, { budgets, feeds }, options)
  const watch = { onFailure: options.onFailure, onBytes: metrics.sent }

  const receive: ReceiveFor = (holder, request, formats, use) =>
    withBody(request, formats, { ...bodyLimits, ...holder }, (body) => {
      metrics.received(body.bytes.length)
      return use(body)
    })
  const answerTeam = createTeamAnswer({ store, options, answers, feeds, receive, watch })
  const receiveOwn: Receive = (request, formats, use) =>
    receive({ team: '' }, request, formats, use)
  const services = { store, metrics, watch, receive: receiveOwn, answerTeam }
  return { metrics, entryOf: createEntries(services, options) }
}

/**
 * The answer to a failed request. It closes the connection of a client without a known key, but not if the lookup of
 * the key failed, which says nothing about the client.
 */
function failed(
  failure: unknown,
  isKeyRefused: boolean,
  onFailure: (failure: unknown) => void,
): ContractResponse {
  const rendered = errorResponse(failure)
  if (rendered.status >= 500) onFailure(failure)
  return isKeyRefused && rendered.status < 500 ? { ...rendered, close: true } : rendered
}

function checkStore(store: Store): void {
  if (isRecord(store?.limits)) return
  const message = `The contract needs a store, such as openDirectory resolves to, not ${typeName(store)}`
  throw new StoreError('REQUEST_VALIDATION_ERROR', message)
}

function makeBodyLimits(store: Store, options: ResolvedContractOptions): BodyLimits {
  const { bodyBytesMax, bodyBytesInFlightMax, waitMsMax } = options
  const keyBytesMax = options.bodyBytesPerKeyMax || undefined
  const size = { bytesMax: bodyBytesInFlightMax, holderBytesMax: bodyBytesMax, keyBytesMax }
  return {
    bytesMax: bodyBytesMax,
    budget: new MemoryBudget(size, BODIES, waitMsMax),
    buffers: lentBuffersOf(store),
  }
}

/** Whether the request from the adapter is complete. */
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

/**
 * Memory of a page in addition to its bytes: for row records that are read but are not on the page, and for copies of a
 * piece.
 */
const PAGE_BYTES_MORE = 8 * 1024 * 1024

function answerBudget(
  { pageBytesMax }: StoreLimits,
  { answerBytesInFlightMax, answerBytesPerKeyMax }: ResolvedContractOptions,
): BudgetSize {
  const holderBytesMax = pageBytesMax + PAGE_BYTES_MORE
  const bytesMax = Math.max(answerBytesInFlightMax, holderBytesMax)
  return { bytesMax, holderBytesMax, keyBytesMax: answerBytesPerKeyMax || undefined }
}
