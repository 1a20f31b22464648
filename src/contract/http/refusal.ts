// Refusals by the contract itself, before or instead of a call of the library.
import { cutText } from '../../base/shown-text.js'

/** Codes of the contract. REQUEST_VALIDATION_ERROR is also a code of the library. */
export type RefusalCode =
  | 'REQUEST_ERROR' // The key or the path is unknown.
  | 'SCOPE_MISSING' // The key is known, but lacks the right.
  | 'PAYMENT_REQUIRED' // The hook `quota` refused. Also a code of the library.
  | 'RECEIPT_NOT_FOUND' // The table has no receipt of the version.
  | 'METHOD_NOT_ALLOWED' // The path is known, the method is not.
  | 'REQUEST_VALIDATION_ERROR' // A part of the request breaks its rule.
  | 'REQUEST_TOO_LARGE' // The body is over its limit.
  | 'UNSUPPORTED_MEDIA_TYPE' // An unsupported body type, charset or content encoding.
  | 'RATE_LIMITED' // The key or the client has sent too many requests. Also a code of the library.
  | 'STORAGE_UNAVAILABLE' // A wait took too long. Also a code of the library.

/** A refusal of a request, before any work. */
export class Refusal extends Error {
  override readonly name = 'Refusal'

  /** @param headers - Headers of the answer, with names in lower case, such as `allow`. */
  constructor(
    readonly code: RefusalCode,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message)
  }
}

/** The refusal of a method that a known path does not have. */
export function methodNotAllowed(method: string, allow: string): Refusal {
  const message = `Method ${shownId(method)} is not allowed here; use ${allow}`
  return new Refusal('METHOD_NOT_ALLOWED', message, { allow })
}

/** The `Retry-After` of a client that was refused under load, in seconds. */
export const RETRY_AFTER_SECONDS = '1'

/** The refusal of a request that waited too long. The request has changed nothing. */
export function busy(problem: string): Refusal {
  const message = `${problem}: nothing was changed; try again`
  return new Refusal('STORAGE_UNAVAILABLE', message, { 'retry-after': RETRY_AFTER_SECONDS })
}

/** @param waitMs - Milliseconds after which the next request is accepted. */
export function rateLimited(problem: string, waitMs: number): Refusal {
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000))
  return new Refusal('RATE_LIMITED', problem, { 'retry-after': String(seconds) })
}

type RequestPart = 'params' | 'query' | 'headers' | 'body'

/**
 * The refusal of a part of the request that breaks its rule. Clients match on the beginning of the message, which is
 * published.
 */
export function invalidRequest(part: RequestPart, problem: string): Refusal {
  return new Refusal('REQUEST_VALIDATION_ERROR', `Invalid request ${part}: ${problem}`)
}

const SHOWN_ID_CHARS_MAX = 64

/** An ID from a client, shortened for messages so that it cannot flood a log. */
export function shownId(id: string): string {
  return cutText(id, SHOWN_ID_CHARS_MAX)
}
