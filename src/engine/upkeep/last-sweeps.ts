// When a store was swept last. A store that is opened often is not swept at each opening.
//
// A store that several processes share has no such records: there each team has the time of its last scan.
import type { Duty } from '../../format/keys.js'
import { decodeLastScan, encodeLastScan, lastScanKey } from '../../format/work-records.js'
import type { StoreContext } from '../context/store-context.js'
import { isWithoutTeams } from '../context/team-entries.js'

/** A sweep, and that of files. */
export type SweepDuty = Extract<Duty, 'sweep' | 'files'>

/** Notes that a sweep of all teams has ended. */
export async function noteSwept({ kv, options }: StoreContext, duty: SweepDuty): Promise<void> {
  if (kv.shared) return
  const puts = [[lastScanKey(duty), encodeLastScan(options.clock.now())]] as const
  await kv.partition('').commit({ puts })
}

/**
 * Whether a store is to be swept when it is opened: its last sweep ended an interval ago or more, or never did. A new
 * store is not, so that its first import comes first.
 */
export async function isSweepDue(
  { kv, options }: StoreContext,
  duty: SweepDuty,
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
