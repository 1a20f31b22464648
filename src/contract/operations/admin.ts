// Verification, backup, keys and metrics over HTTP (ours), for the operator of a store that only its own process can
// open. These routes need an admin key; keys of teams are refused. Without `adminKeys`, the paths are unknown.
import { type Bytes, utf8 } from '../../base/bytes.js'
import type { Store } from '../../engine/types/store-types.js'
import type { VerifyCounts, VerifyFinding } from '../../engine/types/verify-types.js'
import { jsonResponse } from '../answers/render.js'
import type { Receive } from '../bodies/read-body.js'
import type { AuthenticateAdmin } from '../calls/auth.js'
import type { OnRoute } from '../calls/order-of-refusals.js'
import { errorResponse } from '../http/error-response.js'
import type { ContractRequest, ContractResponse } from '../http/message.js'
import { parseQuery, type Query, queryChoice, refuseUnknown } from '../http/query.js'
import { methodNotAllowed } from '../http/refusal.js'
import { ADMIN_ROUTES, type AdminOperationName, createRouter } from '../http/router.js'
import type { Metrics } from '../metrics/metrics.js'
import { addKey, listKeys, revokeKey } from './admin-keys.js'
import { type BodyWatch, watchedBody } from './public-routes.js'

/** The services behind the routes of the operator. */
export type AdminServices = Readonly<{
  store: Store
  metrics: Metrics
  authenticate: AuthenticateAdmin
  watch: BodyWatch
  receive: Receive
}>

type AdminOperation = (
  services: AdminServices,
  request: ContractRequest,
  ...parameters: readonly string[]
) => ContractResponse | Promise<ContractResponse>

const OPERATIONS: Readonly<Record<AdminOperationName, AdminOperation>> = {
  'POST /admin/verify': ({ store }, { query }) => answerVerify(store, parseQuery(query)),
  'POST /admin/backup': ({ store }, { query }) => backup(store, parseQuery(query)),
  'GET /admin/keys': ({ store }) => listKeys(store.keys),
  'POST /admin/keys': ({ store, receive }, request) => addKey(store.keys, receive, request),
  'DELETE /admin/keys/{keyID}': ({ store }, _, keyId = '') => revokeKey(store.keys, keyId),
  'GET /admin/day': ({ metrics }) => showLastDay(metrics),
  'GET /metrics': ({ metrics }) => showMetrics(metrics),
}

const router = createRouter<AdminOperation>(
  ADMIN_ROUTES.map(([method, path]) => {
    return [method, path, OPERATIONS[`${method} ${path}` as AdminOperationName]]
  }),
)

/** @throws {Refusal} REQUEST_ERROR, METHOD_NOT_ALLOWED, REQUEST_VALIDATION_ERROR */
export async function answerAdmin(
  services: AdminServices,
  request: ContractRequest,
  onRoute: OnRoute,
): Promise<ContractResponse> {
  const { keyId } = await services.authenticate(request.headers)
  request.onKey?.({ keyId })
  const { path, methods, parameters } = router(request.path, request.method)
  const operation = methods.get(request.method)
  if (operation === undefined) {
    throw methodNotAllowed(request.method, [...methods.keys()].join(', '))
  }
  onRoute(path, { keyId }, {})
  const response = await operation(services, request, ...parameters)
  return { ...response, body: watchedBody(response.body, services.watch) }
}

/** GET /admin/day */
function showLastDay({ lastDay }: Metrics): ContractResponse {
  return jsonResponse(200, JSON.stringify({ data: lastDay.read() }))
}

/** GET /metrics */
function showMetrics(metrics: Metrics): ContractResponse {
  const headers = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }
  return { status: 200, headers, body: metrics.render() }
}

/**
 * POST /admin/verify?full=true: lines of JSON, `{ "finding" }` per finding, `{ "checked" }` as progress, and finally
 * `{ "report" }` or `{ "error" }`.
 */
function answerVerify(store: Store, query: Query): ContractResponse {
  refuseUnknown(query, ['full'])
  const full = queryChoice(query, 'full', ['true', 'false'])
  const headers = { 'content-type': 'application/x-ndjson; charset=utf-8' }
  return { status: 200, headers, body: verifyLines(store, full === 'true') }
}

/** Time between progress lines, in milliseconds. Proxies may cut a silent connection. */
const PROGRESS_MS = 1_000

/** Maximum number of findings that wait for a slow reader. Further findings are only counted in the report. */
const FINDINGS_WAITING_MAX = 10_000

async function* verifyLines(store: Store, full: boolean): AsyncGenerator<Bytes, void> {
  const waiting: VerifyFinding[] = []
  const ending = new AbortController()
  let checked: VerifyCounts | undefined
  let last: object | undefined
  const running = store
    .verify({
      full,
      signal: ending.signal,
      onFinding: (finding) => {
        if (waiting.length < FINDINGS_WAITING_MAX) waiting.push(finding)
      },
      onProgress: (counts) => {
        checked = counts
      },
    })
    .then(
      (report) => {
        // The report does not repeat the findings, each of which had a line.
        last = { report: { ...report, findings: [] } }
      },
      (failure: unknown) => {
        last = errorLine(failure)
      },
    )
  try {
    yield line() // The first line lets the reader see the status at once.
    while (last === undefined) {
      await within(PROGRESS_MS, running)
      const found = waiting.splice(0).map((finding) => ({ finding }))
      const progress = last === undefined && checked !== undefined ? [{ checked }] : []
      yield line(...found, ...progress)
    }
    yield line(last)
  } finally {
    ending.abort() // The reader has gone, or the work has ended.
    await running
  }
}

function line(...values: readonly object[]): Bytes {
  return utf8(
    values.length === 0 ? '\n' : values.map((value) => `${JSON.stringify(value)}\n`).join(''),
  )
}

function errorLine(failure: unknown): object {
  const { body } = errorResponse(failure)
  return JSON.parse(String(body)) as object
}

/** Waits for work to end, for at most `milliseconds`. */
async function within(milliseconds: number, work: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds)
  })
  await Promise.race([work, over])
  clearTimeout(timer)
}

/** POST /admin/backup?files=include|reference: the bytes of a backup. An interrupted response is not a backup. */
function backup(store: Store, query: Query): ContractResponse {
  refuseUnknown(query, ['files'])
  const files = queryChoice(query, 'files', ['include', 'reference']) ?? 'include'
  const headers = { 'content-type': 'application/octet-stream' }
  return { status: 200, headers, body: store.backup({ files }) }
}
