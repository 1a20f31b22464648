// When a store was collected last. A store that is opened often is not collected at each opening.
//
// A store that several processes share has no such records: there each team has the time of its last scan.
import type { Duty } from '../../format/keys.js'
import { decodeLastScan, encodeLastScan, lastScanKey } from '../../format/work-records.js'
import type { StoreContext } from '../context/store-context.js'
import { isWithoutTeams } from '../context/team-entries.js'

/** A garbage collection, and that of files. */
export type CollectionDuty = Extract<Duty, 'garbageCollection' | 'files'>

/** Notes that a garbage collection of all teams has ended. */
export async function noteCollected(
  { kv, options }: StoreContext,
  duty: CollectionDuty,
): Promise<void> {
  if (kv.shared) return
  const puts = [[lastScanKey(duty), encodeLastScan(options.clock.now())]] as const
  await kv.partition('').commit({ puts })
}

/**
 * Whether a store is to be collected when it is opened: its last garbage collection ended an interval ago or more, or
 * never did. A new store is not, so that its first import comes first.
 */
export async function isCollectionDue(
  { kv, options }: StoreContext,
  duty: CollectionDuty,
  intervalMs: number,
): Promise<boolean> {
  if (kv.shared) return true
  return kv.partition('').read(async (view) => {
    const last = await view.get(lastScanKey(duty))
    if (last === null) return !(await isWithoutTeams(view))
    return !isRecent(decodeLastScan(last), options.clock.now(), intervalMs)
  })
}

/** Whether a recorded time is less than a period ago; one that is yet to come is not, as the clock was set back. */
export function isRecent(at: number, now: number, periodMs: number): boolean {
  return at <= now && now - at < periodMs
}
