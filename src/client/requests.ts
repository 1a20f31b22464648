// Requests to a server of the contract, repeated where that does no harm.
import { openBackoff } from '../base/backoff.js'
import { monotonicMs, systemClock } from '../base/clock.js'
import { openSystemRandom } from '../base/random.js'
import { ClientError, givenUp } from './client-error.js'
import { pauseUnless } from './pause-unless.js'

const BACKOFF = { firstMs: 500, maxMs: 15_000 }

/** A pause that a server asks for is at most so long, in milliseconds. */
const RETRY_AFTER_MS_MAX = 120_000

/** The whole message of the contract for a key that is not known, whose status is that of a missing table. */
const UNKNOWN_KEY = /^API key not found, or duplicate \S+$/

/** Bytes of an error that are shown; the rest is not read. */
const ERROR_CHARACTERS_MAX = 10_000

export type ClientRequest = Readonly<{
  method: string
  /** Below the URL of the server, or a URL of its own, which gets no key. */
  path: string | URL
  headers?: Readonly<Record<string, string>>
  body?: Uint8Array<ArrayBuffer> | Blob | string
  /** Whether a second request has no further effect. */
  isRepeatable: boolean
  signal?: AbortSignal | undefined
  /**
   * How long the answer is still waited for when `signal` is aborted, in milliseconds; the request is then not repeated.
   * Default: 0.
   */
  lingerMs?: number
  /** Told of each failed attempt. */
  onFailure?: (failure: ClientError) => void
  /** Attempts, at most. Default: as for all requests. */
  triesMax?: number
  /** Told the bytes of a Blob that were handed to the connection, where the platform sends streams. */
  onProgress?: ((bytes: number) => void) | undefined
}>

export type Sending = Readonly<{
  url: string
  key: string
  triesMax: number
  /** As `triesMax`, of requests that no server took, until one has answered. Default: as `triesMax`. */
  unreachedTriesMax?: number
  onRetry: (failure: ClientError, pauseMs: number) => void
  fetch: typeof fetch
  /** What a message says after the number of attempts. Default: nothing. */
  advice?: string
}>

/** The failure of one attempt. */
type Failed = Readonly<{ failure: ClientError; retryAfterMs: number | undefined }>

export class Requests {
  readonly #sending: Sending
  readonly #backoff = openBackoff(BACKOFF, openSystemRandom())
  /** Whether a server has ever answered. */
  #isReached = false

  constructor(sending: Sending) {
    this.#sending = sending
  }

  /** @returns a good answer, whose body is not read yet. @throws {ClientError} for every other one; the signal's reason */
  async send(request: ClientRequest): Promise<Response> {
    const { onRetry, advice } = this.#sending
    const startMs = monotonicMs()
    for (let tries = 1; ; tries++) {
      request.signal?.throwIfAborted()
      const answer = await this.#sendOnce(request)
      if (answer instanceof Response) return answer
      const { failure, retryAfterMs } = answer
      request.onFailure?.(failure)
      request.signal?.throwIfAborted()
      if (!mayRepeat(failure, request)) throw failure
      if (tries >= this.#triesMaxOf(request, failure)) {
        if (tries === 1) throw failure
        throw givenUp(failure, tries, monotonicMs() - startMs, advice)
      }
      const pauseMs = retryAfterMs ?? this.#backoff(tries - 1)
      onRetry(failure, pauseMs)
      await pauseUnless(pauseMs, request.signal)
    }
  }

  #triesMaxOf({ triesMax }: ClientRequest, { isUnsent }: ClientError): number {
    const { triesMax: ofAll, unreachedTriesMax = ofAll } = this.#sending
    return triesMax ?? (isUnsent && !this.#isReached ? unreachedTriesMax : ofAll)
  }

  async #sendOnce({
    method,
    path,
    headers,
    body,
    signal,
    lingerMs,
    onProgress,
  }: ClientRequest): Promise<Response | Failed> {
    const { url, key, fetch } = this.#sending
    const target = path instanceof URL ? path : url + path
    const authorization = path instanceof URL ? {} : { authorization: `Bearer ${key}` }
    const end = endOf(signal, lingerMs)
    let answer: Response
    try {
      answer = await fetch(target, {
        method,
        headers: { ...authorization, ...headers, ...lengthOf(body, onProgress) },
        ...(body === undefined ? {} : watched(body, onProgress)),
        ...(end.signal === undefined ? {} : { signal: end.signal }),
      })
    } catch (cause) {
      return { failure: new ClientError(reasonOf(cause), 0, '', cause), retryAfterMs: undefined }
    } finally {
      end.forget()
    }
    this.#isReached = true
    return answer.ok ? answer : await failedAnswer(answer, target, url)
  }
}

/** Browsers and their workers, which have a location, send streams over some connections only. */
const SENDS_STREAMS = typeof location === 'undefined'

