// Compaction: rewrites an extent with its row records as a new segment. Positions, row IDs, row versions and the
// table's version do not change. Readers and writers are not disturbed.
//
// Invariants:
// - The commit that swaps the segment checks the extent page, and a commit that appends to a page checks it too. So
//   neither overwrites the other.
// - Compacted row records are deleted only after the swap, each checked by its exact bytes: a newer record stays above
//   the new segment. After a crash in between, records remain that equal the rows of the segment.
// - Cells are copied as they are stored, so reading still has to convert them.
import { inBatches } from '../../base/batches.js'
import type { Bytes } from '../../base/bytes.js'
import { sameBytes, toHex } from '../../base/bytes.js'
import type { ExtentEntry, SegmentRef } from '../../format/extent-page.js'
import {
  decodeExtentEntry,
  decodeExtentPage,
  encodeExtentPage,
  rewrittenEntry,
} from '../../format/extent-page.js'
import {
  decodeRowKey,
  extentPageKey,
  PAGE_EXTENTS,
  ROWS_RANGE,
  rowsRange,
  type TableKey,
  tableHeadKey,
  tableOfKey,
} from '../../format/keys.js'
import {
  decodeRowRecord,
  decodeTableHead,
  type Generation,
  type RowRecord,
} from '../../format/records.js'
import { SegmentBuilder } from '../../format/segment-writer.js'
import {
  aboutExtent,
  type ExtentPlace,
  extentOfHint,
  type Hint,
} from '../../format/work-records.js'
import type { KeyRange, KvPartition, KvView } from '../../kv/kv.js'
import { scanBatches, scanKeys } from '../../kv/scan-batches.js'
import { compactedSegment, isLiveSlot, laidBy } from '../caches/live-slot.js'
import { deleteUnchanged } from '../commit/delete-records.js'
import { hintOfSegments } from '../commit/work-hints.js'
import type { StoreContext } from '../context/store-context.js'
import { putSegment } from '../context/stored-segments.js'
import type { Visit } from './team-visits.js'

/** An extent and the number of its row records. */
type Candidate = ExtentPlace & Readonly<{ recordCount: number }>

/** Maximum number of extents named by hints that are examined in one view, with concurrent queries. */
const LOOKED_AT_ONCE = 64

/** Maximum number of UTF-16 units that a compaction holds in memory. An extent with more text is not compacted. */
const COMPACTION_CHARS_MAX = 64 * 1024 * 1024

type TeamPlace = Readonly<{ teamId: string; partition: KvPartition }>

/** The result of a compaction. `again`: hints of extents whose pages changed meanwhile. */
type TeamCompacted = Readonly<{ compacted: number; again: readonly Hint[] }>

/**
 * Compacts the extents of a team that have enough row records, among all extents or among the extents that hints name.
 */
export async function compactPartition(
  context: StoreContext,
  visit: Visit,
): Promise<TeamCompacted> {
  let compacted = 0
  const again: Hint[] = []
  for (const candidate of await findCandidates(context, visit)) {
    const outcome = await compactExtent(context, visit, candidate)
    if (outcome === 'compacted') compacted++
    if (outcome !== 'refused' || !context.kv.shared) continue
    again.push({
      due: context.options.clock.now() + 1,
      kind: 'extent',
      about: aboutExtent(candidate),
    })
  }
  return { compacted, again }
}

async function findCandidates(
  { options }: StoreContext,
  { partition, isFull, about }: Visit,
): Promise<Candidate[]> {
  const { compactionRecordsMin } = options
  if (isFull) {
    return partition.read(async (view) => {
      return selectCandidates(view, compactionRecordsMin, await countRecords(view, ROWS_RANGE))
    })
  }
  const candidates: Candidate[] = []
  const named = new Map(about('extent').map((extent) => [toHex(extent), extentOfHint(extent)]))
  const places = [...named.values()]
  for (const some of inBatches(places, LOOKED_AT_ONCE)) {
    const found = await partition.read((view) =>
      Promise.all(
        some.map(async ({ table, extent }) => {
          const range = rowsRange(table, { extent, slot: 0 }, extent + 1)
          return selectCandidates(view, compactionRecordsMin, await countRecords(view, range))
        }),
      ),
    )
    candidates.push(...found.flat())
  }
  return candidates
}

