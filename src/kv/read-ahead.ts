import { type Awaitable, chain } from '../base/awaitable.js'
import { type Bytes, compareBytes, sameBytes } from '../base/bytes.js'
import { byteText } from '../base/platform.js'
import type { KvScan, KvView } from './kv.js'

/** What an operation will ask of a view. */
export type Ahead = Readonly<{
  keys: readonly Bytes[]
  /** Scans in ascending order, each from a start of its own. Default: none. */
  scans?: readonly KvScan[]
}>

export type Entries = readonly [key: Bytes, value: Bytes][]

/**
 * Runs `use` on a view that has read some records, in queries that travel together, and answers for them from memory:
 * where the database is on another machine, each query is a round trip.
 * @param ahead - undefined: `use` gets the view itself, as queries cost nothing there.
 */
export function readAhead<T>(
  view: KvView,
  ahead: Ahead | undefined,
  use: (view: KvView) => Awaitable<T>,
): Awaitable<T> {
  if (ahead === undefined) return use(view)
  return chain(viewAhead(view, ahead), use)
}

async function viewAhead(view: KvView, { keys, scans = [] }: Ahead): Promise<KvView> {
  const [values, ...found] = await Promise.all([
    keys.length === 0 ? [] : view.getMany(keys),
    ...scans.map((scan) => view.scan(scan)),
  ])
  const records = new Map(keys.map((key, i) => [byteText(key), values[i] ?? null]))
  return {
    get: (key) => {
      const value = records.get(byteText(key))
      return value === undefined ? view.get(key) : value
    },
    getMany: (wanted) => view.getMany(wanted),
    scan: async (wanted) => {
      const at = scans.findIndex((scan) => covers(scan, wanted))
      return limitEntries(found[at], wanted) ?? view.scan(wanted)
    },
  }
}

/** Whether what a scan found has all that another one would find. */
export function covers(
  scan: KvScan,
  { start, limit, count, bytesMax, reverse = false, keysOnly = false }: KvScan,
): boolean {
  return (
    !reverse &&
    (keysOnly || !scan.keysOnly) &&
    sameBytes(scan.start, start) &&
    compareBytes(scan.limit, limit) >= 0 &&
    scan.count >= count &&
    scan.bytesMax === bytesMax
  )
}

/** What a scan would find, from what one that covers it has found. @returns null if that is undefined. */
export function limitEntries(
  found: Entries | undefined,
  { limit, count }: KvScan,
): [Bytes, Bytes][] | null {
  if (found === undefined) return null
  const entries = found.slice(0, count)
  const last = entries[entries.length - 1]
  if (last === undefined || compareBytes(last[0], limit) < 0) return entries
  return entries.filter(([key]) => compareBytes(key, limit) < 0)
}
