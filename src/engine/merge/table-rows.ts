// The live rows of a table, extent by extent, for a merge. They are read beside other changes. An extent is read again
// only if it has changed.
//
// Invariants:
// - The records and the entry of an extent are read in one view. The segment is read after the view.
// - The signature of an extent identifies its rows exactly. A change of a row makes a record with a greater version; a
//   compaction, which removes records, first gives the extent another object.
import { type Bytes, sameBytes } from '../../base/bytes.js'
import { StoreError } from '../../base/store-error.js'
import type { ExtentEntry } from '../../format/extent-page.js'
import { decodeRowKey, type Position, rowsRange } from '../../format/keys.js'
import {
  decodeRowRecord,
  type Generation,
  type RowRecord,
  type TableHead,
} from '../../format/records.js'
import { renderRowId } from '../../format/row-id.js'
import { convertRowText } from '../../format/row-text.js'
import { type ColumnPast, hideDropped } from '../../format/schema-record.js'
import type { KvView } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import type { Column } from '../../schema/column-kind.js'
import { type Extent, ExtentWalk } from '../caches/extents.js'
import {
  compactedSegment,
  type DeletedSlots,
  isLiveSlot,
  LAID,
  laidBy,
} from '../caches/live-slot.js'
import type { TablePlace } from '../context/store-context.js'
import { readHead } from '../read/generations.js'
import { WALK_AT_WILL } from '../segments/read-ahead.js'
import { packTexts, type RowPiece } from './packed-texts.js'

/** A view reads about this many characters of row records at most, and at most this many extents. */
const RECORD_CHARS_MAX = 8 * 1024 * 1024
const EXTENTS_MAX = 256

export type Records = ReadonlyMap<number, RowRecord>

/** Live rows. `record`: the record of the row, if the piece is a single row record. */
export type OrderedPiece = RowPiece & Readonly<{ record?: RowRecord }>

/** An extent, and the records over it, in one view. */
export type SeenExtent = Extent & Readonly<{ records: Records; signature: string }>

/** Extents that one view read. `next`: the first requested extent that was not read. */
export type SeenExtents = Readonly<{
  generation: Generation
  extents: readonly SeenExtent[]
  next: number
}>

/** How stored texts are converted under the schema that the table gets. */
export type Reading = Readonly<{
  columns: ReadonlyMap<string, Column>
  /** Whether the change gives a column another type, so that all rows are converted. */
  retypes: boolean
  /** The past of the columns, by which cells of dropped columns are recognised; null: no column was dropped. */
  past: ColumnPast | null
}>

/** The extents of a table in one view, each with the signature of its rows. */
export type Signatures = Readonly<{ head: TableHead; extents: ReadonlyMap<number, string> }>

export class TableRows {
  readonly #place: TablePlace
  readonly #reading: Reading

  constructor(place: TablePlace, reading: Reading) {
    this.#place = place
    this.#reading = reading
  }

