// Reading a page of rows: one view for all control records, then the segments.
//
// Invariants:
// - A page sees one commit: head, extent entries and row records are read in one view.
// - A page has a continuation if and only if a live row follows; so no page with one is empty.
import type { Bytes } from '../base/bytes.js'
import type { ForwardMap } from '../format/forward.js'
import { decodeRowKey, type Position, rowsRange, type TableKey } from '../format/keys.js'
import { decodeRowRecord, type Generation, type RowRecord } from '../format/records.js'
import { convertRowText } from '../format/row-text.js'
import type { SegmentFooter } from '../format/segment-reader.js'
import type { KvView } from '../kv/kv.js'
import { type Extent, ExtentWalk } from './extents.js'
import type { GenerationInUse } from './generations.js'
import { PageWriter } from './page-writer.js'
import { missingRecord } from './row-lookup.js'
import type { IndexedSchema } from './schema-cache.js'
import type { FrameRows } from './segment-cache.js'
import type { StoreContext } from './store-context.js'
import type { ReadRecord } from './table-writer.js'

/** The live rows of one extent that a page may show: slots from `first` to `limit` (not included). */
type Run = Readonly<{
  extent: Extent & Readonly<{ isDeleted: SegmentFooter['isDeleted'] }>
  first: number
  limit: number
  records: ReadonlyMap<number, RowRecord>
  liveRows: number
  /** The stored rows of the segment are not all in the form of the schema. */
  converts: boolean
}>

/** What a page will show, decided within the view. */
export type PagePlan = Readonly<{
  runs: readonly Run[]
  version: number
  generation: Generation
  forward: ForwardMap | null
  /** Read only when something has to be converted. */
  schema: IndexedSchema | null
}>

export type PageRows = Readonly<{
  /** A JSON array of row objects. */
  json: Bytes
  rowCount: number
  /** Where the first live row after the page is, or before it; null when the walk is done. */
  next: Position | null
}>

/** Records of one scan: few at first, then as many as about 4 MiB hold. */
const SCAN_COUNT_FIRST = 4
const SCAN_COUNT_MAX = 1_000
const SCAN_BYTES = 4 * 1024 * 1024

/** Finds enough live rows from a position on for a page of `limit` rows, and one to know of more. */
export async function planPage(
  context: StoreContext,
  view: KvView,
  table: TableKey,
  { generation, version }: GenerationInUse,
  page: Readonly<{ from: Position; limit: number }>,
): Promise<PagePlan> {
  const read: ReadRecord = (key) => view.get(key)
  const walk = new ExtentWalk(read, table, generation)
  const records = new RecordScan(
    view,
    table,
    page.from,
    generation.nextExtent,
    context.options.pageBytesMax,
  )
  const runs: Run[] = []
  let liveRows = 0
  let { extent: number, slot: first } = page.from
  for (let extent = await walk.at(number); extent !== null && liveRows <= page.limit; ) {
    const wanted = page.limit + 1 - liveRows
    const shown = withDeleted(extent, await deletedRows(context, extent))
    const run = await planRun(records, generation, shown, { first, wanted })
    if (run.liveRows > 0) runs.push(run)
    liveRows += run.liveRows
    first = 0
    number++
    if (records.isBeyondBudget({ extent: number, slot: first })) break
    extent = await walk.at(number)
  }
  const converts = generation.widenedAt > 0 || runs.some((run) => run.converts)
  const schema = converts ? await context.schemas.get(table, generation.schemaNumber, read) : null
  return { runs, version, generation, schema, forward: await context.forwards.of(generation) }
}

/** Member by member: V8 of Node 20 gives every `{ ...extent, isDeleted }` a shape of its own, which reads slowly. */
function withDeleted(
  { extent, nonce, rowCount, entry }: Extent,
  isDeleted: SegmentFooter['isDeleted'],
): Run['extent'] {
  return { extent, nonce, rowCount, entry, isDeleted }
}

