// What a commit adds to the history of its table: the positions that it changes, and the earlier forms of the rows.
//
// Invariant: the history is derived from the commit: from the records put over rows, and from the generations before
// and after. Operations do not report the rows that they change. So no operation can forget to report a row.
import { type Bytes, sameBytes } from '../../base/bytes.js'
import {
  changeKey,
  decodeChangeStart,
  encodeChange,
  rowBeforeKey,
  runsOfPositions,
  type SlotRun,
} from '../../format/change-records.js'
import { decodeExtentPage, type ExtentEntry } from '../../format/extent-page.js'
import {
  decodeRowKey,
  firstExtentOfPageKey,
  KEY_SPACE,
  type Position,
  rowKey,
  type TableKey,
  tableOfKey,
} from '../../format/keys.js'
import { type Generation, isTombstone, type TableHead } from '../../format/records.js'
import type { ReadRecord } from '../../kv/kv.js'
import type { ResolvedOptions } from '../arguments/resolve-options.js'
import { compactedSegment, isLiveSlot, LAID } from '../caches/live-slot.js'
import type { Change } from '../commit/table-writer.js'
import { type RowSources, recordBelow } from '../read/row-lookup.js'
import { comparePositions, endOf } from './generation-end.js'

type Put = readonly [key: Bytes, value: Bytes]

/** Maximum number of rows of rewritten extents that one change adds to the history. Their records are in its commit. */
const REWRITTEN_ROWS_MAX = 20_000

/** The part of a change that determines its history. */
type PutChange = Pick<Change, 'next' | 'puts'>

type HistoryContext = RowSources & Readonly<{ options: Pick<ResolvedOptions, 'clock'> }>

/** The records of a change's history. @param before - The head on which the change was planned */
export async function planHistory(
  context: HistoryContext,
  table: TableKey,
  before: TableHead,
  change: PutChange,
  read: ReadRecord,
): Promise<readonly Put[]> {
  const { version, generation } = before
  if (change.next === null) return [] // The history ends with the table.
  const rewritten = await rowsOfRewritten(context, table, before, change, read)
  if (rewritten === null) return []
  const end = endOf(generation)
  const changed: Position[] = []
  const removed: Position[] = []
  const neverSeen: Position[] = [] // Positions that this commit both adds and removes.
  const puts: Put[] = []
  for (const [key, value] of change.puts) {
    if (key[0] !== KEY_SPACE.row || !sameBytes(tableOfKey(key), table)) continue
    const position = decodeRowKey(key)
    const isNew = comparePositions(position, end) >= 0
    if (isTombstone(value)) (isNew ? neverSeen : removed).push(position)
    else if (!isNew) changed.push(position)
    if (isNew) continue
    const row = await recordBeforeChange(context, before, table, position, read)
    puts.push([rowBeforeKey(table, position, version + 1), row])
  }
  for (const [rows, all] of [
    [rewritten.changed, changed],
    [rewritten.removed, removed],
  ] as const) {
    for (const position of rows) {
      all.push(position)
      puts.push([
        rowBeforeKey(table, position, version + 1),
        await recordBeforeChange(context, before, table, position, read),
      ])
    }
  }
  const last = await read(changeKey(table, version))
  const record = encodeChange({
    at: await context.options.clock.stampMs(),
    since: last === null ? version : decodeChangeStart(last).since,
    before: generation,
    changed: sortedRuns(changed),
    removed: [...sortedRuns(removed), ...sortedRuns(neverSeen)],
  })
  return [...puts, [changeKey(table, version + 1), record]]
}

function sortedRuns(positions: Position[]): readonly SlotRun[] {
  return runsOfPositions(positions.sort(comparePositions))
}

/** The record of a row before a change. */
async function recordBeforeChange(
  context: HistoryContext,
  { generation }: TableHead,
  table: TableKey,
  position: Position,
  read: ReadRecord,
): Promise<Bytes> {
  const record = await read(rowKey(table, position))
  return record ?? recordBelow(context, read, table, generation, position)
}

type ChangedRows = Readonly<{ changed: Position[]; removed: Position[] }>

/**
 * The rows of extents that a change rewrites, as a merge does. Their segments tell which rows it changed.
 * @returns null: there are too many such rows. Then the change has no record, and the history begins anew with this
 *   change.
 */
async function rowsOfRewritten(
  context: HistoryContext,
  table: TableKey,
  { version, generation }: TableHead,
  change: PutChange,
  read: ReadRecord,
): Promise<ChangedRows | null> {
  const rows: ChangedRows = { changed: [], removed: [] }
  for (const { extent, before, after } of await rewrittenExtents(table, generation, change, read)) {
    const footer = after.segment === null ? null : await context.segments.footer(after.segment)
    const compacted = compactedSegment(before)
    const deleted = compacted === null ? null : (await context.segments.footer(compacted)).isDeleted
    for (let slot = 0; slot < before.rowCount; slot++) {
      const isGone = footer === null || footer.isDeleted?.(slot) === true
      const isNew = (footer?.versionOf?.(slot) ?? after.version) === version + 1
      if (!isGone && !isNew) continue
      const position = { extent, slot }
      const record = await read(rowKey(table, position))
      const laid = record === null ? LAID.none : isTombstone(record) ? LAID.tombstone : LAID.row
      if (!isLiveSlot(laid, before, deleted, slot)) continue
      const those = isGone ? rows.removed : rows.changed
      those.push(position)
      if (rows.changed.length + rows.removed.length > REWRITTEN_ROWS_MAX) return null
    }
  }
  return rows
}

type Rewritten = Readonly<{ extent: number; before: ExtentEntry; after: ExtentEntry }>

/**
 * Whether an extent keeps its segment. An extent of row records that loses all rows has no segment before or after: it
 * is recognised by its entry, which becomes that of a compacted extent.
 */
function isSameExtent(before: ExtentEntry, after: ExtentEntry): boolean {
  return before.segment?.object === after.segment?.object && before.compacted === after.compacted
}

/** The extents that a change gives another segment, or removes all rows from. */
async function rewrittenExtents(
  table: TableKey,
  { firstExtent, open, nextExtent, nonce }: Generation,
  { puts, next }: PutChange,
  read: ReadRecord,
): Promise<readonly Rewritten[]> {
  if (next === null || !sameBytes(next.nonce, nonce)) return []
  const limit = open?.extent ?? nextExtent
  const rewritten: Rewritten[] = []
  for (const [key, value] of puts) {
    if (key[0] !== KEY_SPACE.extentPage || !sameBytes(tableOfKey(key), table)) continue
    const first = firstExtentOfPageKey(key)
    if (first < firstExtent || first >= limit) continue
    const page = await read(key)
    const entries = decodeExtentPage(value)
    for (const [at, before] of (page === null ? [] : decodeExtentPage(page)).entries()) {
      const after = entries[at]
      if (after === undefined || isSameExtent(before, after)) continue
      rewritten.push({ extent: first + at, before, after })
    }
  }
  return rewritten
}
