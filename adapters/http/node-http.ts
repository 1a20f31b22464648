// The contract over node:http: converts between bytes and ContractRequest or ContractResponse, and manages connections.
//
// Invariants:
// - A response is delivered before the connection is cut, even to a client that is still writing: the rest of the
//   request is first read and dropped, within limits.
// - A request that a proxy could have interpreted differently is refused.

import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ContractOptions, Store } from '../../src/index.js'
import { createContract } from '../../src/index.js'
import type { ContractRequest, ContractResponse } from '../../src/ports.js'
import {
  basePathOption,
  booleanOption,
  checkOptionNames,
  invalidArgument,
  pathBelow,
  typeName,
} from '../base/arguments.js'
import { publishRequest } from '../base/diagnostics.js'
import { withPage } from '../page/page.js'
import { admitsKey, type ConnectionLimits, limitConnections } from './connections.js'
import { drainRequest, drainsQuickly } from './drain-request.js'
import { continueWhenRead } from './expect-continue.js'
import type { Sender } from './known-connections.js'
import {
  basePathLeft,
  checkNodeRequest,
  headerLines,
  parsedBody,
  resolveRequestOrigin,
} from './mounted-request.js'
import { createOpenFeeds, type OpenFeeds } from './open-feeds.js'
import { pacedBody } from './paced-body.js'
import { processMetrics } from './process-metrics.js'
import { errorJson, JSON_TYPE, SECURITY_HEADERS } from './refusal.js'
import { TrustedProxies } from './remote-address.js'
import { hostsOf, parseRequestTarget } from './request-target.js'
import { createTurns } from './request-turns.js'
import { sendBody, tellsRelease } from './send-body.js'
import { answerUnparsed } from './unparsed-request.js'

/** Options of `nodeHandler`. Unknown names are rejected. */
export interface NodeHandlerOptions extends ContractOptions {
  /**
   * Path under which the handler is mounted, such as `/api/v2`: starts with a slash and ends without one. Not needed if
   * a framework removes it from `req.url`, as Express does for `app.use('/api', handler)`, but harmless there. Default:
   * none.
   */
  readonly basePath?: string | undefined
  /**
   * IP addresses and networks, such as `10.0.0.0/8`, of proxies in front of the server. The client of a request, by
   * which `refusedKeysPerMinuteMax` counts, is then the last address in `X-Forwarded-For` that is not a proxy's. Pass
   * it to `hardenServer` too. Default: none; the client is the address of the connection.
   */
  readonly trustedProxies?: readonly string[] | undefined
  /**
   * Whether to serve a page for people at `/` below the base path. It shows tables and imports files, with a key that
   * the user enters. Default: false.
   */
  readonly page?: boolean | undefined
}

/**
 * A request listener for `http.createServer`, Express (`app.use`) and similar frameworks. With their `next`, a request
 * for an unknown path is passed to the host's routes, unread: `next` is called before the handler returns. Without
 * `next`, it gets a 404.
 * @param host - The `host` for `authenticate`, such as the context of Koa. Default: `request`.
 */
export type NodeHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  next?: () => void,
  host?: unknown,
) => void

/**
 * Serves a store over HTTP. Mount it before body parsers: a consumed body is taken from `req.body`, in which numbers
 * may have lost digits.
 *
 * @throws {StoreError} OPTION_NOT_ALLOWED
 * @example
 * import { createServer } from 'node:http'
 * import { closeServer, hardenServer, nodeHandler, serverOptions } from 'rowstash/node'
 *
 * const handler = nodeHandler(store, { keys: [{ key: 'a-long-random-text', teamId: 'acme' }] })
 * const server = hardenServer(createServer(serverOptions, handler)).listen(0)
 * console.log(server.listening) // true
 * await closeServer(server)
 */
