// Reading one row by its ID: arithmetic on the ID, then the row record or the segment.
import { sameBytes } from '../base/bytes.js'
import { StoreError } from '../base/store-error.js'
import type { ExtentEntry } from '../format/extent-page.js'
import { type Position, rowKey, type TableKey } from '../format/keys.js'
import { decodeRowRecord, type Generation } from '../format/records.js'
import { parseRowId, type RowId } from '../format/row-id.js'
import { convertRowText } from '../format/row-text.js'
import { readExtentEntry } from './extents.js'
import type { StoreContext } from './store-context.js'
import type { ReadRecord } from './table-writer.js'

export type FoundRow = Readonly<{
  position: Position
  version: number
  /** As it reads: in the kinds that its columns have now. */
  text: string
  /** As it is stored, and the number of the schema it was stored under. */
  stored: Readonly<{ text: string; schemaNumber: number }>
}>

/** Of rows whose schema is not known any more, only that a column was widened since. No schema gets it. */
const EARLIER_SCHEMA = 0xffff_ffff

/** The row with an ID in a generation; null when there is none, or not any more. */
export async function findRow(
  context: StoreContext,
  read: ReadRecord,
  table: TableKey,
  generation: Generation,
  rowId: string,
): Promise<FoundRow | null> {
  const place = await findPlace(context, read, table, generation, rowId)
  if (place === null) return null
  const { position, entry } = place
  const found = async (text: string, version: number, schemaNumber: number): Promise<FoundRow> => {
    const row = { position, version: Math.max(version, generation.widenedAt) }
    const stored = { text, schemaNumber }
    if (schemaNumber === generation.schemaNumber) return { ...row, text, stored }
    const { columns } = await context.schemas.get(table, generation.schemaNumber, read)
    return { ...row, text: convertRowText(text, columns), stored }
  }
  const record = await read(rowKey(table, position))
  if (record !== null) {
    const { text, version, schemaNumber } = decodeRowRecord(record)
    return text === null ? null : found(text, version, schemaNumber)
  }
  if (entry === null || entry.segment === null) {
    if (entry?.folded) return null // No row of the extent was alive when it was folded.
    throw missingRecord(position.slot)
  }
  const footer = entry.folded ? await context.segments.footer(entry.segment) : null
  if (footer?.isDeleted?.(position.slot)) return null
  const version = footer?.versionOf?.(position.slot) ?? entry.version
  const text = await context.segments.rowText(entry.segment, position.slot)
  const converts = entry.convert || position.extent < generation.convertBefore
  return found(text, version, converts ? EARLIER_SCHEMA : generation.schemaNumber)
}

type Place = Readonly<{ position: Position; entry: ExtentEntry | null }>

/** Where an ID points: to the row that this generation minted it for, or that kept it. It may be deleted. */
async function findPlace(
  context: StoreContext,
  read: ReadRecord,
  table: TableKey,
  generation: Generation,
  rowId: string,
): Promise<Place | null> {
  const id = parseRowId(rowId)
  if (id === null) return null
  const { firstExtent } = generation
  const forward = await context.forwards.of(generation)
  const minted = await findMinted(read, table, generation, id)
  if (minted !== null) {
    const { extent, slot } = minted.position
    const keptAnother = forward?.idAt({ extent: extent - firstExtent, slot }) ?? null
    return keptAnother === null ? minted : null
  }
  const kept = forward?.positionOf(id) ?? null
  if (kept === null) return null
  const position = { extent: kept.extent + firstExtent, slot: kept.slot }
  const isOpen = generation.open?.extent === position.extent
  return { position, entry: isOpen ? null : await readExtentEntry(read, table, position.extent) }
}

async function findMinted(
  read: ReadRecord,
  table: TableKey,
  { firstExtent, nextExtent, open }: Generation,
  { nonce, extent, slot }: RowId,
): Promise<Place | null> {
  const position = { extent, slot }
  if (extent < firstExtent || extent >= nextExtent) return null
  if (open?.extent === extent) {
    return sameBytes(open.nonce, nonce) && slot < open.nextSlot ? { position, entry: null } : null
  }
  const entry = await readExtentEntry(read, table, extent)
  return sameBytes(entry.nonce, nonce) && slot < entry.rowCount ? { position, entry } : null
}

/** A row without a segment has a record as long as it is not folded, be it a tombstone. */
export function missingRecord(slot: number): StoreError {
  return new StoreError('DATA_CORRUPT', `The record of the row in slot ${slot} is missing`)
}

export function rowNotFound(rowId: string): StoreError {
  return new StoreError('ROW_NOT_FOUND', `Row with ID '${rowId}' not found`)
}
