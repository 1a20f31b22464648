// The times at which garbage collections of a store last ended. So a store that is opened often is not collected at
// each opening.
//
// A shared store has no such records: each of its teams has the time of its own last scan.
import type { Duty } from '../../format/keys.js'
import { decodeLastScan, encodeLastScan, lastScanKey } from '../../format/work-records.js'
import type { StoreContext } from '../context/store-context.js'
import { isWithoutTeams } from '../context/team-entries.js'

/** The garbage collection of tables, and that of files. */
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
 * Whether to collect a store when it is opened: its last garbage collection ended at least an interval ago, or never. A
 * new store is not collected, so that nothing delays its first import.
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

/** Whether a recorded time is less than a period ago. A time in the future does not count: the clock was set back. */
export function isRecent(at: number, now: number, periodMs: number): boolean {
  return at <= now && now - at < periodMs
}
