// The record of one opening of a store, for other processes that have it open. FORMAT.md section 4.
import type { Bytes } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import { newRecord, openRecord } from './record-frame.js'

export type IncarnationRecord = Readonly<{
  /** Whether the incarnation has ended, and its writer records are being deleted. */
  hasEnded: boolean
  /** Whether the incarnation holds all objects, so that no process may delete any. */
  holdsObjects: boolean
  /** Whether it holds all generations, so that none may be dropped: it pins more than `pinned` can list. */
  pinsAll: boolean
  /** A number that grows by one with each renewal. */
  beat: number
  /** When others may consider the incarnation ended, by its own clock. For people: no process compares it. */
  until: number
  /** Objects with a lower counter are no longer pending, except those in `pending`. */
  settled: number
  /** The counters below `settled` whose objects may still be pending. */
  pending: readonly number[]
  /** The nonces of generations that scans read. */
  pinned: readonly Bytes[]
}>

/** Bits of a flags byte. Written to disk: never change or reuse a number. */
const FLAG = Object.freeze({ ended: 0x01, holdsObjects: 0x02, pinsAll: 0x04 })
const FLAGS = FLAG.ended | FLAG.holdsObjects | FLAG.pinsAll

const NONCE_BYTES = 8

export function encodeIncarnation(record: IncarnationRecord): Bytes {
  const { pending, pinned } = record
  const flags =
    (record.hasEnded ? FLAG.ended : 0) |
    (record.holdsObjects ? FLAG.holdsObjects : 0) |
    (record.pinsAll ? FLAG.pinsAll : 0)
  const writer = newRecord(64).u8(flags).u48(record.beat).u48(record.until).u64(record.settled)
  writer.u16(pending.length)
  for (const counter of pending) writer.u64(counter)
  writer.u16(pinned.length)
  for (const nonce of pinned) {
    invariant(nonce.length === NONCE_BYTES, 'the nonce of a generation has 8 bytes')
    writer.bytes(nonce)
  }
  return writer.finish()
}

/** Decodes the record of an incarnation. @throws {StoreError} DATA_CORRUPT if the bytes are no such record. */
export function decodeIncarnation(bytes: Bytes): IncarnationRecord {
  const reader = openRecord(bytes, 'incarnation')
  const flags = reader.u8()
  if ((flags & ~FLAGS) !== 0) throw reader.corrupt(`flags ${flags} are unknown`)
  const [beat, until, settled] = [reader.u48(), reader.u48(), reader.u64()]
  const pending = Array.from({ length: reader.u16() }, () => reader.u64())
  const pinned = Array.from({ length: reader.u16() }, () => reader.bytes(NONCE_BYTES))
  reader.end()
  return {
    hasEnded: (flags & FLAG.ended) !== 0,
    holdsObjects: (flags & FLAG.holdsObjects) !== 0,
    pinsAll: (flags & FLAG.pinsAll) !== 0,
    beat,
    until,
    settled,
    pending,
    pinned,
  }
}
