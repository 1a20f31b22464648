// The log of a table, as callers get it.
import type { Bytes } from '../../base/bytes.js'
import type { TableKey } from '../../format/keys.js'
import {
  decodeLogEntry,
  type LogEntry,
  logKey,
  logRange,
  versionOfLogKey,
} from '../../format/log-records.js'
import type { KvView } from '../../kv/kv.js'
import { versionBase } from '../context/public-versions.js'
import type { TeamContext } from '../context/store-context.js'
import type { ChangeEntry } from '../types/history-types.js'

/** An entry of the log. `version`: the public version, under the version base of the entry's time. */
type FoundEntry = Readonly<{ version: number; entry: LogEntry }>

/**
 * The entry of a public version, under the version base of its time or the current one.
 * @returns null: there is no such entry
 */
export async function findEntry(
  team: TeamContext,
  view: KvView,
  table: TableKey,
  version: number,
): Promise<FoundEntry | null> {
  const base = versionBase(team)
  const bytes = version > base ? await view.get(logKey(table, version - base)) : null
  const ofNow = bytes && found(version - base, bytes)
  if (base === 0 || ofNow?.entry.base === base) return ofNow
  return (await findByTime(view, table, version)) ?? ofNow
}

/**
 * Finds an entry by bisection: public versions, under the version bases of their times, ascend like versions of the
 * records.
 */
async function findByTime(
  view: KvView,
  table: TableKey,
  version: number,
): Promise<FoundEntry | null> {
  for (let [low, high] = [1, version]; low <= high; ) {
    const middle = Math.floor((low + high) / 2)
    const [next] = await view.scan({ ...logRange(table, middle), count: 1 })
    const own = next === undefined ? high + 1 : versionOfLogKey(next[0])
    const entry = next && found(own, next[1])
    if (entry?.version === version) return entry
    if (entry === undefined || entry.version > version) high = middle - 1
    else low = own + 1
  }
  return null
}

/** @param version - A version of the records. */
function found(version: number, bytes: Bytes): FoundEntry {
  const entry = decodeLogEntry(bytes)
  return { version: version + entry.base, entry }
}

/** @param version - A public version. */
export function toChangeEntry({ version, entry }: FoundEntry): ChangeEntry {
  const { operation, at, counts, author, note } = entry
  return {
    version,
    operation,
    at,
    ...(author !== null && { author }),
    ...(note !== null && { note }),
    counts,
  }
}
