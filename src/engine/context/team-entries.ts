import { fromUtf8 } from '../../base/bytes.js'
import { TEAM_ENTRIES_RANGE } from '../../format/keys.js'
import type { KvView } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'

/** The IDs of all teams, in a view of the system partition. */
export async function readTeams(view: KvView): Promise<string[]> {
  const teams: string[] = []
  for await (const entries of scanBatches(view, TEAM_ENTRIES_RANGE)) {
    for (const [key] of entries) teams.push(fromUtf8(key.subarray(1)))
  }
  return teams
}

/** Whether a store has no team yet, in a view of the system partition. */
export async function isWithoutTeams(view: KvView): Promise<boolean> {
  return (await view.scan({ ...TEAM_ENTRIES_RANGE, count: 1, keysOnly: true })).length === 0
}
