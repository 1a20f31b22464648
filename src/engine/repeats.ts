// Operations that may be repeated safely: the result of the first is kept under a key of the caller's,
// and a repeat is answered with it.
//
// Invariants:
// - The record of a result is written by the commit that the result is of, and by no other; so there is
//   no effect without its record, and no record without its effect.
// - An operation looks for the record in every view from which it reads what it acts on. So it fails for
//   want of what the first one used up (its stash) only if there was no first one.
import type { Bytes } from '../base/bytes.js'
import { decodeRepeatRecord, encodeRepeatRecord, type RepeatRecord } from '../format/records.js'
import type { KvCheck } from '../kv/kv.js'
import type { ResolvedOptions } from './store-options.js'
import type { ReadRecord } from './table-writer.js'

/** The record of a key as a view has it. */
export type Repeat = Readonly<{
  key: Bytes
  bytes: Bytes | null
  /** What the first operation resulted in; null: this one is the first, or that one's time is over. */
  first: RepeatRecord | null
}>

type Limits = Pick<ResolvedOptions, 'clock' | 'repeatTtlMs'>

/** @param key - Of the record; null: the operation was given no key, and neither is the result one. */
export async function readRepeat(
  limits: Limits,
  key: Bytes | null,
  read: ReadRecord,
): Promise<Repeat | null> {
  if (key === null) return null
  const bytes = await read(key)
  const record = bytes === null ? null : decodeRepeatRecord(bytes)
  return { key, bytes, first: record === null || isOver(limits, record) ? null : record }
}

/** What a first operation's commit has to contain so that its result is kept. */
export function keepResult(
  { clock }: Limits,
  repeat: Repeat | null,
  result: Omit<RepeatRecord, 'at'>,
): Readonly<{ checks: readonly KvCheck[]; puts: readonly (readonly [Bytes, Bytes])[] }> {
  if (repeat === null) return { checks: [], puts: [] }
  const { key, bytes } = repeat
  const record = encodeRepeatRecord({ ...result, at: clock.now() })
  return { checks: [{ key, equals: bytes }], puts: [[key, record]] }
}

/** Whether a record has no effect any more. */
export function isOver({ clock, repeatTtlMs }: Limits, { at }: Pick<RepeatRecord, 'at'>): boolean {
  return clock.now() - at >= repeatTtlMs
}
