// Point reads. A table that has not changed since its last read is read without the database.
//
// Invariant: a row is taken from its segment only if no row record lies over it. The path without the database is not
// taken for a table with a row record, nor for rows that must be converted.

import { type Awaitable, chain, isSync } from '../../base/awaitable.js'
import { type Bytes, sameBytes } from '../../base/bytes.js'
import { EXTENTS_MAX, PAGE_EXTENTS, rowsRange, type TableKey } from '../../format/keys.js'
import type { TableHead } from '../../format/records.js'
import { parseRowId } from '../../format/row-id.js'
import { renderRowObject } from '../../format/row-text.js'
import type { KvView } from '../../kv/kv.js'
import { readAwaitable } from '../../kv/read-awaitable.js'
import type { RowJson } from '../caches/hot-row-cache.js'
import type { PointReadEntry } from '../caches/point-read-cache.js'
import { lookAt } from '../commit/table-looks.js'
import type { TablePlace, TeamContext } from '../context/store-context.js'
import { readHead } from './generations.js'
import { findRow, recordsOfRow } from './row-lookup.js'

/**
 * The row with an ID as JSON, and its version; null: no such row exists.
 * @throws {StoreError} TABLE_NOT_FOUND, DATA_CORRUPT
 */
export function readRowJson(
  place: TablePlace,
  latest: PointReadEntry,
  rowId: string,
): Awaitable<RowJson | null> {
  const { team } = place
  const head = latest.headAt(team.partition.commitStamp?.())
  if (head === undefined) return readRowRecords(place, latest, rowId)
  const kept = team.hotRows.get(head, rowId)
  if (kept !== undefined) return kept
  const found = readLatestRow(latest, place, head, rowId)
  if (found === undefined) return readRowRecords(place, latest, rowId)
  if (!isSync(found)) return found.then((row) => noted(team, head, rowId, row))
  return noted(team, head, rowId, found)
}

/** The row with an ID, under a head that is current. null: no such row exists; undefined: the records must be read. */
function readLatestRow(
  latest: PointReadEntry,
  { team, table }: TablePlace,
  { generation }: TableHead,
  rowId: string,
): Awaitable<RowJson | null> | undefined {
  if (!latest.isPlain || generation.forward !== null) return undefined
  const id = parseRowId(rowId)
  if (id === null) return null
  const { extent, slot, nonce } = id
  if (extent < generation.firstExtent || extent >= generation.nextExtent) return null
  if (generation.open?.extent === extent || extent < generation.convertBefore) return undefined
  const page = latest.page(team.partition, table, Math.floor(extent / PAGE_EXTENTS))
  if (page === undefined) return undefined
  const entry = team.extents.ofPage(page, extent)
  if (entry.segment === null || entry.compacted || entry.convert) return undefined
  if (slot >= entry.rowCount || !sameBytes(entry.nonce, nonce)) return null
  const version = Math.max(entry.version, generation.widenedAt)
  const text = team.segments.rowText(entry.segment, slot)
  return isSync(text)
    ? { json: renderRowObject(rowId, text), version }
    : text.then((read) => ({ json: renderRowObject(rowId, read), version }))
}

function noted(
  { hotRows }: TeamContext,
  head: TableHead,
  rowId: string,
  row: RowJson | null,
): RowJson | null {
  if (row !== null) hotRows.note(head, rowId, row)
  return row
}

/** Reads the row through its records, in one view, and remembers what the records tell about the table. */
function readRowRecords(
  place: TablePlace,
  latest: PointReadEntry,
  rowId: string,
): Awaitable<RowJson | null> {
  const { team, table, tableId } = place
  const stamp = team.partition.commitStamp?.()
  const readRow = (view: KvView): Awaitable<RowJson | null> =>
    chain(readHead(team, view, table, tableId), (head) => {
      const kept = team.hotRows.get(head, rowId)
      if (kept !== undefined) return kept
      return chain(isFreeOfRecords(view, table, head, latest, stamp), (plain) => {
        if (stamp !== undefined && team.partition.commitStamp?.() === stamp) {
          latest.remember(stamp, head, plain)
        }
        const read = (key: Bytes) => view.get(key)
        return chain(findRow(team, read, table, head.generation, rowId), (row) => {
          if (row === null) return null
          const found = { json: renderRowObject(rowId, row.text), version: row.version }
          return noted(team, head, rowId, found)
        })
      })
    })
  if (!team.kv.shared) return readAwaitable(team.partition, readRow)
  return readLooked(place, rowId).then((found) =>
    found === undefined ? team.partition.read(readRow) : found,
  )
}

/** Maximum number of looks at the records of a row. Each look also reads the keys that the previous look lacked. */
const LOOKS_MAX = 8

/** Like `readRowRecords`, but reads objects after the view is closed. undefined: the table changes again and again. */
async function readLooked(
  { team, table, tableId }: TablePlace,
  rowId: string,
): Promise<RowJson | null | undefined> {
  const { partition, heads } = team
  const records = recordsOfRow(table, rowId)
  const missed: Bytes[] = []
  for (let looks = 0; looks < LOOKS_MAX; looks++) {
    const known = missed.length
    const ahead = { keys: () => [...records, ...missed] }
    const look = await lookAt({ partition, heads, table, tableId }, [ahead], null, 0)
    const kept = team.hotRows.get(look.head, rowId)
    if (kept !== undefined) return kept
    try {
      const { generation } = look.head
      const row = await findRow(team, look.reader(missed), table, generation, rowId)
      if (row === null) return null
      const found = { json: renderRowObject(rowId, row.text), version: row.version }
      return noted(team, look.head, rowId, found)
    } catch (failure) {
      if (missed.length === known) throw failure
    }
  }
  return undefined
}

/** Whether a table is known to have no row records. If no scan was tried yet, scans for them. */
function isFreeOfRecords(
  view: KvView,
  table: TableKey,
  { generation }: TableHead,
  latest: PointReadEntry,
  stamp: object | undefined,
): Awaitable<boolean> {
  if (stamp === undefined || view.isEmpty === undefined) return false
  const { firstExtent, nextExtent } = generation
  const start = { extent: firstExtent, slot: 0 }
  // Earlier walks may have shown that the range of the existing extents is empty. The scan below also covers later
  // extents.
  const toEnd = rowsRange(table, start, EXTENTS_MAX)
  if (view.isEmpty(toEnd) || view.isEmpty(rowsRange(table, start, nextExtent))) return true
  if (!latest.shouldLook(generation)) return false
  return view.scan({ ...toEnd, count: 1 }).then((found) => found.length === 0)
}
