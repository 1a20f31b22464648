// The parts of an object's ID. FORMAT.md, section 1.
import { type Bytes, putUint64, readUint32, toHex } from '../base/bytes.js'
import type { ObjectId } from '../objects/objects.js'

export const INCARNATION_BYTES = 8
const INCARNATION_DIGITS = 2 * INCARNATION_BYTES
const COUNTER_DIGITS = 16

/** @param incarnation - The result of `incarnationOf`. */
export function makeObjectId(incarnation: string, counter: number): ObjectId {
  return incarnation + counter.toString(16).padStart(COUNTER_DIGITS, '0')
}

/** The incarnation of an object. */
export function incarnationOf(id: ObjectId): string {
  return id.slice(0, INCARNATION_DIGITS)
}

/** The counter of an object within its incarnation. Values above 2^53 - 1 are never allotted. */
export function counterOf(id: ObjectId): number {
  return Number.parseInt(id.slice(INCARNATION_DIGITS), 16)
}

/**
 * The ID of an earlier object of the same incarnation. It is a flat string: a concatenated string would keep its
 * parts in memory (PERFORMANCE.md, P50).
 *
 * @param id - The bytes of an ID.
 * @param back - The difference of the two counters.
 * @returns null: there is no such ID
 */
export function earlierId(id: Bytes, back: number): ObjectId | null {
  const counter =
    readUint32(id, INCARNATION_BYTES) * 2 ** 32 + readUint32(id, INCARNATION_BYTES + 4)
  if (counter < back || counter > Number.MAX_SAFE_INTEGER) return null
  const earlier = new Uint8Array(id)
  putUint64(earlier, INCARNATION_BYTES, counter - back)
  return toHex(earlier)
}
