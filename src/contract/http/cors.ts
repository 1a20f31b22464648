// CORS: which pages may send requests and read the answers. Routes without a key are open to all origins, because the
// URL is all that they need. Routes with a key are open to the origins of the option `cors`. No answer allows
// credentials: a page sends its key itself, so the browser need not add anything that grants access.
import { checkOptionNames, optionError, shown, typeName } from '../../base/options.js'
import type { ContractRequest, ContractResponse, HeaderList } from './message.js'
import { headerValues } from './message.js'

/** Which pages of other origins may use the routes that need a key. */
export interface CorsOptions {
  /**
   * Origins such as `https://app.example.com`, at most 1,000, without a path; or `'*'` for pages of any origin.
   */
  readonly origins: readonly string[] | '*'
  /**
   * Names of request headers that pages may send in addition to those of the contract, for proxies and the host's own
   * handlers; at most 100. Default: none.
   */
  readonly headers?: readonly string[] | undefined
}

/** The CORS rule of a group of routes. */
export type Cors = Readonly<{
  /** The allowed origins; undefined: any origin. */
  origins: ReadonlySet<string> | undefined
  requestHeaders: string
  exposedHeaders: string
}>

const ORIGINS_MAX = 1_000
const HEADERS_MAX = 100

/** The request headers that need a preflight, on the routes without a key. */
const OPEN_REQUEST_HEADERS =
  'content-type, content-md5, content-digest, range, if-match, if-none-match, if-range'

const KEYED_REQUEST_HEADERS: readonly string[] = [
  'authorization',
  'content-type',
  'if-match',
  'if-none-match',
  'idempotency-key',
  'x-glide-asynchronous',
  'prefer',
  'last-event-id',
]

/** The rule of the routes without a key: uploads and files. */
export const OPEN_CORS: Cors = {
  origins: undefined,
  requestHeaders: OPEN_REQUEST_HEADERS,
  exposedHeaders: 'etag, content-range, content-disposition, accept-ranges',
}

const EXPOSED_HEADERS = 'etag, location, preference-applied, retry-after, row-count'

/** @throws {StoreError} OPTION_NOT_ALLOWED */
export function resolveCors(given: unknown): Cors | undefined {
  if (given === undefined) return undefined
  checkOptionNames('cors', given, (name) => name === 'origins' || name === 'headers')
  const { origins, headers = [] } = given as Partial<Record<keyof CorsOptions, unknown>>
  return Object.freeze({
    origins: origins === '*' ? undefined : new Set(resolveOrigins(origins)),
    requestHeaders: [...KEYED_REQUEST_HEADERS, ...resolveHeaders(headers)].join(', '),
    exposedHeaders: EXPOSED_HEADERS,
  })
}

function resolveOrigins(given: unknown): readonly string[] {
  if (!Array.isArray(given) || given.length === 0 || given.length > ORIGINS_MAX) {
    const rule = `must be '*' or a list of 1 to ${ORIGINS_MAX} origins`
    throw optionError('cors.origins', `${rule}, not ${shownListOrType(given)}`)
  }
  return given.map((origin: unknown, index) => {
    if (typeof origin === 'string' && isOrigin(origin)) return origin
    const rule = 'must be an origin such as https://app.example.com, in lower case, without a path'
    throw optionError(`cors.origins[${index}]`, `${rule}, not ${shown(origin)}`)
  })
}

/**
 * Whether a text is an origin as browsers write it. No other spelling is valid, because origins are compared with
 * browsers' headers.
 */
function isOrigin(text: string): boolean {
  return URL.canParse(text) && /^https?:/.test(text) && new URL(text).origin === text
}

function resolveHeaders(given: unknown): readonly string[] {
  if (!Array.isArray(given) || given.length > HEADERS_MAX) {
    const rule = `must be a list of at most ${HEADERS_MAX} header names`
    throw optionError('cors.headers', `${rule}, not ${shownListOrType(given)}`)
  }
  return given.map((name: unknown, index) => {
    if (typeof name === 'string' && /^[\w!#$%&'*+.^`|~-]{1,128}$/.test(name) && name !== '*') {
      return name.toLowerCase()
    }
    throw optionError(`cors.headers[${index}]`, `must be a header name, not ${shown(name)}`)
  })
}

function shownListOrType(given: unknown): string {
  return Array.isArray(given) ? `a list of ${given.length}` : typeName(given)
}

/** Whether a request is a preflight. */
export function isPreflight({ method, headers }: ContractRequest): boolean {
  if (method !== 'OPTIONS') return false
  return ['origin', 'access-control-request-method'].every(
    (name) => headerValues(headers, name).length > 0,
  )
}

/** How long a browser may cache the answer to a preflight, in seconds. Chromium accepts no more. */
const PREFLIGHT_SECONDS = '7200'

/** The answer to a preflight, before `shared` adds its headers. @param methods - Separated by commas. */
export function preflightResponse(methods: string, { requestHeaders }: Cors): ContractResponse {
  const headers = {
    allow: methods,
    'access-control-allow-methods': methods,
    'access-control-allow-headers': requestHeaders,
    'access-control-max-age': PREFLIGHT_SECONDS,
  }
  return { status: 204, headers, body: null }
}

/** Adds the CORS headers of a rule to an answer, which may be an error. */
export function shared(
  response: ContractResponse,
  headers: HeaderList,
  { origins, exposedHeaders }: Cors,
): ContractResponse {
  const exposed = { 'access-control-expose-headers': exposedHeaders }
  if (origins === undefined) {
    const more = { 'access-control-allow-origin': '*', ...exposed }
    return { ...response, headers: { ...response.headers, ...more } }
  }
  const [origin, ...others] = headerValues(headers, 'origin')
  const isAllowed = origin !== undefined && others.length === 0 && origins.has(origin)
  const more = isAllowed ? { 'access-control-allow-origin': origin, ...exposed } : {}
  return { ...response, headers: { ...response.headers, ...more, vary: 'origin' } }
}
