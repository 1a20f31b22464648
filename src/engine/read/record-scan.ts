// Reads the row records of a walk in batches, as many records as a page needs.
import {
  decodeRowKey,
  EXTENTS_MAX,
  extentPageKey,
  PAGE_EXTENTS,
  type Position,
  rowsRange,
  schemaKey,
  type TableKey,
} from '../../format/keys.js'
import { decodeRowRecord, type Generation, type RowRecord } from '../../format/records.js'
import type { KvView } from '../../kv/kv.js'
import type { Ahead } from '../../kv/read-ahead.js'
import type { ReserveMemory } from '../types/store-types.js'

/** Number of records of one scan: few at first, then as many records as fit into about 4 MiB. */
const SCAN_COUNT_FIRST = 4
const SCAN_COUNT_MAX = 1_000
const SCAN_BYTES = 4 * 1024 * 1024

/** Estimated memory of a record besides its bytes. */
const RECORD_BYTES = 200

export type PageWanted = Readonly<{
  from: Position
  limit: number
  /** Called with the total bytes of the records that are held and about to be read; undefined: nobody counts them. */
  reserve?: ReserveMemory | undefined
  /** Whether to read the schema even if nothing has to be converted. */
  wantsSchema?: boolean
  /** Approximate maximum number of bytes of row records that a plan holds. Default: the maximum of a page. */
  recordBytesMax?: number | undefined
}>

/**
 * The records that `planPage` reads first.
 * @param generation - null: the generation is not known yet.
 */
export function aheadOfPlan(
  table: TableKey,
  generation: Generation | null,
  from: Position,
): Required<Ahead> {
  const { nextExtent = EXTENTS_MAX, widenedAt = 0, schemaNumber = 0 } = generation ?? {}
  const keys = [extentPageKey(table, Math.floor(from.extent / PAGE_EXTENTS))]
  if (widenedAt > 0) keys.push(schemaKey(table, schemaNumber))
  return { keys, scans: [{ ...rowsRange(table, from, nextExtent), count: SCAN_COUNT_FIRST }] }
}

/**
 * Row records of a walk in key order, read in batches. The last batch is the one with which there are two live
 * rows, and more text than a page may have: the page ends before the next batch. Text is counted as it is in a page:
 * otherwise a page could end with the plan, without a continuation.
 */
export class RecordScan {
  readonly #view: KvView
  readonly #table: TableKey
  readonly #limitExtent: number
  readonly #textMax: number
  /** Where the next batch begins; null: all records were read. */
  #from: Position | null
  #count = SCAN_COUNT_FIRST
  #text = 0
  #liveRows = 0
  #heldBytes = 0
  #averageBytes = 0
  readonly #reserve: ReserveMemory
  #ahead: [Position, RowRecord][] = []

  constructor(
    view: KvView,
    table: TableKey,
    { from, reserve = () => undefined }: PageWanted,
    limitExtent: number,
    textMax: number,
  ) {
    this.#view = view
    this.#table = table
    this.#from = from
    this.#reserve = reserve
    this.#limitExtent = limitExtent
    this.#textMax = textMax
  }

  /** Whether records at this position were left unread, because the page is full before it. */
  isBeyondBudget({ extent, slot }: Position): boolean {
    const from = this.#from
    if (from === null || !this.#isFull) return false
    return extent > from.extent || (extent === from.extent && slot >= from.slot)
  }

  /** The records of an extent. The caller must ask for extents in ascending order. */
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
    await this.#reserve(this.#heldBytes + this.#count * this.#averageBytes)
    const entries = await this.#view.scan({ start, limit, count: this.#count })
    let bytes = 0
    for (const [key, value] of entries) {
      const record = decodeRowRecord(value)
      this.#ahead.push([decodeRowKey(key), record])
      bytes += value.length + RECORD_BYTES
      if (record.text === null) continue
      this.#liveRows++
      this.#text += record.text.length
    }
    const last = this.#ahead[this.#ahead.length - 1]
    this.#from = entries.length < this.#count || last === undefined ? null : positionAfter(last[0])
    this.#heldBytes += bytes
    this.#averageBytes = bytes / Math.max(1, entries.length)
    await this.#reserve(this.#heldBytes)
    const fitting = Math.floor((SCAN_BYTES * entries.length) / (bytes + 1))
    this.#count = Math.min(SCAN_COUNT_MAX, Math.max(SCAN_COUNT_FIRST, fitting))
  }
}

/** The next position in the order of rows. */
export function positionAfter({ extent, slot }: Position): Position {
  return slot === 0xffff ? { extent: extent + 1, slot: 0 } : { extent, slot: slot + 1 }
}
