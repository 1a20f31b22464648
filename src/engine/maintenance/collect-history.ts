// Garbage collection of the histories and logs of tables.
//
// Invariant: before a part of a history is deleted, a commit records the version up to which the history is deleted.
// Readers check this version in the view in which they read the history.

import { type Bytes, toHex } from '../../base/bytes.js'
import {
  CHANGES_RANGE,
  changeKey,
  changesRange,
  decodeChange,
  decodeChangeStart,
  encodeHistory,
  historyKey,
  positionsOf,
  ROWS_BEFORE_RANGE,
  rowBeforeKey,
  type SlotRun,
  tableRange,
  versionOfChangeKey,
} from '../../format/change-records.js'
import { type TableKey, tableHeadKey, tableOfKey } from '../../format/keys.js'
import {
  LOG_BYTES_MAX,
  LOG_ENTRIES_MAX,
  LOG_RANGE,
  LOG_RETENTION_MS,
  logKey,
  logRange,
  timeOfLogEntry,
  versionOfLogKey,
} from '../../format/log-records.js'
import { decodeTableHead } from '../../format/records.js'
import { prefixRange } from '../../kv/key-range.js'
import type { KeyRange, KvPartition, KvView } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import { deleteKeys, deleteRanges } from '../commit/delete-records.js'
import type { StoreContext } from '../context/store-context.js'
import { hintedNames } from './hinted-records.js'
import type { Visit } from './team-visits.js'

/** A query reads at most this many changes, with at most this many bytes. */
const SCAN_COUNT = 500
const SCAN_BYTES = 4 * 1024 * 1024

/** Maximum number of keys to delete that are held in memory. */
const DELETE_COUNT = 10_000

/** The ranges of a history and a log, in the order of deletion. */
const RANGES = [ROWS_BEFORE_RANGE, CHANGES_RANGE, LOG_RANGE]

/** Deletes changes past retention, and histories and logs of deleted tables. */
export async function collectHistory(context: StoreContext, visit: Visit): Promise<void> {
  const { partition } = visit
  const tables = hintedNames(visit, 'table') ?? (await partition.read(tablesWithHistory))
  const heads = await partition.read((view) => view.getMany(tables.map(tableHeadKey)))
  const dead = tables.filter((_, i) => heads[i] === null)
  for (const { start } of RANGES) {
    await deleteRanges(
      partition,
      dead.map((table) => tableRange(start, table)),
    )
  }
  for (const [i, table] of tables.entries()) {
    if (heads[i] === null) continue
    await shortenHistory(context, partition, table)
    await shortenLog(context, partition, table)
  }
}

/**
 * Whether a table has a history that this process does not shorten. The process opened the store without a retention,
 * so it may be a command on a store that otherwise keeps a history. If a change has been made without a history, the
 * history has ended, and garbage collection deletes it.
 */
export async function isLeftAlone(
  { options }: StoreContext,
  view: KvView,
  table: TableKey,
): Promise<boolean> {
  if (!options.leavesHistory) return false
  const head = await view.get(tableHeadKey(table))
  return head !== null && (await view.get(changeKey(table, decodeTableHead(head).version))) !== null
}

/** Finds one table after the other, by reading one key of each. */
async function tablesWithHistory(view: KvView): Promise<readonly TableKey[]> {
  const tables = new Map<string, TableKey>()
  for (const range of RANGES) {
    let { start } = range
    for (;;) {
      const [entry] = await view.scan({ start, limit: range.limit, count: 1, keysOnly: true })
      if (entry === undefined) break
      const table = tableOfKey(entry[0])
      tables.set(toHex(table), table)
      start = prefixRange(entry[0].slice(0, 17)).limit
    }
  }
  return [...tables.values()]
}

async function shortenHistory(
  context: StoreContext,
  partition: KvPartition,
  table: TableKey,
): Promise<void> {
  for (let first = 0; ; ) {
    const from = first
    const over = await partition.read((view) => findOldChanges(context, view, table, from))
    const last = over[over.length - 1]
    if (last === undefined) return
    const key = historyKey(table)
    const before = await partition.read((view) => view.get(key))
    const puts = [[key, encodeHistory(last.version)] as const]
    // If the commit is refused, another garbage collection deletes these changes.
    if (!(await partition.commit({ checks: [{ key, equals: before }], puts })).ok) return
    for (const { version, record, key: changeKey } of over) {
      const { changed, removed } = decodeChange(record)
      for (const runs of [changed, removed]) await deleteRowsBefore(partition, table, version, runs)
      // The change is deleted last, so that after a crash the next garbage collection finds its rows.
      await deleteKeys(partition, [changeKey])
    }
    first = last.version + 1
  }
}

