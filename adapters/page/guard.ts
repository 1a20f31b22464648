// The guard before a store that `rowstash open` serves to the browser of its user.
//
// Invariants:
// - The key that the routes of the contract demand never leaves the process: a request that passes the guard gets it
//   here. What the guard refuses reaches no route.
// - The token in the printed address works once. The key of the session that it is exchanged for ends with the process.
// - A page of another origin, or port, can do nothing. Browsers do not add the key of the session to its requests: only
//   the tab that got the key sends it, in a header. A foreign host name that resolves to this machine (DNS rebinding)
//   is not one of `hosts`.
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { PageSession } from './browser/base/session.js'
import { PAGE_FILES, PAGE_HEADERS, SESSION_PATH } from './page.js'

export type GuardOptions = Readonly<{
  /** What `Host` may be: names with their port, in lower case. */
  hosts: readonly string[]
  /** The one-time token of the printed address. */
  token: string
  /** The key of the team, which decides what the page may do. */
  key: string
  /** A key that may write, used only for the list of staged rows: the contract shows it to no other keys. */
  listKey: string
  /** The admin key, for metrics and verification. */
  adminKey: string
  /** The answer to a request with the token: it has the key of the session, which replaces the token. */
  session: Extract<PageSession, { mode: 'session' }>
}>

/** Answers a request that is refused, or passes it on. */
export type Guard = (request: IncomingMessage, response: ServerResponse, pass: () => void) => void

/** Routes of the operator that the page uses; backups and keys are not among them. */
const ADMIN_PATHS: ReadonlySet<string> = new Set(['/metrics', '/admin/day', '/admin/verify'])

/** The list of staged rows, which the contract shows only to keys that may write. */
const isStashList = ({ method }: IncomingMessage, path: string): boolean =>
  method === 'GET' && path === '/stashes'

export function createGuard(options: GuardOptions): Guard {
  const { hosts, session } = options
  const useToken = oneTimeToken(options.token)
  const keyFor = (request: IncomingMessage, path: string): string => {
    if (ADMIN_PATHS.has(path)) return options.adminKey
    return isStashList(request, path) ? options.listKey : options.key
  }
  return (request, response, pass) => {
    const host = request.headers.host?.toLowerCase() ?? ''
    const [path = ''] = (request.url ?? '').split('?', 1)
    const given = request.headers.authorization?.replace(/^Bearer /, '') ?? ''
    if (!hosts.includes(host)) {
      answerRefused(response, 421, 'This server does not answer to that host name')
    } else if (isPublic(request, path)) {
      pass()
    } else if (isForeign(request, host)) {
      answerRefused(response, 403, 'The request comes from a page of another origin')
    } else if (path === SESSION_PATH && request.method === 'POST' && useToken(given)) {
      answer(response, 200, JSON.stringify(session))
    } else if (!isSameSecret(given, session.key)) {
      answerRefused(response, 403, NO_SESSION)
    } else if (path === SESSION_PATH) {
      answer(response, 200, JSON.stringify(session))
    } else {
      setBearerKey(request, keyFor(request, path))
      pass()
    }
  }
}

const NO_SESSION =
  'This address was already used, or this is another tab. Go back to the tab that it opened, or run "rowstash open" again and open the address that it prints.'

/** @returns a function that is true for the token, once */
function oneTimeToken(token: string): (given: string) => boolean {
  let isUsed = false
  return (given) => {
    if (isUsed || !isSameSecret(given, token)) return false
    isUsed = true
    return true
  }
}

/** Compares in a time that says nothing about either text. */
function isSameSecret(given: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(expected))
}

/** The files of the page hold no data. Files of a team are public to whoever knows their URL, on any server. */
function isPublic({ method = '' }: IncomingMessage, path: string): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false
  return PAGE_FILES.has(path) || /^\/files\/[^/]+$/.test(path)
}

/**
 * Whether a request comes from a page of another origin: by `Sec-Fetch-Site` and `Origin`. Browsers send `Origin` with
 * every request that may change something, so such a request without it is refused, too.
 */
function isForeign({ method = '', headers }: IncomingMessage, host: string): boolean {
  const { origin, 'sec-fetch-site': site } = headers
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true
  if (origin !== undefined) return origin !== `http://${host}`
  return method !== 'GET' && method !== 'HEAD'
}

/** Replaces the `Authorization` of a request, whatever it is, by one with the key. */
function setBearerKey({ headers }: IncomingMessage, key: string): void {
  headers.authorization = `Bearer ${key}`
}

/** Answers with an error in the form of the contract. */
function answerRefused(response: ServerResponse, status: number, message: string): void {
  response.setHeader('connection', 'close')
  answer(response, status, JSON.stringify({ error: { type: 'request_error', message } }))
}

function answer(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, {
    ...PAGE_HEADERS,
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
  })
  response.end(body)
}
