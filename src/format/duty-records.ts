// The lease of a duty: which opening of a shared store has it. FORMAT.md section 4.
import { type Bytes, fromHex, toHex } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import { INCARNATION_BYTES } from './object-id.js'
import { newRecord, openRecord } from './record-frame.js'

/** A lease. Its bytes never recur, because its epoch only grows. */
export type DutyLease = Readonly<{
  /** The 16 hex digits of the incarnation with the duty; `NO_INCARNATION`: the lease was returned. */
  owner: string
  /** A number that grows by one whenever the lease is taken. */
  epoch: number
}>

/** The owner of a returned lease. */
export const NO_INCARNATION = '0'.repeat(2 * INCARNATION_BYTES)

export function encodeDutyLease({ owner, epoch }: DutyLease): Bytes {
  const bytes = fromHex(owner)
  invariant(bytes?.length === INCARNATION_BYTES, 'an incarnation has 16 hex digits')
  return newRecord(16).bytes(bytes).u48(epoch).finish()
}

/** Decodes a lease. @throws {StoreError} DATA_CORRUPT if the bytes are no such record. */
export function decodeDutyLease(bytes: Bytes): DutyLease {
  const reader = openRecord(bytes, 'duty lease')
  const lease = { owner: toHex(reader.bytes(INCARNATION_BYTES)), epoch: reader.u48() }
  reader.end()
  return lease
}
