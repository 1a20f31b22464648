// Reads a page of rows: first all control records in one view, then the segments.
//
// Invariants:
// - A page sees one commit: head, extent entries and row records are read in one view.
// - A page has a continuation if and only if a live row follows. So a page with a continuation is never empty.
import type { Bytes } from '../../base/bytes.js'
import type { ForwardMap } from '../../format/forward.js'
import type { Position, TableKey } from '../../format/keys.js'
import type { Generation, RowRecord } from '../../format/records.js'
import { convertRowText } from '../../format/row-text.js'
import { hideDropped } from '../../format/schema-record.js'
import type { SegmentFooter } from '../../format/segment-reader.js'
import type { KvView, ReadRecord } from '../../kv/kv.js'
import { type Extent, ExtentWalk } from '../caches/extents.js'
import { compactedSegment, isLiveSlot, laidBy, showsSegment } from '../caches/live-slot.js'
import type { IndexedSchema } from '../caches/schema-cache.js'
import type { StoreContext } from '../context/store-context.js'
import { checkMemoryFor, READ_BYTES_MAX, type ReadBounds } from '../segments/frame-parts.js'
import type { FrameRows, FrameSource } from '../segments/frame-runs.js'
import { AHEAD_BYTES_MAX, type WalkBounds } from '../segments/read-ahead.js'
import type { RowRun } from '../segments/segment-opening.js'
import type { PieceStart } from '../types/store-types.js'
import type { CompactedFooters } from './compacted-footers.js'
import type { GenerationInUse } from './generations.js'
import {
  PAGE_START,
  type PageLimits,
  PageWriter,
  type PieceTarget,
  textBytesMax,
} from './page-writer.js'
import { type PageWanted, RecordScan } from './record-scan.js'

/** The live rows of one extent that a page may show: those in the slots from `first` to `limit` (not included). */
export type Run = Readonly<{
  extent: Extent & Pick<SegmentFooter, 'isDeleted' | 'versionOf'>
  first: number
  limit: number
  records: ReadonlyMap<number, RowRecord>
  liveRows: number
  /** Whether some stored rows of the segment must be converted to the form of the schema. */
  converts: boolean
}>

/** The rows that a page will show, selected within the view. */
export type PlannedPage = Readonly<{
  runs: readonly Run[]
  version: number
  generation: Generation
  /** The schema is read only if rows have to be converted, or if the caller wants it. */
  schema: IndexedSchema | null
  /** Whether the runs have all live rows up to the end of the table. */
  isEnd: boolean
}>

export type PagePlan = PlannedPage & Readonly<{ forward: ForwardMap | null }>

export type ReadPiece = Readonly<{
  json: Bytes
  /** Rows of the page up to the end of this piece. */
  rowCount: number
  /** Where the next piece begins; null: the page ends with this one. */
  next: PieceStart | null
  /**
   * At the end of the page: the position of the next live row, or a position before it with no live row in between;
   * null: no row follows.
   */
  after: Position | null
}>

/**
 * Finds the live rows of a page of `limit` rows from a position on, and one more row to know whether the page is the
 * last.
 * @param footers - undefined: footers are read in the view.
 */
export async function planPage(
  context: StoreContext,
  view: KvView,
  table: TableKey,
  { generation, version }: GenerationInUse,
  page: PageWanted,
  footers: CompactedFooters | undefined,
): Promise<PlannedPage> {
  const read: ReadRecord = (key) => view.get(key)
  const walk = new ExtentWalk(read, table, generation)
  const { recordBytesMax = context.options.pageBytesMax } = page
  const records = new RecordScan(view, table, page, generation.nextExtent, recordBytesMax)
  const runs: Run[] = []
  let liveRows = 0
  let { extent: number, slot: first } = page.from
  let extent = await walk.at(number)
  while (extent !== null && liveRows <= page.limit) {
    const wanted = page.limit + 1 - liveRows
    const shown = withFooter(extent, await compactedFooter(context, extent, footers))
    const run = await planRun(records, generation, shown, { first, wanted })
    if (run.liveRows > 0) runs.push(run)
    liveRows += run.liveRows
    first = 0
    number++
    if (records.isBeyondBudget({ extent: number, slot: first })) break
    extent = await walk.at(number)
  }
  const converts = generation.widenedAt > 0 || runs.some((run) => run.converts)
  const wantsSchema = converts || page.wantsSchema === true
  const schema = wantsSchema
    ? await context.schemas.get(table, generation.schemaNumber, read)
    : null
  return { runs, version, generation, schema, isEnd: extent === null && liveRows <= page.limit }
}

/** Built member by member, not by spreading (PERFORMANCE.md, P34). */
function withFooter(
  { extent, nonce, rowCount, entry }: Extent,
  footer: SegmentFooter | null,
): Run['extent'] {
  const [isDeleted, versionOf] =
    footer === null ? ([null, null] as const) : ([footer.isDeleted, footer.versionOf] as const)
  return { extent, nonce, rowCount, entry, isDeleted, versionOf }
}