async function deleteRowsBefore(
  partition: KvPartition,
  table: TableKey,
  version: number,
  runs: readonly SlotRun[],
): Promise<void> {
  let keys: Bytes[] = []
  for (const position of positionsOf(runs)) {
    keys.push(rowBeforeKey(table, position, version))
    if (keys.length < DELETE_COUNT) continue
    await deleteKeys(partition, keys)
    keys = []
  }
  await deleteKeys(partition, keys)
}

type Over = Readonly<{ key: Bytes; version: number; record: Bytes }>

/** The oldest changes that are past retention. */
async function findOldChanges(
  context: StoreContext,
  view: KvView,
  table: TableKey,
  first: number,
): Promise<readonly Over[]> {
  if (await isLeftAlone(context, view, table)) return []
  const { historyRetentionMs, clock } = context.options
  const now = await clock.lifetimeMs()
  const range = changesRange(table, first)
  const entries = await view.scan({ ...range, count: SCAN_COUNT, bytesMax: SCAN_BYTES })
  const over: Over[] = []
  for (const [key, record] of entries) {
    const isKept =
      historyRetentionMs > 0 && now - decodeChangeStart(record).at <= historyRetentionMs
    if (isKept) break
    over.push({ key, version: versionOfChangeKey(key) ?? 0, record })
  }
  return over
}

/** Deletes the entries of a log that are past retention. Keeps at least the newest entry. */
async function shortenLog(
  context: StoreContext,
  partition: KvPartition,
  table: TableKey,
): Promise<void> {
  const first = await partition.read(async (view) => {
    return (await isLeftAlone(context, view, table)) ? null : firstKept(context, view, table)
  })
  if (first !== null) await deleteRanges(partition, [{ start: logKey(table, 0), limit: first }])
}

/** The key of the oldest entry to keep; null: the log is empty. */
async function firstKept(
  { options: { historyRetentionMs, clock } }: StoreContext,
  view: KvView,
  table: TableKey,
): Promise<Bytes | null> {
  const hasHistory = historyRetentionMs > 0
  const oldest = (await clock.lifetimeMs()) - (hasHistory ? historyRetentionMs : LOG_RETENTION_MS)
  const range = logRange(table, 0)
  if (!hasHistory) return firstWithin(view, range, oldest)
  const changes = { ...changesRange(table, 0), count: 1, keysOnly: true }
  const [change] = await view.scan(changes)
  const first = change === undefined ? null : versionOfChangeKey(change[0])
  return firstSince(view, range, oldest, first ?? Number.POSITIVE_INFINITY)
}

/**
 * @param oldest - Entries of this time and later are kept.
 * @param firstChange - The version of the first change that is kept. Entries of this version and later are kept, too.
 */
async function firstSince(
  view: KvView,
  range: KeyRange,
  oldest: number,
  firstChange: number,
): Promise<Bytes | null> {
  let last: Bytes | null = null
  for await (const entries of scanBatches(view, range)) {
    for (const [key, entry] of entries) {
      if (timeOfLogEntry(entry) >= oldest || versionOfLogKey(key) >= firstChange) return key
      last = key
    }
  }
  return last
}

/**
 * The key of the oldest entry to keep for a table without a history. From the newest entry backwards, entries are kept
 * within the limits of time, number and bytes.
 */
async function firstWithin(view: KvView, range: KeyRange, oldest: number): Promise<Bytes | null> {
  let kept: Bytes | null = null
  let [count, bytes] = [0, 0]
  for (;;) {
    const before = { start: range.start, limit: kept ?? range.limit }
    const bounds = { count: SCAN_COUNT, bytesMax: SCAN_BYTES, reverse: true }
    const entries = await view.scan({ ...before, ...bounds })
    for (const [key, entry] of entries) {
      count++
      bytes += entry.length
      const isMore = count > LOG_ENTRIES_MAX || bytes > LOG_BYTES_MAX
      if (kept !== null && (isMore || timeOfLogEntry(entry) < oldest)) return kept
      kept = key
    }
    if (entries.length === 0) return kept
  }
}

/** The key of the first change of the history of a table; null: the table has no history. */
export async function firstChange(view: KvView, table: TableKey): Promise<Bytes | null> {
  const [entry] = await view.scan({ ...changesRange(table, 0), count: 1 })
  return entry === undefined ? null : entry[1]
}
