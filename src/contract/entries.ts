// Finds the group of routes that a request belongs to: routes without a key, preflights, routes of the operator, routes
// of a team. Routes without a key are recognized by their path, before a key is looked for.
import type { Store } from '../engine/types/store-types.js'
import type { AnswerTeam } from './answer-team.js'
import type { Receive } from './bodies/read-body.js'
import { createAuthenticateAdmin } from './calls/auth.js'
import type { ResolvedContractOptions } from './calls/contract-options.js'
import type { OnKey, OnRoute } from './calls/order-of-refusals.js'
import { createGuardKeys } from './calls/refused-keys.js'
import { type Cors, isPreflight, OPEN_CORS, preflightResponse } from './http/cors.js'
import type { ContractRequest, ContractResponse } from './http/message.js'
import { isAdminPath, matchOpenRoute, OPEN_ROUTES } from './http/router.js'
import { type Metrics, NO_OPERATION } from './metrics/metrics.js'
import { createServeDocument } from './openapi/serve-document.js'
import { answerAdmin } from './operations/admin.js'
import { answerOpenly, type BodyWatch } from './operations/public-routes.js'

/** How to answer a request. */
export type Entry = Readonly<{
  isKeyless: boolean
  /** Which pages may read the answer; undefined: no page of another origin. */
  cors: Cors | undefined
  /**
   * @param onKey - Called if the key is known.
   * @param onRoute - Called with the route, if it needs a key.
   */
  answer: (onKey: OnKey, onRoute: OnRoute) => Promise<ContractResponse>
  /** Method and route, for metrics; undefined for routes with a key, for which it is determined later. */
  operation: string | undefined
}>

/** The methods of all routes with a key. A preflight has no key, so its answer must be the same for all paths. */
const KEYED_METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'

/** The services behind the groups of routes. */
export type EntryServices = Readonly<{
  store: Store
  metrics: Metrics
  watch: BodyWatch
  /** Reads bodies for the routes of the operator. */
  receive: Receive
  /** Answers the routes of a team. */
  answerTeam: AnswerTeam
}>

export function createEntries(
  { store, metrics, watch, receive, answerTeam }: EntryServices,
  options: ResolvedContractOptions,
): (request: ContractRequest) => Entry {
  const { cors, probes, adminKeys } = options
  const authenticate = createAuthenticateAdmin(adminKeys)
  const guardKeys = createGuardKeys(options)
  const document = createServeDocument()
  return (request) => {
    const { method, path } = request
    const open = isFileDeletion(request) ? undefined : matchOpenRoute(path, probes)
    if (open !== undefined) {
      const { path: route, methods } = OPEN_ROUTES[open.name]
      const answer = () => answerOpenly({ store, document }, request, open, watch)
      const operation = nameOperation(methods, method, route)
      return { isKeyless: true, cors: OPEN_CORS, answer, operation }
    }
    if (cors !== undefined && isPreflight(request)) {
      const answer = async () => preflightResponse(KEYED_METHODS, cors)
      return { isKeyless: true, cors, answer, operation: 'OPTIONS' }
    }
    if (adminKeys.length === 0 || !isAdminPath(path)) {
      const answer = (onKnown: OnKey, onRoute: OnRoute) =>
        guardKeys(request, onKnown, (onKey) => answerTeam({ ...request, onKey }, onRoute))
      return { isKeyless: false, cors, answer, operation: undefined }
    }
    const services = { store, metrics, authenticate, watch, receive }
    const answer = (onKnown: OnKey, onRoute: OnRoute) =>
      guardKeys(request, onKnown, (onKey) => answerAdmin(services, { ...request, onKey }, onRoute))
    return { isKeyless: false, cors, answer, operation: undefined }
  }
}

/** Whether a request deletes a file. This needs a key; reading a file needs only its URL. */
function isFileDeletion({ method, path }: ContractRequest): boolean {
  return method === 'DELETE' && /^\/files\/[^/]+\/?$/.test(path)
}

/**
 * The name of an operation. A method that no route has may be any text, so the name never contains the client's text.
 */
function nameOperation(methods: readonly string[], method: string, route: string): string {
  return methods.includes(method) ? `${method} ${route}` : NO_OPERATION
}