/**
 * The footer of a segment that a compaction wrote: it has the deleted rows and the versions of rows. The footers of
 * other segments have neither.
 */
async function compactedFooter(
  { segments }: StoreContext,
  { entry }: Extent,
  footers: CompactedFooters | undefined,
): Promise<SegmentFooter | null> {
  const compacted = compactedSegment(entry)
  if (compacted === null) return null
  if (footers !== undefined) return footers.get(compacted) ?? null
  return segments.footer(compacted)
}

async function planRun(
  records: RecordScan,
  { convertBefore }: Generation,
  extent: Run['extent'],
  { first, wanted }: Readonly<{ first: number; wanted: number }>,
): Promise<Run> {
  const laid = await records.ofExtent(extent.extent)
  const isPlain = laid.size === 0 && extent.isDeleted === null && extent.entry?.segment != null
  const isRead = !records.isBeyondBudget({ extent: extent.extent, slot: extent.rowCount - 1 })
  let slot = first
  if (isPlain && isRead) slot = Math.max(first, Math.min(extent.rowCount, first + wanted))
  let liveRows = slot - first
  for (; slot < extent.rowCount && liveRows < wanted; slot++) {
    if (records.isBeyondBudget({ extent: extent.extent, slot })) break
    const over = laidBy(laid.get(slot))
    if (isLiveSlot(over, extent.entry, extent.isDeleted, slot)) liveRows++
  }
  const converts = extent.entry?.convert === true || extent.extent < convertBefore
  return { extent, first, limit: slot, records: laid, liveRows, converts }
}

/**
 * Reads one piece of the rows of a plan. All pieces together are a JSON array. A page, like a piece, has rows up to its
 * limits, but at least one row if a row is left.
 * @param start - null: the first piece.
 * @throws {NeedsMemory}
 */
export async function readPagePiece(
  context: StoreContext,
  plan: PagePlan,
  limits: PageLimits,
  start: PieceStart | null,
  target: PieceTarget & Partial<Pick<ReadBounds, 'memoryBytes'>>,
): Promise<ReadPiece> {
  const { forward, generation } = plan
  const kept = forward === null ? null : { forward, firstExtent: generation.firstExtent }
  const writer = new PageWriter(limits, kept, start ?? PAGE_START, target)
  const bounds = makeWalkBounds(target, writer)
  const walk = context.segments.walk(() => segmentRuns(plan, limits, start), bounds)
  try {
    return await takeRuns({ plan, walk, writer, bounds }, limits, start)
  } finally {
    await walk.close()
  }
}

/** The parts of segments that a piece reads, in order. A run that begins where the page is full is left out. */
function segmentRuns(
  { runs }: PagePlan,
  { rows }: PageLimits,
  start: PieceStart | null,
): readonly RowRun[] {
  const wanted: RowRun[] = []
  let liveRows = 0
  for (const [index, run] of runs.entries()) {
    if (liveRows >= rows) break
    liveRows += run.liveRows
    if (index < (start?.run ?? 0)) continue
    const segmentRun = segmentRunFrom(run, index === start?.run ? start.slot : run.first)
    if (segmentRun !== null) wanted.push(segmentRun)
  }
  return wanted
}

/** The part of a segment with the rows of a run from `start` on; null: all rows of the run are row records. */
export function segmentRunFrom({ extent, limit }: Run, start: number): RowRun | null {
  const ref = extent.entry?.segment ?? null
  return ref === null ? null : { ref, start, limit }
}

/** The bounds of a walk. A smaller piece is read in smaller parts, so that it uses little other memory. */
function makeWalkBounds(
  { bytes, memoryBytes = Number.POSITIVE_INFINITY }: PieceTarget & Partial<ReadBounds>,
  writer: PageWriter,
): WalkBounds {
  return {
    bytes: Math.min(bytes, READ_BYTES_MAX),
    memoryBytes,
    aheadBytes: Math.min(bytes, AHEAD_BYTES_MAX),
    wanted: () => writer.bytesLeft,
  }
}

/** A piece of a page that is being read. */
type PieceReading = Readonly<{
  plan: PagePlan
  walk: FrameSource
  writer: PageWriter
  bounds: ReadBounds
}>

