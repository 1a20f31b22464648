// Fetches files from source URLs over node:http. The hosts are untrusted.
//
// Invariants:
// - One GET per hop, with nothing of ours in it: no key, no cookie, no proxy. Never a HEAD.
// - Every hop passes the same checks as the first (source-guard).
// - An encoded answer is refused and never decoded: the stored bytes are those sent.

import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { parse as parseDisposition } from 'content-disposition'
import type { FetchedSource, SourceLimits, UrlFetcher } from '../../src/ports.js'
import { sourceFailed, sourceTooLarge } from './source-failure.js'
import { openGuarded, parseSourceUrl, type SourceTarget } from './source-guard.js'
import { SourceLife } from './source-life.js'
import { resolveSourceOptions, type SourceOptions, type SourceSettings } from './source-options.js'

/** The maximum number of bytes in the headers of an answer, with the status line. */
const HEADER_BYTES_MAX = 16 * 1_024
const HEADERS_MAX = 200
/** The maximum number of 1xx answers before the final one. */
const INTERIM_ANSWERS_MAX = 8

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/**
 * Fetches from http and https URLs of public addresses, over its own connections.
 * @throws {StoreError} OPTION_NOT_ALLOWED
 * @example
 * import { openMemory } from 'rowstash'
 * import { nodeSources } from 'rowstash/node'
 *
 * await using store = await openMemory({ sources: nodeSources({ redirectsMax: 0 }) })
 * const failure = await store.team('acme').files.fromUrl('http://127.0.0.1/').catch((reason) => reason)
 * console.log(failure.code) // SOURCE_URL_NOT_ALLOWED
 */
export function nodeSources(options: SourceOptions = {}): UrlFetcher {
  const settings = resolveSourceOptions(options)
  return {
    async fetch(url, limits, signal) {
      const life = new SourceLife(settings.totalTimeoutMs, signal)
      try {
        return await fetchSource(parseSourceUrl(url, settings), limits, settings, life)
      } catch (failure) {
        life.end()
        throw failure
      }
    },
  }
}

async function fetchSource(
  first: SourceTarget,
  limits: SourceLimits,
  settings: SourceSettings,
  life: SourceLife,
): Promise<FetchedSource> {
  let target = first
  for (let redirects = 0; ; redirects++) {
    const answer = await requestSource(target, settings, life)
    const location = locationOf(answer)
    if (location === undefined) {
      checkAnswer(answer, limits)
      return makeFetchedSource(answer, target, limits, { settings, life })
    }
    answer.destroy()
    if (redirects === settings.redirectsMax) throw sourceFailed('redirects too many times')
    target = parseSourceUrl(location, settings, target)
  }
}

async function requestSource(
  target: SourceTarget,
  settings: SourceSettings,
  life: SourceLife,
): Promise<IncomingMessage> {
  const socket = await life.within(settings.connectTimeoutMs, () =>
    openGuarded(target, settings, life),
  )
  let answer: IncomingMessage | undefined
  // A body without a length ends with its connection, and Node takes a reset for a normal end. This listener runs
  // before Node's, so a body that is incomplete now stays incomplete.
  socket.prependListener('error', (failure) => {
    if (answer?.complete !== true) life.end(sourceFailed('broke off', failure))
  })
  answer = await life.within(settings.idleTimeoutMs, () => sendGet(socket, target.url))
  return answer
}

function sendGet(socket: Socket, url: URL): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    // Loaded on first use: PERFORMANCE.md, P47.
    const request = process.getBuiltinModule('node:http').request({
      // No agent: it could return one of its pooled sockets, or use a proxy from the environment.
      createConnection: () => socket,
      method: 'GET',
      path: url.pathname + url.search,
      setHost: false,
      headers: {
        host: url.host,
        'user-agent': 'rowstash',
        accept: '*/*',
        'accept-encoding': 'identity',
        connection: 'close',
      },
      maxHeaderSize: HEADER_BYTES_MAX,
      insecureHTTPParser: false,
    })
    request.maxHeadersCount = HEADERS_MAX + 1
    let interimAnswers = 0
    request.on('information', () => {
      interimAnswers++
      if (interimAnswers > INTERIM_ANSWERS_MAX) request.destroy(new Error('Too many 1xx answers'))
    })
    request.on('response', resolve)
    request.on('error', reject)
    // An unwanted protocol switch ends a request without an error.
    request.on('close', () => reject(new Error('The connection was closed')))
    request.end()
  })
}

/** The target of a redirect, if the answer is one. */
function locationOf({ statusCode = 0, headers }: IncomingMessage): string | undefined {
  if (!REDIRECTS.has(statusCode)) return undefined
  if (headers.location === undefined) throw sourceFailed('sent a redirect without a location')
  return headerText(headers.location)
}

/** @throws {StoreError} SOURCE_URL_FAILED, FILE_TOO_LARGE */
function checkAnswer(answer: IncomingMessage, { bytesMax }: SourceLimits): void {
  const { statusCode, httpVersionMajor, headers, rawHeaders } = answer
  if (httpVersionMajor !== 1) throw sourceFailed('speaks an unknown version of HTTP')
  if (statusCode !== 200) throw sourceFailed(`answered with status ${statusCode}`)
  if (rawHeaders.length > 2 * HEADERS_MAX) throw sourceFailed('sent too many headers')
  const contentEncoding = headers['content-encoding'] ?? ''
  const transferEncoding = headers['transfer-encoding'] ?? ''
  if (!/^(?:identity)?$/i.test(contentEncoding) || !/^(?:chunked)?$/i.test(transferEncoding)) {
    throw sourceFailed('used an encoding that was not requested')
  }
  if (Number(headers['content-length'] ?? 0) > bytesMax) throw sourceTooLarge(bytesMax)
}

type Run = Readonly<{ settings: SourceSettings; life: SourceLife }>

function makeFetchedSource(
  answer: IncomingMessage,
  { url }: SourceTarget,
  { bytesMax }: SourceLimits,
  { settings, life }: Run,
): FetchedSource {
  return {
    contentType: answer.headers['content-type'],
    fileName: fileNameOf(answer),
    url: url.href,
    body: readSourceBody(answer, bytesMax, { settings, life }),
    close: () => life.end(),
  }
}

async function* readSourceBody(
  answer: IncomingMessage,
  bytesMax: number,
  { settings, life }: Run,
): AsyncGenerator<Uint8Array> {
  try {
    const pieces: AsyncIterator<Uint8Array> = answer[Symbol.asyncIterator]()
    let bytes = 0
    for (;;) {
      const piece = await life.within(settings.idleTimeoutMs, () => pieces.next())
      if (piece.done === true) break
      bytes += piece.value.length
      if (bytes > bytesMax) throw sourceTooLarge(bytesMax)
      yield piece.value
    }
    if (!answer.complete) throw sourceFailed('broke off')
  } finally {
    life.end()
  }
}

/** The file name in `Content-Disposition`; of several such headers, the first counts. */
function fileNameOf({ rawHeaders }: IncomingMessage): string | undefined {
  const isNamed = (text: string, i: number): boolean =>
    i % 2 === 0 && text.toLowerCase() === 'content-disposition'
  const index = rawHeaders.findIndex(isNamed)
  const header = index < 0 ? undefined : rawHeaders[index + 1]
  if (header === undefined) return undefined
  const { filename } = parseDisposition(headerText(header)).parameters
  return filename === '' ? undefined : filename
}

/** The text of a header: Node decodes it as Latin-1, but most servers send UTF-8. */
function headerText(header: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(header, 'latin1'))
  } catch {
    return header
  }
}