/** The extents in a range of row records, with the number of their records. */
async function countRecords(view: KvView, range: KeyRange): Promise<Iterable<Candidate>> {
  const counts = new Map<string, Candidate>()
  for await (const keys of scanKeys(view, range)) {
    for (const key of keys) {
      const table = tableOfKey(key)
      const { extent } = decodeRowKey(key)
      const name = `${toHex(table)}:${extent}`
      const recordCount = (counts.get(name)?.recordCount ?? 0) + 1
      counts.set(name, { table, extent, recordCount })
    }
  }
  return counts.values()
}

/**
 * Selects closed extents whose rows are row records, and sealed extents with many records over them.
 * @param counted - Ordered by key, so that the extents of a page are adjacent and the page is read once.
 */
async function selectCandidates(
  view: KvView,
  compactionRecordsMin: number,
  counted: Iterable<Candidate>,
): Promise<Candidate[]> {
  const candidates: Candidate[] = []
  let page: Page | null = null
  for (const candidate of counted) {
    if (page === null || !isOnPage(page, candidate)) page = await readPageOfExtent(view, candidate)
    if (page === null || !isRewritable(page, candidate)) continue
    // This decodes one entry instead of the whole page, because a large table that changes everywhere has many
    // candidates.
    const entry = decodeExtentEntry(page.bytes, candidate.extent % PAGE_EXTENTS)
    if (entry === null) continue
    const isClosed = entry.segment === null
    if (isClosed || candidate.recordCount >= compactionRecordsMin) candidates.push(candidate)
  }
  return candidates
}

/** An extent page, and the generation of its table. */
type Page = Readonly<{
  table: TableKey
  number: number
  key: Bytes
  bytes: Bytes
  generation: Pick<Generation, 'firstExtent' | 'open'>
}>

type Place = Readonly<{ page: Page; entries: ExtentEntry[]; entry: ExtentEntry }>

const pageOf = (extent: number): number => Math.floor(extent / PAGE_EXTENTS)

function isOnPage({ table, number }: Page, candidate: Candidate): boolean {
  return number === pageOf(candidate.extent) && sameBytes(table, candidate.table)
}

/** Whether an extent of the table's generation is sealed or closed. */
function isRewritable({ generation: { firstExtent, open } }: Page, { extent }: Candidate): boolean {
  return extent >= firstExtent && extent !== open?.extent
}

/** The page with the entry of an extent; null: the page or the table does not exist. */
async function readPageOfExtent(view: KvView, { table, extent }: Candidate): Promise<Page | null> {
  const head = await view.get(tableHeadKey(table))
  if (head === null) return null
  const { generation } = decodeTableHead(head)
  const number = pageOf(extent)
  const key = extentPageKey(table, number)
  const bytes = await view.get(key)
  return bytes && { table, number, key, bytes, generation }
}

async function findExtentEntry(view: KvView, candidate: Candidate): Promise<Place | null> {
  const page = await readPageOfExtent(view, candidate)
  if (page === null || !isRewritable(page, candidate)) return null
  const entries = decodeExtentPage(page.bytes)
  const entry = entries[candidate.extent % PAGE_EXTENTS]
  return entry === undefined ? null : { page, entries, entry }
}

type LaidRecord = Readonly<{ key: Bytes; bytes: Bytes; record: RowRecord }>

async function compactExtent(
  context: StoreContext,
  { teamId, partition }: TeamPlace,
  candidate: Candidate,
): Promise<'compacted' | 'refused' | 'left'> {
  const seen = await partition.read(async (view) => {
    const place = await findExtentEntry(view, candidate)
    return place && { place, records: await readExtentRecords(view, candidate) }
  })
  if (seen === null || seen.records === null) return 'left'
  const { place, records } = seen
  const written = await writeCompacted(context, place.entry, records)
  if (written === 'too large') return 'left'
  const { segment, namesFiles } = written
  const { ids, incarnation } = context
  const objects = segment === null ? [] : [segment.object]
  try {
    const entry = rewrittenEntry(place.entry, segment, namesFiles)
    const index = candidate.extent % PAGE_EXTENTS
    const entries = place.entries.map((old, i) => (i === index ? entry : old))
    const hints = segment === null ? [] : hintOfSegments(context, candidate.table, 0)
    const { ok } = await incarnation.commit({ teamId, partition }, objects, {
      checks: [{ key: place.page.key, equals: place.page.bytes }],
      puts: [[place.page.key, encodeExtentPage(entries)], ...hints],
    })
    ids.release(objects)
    if (!ok) return 'refused' // The page has changed, so the extent is left to the next compaction.
  } catch (failure) {
    ids.releaseAfter(failure, objects)
    throw failure
  }
  const laid = [...records.values()].map(({ key, bytes: equals }) => ({ key, equals }))
  await deleteUnchanged(partition, laid)
  return 'compacted'
}

