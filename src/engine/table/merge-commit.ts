// Commits a merge: turns its draft into the records of one commit.
import { isSync } from '../../base/awaitable.js'
import type { Bytes } from '../../base/bytes.js'
import { byteText } from '../../base/platform.js'
import { decodeExtentPage, encodeExtentPage } from '../../format/extent-page.js'
import { extentPageKey, PAGE_EXTENTS, rowKey, schemaKey } from '../../format/keys.js'
import { encodeRowRecord, type TableHead } from '../../format/records.js'
import type { KvCheck, ReadRecord } from '../../kv/kv.js'
import { filesOfRecords, putMarkers } from '../commit/file-markers.js'
import {
  countsOfRuns,
  type RequestKey,
  readIdempotency,
  recordsOfResult,
  runsOfCounts,
  saveResult,
} from '../commit/idempotency.js'
import type { AheadOfTurn } from '../commit/table-looks.js'
import type { Planned } from '../commit/table-writer.js'
import { hintOfClosed, hintOfRecord, hintOfSegments, hintOfTable } from '../commit/work-hints.js'
import { versionBase } from '../context/public-versions.js'
import type { TablePlace } from '../context/store-context.js'
import { rowIdsOf } from '../ids/row-ids.js'
import { type RowsReader, recordsOfSource } from '../import/rows-reader.js'
import type { ChangedExtent, ChangedRow, MergeDraft } from '../merge/merge-changes.js'
import type { MergeResult } from '../types/merge-types.js'
import type { OnSchemaError, RowsInput, Stash } from '../types/row-types.js'
import { type Appended, appendRows, lastPageKey } from './append-rows.js'
import { checksOf, checksOfObjects, type Moved, type ReadyRows } from './link-rows.js'
import { withMerge } from './receipts.js'
import { putSchema, underSchema } from './schema-change.js'

type Put = readonly [key: Bytes, value: Bytes]

export type CheckedMerge = Readonly<{
  rows: RowsInput | Stash
  key: readonly string[]
  missing: 'keep' | 'delete'
  unnamed: 'keep' | 'empty'
  ifMatch: number | bigint | undefined
  onSchemaError: OnSchemaError
  requestKey: RequestKey | undefined
  receipt: boolean
  dryRun: boolean
  signal: AbortSignal | undefined
}>

/** What a merge was prepared from. */
export type PreparedMerge = Readonly<{
  place: TablePlace
  request: CheckedMerge
  reader: RowsReader
  ready: ReadyRows
}>

/** @returns undefined: the store is not shared, so nothing is read ahead */
export function aheadOfMerge(
  { team, table }: TablePlace,
  { rows, requestKey }: CheckedMerge,
  draft: MergeDraft | null,
): AheadOfTurn | undefined {
  if (!team.kv.shared) return undefined
  const always = [...recordsOfSource(rows)]
  if (requestKey !== undefined) always.push(...recordsOfResult(table, requestKey))
  for (const page of extentsByPage(draft?.extents ?? []).keys())
    always.push(extentPageKey(table, page))
  return {
    keys: (head) => {
      const keys = [...always, schemaKey(table, head?.generation.schemaNumber ?? 0)]
      if (head !== null) keys.push(lastPageKey(table, head.generation))
      return keys
    },
  }
}

/** The result of the first merge with the key of a request; null: there was no first merge, or no key was given. */
export async function firstMerge(
  { team, table }: TablePlace,
  { requestKey, dryRun }: CheckedMerge,
  read: ReadRecord,
): Promise<MergeResult | null> {
  if (dryRun) return null
  const repeat = await readIdempotency(team.options, table, requestKey, read)
  if (repeat === null || repeat.first === null) return null
  const { version, runs } = repeat.first
  const [changed = 0, unchanged = 0, removed = 0] = countsOfRuns(runs)
  const addedRowIds = rowIdsOf(runs.filter(({ count }) => count > 0))
  return { version, added: addedRowIds.length, changed, unchanged, removed, addedRowIds }
}

/**
 * @param head - The head that the draft is based on.
 * @returns `rows` if a compaction has rewritten an extent since the draft
 */