type Body = NonNullable<ClientRequest['body']>
type OnProgress = ClientRequest['onProgress']

function isWatched(body: Body | undefined, onProgress: OnProgress): body is Blob {
  return SENDS_STREAMS && onProgress !== undefined && body instanceof Blob
}

/** A stream has no length by itself, without which a server could not say at once that it is too long. */
function lengthOf(body: Body | undefined, onProgress: OnProgress): Record<string, string> {
  return isWatched(body, onProgress) ? { 'content-length': String(body.size) } : {}
}

function watched(body: Body, onProgress: OnProgress): RequestInit {
  if (!isWatched(body, onProgress)) return { body }
  let bytes = 0
  const count = new TransformStream<Uint8Array, Uint8Array>({
    start: () => onProgress?.(0),
    transform(piece, controller) {
      bytes += piece.length
      onProgress?.(bytes)
      controller.enqueue(piece)
    },
  })
  const stream = body.stream().pipeThrough(count)
  return { body: stream, duplex: 'half' } as RequestInit
}

type End = Readonly<{ signal: AbortSignal | undefined; forget(): void }>

/** A signal that ends a request some time after another one. */
function endOf(signal: AbortSignal | undefined, lingerMs = 0): End {
  if (signal === undefined || lingerMs === 0) return { signal, forget: () => undefined }
  const late = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  const wait = (): void => {
    timer = setTimeout(() => late.abort(signal.reason), lingerMs)
  }
  signal.addEventListener('abort', wait, { once: true })
  const forget = (): void => {
    signal.removeEventListener('abort', wait)
    clearTimeout(timer)
  }
  return { signal: late.signal, forget }
}

/** fetch says only that it failed; its cause says why. */
function reasonOf(failure: unknown): string {
  const { cause = failure } = failure as { cause?: unknown }
  // A host of several addresses has a failure for each, and no message of its own.
  const causes: readonly unknown[] = cause instanceof AggregateError ? cause.errors : [cause]
  const reasons = causes.map((each) => (each instanceof Error ? firstLine(each.message) : ''))
  const reason = reasons.filter((text) => text !== '').join(', ')
  return `The server did not answer${reason === '' ? '' : `: ${reason}`}`
}

/** Messages of TLS go on with lines about the program. */
function firstLine(text: string): string {
  return /^.*/.exec(text.trim())?.[0] ?? ''
}

async function failedAnswer(answer: Response, target: string | URL, url: string): Promise<Failed> {
  const { status, headers } = answer
  const text = await answer.text().catch(() => '')
  const { type, message } = errorIn(text)
  const isUnknownKey = status === 404 && message !== undefined && UNKNOWN_KEY.test(message)
  const hint = isUnknownKey ? `: the server at ${url} does not know this key` : ''
  const failure = new ClientError((message ?? messageOf(status, target)) + hint, status, type)
  return { failure, retryAfterMs: retryAfterMs(headers.get('retry-after')) }
}

/** The message for an answer that is no error of the contract. */
function messageOf(status: number, target: string | URL): string {
  if (status !== 404 || target instanceof URL) return `The server answered with status ${status}`
  const { origin, pathname } = new URL(target)
  const place = `There is no rowstash API at ${origin}${pathname} (status 404)`
  return `${place}: is the base path, such as /api, missing from the url?`
}

function errorIn(text: string): Readonly<{ type: string; message: string | undefined }> {
  try {
    const { error } = JSON.parse(text) as { error?: { type?: unknown; message?: unknown } }
    if (typeof error?.message === 'string') {
      const message = error.message.slice(0, ERROR_CHARACTERS_MAX)
      return { type: typeof error.type === 'string' ? error.type : '', message }
    }
  } catch {
    // It is no error of the contract: a proxy has answered, for example.
  }
  return { type: '', message: undefined }
}

/** Seconds or an HTTP date, RFC 9110 section 10.2.3. */
function retryAfterMs(header: string | null): number | undefined {
  if (header === null) return undefined
  const ms = /^[0-9]{1,9}$/.test(header)
    ? Number(header) * 1_000
    : Date.parse(header) - systemClock.now()
  return Number.isNaN(ms) ? undefined : Math.min(RETRY_AFTER_MS_MAX, Math.max(0, ms))
}

/** 429 and 503 say that nothing was done, unless the outcome is unknown. */
function mayRepeat(failure: ClientError, { isRepeatable }: ClientRequest): boolean {
  const { status } = failure
  if (isRefusedByFetch(failure)) return false
  if (status === 429) return true
  return isRepeatable && (status === 0 || status === 408 || status >= 500)
}

/** Whether fetch refuses the URL itself, as it does for ports of other protocols. */
function isRefusedByFetch({ cause }: ClientError): boolean {
  const { cause: reason } = Object(cause) as { cause?: unknown }
  return reason instanceof Error && reason.message === 'bad port'
}
