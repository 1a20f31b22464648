// Optional headers of operations that write.

import { IDEMPOTENCY_KEY_RULE, isIdempotencyKey } from '../../engine/arguments/arguments.js'
import type { HeaderList } from './message.js'
import { headerValues } from './message.js'
import { invalidRequest } from './refusal.js'

/** Whether the request has `x-glide-asynchronous: true`, which allows the status 202; 201 or 200 remain possible. */
export function parseAsynchronous(headers: HeaderList): boolean {
  const values = headerValues(headers, 'x-glide-asynchronous')
  const [value] = values
  if (value === undefined) return false
  if (values.length === 1 && (value === 'true' || value === 'false')) return value === 'true'
  throw invalidRequest('headers', 'x-glide-asynchronous must be true or false')
}

/** The value of `Idempotency-Key`: a repeat with the same key gets the first result again. */
export function parseIdempotencyKey(headers: HeaderList): string | undefined {
  const values = headerValues(headers, 'idempotency-key')
  const [value] = values
  if (value === undefined) return undefined
  if (values.length === 1 && isIdempotencyKey(value)) return value
  throw invalidRequest('headers', `Idempotency-Key must be ${IDEMPOTENCY_KEY_RULE}`)
}

/**
 * Whether the request has `Prefer: return=receipt` (RFC 7240), so that the answer has a receipt. Other preferences are
 * ignored; if there are several `return`, the first counts.
 */
export function prefersReceipt(headers: HeaderList): boolean {
  for (const value of headerValues(headers, 'prefer')) {
    for (const preference of value.split(',')) {
      const [name = '', given = ''] = preference.split(/[=;]/, 2)
      if (name.trim().toLowerCase() !== 'return') continue
      return /^"?receipt"?$/i.test(given.trim())
    }
  }
  return false
}