export async function commitMerge(
  prepared: PreparedMerge,
  draft: MergeDraft,
  head: TableHead,
  read: ReadRecord,
): Promise<Planned<MergeResult | Moved>> {
  const { place, request, ready } = prepared
  const { team, table } = place
  const { counts } = draft
  const { newSchema } = ready
  if (counts.added + counts.changed + counts.removed === 0 && newSchema === null) {
    return { result: { version: head.version, ...counts, addedRowIds: rowIdsOf([]) } }
  }
  const pages = await changePages(place, draft.extents, read)
  if (pages === null) return { result: 'rows' }
  const version = head.version + 1
  const before = head.generation
  const generation = newSchema === null ? before : underSchema(before, newSchema, version)
  const under = { random: team.options.random, table, generation, version, base: versionBase(team) }
  const readPage: ReadRecord = (key) => pages.get(byteText(key))?.after ?? read(key)
  const appended = await appendRows({ ...under, read: readPage }, draft.added)
  const laid = draft.records.map((row) =>
    putChangedRow(place, row, version, generation.schemaNumber),
  )
  const files = filesOfRecords(laid.map(([, record]) => record))
  files.addAll(appended.files)
  files.addAll(draft.files)
  const puts: Put[] = [...laid, ...(await putMarkers(read, team.options.random, files))]
  const repeat = await readIdempotency(team.options, table, request.requestKey, read)
  const { changed, unchanged, removed } = counts
  const runs = [...appended.runs, ...runsOfCounts([changed, unchanged, removed])]
  const kept = await saveResult(team, repeat, { operation: 'add', table, version, runs })
  const receipt = ready.receipt && withMerge(ready.receipt, request, counts)
  const next = {
    ...appended.next,
    liveRows: appended.next.liveRows - counts.removed,
    deletedRows: appended.next.deletedRows + counts.removed,
  }
  puts.push(...kept.puts, ...planMergeHints(place, draft, head, next))
  if (newSchema !== null) {
    puts.push(putSchema(table, generation, newSchema, version))
    puts.push(...hintOfTable(team, table, version))
  }
  const linked = withPages(pages, appended)
  const own = checksOfObjects(place, prepared.reader)
  const checks = [...linked.checks, ...checksOf(ready.base.source), ...kept.checks]
  return {
    result: { version, ...counts, addedRowIds: rowIdsOf(appended.runs) },
    change: {
      next,
      operation: 'merge',
      counts,
      receipt,
      puts: [...linked.puts, ...puts],
      deletes: draft.deletes,
      checks: [...checks, ...(isSync(own) ? own : await own)],
    },
  }
}

function putChangedRow(
  { table }: TablePlace,
  { position, row }: ChangedRow,
  version: number,
  schemaNumber: number,
): Put {
  const record = row ?? { text: null, schemaNumber }
  return [rowKey(table, position), encodeRowRecord({ ...record, version })]
}

/** A page of extents before and after the merge. */
type ChangedPage = Readonly<{ key: Bytes; before: Bytes; after: Bytes }>

/** The changed pages, by the texts of their keys. null: an entry differs from the one in the draft. */
async function changePages(
  { table }: TablePlace,
  extents: readonly ChangedExtent[],
  read: ReadRecord,
): Promise<ReadonlyMap<string, ChangedPage> | null> {
  const pages = new Map<string, ChangedPage>()
  for (const [page, changed] of extentsByPage(extents)) {
    const key = extentPageKey(table, page)
    const before = await read(key)
    if (before === null) return null
    const entries = decodeExtentPage(before)
    for (const { extent, before: object, entry } of changed) {
      const index = extent % PAGE_EXTENTS
      const known = entries[index]
      if (known === undefined || (known.segment?.object ?? null) !== object) return null
      entries[index] = entry
    }
    pages.set(byteText(key), { key, before, after: encodeExtentPage(entries) })
  }
  return pages
}

function extentsByPage(extents: readonly ChangedExtent[]): ReadonlyMap<number, ChangedExtent[]> {
  const pages = new Map<number, ChangedExtent[]>()
  for (const changed of extents) {
    const page = Math.floor(changed.extent / PAGE_EXTENTS)
    const known = pages.get(page)
    if (known === undefined) pages.set(page, [changed])
    else known.push(changed)
  }
  return pages
}

/** Combines changes of pages with appends to them: appended rows may go to a changed page. */
function withPages(
  pages: ReadonlyMap<string, ChangedPage>,
  appended: Appended,
): Readonly<{ puts: readonly Put[]; checks: readonly KvCheck[] }> {
  const puts = new Map<string, Put>()
  for (const [name, { key, after }] of pages) puts.set(name, [key, after])
  for (const put of appended.puts) puts.set(byteText(put[0]), put)
  const checks = [...pages.values()].map(({ key, before }) => ({ key, equals: before }))
  return {
    puts: [...puts.values()],
    checks: [...checks, ...appended.checks.filter(({ key }) => !pages.has(byteText(key)))],
  }
}

function planMergeHints(
  { team, table }: TablePlace,
  { records, extents }: MergeDraft,
  head: TableHead,
  next: TableHead['generation'],
): Put[] {
  const hints = [...hintOfClosed(team, head, next, table)]
  const laidOver = new Set(records.map(({ position }) => position.extent))
  for (const extent of laidOver) hints.push(...hintOfRecord(team, head, table, extent))
  if (extents.length > 0) hints.push(...hintOfTable(team, table, head.version + 1))
  hints.push(...hintOfSegments(team, table, head.version + 1))
  return hints
}
