// Checks the records of one generation in one view: its extent pages, its row records, and its row count.
//
// Invariant: all records are read in one view, so a contradiction is damage and never a change in progress.
import type { Bytes } from '../../base/bytes.js'
import { isStoreError } from '../../base/store-error.js'
import { decodeExtentPage, type ExtentEntry } from '../../format/extent-page.js'
import {
  decodeRowKey,
  extentPageKey,
  PAGE_EXTENTS,
  rowsRange,
  SLOTS_MAX,
  type TableKey,
} from '../../format/keys.js'
import { decodeRowRecord, EARLIER_SCHEMA, type Generation } from '../../format/records.js'
import { readSpans } from '../../format/row-text.js'
import { SHARED_OBJECT_BYTES_MAX } from '../../format/shared-objects.js'
import type { KvView } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import {
  compactedSegment,
  type DeletedSlots,
  isLiveSlot,
  LAID,
  laidBy,
  needsRecords,
} from '../caches/live-slot.js'
import type { StoreContext } from '../context/store-context.js'
import type { Problem, VerifyPlace } from '../types/verify-types.js'
import { type Findings, toReadProblem } from './verify-findings.js'

/** Maximum number of findings that are reported for one generation. */
const PROBLEMS_MAX = 100

export type GenerationPlace = Readonly<{
  table: TableKey
  generation: Generation
  /** The newest version that a row or an extent may have. */
  versionMax: number
}>

/** @returns the number of live rows; null: the rows cannot be counted. */
export async function verifyRows(
  context: Pick<StoreContext, 'segments'>,
  findings: Findings,
  view: KvView,
  place: GenerationPlace,
  where: VerifyPlace,
): Promise<number | null> {
  const walk = new RowWalk(context, findings, place, where)
  return walk.run(view)
}

/** The current extent of the walk, and the row records over it. */
type WalkedExtent = Readonly<{
  extent: number
  rowCount: number
  entry: ExtentEntry | null
  laid: Uint8Array
}>

class RowWalk {
  readonly #context: Pick<StoreContext, 'segments'>
  readonly #findings: Findings
  readonly #place: GenerationPlace
  readonly #where: VerifyPlace
  /** The last page read. `entries`: null if the page is unreadable. */
  #page: { number: number; entries: readonly ExtentEntry[] | null } | undefined
  #problems = 0
  #rows = 0
  #liveRows = 0
  #isCountable = true

  constructor(
    context: Pick<StoreContext, 'segments'>,
    findings: Findings,
    place: GenerationPlace,
    where: VerifyPlace,
  ) {
    this.#context = context
    this.#findings = findings
    this.#place = place
    this.#where = where
  }

  async run(view: KvView): Promise<number | null> {
    const { table, generation } = this.#place
    const { firstExtent, nextExtent, liveRows, deletedRows } = generation
    let current = await this.#open(view, firstExtent)
    const range = rowsRange(table, { extent: firstExtent, slot: 0 }, nextExtent)
    for await (const records of scanBatches(view, range)) {
      this.#findings.checkGoesOn()
      for (const [key, bytes] of records) {
        const { extent, slot } = decodeRowKey(key)
        while (current !== null && current.extent < extent) {
          await this.#close(current)
          current = await this.#open(view, current.extent + 1)
        }
        if (current !== null) this.#lay(current, slot, bytes)
      }
    }
    while (current !== null) {
      await this.#close(current)
      current = await this.#open(view, current.extent + 1)
    }
    if (!this.#isCountable) return null
    if (this.#liveRows !== liveRows || this.#rows - this.#liveRows !== deletedRows) {
      const found = `${this.#liveRows} live and ${this.#rows - this.#liveRows} deleted rows`
      const message = `There are ${found}; the table counts ${liveRows} live and ${deletedRows} deleted rows`
      this.#tell({ kind: 'row-count', message })
    }
    return this.#liveRows
  }

  /** The next extent; null: there are no more extents. */
  async #open(view: KvView, extent: number): Promise<WalkedExtent | null> {
    const { table, generation } = this.#place
    if (extent >= generation.nextExtent) return null
    const { open } = generation
    if (open?.extent === extent) {
      const laid = new Uint8Array(Math.min(open.nextSlot, SLOTS_MAX))
      return { extent, rowCount: open.nextSlot, entry: null, laid }
    }
    const number = Math.floor(extent / PAGE_EXTENTS)
    if (this.#page?.number !== number) {
      this.#page = { number, entries: await this.#readPage(view, table, number) }
    }
    const entry = this.#page.entries?.[extent % PAGE_EXTENTS] ?? null
    if (entry === null) {
      this.#isCountable = false
      return { extent, rowCount: SLOTS_MAX, entry: null, laid: new Uint8Array(0) }
    }
    this.#checkEntry(extent, entry)
    const laid = new Uint8Array(Math.min(entry.rowCount, SLOTS_MAX))
    return { extent, rowCount: entry.rowCount, entry, laid }
  }

