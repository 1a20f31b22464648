// Hints for the duties of a shared store: each team has hints on what to examine and when; the system partition has
// the teams with hints. FORMAT.md sections 3 and 4.
import { type Bytes, fromUtf8, utf8 } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import { prefixRange } from '../kv/key-range.js'
import type { KeyRange } from '../kv/kv.js'
import { ByteReader } from './byte-reader.js'
import { ByteWriter } from './byte-writer.js'
import { DUTY, type Duty, KEY_SPACE, type TableKey } from './keys.js'
import { newRecord, openRecord } from './record-frame.js'

/** The subject of a hint. Written to disk: never change or reuse a number. */
const HINT_KIND = Object.freeze({
  extent: 0x01,
  table: 0x02,
  stash: 0x03,
  upload: 0x04,
  job: 0x05,
  results: 0x06,
})

export type HintKind = keyof typeof HINT_KIND

const KINDS = Object.keys(HINT_KIND) as readonly HintKind[]

/** Work for a duty to examine. */
export type Hint = Readonly<{
  /** When the work is due, in milliseconds since 1970 UTC; 0: at once. */
  due: number
  kind: HintKind
  /** The subject, in the form of its kind. */
  about: Bytes
}>

export function hintKey(duty: Duty, { due, kind, about }: Hint): Bytes {
  return dutyWriter(KEY_SPACE.workHint, duty, 7 + about.length)
    .u48(due)
    .u8(HINT_KIND[kind])
    .bytes(about)
    .finish()
}

/** The key of the time of the last full scan. It sorts before the keys of the duty's hints. */
export function lastScanKey(duty: Duty): Bytes {
  return dutyWriter(KEY_SPACE.workHint, duty, 0).finish()
}

/** The range of the time of the last scan, if there was a scan, and then of the hints due at `now`, oldest first. */
export function dueHintsRange(duty: Duty, now: number): KeyRange {
  const limit = dutyWriter(KEY_SPACE.workHint, duty, 6)
    .u48(now + 1)
    .finish()
  return { start: lastScanKey(duty), limit }
}

/** All hints of a duty. */
export function hintsRange(duty: Duty): KeyRange {
  const { limit } = prefixRange(lastScanKey(duty))
  return { start: dutyWriter(KEY_SPACE.workHint, duty, 6).u48(0).finish(), limit }
}

export const WORK_HINTS_RANGE: KeyRange = prefixRange(Uint8Array.of(KEY_SPACE.workHint))
export const DUE_TEAMS_RANGE: KeyRange = prefixRange(Uint8Array.of(KEY_SPACE.dueTeam))

/**
 * @returns The parts of a hint's key; null: it is the key of the last scan. `kind` is null if only a later version
 *   defines it.
 * @throws {StoreError} DATA_CORRUPT if it is no key of a hint
 */
export function decodeHintKey(
  key: Bytes,
): (Omit<Hint, 'kind'> & Readonly<{ kind: HintKind | null }>) | null {
  const reader = new ByteReader(key, 'work hint key')
  reader.bytes(2)
  if (reader.left === 0) return null
  const due = reader.u48()
  const number = reader.u8()
  const kind = KINDS.find((name) => HINT_KIND[name] === number) ?? null
  return { due, kind, about: reader.rest().slice() }
}

/** @param version - The version that the hint's table gets by the commit; 0: the hint concerns no table. */
export function encodeHint(version: number): Bytes {
  return newRecord(9).u64(version).finish()
}

/** Decodes a hint. @returns its version. @throws {StoreError} DATA_CORRUPT if the bytes are no such record. */
export function decodeHint(bytes: Bytes): number {
  const reader = openRecord(bytes, 'work hint')
  const version = reader.u64()
  reader.end()
  return version
}

export function encodeLastScan(at: number): Bytes {
  return newRecord(7).u48(at).finish()
}

/** Decodes the time of the last scan. @throws {StoreError} DATA_CORRUPT if the bytes are no such record. */
export function decodeLastScan(bytes: Bytes): number {
  const reader = openRecord(bytes, 'last scan')
  const at = reader.u48()
  reader.end()
  return at
}

/** An extent in hints. */
export type ExtentPlace = Readonly<{ table: TableKey; extent: number }>

export function aboutExtent({ table, extent }: ExtentPlace): Bytes {
  invariant(table.length === 16, 'a table key has 16 bytes')
  return new ByteWriter(22).bytes(table).u48(extent).finish()
}

/** The extent in a hint's `about`. @throws {StoreError} DATA_CORRUPT if it has another length. */
export function extentOfHint(about: Bytes): ExtentPlace {
  const reader = new ByteReader(about, 'work hint key')
  const place = { table: reader.bytes(16), extent: reader.u48() }
  reader.end()
  return place
}

/** A key of the system partition. @param teamId - Empty for the duty that belongs to no team. */
export function dueTeamKey(duty: Duty, due: number, teamId: string): Bytes {
  const name = utf8(teamId)
  return dutyWriter(KEY_SPACE.dueTeam, duty, 6 + name.length)
    .u48(due)
    .bytes(name)
    .finish()
}

export function teamOfDueKey(key: Bytes): string {
  return fromUtf8(key.subarray(8))
}

/** The teams with due hints for a duty. */
export function dueTeamsRange(duty: Duty, now: number): KeyRange {
  return { start: dueTeamKey(duty, 0, ''), limit: dueTeamKey(duty, now + 1, '') }
}

const NONCE_BYTES = 8

export function encodeDueTeam(nonce: Bytes): Bytes {
  invariant(nonce.length === NONCE_BYTES, 'a nonce has 8 bytes')
  return newRecord(9).bytes(nonce).finish()
}

/** Decodes the record of a due team. @throws {StoreError} DATA_CORRUPT if the bytes are no such record. */
export function decodeDueTeam(bytes: Bytes): Bytes {
  const reader = openRecord(bytes, 'due team')
  const nonce = reader.bytes(NONCE_BYTES)
  reader.end()
  return nonce
}

const DUTIES = Object.keys(DUTY) as readonly Duty[]

/** The duty and the time in the key of a hint or of a due team; null: another key, or the duty of a later version. */
export function dutyAndDueOf(key: Bytes): Readonly<{ duty: Duty; due: number }> | null {
  if (key.length < 8) return null
  const duty = DUTIES.find((name) => DUTY[name] === key[1])
  if (duty === undefined) return null
  const reader = new ByteReader(key, 'work hint key')
  reader.bytes(2)
  return { duty, due: reader.u48() }
}

function dutyWriter(space: number, duty: Duty, more: number): ByteWriter {
  return new ByteWriter(2 + more).u8(space).u8(DUTY[duty])
}