export function nodeHandler(store: Store, options: NodeHandlerOptions): NodeHandler {
  checkOptionNames('nodeHandler', options ?? {}, () => true) // The contract checks the names.
  const {
    basePath: path,
    trustedProxies,
    page,
    onWarning = warnProcess,
    ...contractOptions
  } = options ?? {}
  const basePath = basePathOption(path)
  const { moreMetrics = processMetrics() } = contractOptions
  const alone = createContract(store, { ...contractOptions, onWarning, moreMetrics })
  const contract = booleanOption('page', page, false) ? withPage(alone, contractOptions) : alone

  const feeds = createOpenFeeds()
  const clientOf = createClients(new TrustedProxies(trustedProxies))
  const hosts = hostsOf([contractOptions.baseUrl, contractOptions.publicBaseUrl])

  async function serve(
    request: IncomingMessage,
    response: ServerResponse,
    onAnswered: ContractRequest['onAnswered'],
    host: unknown,
  ): Promise<void> {
    const target = parseRequestTarget(request, hosts)
    const parsed = parsedBody(request)
    const refusal = refuseMalformed(request, target) ?? refusalOfBody(request, parsed)
    if (refusal !== undefined && isEndless(request)) return refuseAtOnce(response, refusal)
    const onSlow = () => void refuseSlow(request, response)
    const { client, admits } = clientOf(request, response)
    const asked = target ?? ''
    const releases = tellsRelease(response)
    const about = { client, admits, onAnswered, host, releasesPieces: releases }
    const more = { target: asked, basePath, parsed, onSlow, about }
    const answer = refusal ?? (await contract.handle(makeNodeRequest(request, more)))
    if (response.headersSent) return // It was refused meanwhile, because its body arrived too slowly.
    await deliver(request, response, answer, { feeds, onBytes: contract.countSent, releases })
  }

  const takeTurn = createTurns()
  // Express takes a function with four parameters for an error handler; a parameter with a default value does not
  // count.
  return (request, response, next, host = request) => {
    checkNodeRequest(request, response)
    const target = next === undefined ? undefined : parseRequestTarget(request, hosts)
    const isOurs =
      target === undefined || contract.isRoute(pathBelowBase(request, target, basePath))
    if (!isOurs) return next?.()
    request.on('error', () => {}) // Readers and writers handle a broken connection themselves.
    response.on('error', () => {})
    takeTurn(request, response, () =>
      publishRequest(request, (onAnswered) => serve(request, response, onAnswered, host)).catch(
        () => {
          response.destroy()
        },
      ),
    )
  }
}

/**
 * Finds the clients of requests. A connection with a known key has no client, so that a stranger at the same address
 * cannot block it. But connections of a proxy carry requests of many clients.
 */
function createClients(proxies: TrustedProxies) {
  const known = new WeakSet<Socket>()
  return (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    const admits = (sender: Sender) => {
      const isAdmitted = admitsKey(response, sender)
      if (isAdmitted && !proxies.has(socket)) known.add(socket)
      return isAdmitted
    }
    return { client: known.has(socket) ? undefined : proxies.clientOf(request), admits }
  }
}

function warnProcess(warning: string): void {
  process.emitWarning(warning, { type: 'RowstashWarning' })
}

const HEADERS_MS_MAX = 10_000

/** Time limit for requests with unread bodies, in milliseconds. Other bodies have a minimum rate: see paced-body.ts. */
const REQUEST_MS_MAX = 24 * 60 * 60_000

/** A query of 65,536 characters, plus Node's own limit for all headers. */
const HEADER_BYTES_MAX = 80 * 1024

/**
 * Options for `http.createServer` of a server that faces untrusted clients: time limits, room for a query of 65,536
 * characters, and no check of `Host` by Node. Pass the server to `hardenServer`.
 *
 * `nodeHandler` itself refuses an HTTP/1.1 request without `Host`, with an error in the body. Other routes of the same
 * server receive such requests, as they do those of HTTP/1.0. For Node's own refusal, an empty 400, pass `{
 * ...serverOptions, requireHostHeader: true }`.
 * @example
 * import { createServer } from 'node:http'
 * import { hardenServer, serverOptions } from 'rowstash/node'
 *
 * const server = hardenServer(createServer(serverOptions))
 * console.log(server.requestTimeout > 0) // true
 */
