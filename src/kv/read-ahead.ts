import { type Awaitable, chain } from '../base/awaitable.js'
import { type Bytes, compareBytes, sameBytes } from '../base/bytes.js'
import { byteText } from '../base/platform.js'
import type { KvScan, KvView } from './kv.js'

/** The reads that an operation will make. */
export type Ahead = Readonly<{
  keys: readonly Bytes[]
  /** Ascending scans with different starts. Default: none. */
  scans?: readonly KvScan[]
}>

export type Entries = readonly [key: Bytes, value: Bytes][]

/**
 * Runs `use` on a view that has already read some records in one round trip, for a database on another machine.
 * @param ahead - undefined: `use` gets the view itself, because queries are cheap.
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

/** Whether the result of a scan contains that of another scan. */
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

/** A scan's result, cut from the entries of a scan that covers it. @returns null if `found` is undefined. */
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
