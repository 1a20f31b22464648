import type { Bytes } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import type { KeyRange } from './kv.js'

/** All keys with a prefix, which must have a byte other than 0xff. */
export function prefixRange(prefix: Bytes): KeyRange {
  let end = prefix.length
  while (end > 0 && prefix[end - 1] === 0xff) end--
  invariant(end > 0, 'a prefix has a byte below 0xff')
  const limit = prefix.slice(0, end)
  limit[end - 1] = (limit[end - 1] ?? 0) + 1
  return { start: prefix, limit }
}

/** The smallest key after this one: appends a zero byte. */
export function keyAfter(key: Bytes): Bytes {
  const next = new Uint8Array(key.length + 1)
  next.set(key)
  return next
}

/** The keys of a key space: those that begin with its byte. */
export function spaceRange(space: number): KeyRange {
  return prefixRange(Uint8Array.of(space))
}
