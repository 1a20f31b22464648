// Headers that allow or ask for something on operations that write.

import { IDEMPOTENCY_KEY_RULE, isIdempotencyKey } from '../engine/api/arguments.js'
import type { HeaderList } from './message.js'
import { headerValues } from './message.js'
import { invalidRequest } from './refusal.js'

/**
 * `x-glide-asynchronous: true` allows an answer of 202, and a synchronous one stays legal: that is
 * what every request gets. Only the value is checked.
 */
export function checkAsynchronous(headers: HeaderList): void {
  const values = headerValues(headers, 'x-glide-asynchronous')
  if (values.length === 0) return
  if (values.length === 1 && (values[0] === 'true' || values[0] === 'false')) return
  throw invalidRequest('headers', 'x-glide-asynchronous must be true or false')
}

/** `Idempotency-Key`: a repeat with the same key answers the first result again. */
export function parseIdempotencyKey(headers: HeaderList): string | undefined {
  const values = headerValues(headers, 'idempotency-key')
  const [value] = values
  if (value === undefined) return undefined
  if (values.length === 1 && isIdempotencyKey(value)) return value
  throw invalidRequest('headers', `Idempotency-Key must be ${IDEMPOTENCY_KEY_RULE}`)
}
