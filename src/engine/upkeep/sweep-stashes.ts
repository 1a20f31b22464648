// Ending stashes whose time is over, and deleting what lies under stashes that have ended.
//
// Invariants:
// - A stash is whole or has ended: its head says that it expired in the commit after which its chunks may go. Until the
//   sweep comes by, a stash that is past its lifetime is used and added to as any other, and nothing of it is missing.
// - An expired head stays for a while, so that the rest of an import that paused for too long is refused, instead of
//   passing for all of it. Which ones stay is bounded: a put into a stash that was forgotten begins it anew.
import type { Bytes } from '../../base/bytes.js'
import { fromUtf8 } from '../../base/bytes.js'
import { decodeChunkSegments } from '../../format/chunk-records.js'
import {
  chunksRange,
  columnListsRange,
  DEAD_STASHES_RANGE,
  nonceOfDeadStashKey,
  STASH_HEADS_RANGE,
  stashHeadKey,
} from '../../format/keys.js'
import { decodeStashHead, encodeStashHead, type StashHead } from '../../format/records.js'
import type { KvCheck, KvPartition, KvView } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import { deleteUnchanged, sweepRange } from '../commit/delete-records.js'
import type { StoreContext } from '../context/store-context.js'
import { planExpire } from '../ingest/stash-records.js'

/** How long it is remembered that a stash expired (FORMAT.md, section 4). */
const EXPIRED_KEPT_MS = 30 * 24 * 3_600_000

/** Expired stashes that are remembered of a team; the oldest go first. */
const EXPIRED_KEPT_MAX = 10_000

/** Stashes of a team that one sweep ends; the next one goes on. */
const ENDED_AT_ONCE_MAX = 10_000

/** @returns how many stashes have ended. */
export async function sweepStashes(context: StoreContext, partition: KvPartition): Promise<number> {
  const ended = await expireStashes(context, partition)
  await forgetExpired(context, partition)
  await sweepDeadStashes(partition)
  return ended
}

/**
 * Ends stashes whose last chunk is older than their lifetime. First the head is marked in a commit,
 * which a put would take back; then the chunks are looked at once more; then the stash has expired.
 */
async function expireStashes({ options }: StoreContext, partition: KvPartition): Promise<number> {
  const now = options.clock.now()
  const oldest = now - options.stashTtlMs
  const candidates = await partition.read((view) => findPast(view, oldest))
  let ended = 0
  for (const { stashId, bytes } of candidates) {
    const key = stashHeadKey(stashId)
    const head = decodeStashHead(bytes)
    const marked = encodeStashHead({ ...head, number: head.number + 1, state: 'expiring' })
    const mark = { checks: [{ key, equals: bytes }], puts: [[key, marked] as const] }
    if (!(await partition.commit(mark)).ok) continue
    const isExpired = await partition.read((view) => isPast(view, head, oldest))
    if (isExpired && (await partition.commit(planExpire(stashId, marked, now))).ok) ended++
  }
  return ended
}

async function findPast(
  view: KvView,
  oldest: number,
): Promise<{ stashId: string; bytes: Bytes }[]> {
  const past: { stashId: string; bytes: Bytes }[] = []
  for await (const entries of scanBatches(view, STASH_HEADS_RANGE)) {
    for (const [key, bytes] of entries) {
      if (past.length === ENDED_AT_ONCE_MAX) return past
      if (!(await isPast(view, decodeStashHead(bytes), oldest))) continue
      past.push({ stashId: fromUtf8(key.subarray(1)), bytes })
    }
  }
  return past
}

async function isPast(
  view: KvView,
  { nonce, state, since }: StashHead,
  oldest: number,
): Promise<boolean> {
  if (state === 'expired' || since > oldest) return false
  for await (const entries of scanBatches(view, chunksRange(nonce))) {
    if (entries.some(([, reference]) => decodeChunkSegments(reference).putAt > oldest)) return false
  }
  return true
}

/** Forgets stashes that expired long ago, and the oldest of too many. */
async function forgetExpired({ options }: StoreContext, partition: KvPartition): Promise<void> {
  const oldest = options.clock.now() - EXPIRED_KEPT_MS
  const expired = await partition.read(findExpired)
  expired.sort((left, right) => right.since - left.since)
  const over = expired.filter(({ since }, i) => i >= EXPIRED_KEPT_MAX || since <= oldest)
  await deleteUnchanged(partition, over)
}

async function findExpired(view: KvView): Promise<(KvCheck & Readonly<{ since: number }>)[]> {
  const expired: (KvCheck & Readonly<{ since: number }>)[] = []
  for await (const entries of scanBatches(view, STASH_HEADS_RANGE)) {
    for (const [key, equals] of entries) {
      const { state, since } = decodeStashHead(equals)
      if (state === 'expired') expired.push({ key, equals, since })
    }
  }
  return expired
}

async function sweepDeadStashes(partition: KvPartition): Promise<void> {
  const dead = await partition.read(async (view) => {
    const keys: Bytes[] = []
    for await (const entries of scanBatches(view, DEAD_STASHES_RANGE)) {
      for (const [key] of entries) keys.push(key)
    }
    return keys
  })
  for (const key of dead) {
    const nonce = nonceOfDeadStashKey(key)
    await sweepRange(partition, chunksRange(nonce))
    await sweepRange(partition, columnListsRange(nonce))
    await partition.commit({ deletes: [key] })
  }
}