async function takeRuns(
  { plan, walk, writer, bounds }: PieceReading,
  limits: PageLimits,
  start: PieceStart | null,
): Promise<ReadPiece> {
  const { runs } = plan
  const end = (after: Position | null): ReadPiece => {
    return { json: writer.finish(true), rowCount: writer.rowCount, next: null, after }
  }
  for (let index = start?.run ?? 0; index < runs.length; index++) {
    const run = runs[index]
    if (run === undefined) break
    const { extent } = run.extent
    const first = index === start?.run ? start.slot : run.first
    // Every run has a live row, so a next row exists, and nothing more need be read.
    if (writer.rowCount === limits.rows && first === run.first) return end({ extent, slot: first })
    const texts = makeRunTexts(run, plan)
    const { slot, isPageFull } = await takeRun({ walk, writer, bounds, texts }, run, first)
    if (isPageFull) return end({ extent, slot })
    if (!writer.isPieceFull) continue
    const { rowCount, textBytes } = writer
    const next =
      slot < run.limit
        ? { run: index, slot }
        : { run: index + 1, slot: runs[index + 1]?.first ?? 0 }
    return {
      json: writer.finish(false),
      rowCount,
      next: { ...next, rowCount, textBytes },
      after: null,
    }
  }
  return end(null)
}

/** A run that is written into a piece. */
type RunReading = Pick<PieceReading, 'walk' | 'writer' | 'bounds'> & Readonly<{ texts: Texts }>

/** The slot up to which a run was written: its end, or the first row for which the piece or the page had no room. */
type Taken = Readonly<{ slot: number; isPageFull: boolean }>

async function takeRun(reading: RunReading, run: Run, first: number): Promise<Taken> {
  const { walk, writer } = reading
  const stored = segmentRunFrom(run, first)
  if (stored === null) return takeRecords(reading, run, first)
  for await (const frames of walk.frames(stored)) {
    writer.expect(frames)
    for (const rows of frames) {
      const taken = takeFrame(reading, run, rows)
      const isTaken = taken.slot === rows.slot + rows.limit - rows.first
      if (!isTaken || writer.isPieceFull) return taken
    }
  }
  return { slot: run.limit, isPageFull: false }
}

/** How the texts of a run are served: as stored, or converted to the current types of their columns. */
export type Texts = Readonly<{
  /** The text of a record as served; null: the row is deleted. */
  ofRecord(record: RowRecord): string | null
  /** Converts a stored text; null: rows of the segment are served as stored. */
  ofStored: ((text: string, slot: number) => string) | null
}>

export function makeRunTexts({ converts, extent }: Run, { generation, schema }: PagePlan): Texts {
  const convert = (text: string, version: number): string => {
    if (schema === null) return text
    return convertRowText(hideDropped(text, schema.past, version), schema.columns)
  }
  const { entry, versionOf } = extent
  return {
    ofRecord: ({ text, schemaNumber, version }) =>
      text === null || schemaNumber === generation.schemaNumber ? text : convert(text, version),
    ofStored:
      converts && schema !== null
        ? (text, slot) => convert(text, versionOf?.(slot) ?? entry?.version ?? 0)
        : null,
  }
}

/** Appends row records of a run. */
function takeRecords(reading: RunReading, { extent, limit, records }: Run, first: number): Taken {
  for (let slot = first; slot < limit; slot++) {
    if (reading.writer.isPieceFull) return { slot, isPageFull: false }
    const record = records.get(slot)
    const text = record === undefined ? null : reading.texts.ofRecord(record)
    if (text !== null && !takeText(reading, extent, slot, text)) return { slot, isPageFull: true }
  }
  return { slot: limit, isPageFull: false }
}

/** Appends one row. @returns false: the page is full */
function takeText(
  { writer, bounds }: RunReading,
  extent: Run['extent'],
  slot: number,
  text: string,
): boolean {
  checkMemoryFor(textBytesMax(text), bounds)
  return writer.takeText(extent, slot, text)
}

/** Appends rows of a frame, except where row records lie over them. */
function takeFrame(
  reading: RunReading,
  { extent, records }: Run,
  { frame, first, limit, slot: firstSlot }: FrameRows,
): Taken {
  const { writer, texts } = reading
  const limitSlot = firstSlot + limit - first
  const { isDeleted } = extent
  const isPlain = (slot: number): boolean => showsSegment(records.has(slot), isDeleted, slot)
  const isAllPlain = records.size === 0 && isDeleted === null
  for (let slot = firstSlot; slot < limitSlot; ) {
    if (writer.isPieceFull) return { slot, isPageFull: false }
    const row = first + slot - firstSlot
    const record = records.get(slot)
    const showsStored = showsSegment(record !== undefined, isDeleted, slot)
    if (!showsStored || texts.ofStored !== null) {
      const laid = record === undefined ? null : texts.ofRecord(record)
      const text = showsStored ? (texts.ofStored?.(frame.rowText(row), slot) ?? null) : laid
      if (text !== null && !takeText(reading, extent, slot, text)) return { slot, isPageFull: true }
      slot++
    } else {
      let plainLimit = isAllPlain ? limitSlot : slot + 1
      while (plainLimit < limitSlot && isPlain(plainLimit)) plainLimit++
      const rows = { frame, first: row, limit: row + plainLimit - slot, slot }
      slot += writer.takeStored(extent, rows)
      if (slot < plainLimit) return { slot, isPageFull: true }
    }
  }
  return { slot: limitSlot, isPageFull: false }
}
