// The parts of an object's ID. FORMAT.md, section 1.
import type { ObjectId } from '../objects/objects.js'

const INCARNATION_DIGITS = 16
const COUNTER_DIGITS = 16

/** @param incarnation - As `incarnationOf` returns it. */
export function objectIdOf(incarnation: string, counter: number): ObjectId {
  return incarnation + counter.toString(16).padStart(COUNTER_DIGITS, '0')
}

/** The incarnation that an object is of. */
export function incarnationOf(id: ObjectId): string {
  return id.slice(0, INCARNATION_DIGITS)
}

/** The place of an object among those of its incarnation. Those above 2^53 - 1 are never allotted. */
export function counterOf(id: ObjectId): number {
  return Number.parseInt(id.slice(INCARNATION_DIGITS), 16)
}
