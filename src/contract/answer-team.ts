// Answers the routes of a team: finds the sender, makes the checks of all requests, and runs the operation in a turn of
// the sender's key.
import { tableNotFound } from '../engine/commit/table-writer.js'
import type { Store } from '../engine/types/store-types.js'
import { type Caller, checkAccess } from './auth/caller.js'
import { limitTeam } from './auth/limited-team.js'
import { shownFailure } from './auth/without-read.js'
import type { ReceiveFor } from './bodies/read-body.js'
import { createAuthenticate } from './calls/auth.js'
import type { BaseUrls, Call, Effect, Operation } from './calls/call.js'
import type { ResolvedContractOptions } from './calls/contract-options.js'
import { askHooks } from './calls/hooks.js'
import { type Admitted, admit, type Guarded, type OnRoute } from './calls/order-of-refusals.js'
import { makeRepeatable } from './calls/repeatable.js'
import { parseOrigin } from './http/base-url.js'
import type { ContractRequest, ContractResponse } from './http/message.js'
import { refuseUnknown } from './http/query.js'
import { rateLimited } from './http/refusal.js'
import { createRouter } from './http/router.js'
import { chargedAnswer, openAnswerRoom } from './memory/answer-memory.js'
import type { ContractLimits } from './memory/contract-limits.js'
import { KeyTurns } from './memory/key-turns.js'
import type { MemoryBudget } from './memory/memory-budget.js'
import type { OpenFeeds } from './memory/open-feeds.js'
import { RateLimit } from './memory/rate-limit.js'
import { type BodyWatch, watchedBody } from './operations/public-routes.js'
import { ROUTES, type TeamRoute } from './routes.js'

const router = createRouter<Guarded>(
  ROUTES.map(([method, path, access, operation, own]: TeamRoute) => {
    const checked: Operation = async (call, ...parameters) => {
      if (own !== undefined) refuseUnknown(call.query, own)
      return operation(call, ...parameters)
    }
    return [method, path, { access, operation: checked }]
  }),
)

/** The prefix of routes of one table. */
const ONE_TABLE = '/tables/{tableID}'
const ONE_ROW = `${ONE_TABLE}/rows/{rowID}`

/** The services behind the routes of a team. */
export type TeamServices = Readonly<{
  store: Store
  options: ResolvedContractOptions
  /** The memory budget of answers that are being made or sent. */
  answers: MemoryBudget
  feeds: OpenFeeds
  receive: ReceiveFor
  watch: BodyWatch
}>

/** Answers a request. Fails if the key, the request or the operation fails. */
export type AnswerTeam = (request: ContractRequest, onRoute: OnRoute) => Promise<ContractResponse>

export function createTeamAnswer(services: TeamServices): AnswerTeam {
  const { store, options, answers, feeds, receive, watch } = services
  const { hooks } = options
  const asksHooks = hooks.rateLimit !== undefined || hooks.quota !== undefined
  const authenticate = createAuthenticate(options, store.keys)
  const { checkRate, turns, sources } = createKeyLimits(options)
  const gate = { authenticate, checkRate: (caller: Caller) => checkRate(holderOf(caller)), router }
  return async (request, onRoute) => {
    const effect: Effect = {}
    const admitted = await admit(request, gate, (route, sender) => onRoute(route, sender, effect))
    const { caller, route, access, operation, parameters, query } = admitted
    const { teamId, tables } = caller
    const key = holderOf(caller)
    const holder = { team: teamId, key }
    const tableId = route.startsWith(ONE_TABLE) ? parameters[0] : undefined
    if (tableId !== undefined) effect.tableId = tableId
    const rowId = route === ONE_ROW ? parameters[1] : undefined
    if (rowId !== undefined) effect.rowId = rowId
    if (asksHooks) {
      const asked = { caller, operation: `${request.method} ${route}`, tableId }
      const { stores } = access
      const mayStore = stores === 'unlessChecked' ? !query.has('validate') : stores
      await askHooks(hooks, { ...asked, headers: request.headers }, mayStore)
    }
    const team = store.team(teamId)
    const call: Call = {
      caller,
      effect,
      team: tables === undefined ? team : limitTeam(team, tables),
      query,
      headers: request.headers,
      releasesPieces: request.releasesPieces === true,
      pageRowsMax: store.limits.pageRowsMax,
      apps: options.apps,
      parquet: options.parquet,
      baseUrls: () => resolveBaseUrls(request, options),
      repeatable: (idempotencyKey, body) => makeRepeatable(caller, request, idempotencyKey, body),
      openAnswerRoom: () => openAnswerRoom(answers, teamId, key),
      openFeed: () => feeds.open(key),
      checkKey: async () => checkStill(await authenticate(request.headers, request), admitted),
      fetching: (fetch) => sources.run(holder, fetch),
      receive: (formats, use) => receive(holder, request, formats, use),
    }
    const make = () =>
      operation(call, ...parameters).catch((failure: unknown) => {
        throw shownFailure(caller, failure)
      })
    const isRead = request.method === 'GET' // Only a read may be made again, when it has memory; HEAD needs none.
    const made = await turns.run(holder, () =>
      isRead ? chargedAnswer(make, call.openAnswerRoom) : make(),
    )
    return { ...made, body: watchedBody(made.body, watch) }
  }
}

/** Checks that a key that was looked up again still allows the admitted request. */
function checkStill(now: Caller, { caller, access, parameters }: Admitted): void {
  checkAccess(now, access)
  const [tableId = ''] = parameters
  const isHidden = now.tables !== undefined && !now.tables.has(tableId)
  if (isHidden || now.teamId !== caller.teamId) throw tableNotFound(tableId)
}

/** The holder of a key's limits. Team names may be any text, and key names may be unique only within their team. */
function holderOf({ teamId, keyId }: Caller): string {
  return `${keyId.length} ${keyId} ${teamId}`
}

function resolveBaseUrls({ origin }: ContractRequest, options: ResolvedContractOptions): BaseUrls {
  const api = options.baseUrl ?? parseOrigin(origin)
  return { api, files: options.publicBaseUrl ?? api }
}

/**
 * Limits per key: requests at the same time, requests per second, and fetches from URLs. The limits apply to known keys
 * only.
 */
type KeyLimits = Readonly<{
  /** Counts a request. @throws {Refusal} RATE_LIMITED */
  checkRate: (key: string) => void
  turns: KeyTurns
  /** Turns for fetches from URLs. */
  sources: KeyTurns
}>

const SECOND_MS = 1_000

function createKeyLimits(limits: ContractLimits): KeyLimits {
  const { requestsPerSecondPerKeyMax: perSecondMax, waitMsMax } = limits
  const rate = perSecondMax > 0 ? new RateLimit(perSecondMax, SECOND_MS) : undefined
  return {
    checkRate(key) {
      const waitMs = rate?.take(key) ?? 0
      if (waitMs === 0) return
      const limit = `${perSecondMax} requests a second (requestsPerSecondPerKeyMax)`
      throw rateLimited(`This key may send at most ${limit}; try again later`, waitMs)
    },
    turns: new KeyTurns({
      atOnceMax: limits.requestsAtOncePerKeyMax,
      waitMsMax,
      name: 'requests in flight (requestsAtOncePerKeyMax)',
    }),
    sources: new KeyTurns({
      atOnceMax: limits.sourcesAtOncePerKeyMax,
      waitMsMax,
      name: 'fetches from URLs (sourcesAtOncePerKeyMax)',
    }),
  }
}
