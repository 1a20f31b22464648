// Sends signed requests to one bucket, and repeats them while a retry may succeed.
//
// Invariants:
// - A request is sent at most `attemptsMax` times, and not again after `retryTimeMs`.
// - Retries wait a random time, so that many clients of a busy server do not return together.
// - `mayHaveHappened` of a reply is true if an earlier attempt was not answered, and so may already have had the
//   effect.
import { createHash } from 'node:crypto'
import { type Backoff, openBackoff, retry } from '../../src/base/backoff.js'
import { type Bytes, NO_BYTES } from '../../src/base/bytes.js'
import { monotonicMs } from '../../src/base/clock.js'
import { StoreError } from '../../src/base/store-error.js'
import { answerFailure, credentialsFailure, S3Failure } from './s3-failure.js'
import type { S3Settings } from './s3-options.js'
import { S3Signer } from './s3-signer.js'
import { type S3Answer, S3Sockets } from './s3-sockets.js'
import { parseError, xmlText } from './s3-xml.js'

export type S3Request = Readonly<{
  method: 'DELETE' | 'GET' | 'HEAD' | 'POST' | 'PUT'
  /** The key of the object. Empty: the request is for the bucket itself. */
  key?: string
  query?: Readonly<Record<string, string>>
  headers?: Readonly<Record<string, string>>
  body?: Bytes
  /** Refusals to return to the caller as answers, such as `404 NoSuchKey`; `404` alone matches any code. */
  refusals?: readonly string[]
  /** Finds a failure in an answer that would otherwise be returned: a success, or one of `refusals`. */
  failureIn?: (answer: S3Answer) => S3Failure | undefined
  memory?: Bytes | undefined
  /** The maximum number of bytes in the body of a successful answer. Default: the maximum of an XML document. */
  bytesMax?: number
  /** Whether the request cleans up after a failure. It has few attempts, and is sent even while the client closes. */
  isCleanup?: boolean
}>

export type S3Reply = S3Answer & Readonly<{ mayHaveHappened: boolean }>

/** The maximum number of bytes of an XML document: 1,000 keys of 1,024 escaped characters. */
const XML_BYTES_MAX = 8 * 1_024 * 1_024
/** The maximum number of attempts to clean up: garbage collection finds the rest. */
const CLEANUP_ATTEMPTS_MAX = 4
const DIGEST_OF_NOTHING = sha256Hex(NO_BYTES)

export class S3Client {
  readonly #settings: S3Settings
  readonly #signer: S3Signer
  readonly #sockets: S3Sockets
  readonly #backoff: Backoff
  readonly #running = new Set<Promise<unknown>>()
  #closing: Promise<void> | undefined

  constructor(settings: S3Settings) {
    this.#settings = settings
    this.#signer = new S3Signer(settings)
    this.#sockets = new S3Sockets(settings)
    const { backoffBaseMs: firstMs, backoffMaxMs: maxMs, random } = settings
    this.#backoff = openBackoff({ firstMs, maxMs }, random)
  }

