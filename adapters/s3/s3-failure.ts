// Failures of requests to an S3 server: whether to retry, and advice for messages.

import { optionError } from '../../src/base/options.js'
import { messageOf } from '../../src/base/shown-text.js'
import { isStoreError, StoreError, type WriteOutcome } from '../../src/base/store-error.js'
import type { S3Settings } from './s3-options.js'

/** The failure of one attempt of a request. */
export class S3Failure extends Error {
  override readonly name = 'S3Failure'
  /** The status of the answer; undefined: there was no answer. */
  readonly status: number | undefined
  /** The code in the answer, such as `SlowDown`; '' if it has none. */
  readonly code: string
  readonly isRetryable: boolean
  /** Whether the request may have had its effect. */
  readonly isAmbiguous: boolean
  /** The wait that the server requests, in milliseconds. */
  readonly retryAfterMs: number

  constructor(
    message: string,
    about: Readonly<{
      status?: number
      code?: string
      isRetryable: boolean
      isAmbiguous: boolean
      retryAfterMs?: number
      cause?: unknown
    }>,
  ) {
    super(message, { cause: about.cause })
    this.status = about.status
    this.code = about.code ?? ''
    this.isRetryable = about.isRetryable
    this.isAmbiguous = about.isAmbiguous
    this.retryAfterMs = about.retryAfterMs ?? 0
  }
}

const RETRYABLE_CODES: ReadonlySet<string> = new Set([
  'BadDigest',
  'ConditionalRequestConflict',
  'IncompleteBody',
  'InternalError',
  'OperationAborted',
  'RequestTimeout',
  'ServiceUnavailable',
  'SlowDown',
  'Throttling',
  'TooManyRequests',
  'XAmzContentSHA256Mismatch',
])
/** Codes of expired temporary credentials: the next attempt may have new ones. */
const EXPIRED_CODES: ReadonlySet<string> = new Set(['ExpiredToken', 'TokenRefreshRequired'])
/** 5xx statuses that a retry does not change: not implemented, HTTP version, no space. */
const FINAL_STATUSES: ReadonlySet<number> = new Set([501, 505, 507])

/** The maximum number of characters of a server's message that are shown. */
const MESSAGE_CHARS_MAX = 200

/** The failure reported by an answer. */
export function answerFailure(
  status: number,
  {
    code,
    message,
    retryAfterMs = 0,
  }: Readonly<{ code: string; message: string; retryAfterMs?: number }>,
): S3Failure {
  const isServers = status >= 500 && !FINAL_STATUSES.has(status)
  const isRetryable =
    isServers ||
    status === 408 ||
    status === 429 ||
    RETRYABLE_CODES.has(code) ||
    EXPIRED_CODES.has(code)
  const words = [String(status), code].filter((word) => word !== '').join(' ')
  const reason = message === '' ? '' : ` (${message.slice(0, MESSAGE_CHARS_MAX)})`
  return new S3Failure(`the S3 server answered ${words}${reason}`, {
    status,
    code,
    isRetryable,
    isAmbiguous: [200, 408].includes(status) || status >= 500 || code === 'RequestTimeout',
    retryAfterMs,
  })
}

/** Failures before a connection was made: the request was not sent. */
const UNSENT_CODES: ReadonlySet<unknown> = new Set(['EAI_AGAIN', 'ECONNREFUSED', 'ENOTFOUND'])

/** Failures of TLS and host names are due to settings: a retry fails in the same way. */
const FINAL_CODES = /^(?:CERT_|ERR_TLS_|ERR_SSL_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_)/

/** The failure of a connection. */
export function connectionFailure(failure: Error): S3Failure {
  if (failure instanceof S3Failure) return failure
  const { code = '', syscall } = failure as NodeJS.ErrnoException
  const unsent = UNSENT_CODES.has(code) || syscall === 'connect' || FINAL_CODES.test(code)
  const what = unsent ? 'the S3 server cannot be reached' : 'the connection to the S3 server failed'
  return new S3Failure(`${what}: ${failure.message === '' ? code : failure.message}`, {
    isRetryable: !FINAL_CODES.test(code),
    isAmbiguous: !unsent,
    cause: failure,
  })
}