export const serverOptions: Readonly<ServerOptions> = Object.freeze({
  maxHeaderSize: HEADER_BYTES_MAX,
  headersTimeout: HEADERS_MS_MAX,
  requestTimeout: REQUEST_MS_MAX,
  connectionsCheckingInterval: 5_000,
  requireHostHeader: false, // Node's own refusal has no body; `refusalOf` sends one.
})

/**
 * Sets the limits of a server that faces untrusted clients. Call it before the server listens, on a server created with
 * `serverOptions`.
 *
 * @returns The same server.
 * @throws {StoreError} OPTION_NOT_ALLOWED
 * @example
 * import { createServer } from 'node:http'
 * import { hardenServer, serverOptions } from 'rowstash/node'
 *
 * const server = hardenServer(createServer(serverOptions), { connectionsMax: 200 })
 * console.log(server.listening) // false
 */
export function hardenServer<S extends Server>(server: S, limits: ConnectionLimits = {}): S {
  if (typeof server?.listen !== 'function') {
    throw invalidArgument(`hardenServer takes a server of node:http, not ${typeName(server)}`)
  }
  limitConnections(server, limits)
  continueWhenRead(server)
  answerUnparsed(server)
  server.headersTimeout = HEADERS_MS_MAX
  server.requestTimeout = REQUEST_MS_MAX
  server.maxRequestsPerSocket = 10_000
  return server
}

/** The maximum number of header lines of a request. Node itself would keep 1,000 and drop the rest. */
const HEADER_LINES_MAX = 200

/** Refuses requests that node:http accepts but the contract does not. */
function refuseMalformed(
  request: IncomingMessage,
  target: string | undefined,
): ContractResponse | undefined {
  const { method = '', headers, rawHeaders } = request
  const count = (name: string) =>
    rawHeaders.filter((given, at) => at % 2 === 0 && given.toLowerCase() === name).length
  if (request.httpVersionMajor !== 1) return invalidResponse('the HTTP version must be 1.0 or 1.1')
  if (target === undefined)
    return invalidResponse('the request target must be a path, or a URL of this host')
  if (rawHeaders.length > 2 * HEADER_LINES_MAX) return invalidResponse('there are too many headers')
  if (count('host') > 1) return invalidResponse('Host is given more than once')
  if (headers.host === undefined && request.httpVersion === '1.1')
    return invalidResponse('Host is missing')
  const encoding = headers['transfer-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'chunked') {
    return invalidResponse('the Transfer-Encoding must be chunked', 501, 'not_implemented')
  }
  if ((method === 'GET' || method === 'HEAD') && announcesBody(request)) {
    return invalidResponse(`${method} must not have a body`)
  }
  return undefined
}

/** Whether the end of the body is unknown. After this turn, node:http ends such a request without a response. */
function isEndless({ headers }: IncomingMessage): boolean {
  const encoding = headers['transfer-encoding']
  return encoding !== undefined && !/(?:^|,)[ \t]*chunked$/i.test(encoding)
}

/** Sends the whole response before this turn ends. */
function refuseAtOnce(response: ServerResponse, { status, headers, body }: ContractResponse): void {
  response.setHeader('connection', 'close')
  response.writeHead(status, { ...headers, ...contentLengthHeader(body, 'POST') })
  response.end(body)
}

/** Refuses a body that was partly read and dropped, because the rest may look like a complete body. */
function refusalOfBody(
  { readableDidRead }: IncomingMessage,
  parsed: Uint8Array | null,
): ContractResponse | undefined {
  if (!readableDidRead || parsed !== null) return undefined
  return invalidResponse(
    'its body was read before it reached this handler; mount the handler before body parsers, or leave their result in request.body',
  )
}

