// Renders failures as CONTRACT.md, section 2, says. No other file maps error codes to statuses.
//
// Invariants:
// - The error object has only the members `type`, `message` and, for requests with many rows, `problems`. The message
//   names the place of wrong data.
// - A validation error of the store concerns the body: the contract checks the other parts itself.
// - Unexpected errors, and errors that only an operator can repair, show the client no details.

import { cutText, escapeControls } from '../../base/shown-text.js'
import { isStoreError, type StoreError, type StoreErrorCode } from '../../base/store-error.js'
import type { ContractResponse } from './message.js'
import {
  invalidRequest,
  RETRY_AFTER_SECONDS,
  Refusal,
  type RefusalCode,
  shownId,
} from './refusal.js'

/** All codes of failures. */
type ErrorCode = RefusalCode | StoreErrorCode

const STATUS_OF_CODE: Readonly<Record<ErrorCode, number>> = {
  REQUEST_ERROR: 404,
  REQUEST_VALIDATION_ERROR: 400,
  TABLE_NOT_FOUND: 404,
  ROW_NOT_FOUND: 404,
  JOB_NOT_FOUND: 404,
  RECEIPT_NOT_FOUND: 404,
  PRECONDITION_FAILED: 412,
  COLUMN_ID_NOT_FOUND: 422,
  COLUMN_HAS_INVALID_VALUE: 422,
  COLUMN_ID_RESERVED: 422,
  COLUMN_ID_NOT_UNIQUE: 422,
  KEY_NOT_UNIQUE: 422,
  STASH_NOT_FOUND: 400,
  IDEMPOTENCY_KEY_REUSED: 422,
  CONTINUATION_INVALID: 400,
  SCHEMA_MISMATCH: 500,
  TRANSACTION_CONFLICT: 409,
  HISTORY_GONE: 410,
  SOURCE_URL_NOT_ALLOWED: 400,
  SOURCE_URL_FAILED: 400,
  SOURCE_URL_TIMEOUT: 408,
  APP_NOT_ALLOWED: 403,
  FILE_TOO_LARGE: 413,
  FILE_NOT_FOUND: 404,
  UPLOAD_SIGNATURE_INVALID: 403,
  UPLOAD_EXPIRED: 403,
  UPLOAD_NOT_FOUND: 404,
  UPLOAD_INCOMPLETE: 409,
  UPLOAD_SUPERSEDED: 409,
  UPLOAD_ALREADY_COMPLETED: 409,
  CONTENT_TYPE_MISMATCH: 400,
  CONTENT_LENGTH_MISMATCH: 400,
  CHECKSUM_MISMATCH: 400,
  SCOPE_MISSING: 403,
  METHOD_NOT_ALLOWED: 405,
  REQUEST_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  RATE_LIMITED: 429,
  LIMIT_EXCEEDED: 403,
  PAYMENT_REQUIRED: 402,
  STORAGE_UNAVAILABLE: 503,
  INSUFFICIENT_STORAGE: 507,
  DATA_CORRUPT: 500,
  DATA_LOSS: 500,
  OPTION_NOT_ALLOWED: 500,
  STORE_CLOSED: 503,
  STORE_LOCKED: 500,
  FORMAT_UNKNOWN: 500,
  ABORTED: 400,
}

const INTERNAL = { type: 'internal_error', message: 'Internal error' } as const

/** Advice for a client when the store has failed. */
function retryAdvice({ outcome }: StoreError): string {
  if (outcome === 'unchanged') return 'nothing was changed; try again'
  return 'outcome unknown; retry with If-Match or from the same stash, so that nothing is done twice'
}

type Shown = Readonly<{ type: string; message: string }>

/** Public types and messages for codes whose messages are not for clients. */
const SHOWN_INSTEAD: Readonly<Partial<Record<StoreErrorCode, Shown>>> = {
  IDEMPOTENCY_KEY_REUSED: {
    type: 'request_validation_error',
    message: 'Invalid request headers: Idempotency-Key was used by another request; use a new one',
  },
  STORAGE_UNAVAILABLE: {
    type: 'storage_unavailable',
    message: 'The store cannot do this now',
  },
  STORE_CLOSED: { type: 'storage_unavailable', message: 'The store is closing' },
  INSUFFICIENT_STORAGE: { type: 'insufficient_storage', message: 'The store is full' },
  DATA_CORRUPT: { type: 'data_corrupt', message: 'Stored data failed its checksum' },
  DATA_LOSS: { type: 'data_corrupt', message: 'Stored data is missing' },
  OPTION_NOT_ALLOWED: INTERNAL,
  SCHEMA_MISMATCH: INTERNAL,
  STORE_LOCKED: INTERNAL,
  FORMAT_UNKNOWN: INTERNAL,
  ABORTED: {
    type: 'request_validation_error',
    message: 'Invalid request body: it ended too early',
  },
}

