// What the other processes that have the store open use, as their records say it (leases/incarnation).
//
// Invariants, all from the order of reads:
// - An object that was listed before the records were read and is not pending by them is named by a record of a team by
//   now, or never will be: so a view that opens afterwards shows its name, if it has one.
// - An object that a view does not name, and that no record read after that view holds, is read by no backup: a backup
//   holds all objects before it opens its views, and a name that is gone never comes back.
// - A generation that a view shows as retired, and that no record read after that view pins, is read by no scan: a scan
//   pins its generation while that is the current one of its table.
import { type Bytes, toHex } from '../../base/bytes.js'
import { decodeIncarnation, type IncarnationRecord } from '../../format/incarnation-records.js'
import { INCARNATIONS_RANGE, incarnationOfKey } from '../../format/keys.js'
import { counterOf, incarnationOf } from '../../format/object-id.js'
import type { KvView } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import type { ObjectId } from '../../objects/objects.js'
import type { StoreContext } from './store-context.js'

/** What must be left alone, by this process and by others. */
export type InUse = Readonly<{
  /** Whether a backup reads objects. */
  isHeld: boolean
  /** Whether a commit may still name an object. */
  isPending(id: ObjectId): boolean
  /** Whether a scan reads a generation. */
  isPinned(nonce: Bytes): boolean
}>

type InUseContext = Pick<StoreContext, 'kv' | 'ids' | 'holds' | 'pins'>

/** Reads what is in use now. Its own part is that of each call. */
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

/** @param record - That of the object's incarnation. */
function isPendingBy(record: IncarnationRecord | undefined, id: ObjectId): boolean {
  if (record === undefined) return false
  if (record.hasEnded) return true // Its commits may still come until its writer records are gone.
  const counter = counterOf(id)
  return counter >= record.settled || record.pending.includes(counter)
}

export type FoundIncarnation = Readonly<{
  name: string
  key: Bytes
  bytes: Bytes
  record: IncarnationRecord
}>

/** The records of all openings that have not ended, and of those that are being ended. */
export async function readIncarnations(view: KvView): Promise<FoundIncarnation[]> {
  const found: FoundIncarnation[] = []
  for await (const entries of scanBatches(view, INCARNATIONS_RANGE)) {
    for (const [key, bytes] of entries) {
      found.push({ name: incarnationOfKey(key), key, bytes, record: decodeIncarnation(bytes) })
    }
  }
  return found
}
