// Reading one row by its ID: arithmetic on the ID, then the row record or the segment.
import { sameBytes } from '../base/bytes.js'
import { StoreError } from '../base/store-error.js'
import { type Position, rowKey, type TableKey } from '../format/keys.js'
import { decodeRowRecord, type Generation } from '../format/records.js'
import { parseRowId } from '../format/row-id.js'
import { convertRowText } from '../format/row-text.js'
import { readExtentEntry } from './extents.js'
import type { StoreContext } from './store-context.js'
import type { ReadRecord } from './table-writer.js'

export type FoundRow = Readonly<{ position: Position; text: string; version: number }>

/** The row with an ID in a generation; null when there is none, or not any more. */
export async function findRow(
  context: StoreContext,
  read: ReadRecord,
  table: TableKey,
  generation: Generation,
  rowId: string,
): Promise<FoundRow | null> {
  const place = await findPlace(read, table, generation, rowId)
  if (place === null) return null
  const { position, entry } = place
  const record = await read(rowKey(table, position))
  if (record !== null) {
    const { text, version } = decodeRowRecord(record)
    return text === null ? null : { position, text, version }
  }
  if (entry === null || entry.segment === null) return null
  const stored = await context.segments.rowText(entry.segment, position.slot)
  if (!entry.convert) return { position, text: stored, version: entry.version }
  const { columns } = await context.schemas.get(table, generation.schemaNumber, read)
  return { position, text: convertRowText(stored, columns), version: entry.version }
}

/** Where an ID points, if this generation minted it. The row may be deleted. */
async function findPlace(
  read: ReadRecord,
  table: TableKey,
  generation: Generation,
  rowId: string,
): Promise<{
  position: Position
  entry: Awaited<ReturnType<typeof readExtentEntry>> | null
} | null> {
  const id = parseRowId(rowId)
  if (id === null) return null
  const position = { extent: id.extent, slot: id.slot }
  const { open } = generation
  if (id.extent < generation.firstExtent || id.extent >= generation.nextExtent) return null
  if (open?.extent === id.extent) {
    return sameBytes(open.nonce, id.nonce) && id.slot < open.nextSlot
      ? { position, entry: null }
      : null
  }
  const entry = await readExtentEntry(read, table, id.extent)
  return sameBytes(entry.nonce, id.nonce) && id.slot < entry.rowCount ? { position, entry } : null
}

export function rowNotFound(rowId: string): StoreError {
  return new StoreError('ROW_NOT_FOUND', `Row with ID '${rowId}' not found`)
}
