// What other processes that have the store open are using, by their records (leases/incarnation).
//
// Invariants, all from the order of reads:
// - Suppose that an object was listed before the records were read, and that these records do not call it pending. Then
//   either a record of a team already names the object, or no record ever will. So a view that opens afterwards shows
//   its name, if it has one.
// - Suppose that a view does not name an object, and that no record read after the view holds objects. Then no backup
//   reads the object: a backup holds all objects before it opens its views, and a name that is gone never returns.
// - Suppose that a view shows a generation as retired, and that no record read after the view pins it. Then no scan
//   reads the generation: a scan pins its generation while that is the table's current one.
import { type Bytes, toHex } from '../../base/bytes.js'
import { decodeIncarnation, type IncarnationRecord } from '../../format/incarnation-records.js'
import { INCARNATIONS_RANGE, incarnationOfKey } from '../../format/keys.js'
import { counterOf, incarnationOf } from '../../format/object-id.js'
import type { KvView } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import type { ObjectId } from '../../objects/objects.js'
import type { StoreContext } from './store-context.js'

/** What garbage collection must leave alone, here and in other processes. */
export type InUse = Readonly<{
  /** Whether a backup reads objects. */
  isHeld: boolean
  /** Whether a commit may still name an object. */
  isPending(id: ObjectId): boolean
  /** Whether a scan reads a generation. */
  isPinned(nonce: Bytes): boolean
}>

type InUseContext = Pick<StoreContext, 'kv' | 'ids' | 'holds' | 'pins'>

/** Reads what is in use now. What this process itself uses is looked up at each call of the functions. */
export async function readInUse({ kv, ids, holds, pins }: InUseContext): Promise<InUse> {
  if (!kv.shared) {
    return {
      isHeld: holds.isHeld,
      isPending: (id) => ids.isPending(id),
      isPinned: (nonce) => pins.has(nonce),
    }
  }
  const all = await kv.partition('').read(readIncarnations)
  const others = new Map<string, IncarnationRecord>()
  for (const { name, record } of all) if (name !== ids.incarnation) others.set(name, record)
  const records = [...others.values()].filter(({ hasEnded }) => !hasEnded)
  const pinned = new Set(records.flatMap((record) => record.pinned.map(toHex)))
  return {
    isHeld: holds.isHeld || records.some(({ holdsObjects }) => holdsObjects),
    isPending: (id) => ids.isPending(id) || isPendingBy(others.get(incarnationOf(id)), id),
    isPinned: (nonce) =>
      pins.has(nonce) || pinned.has(toHex(nonce)) || records.some(({ pinsAll }) => pinsAll),
  }
}

/** @param record - The record of the object's incarnation. */
function isPendingBy(record: IncarnationRecord | undefined, id: ObjectId): boolean {
  if (record === undefined) return false
  if (record.hasEnded) return true // Commits of the incarnation may still succeed until its writer records are gone.
  const counter = counterOf(id)
  return counter >= record.settled || record.pending.includes(counter)
}

export type FoundIncarnation = Readonly<{
  name: string
  key: Bytes
  bytes: Bytes
  record: IncarnationRecord
}>

/** The records of all incarnations that have not ended, or whose end is not complete yet. */
export async function readIncarnations(view: KvView): Promise<FoundIncarnation[]> {
  const found: FoundIncarnation[] = []
  for await (const entries of scanBatches(view, INCARNATIONS_RANGE)) {
    for (const [key, bytes] of entries) {
      found.push({ name: incarnationOfKey(key), key, bytes, record: decodeIncarnation(bytes) })
    }
  }
  return found
}