  /** The current signatures of all extents, without reading texts. */
  signatures(): Promise<Signatures> {
    return this.#read(async (view, head) => {
      const { firstExtent, nextExtent } = head.generation
      const laid = new Map<number, SignatureOfRecords>()
      for await (const [{ extent }, record] of this.#records(view, firstExtent, nextExtent)) {
        signatureIn(laid, extent).add(record.version)
      }
      const walk = this.#walk(view, head.generation)
      const extents = new Map<number, string>()
      for (let number = firstExtent; number < nextExtent; number++) {
        const extent = await walk.at(number)
        if (extent !== null) extents.set(number, signatureIn(laid, number).of(extent))
      }
      return { head, extents }
    })
  }

  /**
   * Reads extents with the records over them: as many as one view reads, at least one.
   * @param generationNonce - The generation of the extents. If the table has another generation, no extent is read.
   * @param first - The first extent.
   * @param limit - The extent after the last.
   */
  see(generationNonce: Bytes, first: number, limit: number): Promise<SeenExtents> {
    return this.#read(async (view, { generation }) => {
      const extents: SeenExtent[] = []
      if (!sameBytes(generation.nonce, generationNonce)) return { generation, extents, next: limit }
      const end = Math.min(limit, first + EXTENTS_MAX)
      const { records, next } = await this.#recordsOf(view, first, end)
      const walk = this.#walk(view, generation)
      for (let number = first; number < next; number++) {
        const extent = await walk.at(number)
        if (extent === null) continue
        const laid = records.get(number) ?? new Map<number, RowRecord>()
        const signature = new SignatureOfRecords()
        for (const { version } of laid.values()) signature.add(version)
        extents.push({ ...extent, records: laid, signature: signature.of(extent) })
      }
      return { generation, extents, next }
    })
  }

  /** The records of the first of some extents. `next`: the first extent that was not read. */
  async #recordsOf(
    view: KvView,
    first: number,
    limit: number,
  ): Promise<Readonly<{ records: ReadonlyMap<number, Map<number, RowRecord>>; next: number }>> {
    const records = new Map<number, Map<number, RowRecord>>()
    let bytes = 0
    for await (const [{ extent, slot }, record] of this.#records(view, first, limit)) {
      const known = records.get(extent)
      if (known === undefined && bytes > RECORD_CHARS_MAX) return { records, next: extent }
      if (known === undefined) records.set(extent, new Map([[slot, record]]))
      else known.set(slot, record)
      bytes += record.text?.length ?? 0
    }
    return { records, next: limit }
  }

  #read<T>(use: (view: KvView, head: TableHead) => Promise<T>): Promise<T> {
    const { team, table, tableId } = this.#place
    return team.partition.read(async (view) =>
      use(view, await readHead(team, view, table, tableId)),
    )
  }

  #walk(view: KvView, generation: Generation): ExtentWalk {
    return new ExtentWalk((key) => view.get(key), this.#place.table, generation)
  }

  async *#records(
    view: KvView,
    first: number,
    limit: number,
  ): AsyncGenerator<readonly [Position, RowRecord]> {
    const range = rowsRange(this.#place.table, { extent: first, slot: 0 }, limit)
    for await (const entries of scanBatches(view, range)) {
      for (const [key, bytes] of entries) yield [decodeRowKey(key), decodeRowRecord(bytes)]
    }
  }

  /** Whether the rows of an extent's segment must be converted to the schema that the table gets. */
  converts(extent: Extent, generation: Generation): boolean {
    return this.#reading.retypes || this.wasConverted(extent, generation)
  }

  /** Whether the rows of an extent's segment must be converted to the current schema of the table. */
  wasConverted({ extent, entry }: Extent, { convertBefore }: Generation): boolean {
    return entry?.convert === true || extent < convertBefore
  }

  /** The text of a record as served. @param generation - The generation that the record was read with. */
  textOfRecord({ text, schemaNumber, version }: RowRecord, generation: Generation): string | null {
    if (text === null) return null
    const isCurrent = schemaNumber === generation.schemaNumber && !this.#reading.retypes
    return isCurrent ? text : this.convert(this.shown(text, version))
  }

  /**
   * The stored text of a row without the cells of dropped columns.
   * @param version - The table version that last wrote the row.
   */
  shown(text: string, version: number): string {
    return hideDropped(text, this.#reading.past, version)
  }

  /** The function that does the work of `shown` for the rows of an extent's segment, by slot. */
  async shownIn({ entry }: Extent): Promise<(text: string, slot: number) => string> {
    const segment = entry?.segment ?? null
    if (this.#reading.past === null || segment === null) return (text) => text
    const { versionOf } = await this.#place.team.segments.footerOnce(segment)
    return (text, slot) => this.shown(text, versionOf?.(slot) ?? entry?.version ?? 0)
  }

  convert(text: string): string {
    return convertRowText(text, this.#reading.columns)
  }

  /** The live rows of an extent's segment, as stored, in order. Each piece is valid until the next. */
  async *stored(
    extent: SeenExtent,
  ): AsyncGenerator<Readonly<{ pieces: readonly RowPiece[]; shows(slot: number): boolean }>> {
    const { entry, records } = extent
    const segment = entry?.segment ?? null
    if (segment === null) return
    const isDeleted = await this.deletedSlots(entry)
    const isPlain = records.size === 0 && isDeleted === null
    const shows = (slot: number): boolean => {
      return isPlain || (!records.has(slot) && isLiveSlot(LAID.none, entry, isDeleted, slot))
    }
    const run = { ref: segment, start: 0, limit: segment.rowCount }
    const walk = this.#place.team.segments.walk(() => [run], WALK_AT_WILL)
    try {
      for await (const pieces of walk.frames(run)) yield { pieces, shows }
    } finally {
      await walk.close()
    }
  }

  /** The live rows of an extent, in the order of their slots. Each piece is valid until the next. */
  async *inOrder(
    extent: SeenExtent,
    generation: Generation,
  ): AsyncGenerator<readonly OrderedPiece[]> {
    const laid = this.laid(extent, generation)
    laid.sort((a, b) => a.slot - b.slot)
    let next = 0
    for await (const { pieces, shows } of this.stored(extent)) {
      if (extent.records.size === 0 && compactedSegment(extent.entry) === null) {
        yield pieces
        continue
      }
      const ordered: OrderedPiece[] = []
      for (const piece of pieces) {
        for (const part of partsThatShow(piece, shows)) {
          for (; (laid[next]?.slot ?? part.slot) < part.slot; next++)
            ordered.push(...laid.slice(next, next + 1))
          ordered.push(part)
        }
      }
      yield ordered
    }
    yield laid.slice(next)
  }

  async deletedSlots(entry: ExtentEntry | null): Promise<DeletedSlots> {
    const compacted = compactedSegment(entry)
    return compacted === null
      ? null
      : (await this.#place.team.segments.footerOnce(compacted)).isDeleted
  }

  /** The records of an extent that are live rows, as served. */
  laid({ records, entry }: SeenExtent, generation: Generation): OrderedPiece[] {
    const pieces: OrderedPiece[] = []
    for (const [slot, record] of records) {
      const text = this.textOfRecord(record, generation)
      if (text !== null && isLiveSlot(laidBy(record), entry, null, slot))
        pieces.push({ ...packTexts([text], slot), record })
    }
    return pieces
  }

  /** The ID of the row in a slot. */
  async rowIdOf(generation: Generation, extent: Extent, slot: number): Promise<string> {
    const forward = await this.#place.team.forwards.of(generation)
    const at = { extent: extent.extent - generation.firstExtent, slot }
    const kept = forward?.idAt(at) ?? null
    if (kept !== null) return renderRowId(kept.nonce, kept.extent, kept.slot)
    return renderRowId(extent.nonce, extent.extent, slot)
  }
}

/** The parts of a piece that have only live rows. */
function* partsThatShow(piece: RowPiece, shows: (slot: number) => boolean): Generator<RowPiece> {
  const { frame, first, limit } = piece
  const slotOf = (row: number): number => piece.slot + row - first
  let from = first
  for (let row = first; row <= limit; row++) {
    if (row < limit && shows(slotOf(row))) continue
    if (row > from) yield { frame, first: from, limit: row, slot: slotOf(from) }
    from = row + 1
  }
}

/** A digest of the records of an extent, which differs between any two states of the extent. */
class SignatureOfRecords {
  #count = 0
  #newest = 0

  add(version: number): void {
    this.#count++
    this.#newest = Math.max(this.#newest, version)
  }

  of({ rowCount, entry }: Extent): string {
    const below = entry === null ? 'open' : `${entry.segment?.object ?? 'none'}:${entry.compacted}`
    return `${below}:${rowCount}:${this.#count}:${this.#newest}`
  }
}

function signatureIn(
  signatures: Map<number, SignatureOfRecords>,
  extent: number,
): SignatureOfRecords {
  const known = signatures.get(extent)
  if (known !== undefined) return known
  const fresh = new SignatureOfRecords()
  signatures.set(extent, fresh)
  return fresh
}

/** @throws {StoreError} DATA_CORRUPT: if a slot of an extent without a segment has no record */
export function checkAllLaid({ extent, rowCount, entry, records }: SeenExtent): void {
  const isLaid = entry !== null && (entry.segment !== null || entry.compacted)
  if (isLaid || records.size === rowCount) return
  throw new StoreError('DATA_CORRUPT', `Extent ${extent} lacks records of its rows`)
}
