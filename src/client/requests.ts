// Sends requests to a server of the contract, and repeats them if that is safe.
import { openBackoff } from '../base/backoff.js'
import { toHex } from '../base/bytes.js'
import { monotonicMs } from '../base/clock.js'
import { pause } from '../base/pause.js'
import { openSystemRandom } from '../base/random.js'
import { messageOf } from '../base/shown-text.js'
import { ANSWER_INVALID, type Failed, failedAnswer } from './answers.js'
import { ClientError, givenUp } from './client-error.js'
import { ownSignal } from './own-realm.js'

/** Pauses between attempts. */
export const BACKOFF = { firstMs: 500, maxMs: 15_000 }

const ID_BYTES = 16

const AWAKE_MS = 60_000

export type ClientRequest = Readonly<{
  method: string
  /** A path below the URL of the server; or a whole URL, to which the API key is not sent. */
  path: string | URL
  headers?: Readonly<Record<string, string>>
  body?: Uint8Array<ArrayBuffer> | Blob | string
  /** Whether a repeat of the request has no further effect. */
  isRepeatable: boolean
  signal?: AbortSignal | undefined
  /**
   * How long to wait for the answer after `signal` is aborted, in milliseconds; the request is then not repeated.
   * Default: 0.
   */
  lingerMs?: number
  /** Called with each failed attempt. */
  onFailure?: (failure: ClientError) => void
  /** Maximum number of attempts. Default: `triesMax` of the client. */
  triesMax?: number
  /**
   * Called with the number of bytes of a Blob that were handed to the connection, if the platform streams request
   * bodies.
   */
  onProgress?: ((bytes: number) => void) | undefined
}>

export type Sending = Readonly<{
  url: string
  key: string
  triesMax: number
  /**
   * Maximum number of attempts for a request that no server took, as long as no server has ever answered. Default:
   * `triesMax`.
   */
  unreachedTriesMax?: number
  onRetry: (failure: ClientError, pauseMs: number) => void
  fetch: typeof fetch
  /** Text after the number of attempts in a message. Default: none. */
  advice?: string
}>

export class Requests {
  readonly #sending: Sending
  readonly #random = openSystemRandom()
  readonly #backoff = openBackoff(BACKOFF, this.#random)
  /** Whether a server has ever answered. */
  #isReached = false

  constructor(sending: Sending) {
    this.#sending = sending
  }

  /** A random ID. It does not use `crypto.randomUUID`, which pages on plain HTTP lack. */
  newId(): string {
    return toHex(this.#random.bytes(ID_BYTES))
  }

  /**
   * @param read - Reads a successful answer. It is a part of the attempt: if it throws, the attempt has failed.
   * @returns what `read` returned
   * @throws {ClientError} for every answer that is not successful; the signal's reason after an abort
   */
  async send<T>(given: ClientRequest, read: (answer: Response) => T | Promise<T>): Promise<T> {
    const request = { ...given, signal: ownSignal(given.signal) }
    const { onRetry, advice } = this.#sending
    const startMs = monotonicMs()
    for (let tries = 1; ; tries++) {
      request.signal?.throwIfAborted()
      const answer = await this.#sendOnce(request, read)
      if ('value' in answer) return answer.value
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
      await pause(pauseMs, request.signal)
    }
  }

  #triesMaxOf({ triesMax }: ClientRequest, { isUnsent, type }: ClientError): number {
    const { triesMax: ofAll, unreachedTriesMax = ofAll } = this.#sending
    const isElsewhere = !this.#isReached && (isUnsent || type === ANSWER_INVALID)
    return triesMax ?? (isElsewhere ? unreachedTriesMax : ofAll)
  }