/** Which rows of a segment a fold found deleted; other segments have none. */
async function deletedRows(
  { segments }: StoreContext,
  { entry }: Extent,
): Promise<SegmentFooter['isDeleted']> {
  if (entry === null || entry.segment === null || !entry.folded) return null
  return (await segments.footer(entry.segment)).isDeleted
}

async function planRun(
  records: RecordScan,
  { convertBefore }: Generation,
  extent: Run['extent'],
  { first, wanted }: Readonly<{ first: number; wanted: number }>,
): Promise<Run> {
  const laid = await records.ofExtent(extent.extent)
  const sealed = extent.entry?.segment != null
  let liveRows = 0
  let slot = first
  for (; slot < extent.rowCount && liveRows < wanted; slot++) {
    if (records.isBeyondBudget({ extent: extent.extent, slot })) break
    const record = laid.get(slot)
    if (record === undefined && !sealed && !extent.entry?.folded) throw missingRecord(slot)
    const isLive = record === undefined ? sealed && !extent.isDeleted?.(slot) : record.text !== null
    if (isLive) liveRows++
  }
  const converts = extent.entry?.convert === true || extent.extent < convertBefore
  return { extent, first, limit: slot, records: laid, liveRows, converts }
}

/**
 * Row records of a walk in key order, read in batches. Once two live rows and more than a page's worth
 * of text were read, the page is sure to end before the next batch, and nothing more is read. Text is
 * counted here as `readPageRows` counts it: a page that ends with the plan would have no continuation.
 */
class RecordScan {
  readonly #view: KvView
  readonly #table: TableKey
  readonly #limitExtent: number
  readonly #textMax: number
  /** Where the next batch begins; null when all records were read. */
  #from: Position | null
  #count = SCAN_COUNT_FIRST
  #text = 0
  #liveRows = 0
  #ahead: [Position, RowRecord][] = []

  constructor(view: KvView, table: TableKey, from: Position, limitExtent: number, textMax: number) {
    this.#view = view
    this.#table = table
    this.#from = from
    this.#limitExtent = limitExtent
    this.#textMax = textMax
  }

