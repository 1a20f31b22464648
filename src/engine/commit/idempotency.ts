// Idempotency: the first result of an operation is stored under a key of the caller; a repeat gets this result.
//
// Invariants:
// - The commit of an effect writes the record of its result; no other commit does. So neither exists without the other.
// - An operation reads the record in every view that it acts on. So a repeat returns the stored result even if the
//   first operation used up its stash: the missing stash is no failure.
// - A key belongs to one request: a different request of the team with this key is refused.
import { type Awaitable, chain } from '../../base/awaitable.js'
import { type Bytes, sameBytes, toBase64Url } from '../../base/bytes.js'
import { StoreError } from '../../base/store-error.js'
import { idempotencyRecordKey, type TableKey } from '../../format/keys.js'
import {
  decodeIdempotencyRecord,
  encodeIdempotencyRecord,
  type IdempotencyRecord,
} from '../../format/records.js'
import type { KvCheck, ReadRecord } from '../../kv/kv.js'
import type { ResolvedOptions } from '../arguments/resolve-options.js'
import { hintOfResult } from './work-hints.js'

/** The record of a key, as one view has it. */
export type IdempotencyState = Readonly<{
  key: Bytes
  digest: Bytes
  bytes: Bytes | null
  /** The result of the first operation; null: this is the first, or the earlier result has expired. */
  first: IdempotencyRecord | null
}>

type Limits = Pick<ResolvedOptions, 'clock' | 'idempotencyTtlMs'>

/**
 * Reads the stored result of a key.
 * @param table - The table that the operation adds to; null: the operation creates a table. A result of another table
 *   is no repeat, even with the same digest: its row IDs would be those of another table.
 * @param given - undefined: the operation has no key, and the result is null.
 * @throws {StoreError} IDEMPOTENCY_KEY_REUSED
 */
export async function readIdempotency(
  limits: Limits,
  table: TableKey | null,
  given: RequestKey | undefined,
  read: ReadRecord,
): Promise<IdempotencyState | null> {
  if (given === undefined) return null
  const { digest } = given
  const key = idempotencyRecordKey(null, given.text)
  const bytes = await read(key)
  const record =
    bytes === null ? await readOfTable(table, given.text, read) : decodeIdempotencyRecord(bytes)
  const isOver = record !== null && isExpired(limits, record, await limits.clock.lifetimeMs())
  const first = isOver ? null : record
  if (first !== null && !isOfRequest(first, table, digest)) throw keyReused(given.text)
  return { key, digest, bytes, first }
}

/** The keys of the records that `readIdempotency` reads. */
export function recordsOfResult(table: TableKey, { text }: RequestKey): readonly Bytes[] {
  return [idempotencyRecordKey(null, text), idempotencyRecordKey(table, text)]
}

/** The result that an add of an earlier version stored, when keys were per table. */
async function readOfTable(
  table: TableKey | null,
  text: string,
  read: ReadRecord,
): Promise<IdempotencyRecord | null> {
  const bytes = table === null ? null : await read(idempotencyRecordKey(table, text))
  return bytes === null ? null : decodeIdempotencyRecord(bytes)
}

/** Records of earlier versions may have no digest: then any request of the same kind counts as the first. */
function isOfRequest(first: IdempotencyRecord, table: TableKey | null, digest: Bytes): boolean {
  const isSameTable =
    table === null
      ? first.operation === 'create'
      : first.operation === 'add' && sameBytes(first.table, table)
  return isSameTable && (first.digest === null || sameBytes(first.digest, digest))
}

function keyReused(text: string): StoreError {
  const message = `Idempotency key '${text}' was used by another request; use a new one`
  return new StoreError('IDEMPOTENCY_KEY_REUSED', message)
}

/** The part of the first operation's commit that stores its result. */
export function saveResult(
  store: Parameters<typeof hintOfResult>[0],
  repeat: IdempotencyState | null,
  result: Omit<IdempotencyRecord, 'at' | 'digest'>,
): Awaitable<Readonly<{ checks: readonly KvCheck[]; puts: readonly (readonly [Bytes, Bytes])[] }>> {
  if (repeat === null) return { checks: [], puts: [] }
  const { key, digest, bytes } = repeat
  return chain(store.options.clock.stampMs(), (at) => {
    const record = encodeIdempotencyRecord({ ...result, digest, at })
    const hints = hintOfResult(store, digest)
    return { checks: [{ key, equals: bytes }], puts: [[key, record], ...hints] }
  })
}

/**
 * Stores counts beside the row IDs of a result: each count becomes the extent of a run without rows (FORMAT.md, section
 * 4).
 */
export function runsOfCounts(counts: readonly number[]): IdempotencyRecord['runs'] {
  return counts.map((extent) => ({ nonce: new Uint8Array(8), extent, firstSlot: 0, count: 0 }))
}

/** The counts that `runsOfCounts` stored in these runs. */
export function countsOfRuns(runs: IdempotencyRecord['runs']): readonly number[] {
  return runs.filter(({ count }) => count === 0).map(({ extent }) => extent)
}

/** Whether the result of a record has expired. @param now - As of `lifetimeMs`. */
export function isExpired(
  { idempotencyTtlMs }: Pick<Limits, 'idempotencyTtlMs'>,
  { at }: Pick<IdempotencyRecord, 'at'>,
  now: number,
): boolean {
  return now - at >= idempotencyTtlMs
}

/**
 * The text of a key that also counts against its holder, so that no holder uses up the room of others (`TeamLimits`).
 * It is stored: FORMAT.md, section 4.
 * @param holder - A digest of the holder's name.
 * @param key - A digest of the holder's name and the key.
 */
export function heldKey(holder: Bytes, key: Bytes): string {
  return `limited ${toBase64Url(holder.subarray(0, HOLDER_BYTES))} ${toBase64Url(key)}`
}

const HOLDER_BYTES = 9
const HELD_KEY = /^limited ([\w-]{12}) [\w-]{43}$/

/** The holder that a key counts against; undefined: it counts only against the team. */
export function holderOfKey(text: string): string | undefined {
  return HELD_KEY.exec(text)?.[1]
}

/** A key of the caller, and the digest of its request. */
export type RequestKey = Readonly<{ text: string; digest: Bytes }>
