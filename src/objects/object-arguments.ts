// Argument checks and limits shared by all implementations of ObjectStore.
import { invariant } from '../base/invariant.js'
import type { ByteRange, ObjectId } from './objects.js'
import { OBJECT_ID_PATTERN } from './objects.js'

/** The maximum number of IDs in one listing. */
export const LIST_COUNT_MAX = 1_000

/** The range of all bytes of any object. */
export const WHOLE_RANGE: ByteRange = Object.freeze({ start: 0, limit: Number.MAX_SAFE_INTEGER })

export function assertObjectId(id: ObjectId): void {
  invariant(OBJECT_ID_PATTERN.test(id), 'an object id has 32 lower-case hex digits')
}

export function assertRange({ start, limit }: ByteRange): void {
  const isValid = Number.isSafeInteger(start) && Number.isSafeInteger(limit)
  invariant(isValid && 0 <= start && start <= limit, 'a byte range does not end before its start')
}
