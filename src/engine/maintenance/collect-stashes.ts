// Ends expired stashes, and deletes the chunks of ended stashes.
//
// Invariants:
// - A stash is whole or has ended: the commit that marks its head as expired comes before the deletion of its chunks.
//   Until garbage collection runs, a stash past its lifetime works like any other stash, and has all its chunks.
// - An expired head is kept for some time. So if an import pauses too long, its remaining chunks are refused instead of
//   being taken for the whole import. The number of such heads is bounded. A put into a stash whose head was deleted
//   creates a new stash.
import type { Bytes } from '../../base/bytes.js'
import { fromUtf8 } from '../../base/bytes.js'
import { decodeChunkSegments } from '../../format/chunk-records.js'
import {
  chunksRange,
  columnListsRange,
  DEAD_STASHES_RANGE,
  STASH_HEADS_RANGE,
  stashHeadKey,
  stashNonceOf,
} from '../../format/keys.js'
import { decodeStashHead, encodeStashHead, type StashHead } from '../../format/records.js'
import type { Hint } from '../../format/work-records.js'
import type { KvCheck, KvPartition, KvView } from '../../kv/kv.js'
import { scanBatches, scanKeys } from '../../kv/scan-batches.js'
import { deleteKeys, deleteRanges, deleteUnchanged } from '../commit/delete-records.js'
import type { StoreContext } from '../context/store-context.js'
import { planExpire } from '../import/stash-records.js'
import { hintedNames, laterHints, type Names, scanHintedRecords } from './hinted-records.js'
import type { Visit } from './team-visits.js'

/** How long the head of an expired stash is kept, in milliseconds (FORMAT.md, section 4). */
const EXPIRED_KEPT_MS = 30 * 24 * 3_600_000

/** Maximum number of heads of expired stashes kept per team. The oldest are deleted first. */
const EXPIRED_KEPT_MAX = 10_000

/** Maximum number of stashes per team that one garbage collection ends. The next garbage collection continues. */
const ENDED_AT_ONCE_MAX = 10_000

/** @returns the number of stashes that ended. */
export async function collectStashes(context: StoreContext, visit: Visit): Promise<number> {
  const { partition } = visit
  const heads = hintedNames(visit, 'stash')?.map(headKeyOf) ?? null
  const ended = heads?.length === 0 ? 0 : await expireStashes(context, partition, heads)
  if (heads?.length !== 0) await forgetExpired(context, partition, heads)
  await collectDeadStashes(partition)
  return ended
}

/** Hints of the examined stashes that still exist. */
export function laterStashes({ options }: StoreContext, visit: Visit): Promise<Hint[]> {
  return laterHints(visit, 'stash', headKeyOf, async (record, view) => {
    const head = decodeStashHead(record)
    if (head.state === 'expired') return head.since + EXPIRED_KEPT_MS
    return (await lastPutAt(view, head)) + options.stashTtlMs
  })
}

function headKeyOf(stashId: Bytes): Bytes {
  return stashHeadKey(fromUtf8(stashId))
}

/**
 * Ends stashes whose last chunk is older than their lifetime. First a commit marks the head; a put removes this mark.
 * Then the chunks are checked again, and a second commit expires the stash.
 */
async function expireStashes(
  { options }: StoreContext,
  partition: KvPartition,
  heads: Names,
): Promise<number> {
  const oldest = (await options.clock.lifetimeMs()) - options.stashTtlMs
  const candidates = await partition.read((view) => findPastStashes(view, heads, oldest))
  let ended = 0
  for (const { stashId, bytes } of candidates) {
    const key = stashHeadKey(stashId)
    const head = decodeStashHead(bytes)
    const marked = encodeStashHead({ ...head, number: head.number + 1, state: 'expiring' })
    const mark = { checks: [{ key, equals: bytes }], puts: [[key, marked] as const] }
    if (!(await partition.commit(mark)).ok) continue
    const isExpired = await partition.read((view) => isPast(view, head, oldest))
    const expire = planExpire(stashId, marked, options.clock.now())
    if (isExpired && (await partition.commit(expire)).ok) ended++
  }
  return ended
}

async function findPastStashes(
  view: KvView,
  heads: Names,
  oldest: number,
): Promise<{ stashId: string; bytes: Bytes }[]> {
  const past: { stashId: string; bytes: Bytes }[] = []
  for await (const entries of scanHintedRecords(view, STASH_HEADS_RANGE, heads)) {
    for (const [key, bytes] of entries) {
      if (past.length === ENDED_AT_ONCE_MAX) return past
      if (!(await isPast(view, decodeStashHead(bytes), oldest))) continue
      past.push({ stashId: fromUtf8(key.subarray(1)), bytes })
    }
  }
  return past
}

async function isPast(view: KvView, head: StashHead, oldest: number): Promise<boolean> {
  if (head.state === 'expired' || head.since > oldest) return false
  return (await lastPutAt(view, head, oldest)) <= oldest
}

/**
 * When the last chunk was put.
 * @param enough - If any chunk was put after this time, the search ends there: the result is then after `enough`, but
 *   other chunks may have been put even later.
 */
async function lastPutAt(
  view: KvView,
  { nonce, since }: StashHead,
  enough = Number.POSITIVE_INFINITY,
): Promise<number> {
  let last = since
  for await (const entries of scanBatches(view, chunksRange(nonce))) {
    for (const [, reference] of entries) {
      last = Math.max(last, decodeChunkSegments(reference).putAt)
    }
    if (last > enough) break
  }
  return last
}

/** Deletes the heads of stashes that expired long ago, and the oldest heads beyond the limit. */
async function forgetExpired(
  { options }: StoreContext,
  partition: KvPartition,
  heads: Names,
): Promise<void> {
  const oldest = (await options.clock.lifetimeMs()) - EXPIRED_KEPT_MS
  const expired = await partition.read((view) => findExpired(view, heads))
  expired.sort((left, right) => right.since - left.since)
  const over = expired.filter(({ since }, i) => i >= EXPIRED_KEPT_MAX || since <= oldest)
  await deleteUnchanged(partition, over)
}

async function findExpired(
  view: KvView,
  heads: Names,
): Promise<(KvCheck & Readonly<{ since: number }>)[]> {
  const expired: (KvCheck & Readonly<{ since: number }>)[] = []
  for await (const entries of scanHintedRecords(view, STASH_HEADS_RANGE, heads)) {
    for (const [key, equals] of entries) {
      const { state, since } = decodeStashHead(equals)
      if (state === 'expired') expired.push({ key, equals, since })
    }
  }
  return expired
}

async function collectDeadStashes(partition: KvPartition): Promise<void> {
  const dead = await partition.read(async (view) => {
    const found: Bytes[] = []
    for await (const keys of scanKeys(view, DEAD_STASHES_RANGE)) found.push(...keys)
    return found
  })
  const nonces = dead.map(stashNonceOf)
  await deleteRanges(partition, nonces.map(chunksRange))
  await deleteRanges(partition, nonces.map(columnListsRange))
  await deleteKeys(partition, dead)
}
