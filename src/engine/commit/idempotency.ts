// Idempotency: the first result of an operation is kept under a key of the caller, and a repeat gets it.
//
// Invariants:
// - The record of a result is written by the commit of its effect, and by no other. So there is no effect without its
//   record, and no record without its effect.
// - An operation looks the record up in every view that it acts on. So it fails for a missing stash only if there was
//   no first operation that used it.
// - A key belongs to one request: another request of the team with it is refused.
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

/** The record of a key as a view has it. */
export type IdempotencyState = Readonly<{
  key: Bytes
  digest: Bytes
  bytes: Bytes | null
  /** The result of the first operation; null: this is the first, or the earlier result has expired. */
  first: IdempotencyRecord | null
}>

type Limits = Pick<ResolvedOptions, 'clock' | 'idempotencyTtlMs'>

/**
 * @param table - To which the operation adds; null: it creates one. Neither is a repeat of what another table
 *   was changed by, whatever the digests are: its answer would be that of rows elsewhere.
 * @param given - undefined: the operation came without a key, and the result is null.
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
  const first = record === null || isExpired(limits, record) ? null : record
  if (first !== null && !isOfRequest(first, table, digest)) throw keyReused(given.text)
  return { key, digest, bytes, first }
}

/** The records that `readIdempotency` reads. */
export function recordsOfResult(table: TableKey, { text }: RequestKey): readonly Bytes[] {
  return [idempotencyRecordKey(null, text), idempotencyRecordKey(table, text)]
}

/** The result that an add of an earlier version stored: its keys were per table. */
async function readOfTable(
  table: TableKey | null,
  text: string,
  read: ReadRecord,
): Promise<IdempotencyRecord | null> {
  const bytes = table === null ? null : await read(idempotencyRecordKey(table, text))
  return bytes === null ? null : decodeIdempotencyRecord(bytes)
}

/** Records of earlier versions may have no digest: then any request of the kind is taken for the first. */
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

/** The part of a first operation's commit that stores its result. */
export function saveResult(
  store: Parameters<typeof hintOfResult>[0],
  repeat: IdempotencyState | null,
  result: Omit<IdempotencyRecord, 'at' | 'digest'>,
): Readonly<{ checks: readonly KvCheck[]; puts: readonly (readonly [Bytes, Bytes])[] }> {
  if (repeat === null) return { checks: [], puts: [] }
  const { key, digest, bytes } = repeat
  const at = store.options.clock.stampMs()
  const record = encodeIdempotencyRecord({ ...result, digest, at })
  const hints = hintOfResult(store, digest)
  return { checks: [{ key, equals: bytes }], puts: [[key, record], ...hints] }
}

/** Counts that a result has beside row IDs: each is kept as the extent of a run without rows (FORMAT.md, section 4). */
export function runsOfCounts(counts: readonly number[]): IdempotencyRecord['runs'] {
  return counts.map((extent) => ({ nonce: new Uint8Array(8), extent, firstSlot: 0, count: 0 }))
}

/** The counts of `runsOfCounts`. */
export function countsOfRuns(runs: IdempotencyRecord['runs']): readonly number[] {
  return runs.filter(({ count }) => count === 0).map(({ extent }) => extent)
}

/** Whether a record has no effect any more. */
export function isExpired(
  { clock, idempotencyTtlMs }: Limits,
  { at }: Pick<IdempotencyRecord, 'at'>,
): boolean {
  return clock.lifetimeMs() - at >= idempotencyTtlMs
}

/**
 * The text of a key that counts for its holder too, so that one holder leaves room for others (`TeamLimits`). FORMAT.md,
 * section 4: it is stored.
 * @param holder - A digest of the holder's name.
 * @param key - A digest of the holder's name and the key.
 */
export function heldKey(holder: Bytes, key: Bytes): string {
  return `limited ${toBase64Url(holder.subarray(0, HOLDER_BYTES))} ${toBase64Url(key)}`
}

const HOLDER_BYTES = 9
const HELD_KEY = /^limited ([\w-]{12}) [\w-]{43}$/

/** Who holds a key; undefined: nobody but the team. */
export function holderOfKey(text: string): string | undefined {
  return HELD_KEY.exec(text)?.[1]
}

/** A key of the caller's, with the digest of the request that it came with. */
export type RequestKey = Readonly<{ text: string; digest: Bytes }>