  async #readPage(
    view: KvView,
    table: TableKey,
    number: number,
  ): Promise<readonly ExtentEntry[] | null> {
    const { nextExtent, open } = this.#place.generation
    try {
      const bytes = await view.get(extentPageKey(table, number))
      if (bytes === null) {
        this.#tell({ kind: 'record-missing', message: `Extent page ${number} is missing` })
        return null
      }
      const entries = decodeExtentPage(bytes)
      const sealedLimit = open === null ? nextExtent : open.extent
      const expected = Math.min(PAGE_EXTENTS, sealedLimit - PAGE_EXTENTS * number)
      if (entries.length !== expected) {
        const message = `Extent page ${number} has ${entries.length} entries instead of ${expected}`
        this.#tell({ kind: 'record-mismatch', message })
      }
      return entries
    } catch (failure) {
      this.#tell(toReadProblem(failure, 'record'))
      return null
    }
  }

  #checkEntry(extent: number, { rowCount, version, segment }: ExtentEntry): void {
    const { versionMax } = this.#place
    if (rowCount < 1 || rowCount > SLOTS_MAX) {
      this.#tell({ kind: 'record-mismatch', message: `It has ${rowCount} rows` }, extent)
    }
    if (version < 1 || version > versionMax) {
      const message = `It has version ${version}; its table has versions 1 to ${versionMax}`
      this.#tell({ kind: 'row-version', message }, extent)
    }
    if (segment === null) return
    const { objectBytes, footerBytes } = segment
    if (footerBytes >= objectBytes) {
      const message = `Segment ${segment.object} cannot have ${objectBytes} bytes and a footer of ${footerBytes}`
      this.#tell({ kind: 'record-mismatch', message }, extent)
    }
    if (
      segment.shared !== undefined &&
      segment.shared.offset + objectBytes > SHARED_OBJECT_BYTES_MAX
    ) {
      const message = `Segment ${segment.object} reaches beyond the length that a shared object may have`
      this.#tell({ kind: 'record-mismatch', message }, extent)
    }
  }

  #lay({ extent, rowCount, laid }: WalkedExtent, slot: number, bytes: Bytes): void {
    const { generation, versionMax } = this.#place
    const tell = (problem: Problem): void =>
      this.#tell({ ...problem, place: `row record of slot ${slot}` }, extent)
    try {
      const record = decodeRowRecord(bytes)
      const { version, schemaNumber, text } = record
      if (slot < laid.length) laid[slot] = laidBy(record)
      if (slot >= rowCount) {
        tell({ kind: 'record-mismatch', message: `Its extent has only ${rowCount} rows` })
      }
      if (version < 1 || version > versionMax) {
        const message = `It has version ${version}; its table has versions 1 to ${versionMax}`
        tell({ kind: 'row-version', message })
      }
      if (schemaNumber > generation.schemaNumber && schemaNumber !== EARLIER_SCHEMA) {
        tell({
          kind: 'record-mismatch',
          message: `It refers to schema ${schemaNumber}, which does not exist yet`,
        })
      }
      if (this.#findings.full && text !== null) readSpans(text)
    } catch (failure) {
      if (!isStoreError(failure)) throw failure
      tell({ kind: 'row', message: failure.message })
    }
  }

  async #close({ extent, rowCount, entry, laid }: WalkedExtent): Promise<void> {
    if (laid.length === 0 && rowCount > 0) return // The slots of the extent are unknown.
    const deleted = await this.#deletedRows(entry)
    if (deleted === undefined) return
    const mustHave = needsRecords(entry)
    let [live, missing] = [0, 0]
    laid.forEach((over, slot) => {
      if (mustHave && over === LAID.none) missing++
      else if (isLiveSlot(over, entry, deleted, slot)) live++
    })
    if (missing > 0) {
      this.#isCountable = false
      const message = `The records of ${missing} of its ${rowCount} rows are missing`
      this.#tell({ kind: 'record-missing', message }, extent)
    }
    this.#rows += rowCount
    this.#liveRows += live
  }

  /**
   * The slots that a compaction marked as deleted; null: it marked none, or there was no compaction; undefined: the
   * footer is unreadable.
   */
  async #deletedRows(entry: ExtentEntry | null): Promise<DeletedSlots | undefined> {
    const compacted = compactedSegment(entry)
    if (compacted === null) return null
    try {
      return (await this.#context.segments.footerOnce(compacted)).isDeleted
    } catch (failure) {
      // The check of the segment reports the damage, if the segment is still in use then.
      toReadProblem(failure, 'segment')
      this.#isCountable = false
      return undefined
    }
  }

  #tell(problem: Problem, extent?: number): void {
    if (++this.#problems > PROBLEMS_MAX) return
    this.#findings.add(problem, { ...this.#where, ...(extent !== undefined && { extent }) })
  }
}