/** The row records of an extent; null: their text exceeds COMPACTION_CHARS_MAX. */
async function readExtentRecords(
  view: KvView,
  { table, extent }: Candidate,
): Promise<Map<number, LaidRecord> | null> {
  const records = new Map<number, LaidRecord>()
  let chars = 0
  for await (const entries of scanBatches(
    view,
    rowsRange(table, { extent, slot: 0 }, extent + 1),
  )) {
    for (const [key, bytes] of entries) {
      const record = decodeRowRecord(bytes)
      chars += record.text?.length ?? 0
      if (chars > COMPACTION_CHARS_MAX) return null
      records.set(decodeRowKey(key).slot, { key, bytes, record })
    }
  }
  return records
}

/** `segment`: null if no row is live. */
type Compacted = Readonly<{ segment: SegmentRef | null; namesFiles: boolean }>

/** Writes the rows of the extent as one segment. */
async function writeCompacted(
  context: StoreContext,
  entry: ExtentEntry,
  records: ReadonlyMap<number, LaidRecord>,
): Promise<Compacted | 'too large'> {
  const versions: number[] = []
  const texts: string[] = []
  const deleted = new Uint8Array(Math.ceil(entry.rowCount / 8))
  let liveRows = 0
  let chars = 0
  const compacted = compactedSegment(entry)
  const old = compacted === null ? null : await context.segments.footer(compacted)
  // If an earlier compaction found no live row, the extent has no segment, and only some tombstones may be left.
  for await (const stored of storedTexts(context, entry)) {
    for (const text of stored) {
      const slot = texts.length
      const laid = records.get(slot)?.record
      const isDeleted = !isLiveSlot(laidBy(laid), entry, old?.isDeleted ?? null, slot)
      if (isDeleted) deleted[slot >> 3] = (deleted[slot >> 3] ?? 0) | (1 << (slot & 7))
      else liveRows++
      versions.push(laid?.version ?? old?.versionOf?.(slot) ?? entry.version)
      texts.push(isDeleted ? '' : (laid?.text ?? text))
      chars += texts[slot]?.length ?? 0
    }
    if (chars > COMPACTION_CHARS_MAX) return 'too large'
  }
  if (liveRows === 0) return { segment: null, namesFiles: false }
  return putCompacted(context, texts, versions, liveRows === texts.length ? null : deleted)
}

/** The rows below the records: the rows of the segment, or an empty text per slot if there is no segment. */
async function* storedTexts(
  context: StoreContext,
  { segment, rowCount }: ExtentEntry,
): AsyncGenerator<readonly string[]> {
  if (segment === null) yield new Array<string>(rowCount).fill('')
  else yield* context.segments.rowTexts(segment, 0, rowCount)
}

async function putCompacted(
  context: StoreContext,
  texts: readonly string[],
  versions: readonly number[],
  deleted: Bytes | null,
): Promise<Compacted> {
  const object = context.ids.next()
  try {
    const { compression, valueFilters } = context.options
    const builder = new SegmentBuilder(object, 64 * 1024, compression, undefined, valueFilters)
    for (const text of texts) builder.add(text)
    const built = await builder.finishCompaction(versions, deleted)
    await putSegment(context, object, built)
    const { bytes, footerBytes, files } = built
    const segment = { object, rowCount: texts.length, objectBytes: bytes.length, footerBytes }
    return { segment, namesFiles: !files.isEmpty }
  } catch (failure) {
    context.ids.release([object])
    throw failure
  }
}