function announcesBody({ headers }: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = headers
  return encoding !== undefined || (length !== undefined && Number(length) !== 0)
}

function invalidResponse(
  problem: string,
  status = 400,
  type = 'request_validation_error',
): ContractResponse {
  const body = errorJson(type, `Invalid request: ${problem}`)
  return { status, headers: { ...SECURITY_HEADERS, 'content-type': JSON_TYPE }, body, close: true }
}

/** Refuses a request whose body arrives too slowly, and ends its connection. */
async function refuseSlow(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (response.headersSent) return
  const body = errorJson('request_timeout', 'The request body came too slowly')
  response.writeHead(408, {
    ...SECURITY_HEADERS,
    'content-type': JSON_TYPE,
    'access-control-allow-origin': '*', // A page of another origin that sends a file may read it.
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  })
  response.write(body)
  await drainRequest(request)
  response.end()
  request.destroy()
}

function makeNodeRequest(
  request: IncomingMessage,
  {
    target,
    basePath,
    parsed,
    onSlow,
    about,
  }: Readonly<{
    target: string
    basePath: string
    parsed: Uint8Array | null
    onSlow: () => void
    about: Pick<ContractRequest, 'client' | 'admits' | 'onAnswered' | 'host' | 'releasesPieces'>
  }>,
): ContractRequest {
  const { method = '' } = request
  const question = target.indexOf('?')
  return {
    method,
    path: pathBelowBase(request, target, basePath),
    query: question < 0 ? '' : target.slice(question + 1),
    headers: headerLines(request),
    origin: resolveRequestOrigin(request, basePath),
    body: parsed === null ? makePacedReader(request, onSlow) : only(parsed),
    ...about,
  }
}

/** The path of a target below the base path. If the target is outside, the path is empty, which is an unknown path. */
function pathBelowBase(request: IncomingMessage, target: string, basePath: string): string {
  const [path = ''] = target.split('?', 1)
  return pathBelow(path, basePathLeft(request, basePath))
}

function makePacedReader(request: IncomingMessage, onSlow: () => void): AsyncIterable<Uint8Array> {
  return { [Symbol.asyncIterator]: () => pacedBody(request, onSlow) }
}

async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield bytes
}

/** Statuses of responses without body and length. */
const STATUSES_WITHOUT_BODY: ReadonlySet<number> = new Set([204, 304])

async function deliver(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body, close = false, signal, stop }: ContractResponse,
  {
    feeds,
    onBytes,
    releases,
  }: Readonly<{ feeds: OpenFeeds; onBytes: (bytes: number) => void; releases: boolean }>,
): Promise<void> {
  const isUnread = !request.complete
  if (close || (isUnread && !drainsQuickly(request))) response.setHeader('connection', 'close')
  const lengthHeader = STATUSES_WITHOUT_BODY.has(status)
    ? {}
    : contentLengthHeader(body, request.method)
  response.writeHead(status, { ...headers, ...lengthHeader })
  onBytes(lengthHeader['content-length'] ?? 0)
  if (stop !== undefined) feeds.endWithServer(request, response, stop)
  const isSent = await sendBody(response, body, { signal, releases })
  // Ending a response that closes its connection would cut off a client that is still writing.
  if (isSent && isUnread) await drainRequest(request)
  response.end()
  if (isUnread && !request.complete) request.destroy()
}

/** The length header. A streamed body has none, and neither has HEAD, whose length is that of the unsent body. */
function contentLengthHeader(
  body: ContractResponse['body'],
  method: string | undefined,
): { 'content-length'?: number } {
  if (typeof body === 'string') return { 'content-length': Buffer.byteLength(body) }
  if (body instanceof Uint8Array) return { 'content-length': body.length }
  return body === null && method !== 'HEAD' ? { 'content-length': 0 } : {}
}
