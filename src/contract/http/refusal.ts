// Refusals of a request by the contract itself, before or instead of a call of the library.
import { cutText } from '../../base/shown-text.js'

/** Codes that the contract gives. REQUEST_VALIDATION_ERROR is a code of the library too. */
export type RefusalCode =
  | 'REQUEST_ERROR' // The key is unknown, or the path is.
  | 'SCOPE_MISSING' // The key is known, but must not do this.
  | 'PAYMENT_REQUIRED' // The hook `quota` refused. A code of the library too.
  | 'RECEIPT_NOT_FOUND' // The table has no receipt of the version.
  | 'METHOD_NOT_ALLOWED' // The path is known, the method is not.
  | 'REQUEST_VALIDATION_ERROR' // A part of the request breaks its rule.
  | 'REQUEST_TOO_LARGE' // The body is over its limit.
  | 'UNSUPPORTED_MEDIA_TYPE' // A body type, charset or content encoding that is not taken.
  | 'RATE_LIMITED' // The key or the client has sent too many requests. A code of the library too.
  | 'STORAGE_UNAVAILABLE' // A wait took too long. A code of the library too.

/** The refusal of a request by its form alone. */
export class Refusal extends Error {
  override readonly name = 'Refusal'

  /** @param headers - Of the answer, with names in lower case, such as `allow`. */
  constructor(
    readonly code: RefusalCode,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message)
  }
}

/** A known path with another method. */
export function methodNotAllowed(method: string, allow: string): Refusal {
  const message = `Method ${shownId(method)} is not allowed here; use ${allow}`
  return new Refusal('METHOD_NOT_ALLOWED', message, { allow })
}

/** Seconds after which a client that was refused under load should come back. */
export const RETRY_AFTER_SECONDS = '1'

/** A request that waited in vain. It has changed nothing. */
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

/** A part of the request that breaks its rule. Clients know the beginning of the message. */
export function invalidRequest(part: RequestPart, problem: string): Refusal {
  return new Refusal('REQUEST_VALIDATION_ERROR', `Invalid request ${part}: ${problem}`)
}

const SHOWN_ID_CHARS_MAX = 64

/** An ID of a client for messages, shortened so that it cannot flood a log. */
export function shownId(id: string): string {
  return cutText(id, SHOWN_ID_CHARS_MAX)
}