/** The failure of the function that returns credentials. A StoreError, about what it returned, does not change. */
export function credentialsFailure(failure: unknown): unknown {
  if (isStoreError(failure)) return failure
  const reason = messageOf(failure)
  return new S3Failure(`there are no credentials: ${reason}`, {
    isRetryable: true,
    isAmbiguous: false,
    cause: failure,
  })
}

const FULL_CODES: ReadonlySet<string> = new Set([
  'InsufficientStorage',
  'QuotaExceeded',
  'XMinioStorageFull',
])

/** The error of an operation whose last attempt failed. Any other failure does not change. */
export function s3Error(failure: unknown, what: string, outcome?: WriteOutcome): unknown {
  if (!(failure instanceof S3Failure)) return failure
  const isFull = FULL_CODES.has(failure.code) || failure.status === 507
  const advice = adviceOf(failure)
  return new StoreError(
    isFull ? 'INSUFFICIENT_STORAGE' : 'STORAGE_UNAVAILABLE',
    `${what}: ${failure.message}${advice === '' ? '' : `; ${advice}`}`,
    { cause: failure, ...(outcome !== undefined && { outcome }) },
  )
}

/** The error of an opening. A refusal that a retry would not change becomes an option error. */
export function openingError(failure: unknown, settings: S3Settings): unknown {
  if (failure instanceof S3Failure) {
    const advice = adviceOf(failure)
    const option = optionAtFault(failure)
    if (option !== undefined) {
      const problem = `does not fit the server ${settings.bucketUrl.origin}, bucket ${settings.bucket}`
      return optionError(option, `${problem}: ${failure.message}; ${advice}`)
    }
  }
  return s3Error(failure, `The objects at ${settings.bucketUrl.href} cannot be opened`)
}

function optionAtFault({
  code,
  status,
}: S3Failure): 'bucket' | 'credentials' | 'region' | undefined {
  if (code === 'RequestTimeTooSkewed') return undefined
  if (code === 'NoSuchBucket' || code === 'InvalidBucketName') return 'bucket'
  if (WRONG_REGION_CODES.has(code) || isRedirect(status)) return 'region'
  return status === 403 || WRONG_TOKEN_CODES.has(code) ? 'credentials' : undefined
}

const WRONG_REGION_CODES: ReadonlySet<string> = new Set([
  'AuthorizationHeaderMalformed',
  'IllegalLocationConstraintException',
  'PermanentRedirect',
  'TemporaryRedirect',
])
const WRONG_TOKEN_CODES: ReadonlySet<string> = new Set(['InvalidToken', ...EXPIRED_CODES])

function isRedirect(status: number | undefined): boolean {
  return status !== undefined && status >= 300 && status < 400
}

/** Advice for a failure that retries do not resolve; '' if there is none. */
function adviceOf({ code, status }: S3Failure): string {
  if (code === 'NoSuchBucket') return 'create the bucket, or correct its name'
  if (code === 'InvalidAccessKeyId') return 'correct accessKeyId, or create the key on the server'
  if (code === 'SignatureDoesNotMatch') return 'correct secretAccessKey, and the region'
  if (code === 'RequestTimeTooSkewed') return 'set the clock of this machine'
  if (WRONG_TOKEN_CODES.has(code)) return 'renew the credentials'
  if (WRONG_REGION_CODES.has(code) || isRedirect(status)) {
    return 'set region and endpoint to those of the bucket'
  }
  if (code === 'NotImplemented')
    return 'set conditionalPuts to false if the server refuses If-None-Match'
  if (code !== 'AccessDenied' && status !== 403) return ''
  return 'allow these credentials to get, put, delete and list objects of the bucket'
}