export const JSON_TYPE = 'application/json; charset=utf-8'

/** Renders a failure of any kind. */
export function errorResponse(failure: unknown): ContractResponse {
  if (failure instanceof Refusal) return refusalResponse(failure)
  const { status, type, message } = shownError(failure)
  const response = renderError(status, type, message, problemsOf(failure))
  if (status === 429 || status === 503) {
    return withHeaders(response, { 'retry-after': RETRY_AFTER_SECONDS })
  }
  return status === 413 ? { ...response, close: true } : response
}

type ShownError = Readonly<{ status: number; type: string; message: string }>

/** The public status, type and message of a store error, or of an unexpected failure. */
export function shownError(failure: unknown): ShownError {
  if (isStoreError(failure) && Object.hasOwn(STATUS_OF_CODE, failure.code)) {
    return shownStoreError(failure)
  }
  return { status: 500, ...INTERNAL }
}

function shownStoreError(failure: StoreError): ShownError {
  const status = STATUS_OF_CODE[failure.code]
  const { type, message } = SHOWN_INSTEAD[failure.code] ?? {
    type: failure.code.toLowerCase(),
    message: shownMessage(failure),
  }
  const advice = status === 503 || status === 507 ? `: ${retryAdvice(failure)}` : ''
  return { status, type, message: `${message}${advice}` }
}

function refusalResponse({ code, message, headers }: Refusal): ContractResponse {
  const status = STATUS_OF_CODE[code]
  const response = withHeaders(renderError(status, code.toLowerCase(), message), headers)
  return status === 413 ? { ...response, close: true } : response
}

function shownMessage(failure: StoreError): string {
  const { code, message } = failure
  if (QUOTE_IDS.has(code)) return cutQuoted(message)
  if (code !== 'REQUEST_VALIDATION_ERROR') return message
  return invalidRequest('body', lowerFirst(message)).message
}

/** A sentence as it continues after a colon: with a small first letter, except for names and abbreviations. */
function lowerFirst(text: string): string {
  return /^[A-Z](?:[a-z]| )/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text
}

/**
 * Codes whose messages quote a part of the path in a shortened form. Column IDs are not shortened, because clients
 * match on messages about columns.
 */
const QUOTE_IDS: ReadonlySet<StoreErrorCode> = new Set([
  'TABLE_NOT_FOUND',
  'ROW_NOT_FOUND',
  'JOB_NOT_FOUND',
])

function cutQuoted(message: string): string {
  const [, before = '', id = message, after = ''] = /^([^']*')(.*)('[^']*)$/s.exec(message) ?? []
  return `${before}${shownId(id)}${after}`
}

const MESSAGE_CHARS_MAX = 1_000

/** Maximum length of the message of one of many problems, in characters. */
const PROBLEM_CHARS_MAX = 300

/** The members about problems for a request with many rows; an empty object for other failures. */
function problemsOf(failure: unknown): object {
  if (!isStoreError(failure) || failure.problems === undefined) return {}
  const problems = failure.problems.map((problem) => {
    const { type, message } = shownStoreError(problem)
    const shown = escapeControls(cutText(message, PROBLEM_CHARS_MAX))
    return { row: problem.row, type, column: problem.column, message: shown }
  })
  return { problems, problemCount: failure.problemCount }
}

/** Renders an error for the few responses without a code. */
export function renderError(
  status: number,
  type: string,
  message: string,
  more: object = {},
): ContractResponse {
  const shown = escapeControls(cutText(message, MESSAGE_CHARS_MAX))
  return {
    status,
    headers: { 'content-type': JSON_TYPE },
    body: JSON.stringify({ error: { type, message: shown, ...more } }),
  }
}

function withHeaders(response: ContractResponse, more: Record<string, string>): ContractResponse {
  return { ...response, headers: { ...response.headers, ...more } }
}