  assertOpen(): void {
    if (this.#closing !== undefined) throw new StoreError('STORE_CLOSED', 'The store was closed')
  }

  /**
   * Sends a request until it is answered.
   * @throws {S3Failure} the failure of the last attempt
   * @throws {StoreError} STORE_CLOSED
   */
  async send(request: S3Request): Promise<S3Reply> {
    if (request.isCleanup !== true) this.assertOpen()
    const sending = this.#send(request)
    this.#running.add(sending)
    try {
      return await sending
    } finally {
      this.#running.delete(sending)
    }
  }

  presignPut(
    key: string,
    headers: Readonly<Record<string, string>>,
    ttlMs: number,
  ): Promise<string> {
    const url = makeObjectUrl(this.#settings.publicBucketUrl, key)
    return this.#signer.presign({ method: 'PUT', url, headers }, ttlMs)
  }

  /** Resolves when all current requests have ended. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running)
    this.#sockets.close()
  }

  async #send(request: S3Request): Promise<S3Reply> {
    const { retryTimeMs } = this.#settings
    const attemptsMax = request.isCleanup
      ? Math.min(CLEANUP_ATTEMPTS_MAX, this.#settings.attemptsMax)
      : this.#settings.attemptsMax
    const bounds = { backoff: this.#backoff, attemptsMax, deadlineMs: monotonicMs() + retryTimeMs }
    let attempts = 0
    let mayHaveHappened = false
    const attempt = (): Promise<S3Answer> => {
      attempts++
      return this.#attempt(request)
    }
    const leastPauseMs = (failure: unknown): number | null => {
      if (!(failure instanceof S3Failure)) return null
      mayHaveHappened ||= failure.isAmbiguous
      const { isRetryable, retryAfterMs } = failure
      return isRetryable && retryAfterMs <= this.#settings.retryAfterMaxMs ? retryAfterMs : null
    }
    const answer = await retry(attempt, bounds, leastPauseMs).catch((failure: unknown) => {
      throw failure instanceof S3Failure ? lastFailure(failure, attempts, mayHaveHappened) : failure
    })
    return { ...answer, mayHaveHappened }
  }

  async #attempt(request: S3Request): Promise<S3Answer> {
    const { method, key = '', query, body, memory, bytesMax = XML_BYTES_MAX } = request
    const url = makeObjectUrl(this.#settings.bucketUrl, key, query)
    const digest = body === undefined ? DIGEST_OF_NOTHING : sha256Hex(body)
    const given = { ...request.headers, 'x-amz-content-sha256': digest }
    const headers = await this.#headers({ method, url, headers: given })
    const answer = await this.#sockets.exchange({
      method,
      url,
      headers,
      body,
      memory,
      bytesMax: Math.max(bytesMax, XML_BYTES_MAX),
    })
    const failure = this.#failureOf(request, answer)
    if (failure !== undefined) throw failure
    return answer
  }

  async #headers(request: Parameters<S3Signer['headers']>[0]): Promise<Record<string, string>> {
    try {
      return await this.#signer.headers(request)
    } catch (failure) {
      throw credentialsFailure(failure)
    }
  }

  /** The failure that an answer reports. undefined: the caller expects the answer. */
  #failureOf({ refusals = [], failureIn }: S3Request, answer: S3Answer): S3Failure | undefined {
    const { status, headers, body } = answer
    if (status >= 200 && status < 300) return failureIn?.(answer)
    const error = parseError(xmlText(body))
    const forms = [String(status), `${status} ${error.code}`]
    if (forms.some((form) => refusals.includes(form))) return failureIn?.(answer)
    return answerFailure(status, {
      ...error,
      retryAfterMs: this.#retryAfterMs(headers['retry-after']),
    })
  }

  /** `Retry-After` in seconds or as a date; 0 for none. */
  #retryAfterMs(header: string | undefined): number {
    if (header === undefined) return 0
    if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000
    const at = Date.parse(header)
    return Number.isNaN(at) ? 0 : Math.max(0, at - this.#settings.clock.now())
  }
}

function lastFailure(failure: S3Failure, attempts: number, isAmbiguous: boolean): S3Failure {
  if (attempts === 1 && isAmbiguous === failure.isAmbiguous) return failure
  const { status, code, isRetryable, retryAfterMs } = failure
  return new S3Failure(`${failure.message}, at the last of ${attempts} attempts`, {
    ...(status !== undefined && { status }),
    code,
    isRetryable,
    isAmbiguous,
    retryAfterMs,
    cause: failure.cause ?? failure,
  })
}

/** Keys and queries contain nothing that the URL parser changes: see `keyPrefix`. */
function makeObjectUrl(
  bucketUrl: URL,
  key: string,
  query: Readonly<Record<string, string>> = {},
): URL {
  const url = new URL(bucketUrl)
  url.pathname += key
  url.search = Object.entries(query)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&')
  return url
}

function sha256Hex(bytes: Bytes): string {
  return createHash('sha256').update(bytes).digest('hex')
}