  async #sendOnce<T>(
    request: ClientRequest,
    read: (answer: Response) => T | Promise<T>,
  ): Promise<Readonly<{ value: T }> | Failed> {
    const { url } = this.#sending
    const { path, signal, lingerMs } = request
    const target = path instanceof URL ? path : url + path
    const end = makeLateSignal(signal, lingerMs)
    // Node's fetch may wait without a timer or socket that keeps the process alive.
    const awake = setInterval(() => undefined, AWAKE_MS)
    let answer: Response | undefined
    try {
      answer = await this.#fetch(target, request, end.signal)
      if (!answer.ok) {
        this.#isReached = true
        return await failedAnswer(answer, target, url)
      }
      const value = await read(answer)
      this.#isReached = true
      return { value }
    } catch (cause) {
      return { failure: attemptFailure(cause, answer), retryAfterMs: undefined }
    } finally {
      clearInterval(awake)
      end.forget()
    }
  }

  #fetch(
    target: string | URL,
    { method, path, headers, body, onProgress }: ClientRequest,
    signal: AbortSignal | undefined,
  ): Promise<Response> {
    const { key, fetch } = this.#sending
    const authorization = path instanceof URL ? {} : { authorization: `Bearer ${key}` }
    return fetch(target, {
      method,
      headers: { ...authorization, ...headers, ...watchedLengthHeader(body, onProgress) },
      ...(body === undefined ? {} : watchedUpload(body, onProgress)),
      ...(signal === undefined ? {} : { signal }),
    })
  }
}

/**
 * Whether request bodies are streamed. Browsers and their workers, which have a `location`, can do so only over some
 * connections.
 */
const SENDS_STREAMS = typeof location === 'undefined'

type Body = NonNullable<ClientRequest['body']>
type OnProgress = ClientRequest['onProgress']

function isWatched(body: Body | undefined, onProgress: OnProgress): body is Blob {
  return SENDS_STREAMS && onProgress !== undefined && body instanceof Blob
}

/** The header with the length of a stream: without it, a server could not reject a body at once that is too long. */
function watchedLengthHeader(
  body: Body | undefined,
  onProgress: OnProgress,
): Record<string, string> {
  return isWatched(body, onProgress) ? { 'content-length': String(body.size) } : {}
}

function watchedUpload(body: Body, onProgress: OnProgress): RequestInit {
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

/** A signal that ends a request some time after the given signal. */
function makeLateSignal(signal: AbortSignal | undefined, lingerMs = 0): End {
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

/** The failure of an attempt whose answer is missing or could not be read. */
function attemptFailure(cause: unknown, answer: Response | undefined): ClientError {
  if (answer === undefined) {
    return new ClientError(`The server did not answer${transportReason(cause)}`, 0, '', cause)
  }
  if (cause instanceof ClientError) return cause
  const problem = `The answer of the server broke off${transportReason(cause)}`
  return new ClientError(problem, answer.status, 'answer_cut', cause)
}

/** The reason of a failure is in its cause, because the error of fetch itself says only that fetch failed. */
function transportReason(failure: unknown): string {
  const { cause = failure } = failure as { cause?: unknown }
  // For a host with several addresses, the cause has no message, but one error per address.
  const { errors = [cause] } = Object(cause) as { errors?: readonly unknown[] }
  const reasons = errors.map((each) => firstLine(messageOf(each)))
  const reason = reasons.filter((text) => text !== '').join(', ')
  return reason === '' ? '' : `: ${reason}`
}

/** The first line of a message: messages of TLS continue with lines about the program. */
function firstLine(text: string): string {
  return /^.*/.exec(text.trim())?.[0] ?? ''
}

/**
 * Whether a request may be repeated. A 429 means that nothing was done. With a status below 300, the answer could not
 * be read, and with 0 it is missing.
 */
function mayRepeat(failure: ClientError, { isRepeatable }: ClientRequest): boolean {
  const { status } = failure
  if (isRefusedByFetch(failure)) return false
  if (status === 429) return true
  return isRepeatable && (status < 300 || status === 408 || status >= 500)
}

/** Whether fetch itself rejects the URL, for example because of a port of another protocol, or its redirects. */
function isRefusedByFetch({ cause }: ClientError): boolean {
  const { cause: reason } = Object(cause) as { cause?: unknown }
  return /^(?:bad port|redirect count exceeded)$/.test(messageOf(reason))
}
