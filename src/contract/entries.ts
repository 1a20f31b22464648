// Which group of routes a request belongs to: routes without a key, preflights, routes of the operator, routes of a
// team. Those without a key are recognized by their path before a key is looked for.
import type { Store } from '../engine/api/store-types.js'
import { answerAdmin, isAdminPath } from './admin.js'
import { createAuthenticateAdmin } from './auth.js'
import type { ResolvedContractOptions } from './contract-options.js'
import { type Cors, isPreflight, OPEN_CORS, preflightResponse } from './cors.js'
import type { ContractRequest, ContractResponse } from './message.js'
import { answerOpenly } from './public-routes.js'
import { matchOpenRoute } from './router.js'
import { createServeDocument } from './serve-document.js'

/** How a request is answered. */
export type Entry = Readonly<{
  isKeyless: boolean
  /** Which pages may read the answer; undefined: none of another origin. */
  cors: Cors | undefined
  /** @param onKey - Called if the key is known. */
  answer: (onKey: () => void) => Promise<ContractResponse>
}>

/** Methods of routes with a key. A preflight has no key, so its answer is the same for all paths. */
const KEYED_METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'

/** @param answerTeam - Answers the routes of a team. */
export function createEntries(
  store: Store,
  { onFailure, cors, probes, adminKeys }: ResolvedContractOptions,
  answerTeam: (request: ContractRequest) => Promise<ContractResponse>,
): (request: ContractRequest) => Entry {
  const authenticateAdmin = createAuthenticateAdmin(adminKeys)
  const document = createServeDocument()
  return (request) => {
    const { path } = request
    const open = matchOpenRoute(path, probes)
    if (open !== undefined) {
      const answer = () => answerOpenly({ store, document }, request, open, onFailure)
      return { isKeyless: true, cors: OPEN_CORS, answer }
    }
    if (cors !== undefined && isPreflight(request)) {
      return { isKeyless: true, cors, answer: async () => preflightResponse(KEYED_METHODS, cors) }
    }
    if (adminKeys.length === 0 || !isAdminPath(path)) {
      return { isKeyless: false, cors, answer: (onKey) => answerTeam({ ...request, onKey }) }
    }
    const answer = (onKey: () => void) =>
      answerAdmin(store, { ...request, onKey }, authenticateAdmin, onFailure)
    return { isKeyless: false, cors, answer }
  }
}
