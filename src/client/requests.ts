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

export type ClientRequest = Readonly<{
  method: string
  /** A path below the URL of the server; or a URL of its own, which gets no key. */
  path: string | URL
  headers?: Readonly<Record<string, string>>
  body?: Uint8Array<ArrayBuffer> | Blob | string
  /** Whether a second request has no further effect. */
  isRepeatable: boolean
  signal?: AbortSignal | undefined
  /**
   * How long to wait for the answer after `signal` is aborted, in milliseconds; the request is then not repeated.
   * Default: 0.
   */
  lingerMs?: number
  /** Called with each failed attempt. */
  onFailure?: (failure: ClientError) => void
  /** Most attempts. Default: `triesMax` of the client. */
  triesMax?: number
  /** Called with the number of bytes of a Blob handed to the connection, if the platform streams request bodies. */
  onProgress?: ((bytes: number) => void) | undefined
}>

export type Sending = Readonly<{
  url: string
  key: string
  triesMax: number
  /** Most attempts for requests that no server took, until a server has answered. Default: `triesMax`. */
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

  /** A random ID. Pages on plain HTTP lack `crypto.randomUUID`. */
  newId(): string {
    return toHex(this.#random.bytes(ID_BYTES))
  }

  /**
   * @param read - Reads a successful answer, as part of the attempt: if it throws, the attempt has failed.
   * @returns what `read` made of the answer
   * @throws {ClientError} for every other answer; the signal's reason
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

/** Browsers and their workers, which have a `location`, stream request bodies only over some connections. */
const SENDS_STREAMS = typeof location === 'undefined'

type Body = NonNullable<ClientRequest['body']>
type OnProgress = ClientRequest['onProgress']

function isWatched(body: Body | undefined, onProgress: OnProgress): body is Blob {
  return SENDS_STREAMS && onProgress !== undefined && body instanceof Blob
}

/** The length of a stream: without it, a server could not reject a body that is too long at once. */
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

/** The reason is in the cause: the error of fetch says only that it failed. */
function transportReason(failure: unknown): string {
  const { cause = failure } = failure as { cause?: unknown }
  // A host with several addresses has one failure per address, and no message of its own.
  const { errors = [cause] } = Object(cause) as { errors?: readonly unknown[] }
  const reasons = errors.map((each) => firstLine(messageOf(each)))
  const reason = reasons.filter((text) => text !== '').join(', ')
  return reason === '' ? '' : `: ${reason}`
}

/** TLS messages continue with lines about the program. */
function firstLine(text: string): string {
  return /^.*/.exec(text.trim())?.[0] ?? ''
}

/** A 429 means that nothing was done. A status below 300 means an answer that is missing or could not be read. */
function mayRepeat(failure: ClientError, { isRepeatable }: ClientRequest): boolean {
  const { status } = failure
  if (isRefusedByFetch(failure)) return false
  if (status === 429) return true
  return isRepeatable && (status < 300 || status === 408 || status >= 500)
}

/** Whether fetch itself rejects the URL, as it does ports of other protocols, or its redirects. */
function isRefusedByFetch({ cause }: ClientError): boolean {
  const { cause: reason } = Object(cause) as { cause?: unknown }
  return /^(?:bad port|redirect count exceeded)$/.test(messageOf(reason))
}