  /** Whether records at this position were left unread, as the page is full before it. */
  isBeyondBudget({ extent, slot }: Position): boolean {
    const from = this.#from
    if (from === null || !this.#isFull) return false
    return extent > from.extent || (extent === from.extent && slot >= from.slot)
  }

  /** The records of an extent; extents are asked for in ascending order. */
  async ofExtent(extent: number): Promise<Map<number, RowRecord>> {
    const records = new Map<number, RowRecord>()
    for (;;) {
      const mine = this.#ahead.findIndex(([position]) => position.extent > extent)
      const taken = this.#ahead.splice(0, mine < 0 ? this.#ahead.length : mine)
      for (const [position, record] of taken) {
        if (position.extent === extent) records.set(position.slot, record)
      }
      const isDone = this.#from === null || this.#from.extent > extent || this.#isFull
      if (this.#ahead.length > 0 || isDone) return records
      await this.#readMore(this.#from)
    }
  }

  get #isFull(): boolean {
    return this.#liveRows > 1 && this.#text > this.#textMax
  }

  async #readMore(from: Position | null): Promise<void> {
    if (from === null) return
    const { start, limit } = rowsRange(this.#table, from, this.#limitExtent)
    const entries = await this.#view.scan({ start, limit, count: this.#count })
    let bytes = 0
    for (const [key, value] of entries) {
      const record = decodeRowRecord(value)
      this.#ahead.push([decodeRowKey(key), record])
      bytes += value.length
      if (record.text === null) continue
      this.#liveRows++
      this.#text += record.text.length
    }
    const last = this.#ahead[this.#ahead.length - 1]
    this.#from = entries.length < this.#count || last === undefined ? null : after(last[0])
    const fitting = Math.floor((SCAN_BYTES * entries.length) / (bytes + 1))
    this.#count = Math.min(SCAN_COUNT_MAX, Math.max(SCAN_COUNT_FIRST, fitting))
  }
}

function after({ extent, slot }: Position): Position {
  return slot === 0xffff ? { extent: extent + 1, slot: 0 } : { extent, slot: slot + 1 }
}

/**
 * Reads the rows of a plan, up to a number of rows and of bytes, but at least one if there is one.
 * @param memory - As in `PageWriter`.
 */
export async function readPageRows(
  context: StoreContext,
  plan: PagePlan,
  limits: Readonly<{ rows: number; bytes: number }>,
  memory: Bytes | undefined,
): Promise<PageRows> {
  const { forward, generation } = plan
  const kept = forward === null ? null : { forward, firstExtent: generation.firstExtent }
  const writer = new PageWriter(limits, kept, memory)
  const finish = (next: Position | null): PageRows => {
    return { json: writer.finish(), rowCount: writer.rowCount, next }
  }
  for (const run of plan.runs) {
    const { extent, entry } = run.extent
    // A run has a live row, so there is a next one: without reading on to find it.
    if (writer.rowCount === limits.rows) return finish({ extent, slot: run.first })
    const texts = textsOf(run, plan)
    const segment = entry?.segment ?? null
    if (segment === null) {
      const slot = takeRecords(writer, run, texts)
      if (slot < run.limit) return finish({ extent, slot })
      continue
    }
    for await (const piece of context.segments.frames(segment, run.first, run.limit)) {
      writer.expect(piece)
      for (const rows of piece) {
        const slot = takeFrame(writer, run, texts, rows)
        if (slot < rows.slot + rows.limit - rows.first) return finish({ extent, slot })
      }
    }
  }
  return finish(null)
}

/** How the texts of a run read now: as they are stored, or converted to what their columns became. */
type Texts = Readonly<{
  /** null: the row is deleted. */
  ofRecord(record: RowRecord): string | null
  /** null: rows of the segment read as they are stored. */
  ofStored: ((text: string) => string) | null
}>

function textsOf({ converts }: Run, { generation, schema }: PagePlan): Texts {
  const convert = (text: string): string => {
    return schema === null ? text : convertRowText(text, schema.columns)
  }
  return {
    ofRecord: ({ text, schemaNumber }) =>
      text === null || schemaNumber === generation.schemaNumber ? text : convert(text),
    ofStored: converts && schema !== null ? convert : null,
  }
}

/** Appends a run of row records. @returns the first slot that is not on the page any more. */
function takeRecords(
  writer: PageWriter,
  { extent, first, limit, records }: Run,
  texts: Texts,
): number {
  for (let slot = first; slot < limit; slot++) {
    const record = records.get(slot)
    const text = record === undefined ? null : texts.ofRecord(record)
    if (text !== null && !writer.takeText(extent, slot, text)) return slot
  }
  return limit
}

/** Appends rows of a frame, under what is laid over them. @returns as `takeRecords`. */
function takeFrame(
  writer: PageWriter,
  { extent, records }: Run,
  texts: Texts,
  { frame, first, limit, slot: firstSlot }: FrameRows,
): number {
  const limitSlot = firstSlot + limit - first
  const isPlain = (slot: number): boolean => !records.has(slot) && !extent.isDeleted?.(slot)
  const isAllPlain = records.size === 0 && extent.isDeleted === null
  for (let slot = firstSlot; slot < limitSlot; ) {
    const row = first + slot - firstSlot
    const record = records.get(slot)
    if (record !== undefined || extent.isDeleted?.(slot)) {
      const text = record === undefined ? null : texts.ofRecord(record)
      if (text !== null && !writer.takeText(extent, slot, text)) return slot
      slot++
    } else if (texts.ofStored !== null) {
      if (!writer.takeText(extent, slot, texts.ofStored(frame.rowText(row)))) return slot
      slot++
    } else {
      let plainLimit = isAllPlain ? limitSlot : slot + 1
      while (plainLimit < limitSlot && isPlain(plainLimit)) plainLimit++
      const rows = { frame, first: row, limit: row + plainLimit - slot, slot }
      slot += writer.takeStored(extent, rows)
      if (slot < plainLimit) return slot
    }
  }
  return limitSlot
}
