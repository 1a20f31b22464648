// Reads one row by its ID: first its position is computed from the ID, then the row record or the segment is read.

import { type Awaitable, chain } from '../../base/awaitable.js'
import { type Bytes, sameBytes } from '../../base/bytes.js'
import { StoreError } from '../../base/store-error.js'
import type { ExtentEntry } from '../../format/extent-page.js'
import type { ForwardMap } from '../../format/forward.js'
import {
  extentPageKey,
  PAGE_EXTENTS,
  type Position,
  rowKey,
  type TableKey,
  tableHeadKey,
} from '../../format/keys.js'
import {
  decodeRowRecord,
  EARLIER_SCHEMA,
  encodeRowRecord,
  type Generation,
  isTombstone,
} from '../../format/records.js'
import { parseRowId, type RowId } from '../../format/row-id.js'
import { convertRowText } from '../../format/row-text.js'
import { hideDropped } from '../../format/schema-record.js'
import type { SegmentFooter } from '../../format/segment-reader.js'
import type { ReadRecord } from '../../kv/kv.js'
import { compactedSegment, shownSegment } from '../caches/live-slot.js'
import type { StoreContext } from '../context/store-context.js'

export type FoundRow = Readonly<{
  position: Position
  version: number
  /** The text as served, with the current types of its columns. */
  text: string
  /** The text as stored, the number of its schema, and the version that wrote it. */
  stored: Readonly<{ text: string; schemaNumber: number; version: number }>
}>

/** What a look-up of rows reads from. */
export type RowSources = Pick<StoreContext, 'extents' | 'forwards' | 'schemas'> &
  Readonly<{ segments: Pick<StoreContext['segments'], 'footer' | 'compactedRow' | 'rowText'> }>

/**
 * The row with an ID in a generation; null: no such row exists, or it is deleted. Synchronous if everything is in
 * memory.
 */
export function findRow(
  context: RowSources,
  read: ReadRecord,
  table: TableKey,
  generation: Generation,
  rowId: string,
): Awaitable<FoundRow | null> {
  return chain(findPlace(context, read, table, generation, rowId), (place) =>
    place === null ? null : readPlace(context, read, table, generation, place),
  )
}

/** The row at a position of a generation; null: no such row exists, or it is deleted. */
export function findRowAt(
  context: RowSources,
  read: ReadRecord,
  table: TableKey,
  generation: Generation,
  position: Position,
): Awaitable<FoundRow | null> {
  const { firstExtent, nextExtent, open } = generation
  const { extent, slot } = position
  if (extent >= nextExtent || extent < firstExtent) return null
  if (open?.extent === extent) {
    if (slot >= open.nextSlot) return null
    return readPlace(context, read, table, generation, { position, entry: null })
  }
  return chain(context.extents.read(read, table, extent), (entry) =>
    slot < entry.rowCount ? readPlace(context, read, table, generation, { position, entry }) : null,
  )
}

function readPlace(
  context: RowSources,
  read: ReadRecord,
  table: TableKey,
  generation: Generation,
  place: Place,
): Awaitable<FoundRow | null> {
  return chain(read(rowKey(table, place.position)), (record): Awaitable<FoundRow | null> => {
    if (record === null) return readStored(context, read, table, generation, place)
    const { text, version, schemaNumber } = decodeRowRecord(record)
    if (text === null) return null
    const row = { position: place.position, version, stored: { text, schemaNumber, version } }
    return asItReads(context, read, table, generation, row)
  })
}

/** The position of the row with an ID, as `findRow` finds it. Does not read its text. */
export function findPosition(
  context: RowSources,
  read: ReadRecord,
  table: TableKey,
  generation: Generation,
  rowId: string,
): Awaitable<Position | null> {
  return chain(findPlace(context, read, table, generation, rowId), (place) => {
    if (place === null) return null
    const { position, entry } = place
    return chain(read(rowKey(table, position)), (record): Awaitable<Position | null> => {
      if (record !== null) return isTombstone(record) ? null : position
      const compacted = compactedSegment(entry)
      return chain(compacted === null ? null : context.segments.footer(compacted), (compact) => {
        const isDeleted = compact?.isDeleted ?? null
        return shownSegment(entry, isDeleted, position.slot) === null ? null : position
      })
    })
  })
}

type StoredRow = Omit<FoundRow, 'text'>

/** A row of a segment without a row record over it. */
function readStored(
  context: RowSources,
  read: ReadRecord,
  table: TableKey,
  generation: Generation,
  { position, entry: below }: Place,
): Awaitable<FoundRow | null> {
  const { slot } = position
  const found = (entry: ExtentEntry, text: string, version = entry.version) => {
    const converts = entry.convert || position.extent < generation.convertBefore
    const schemaNumber = converts ? EARLIER_SCHEMA : generation.schemaNumber
    const row = { position, version, stored: { text, schemaNumber, version } }
    return asItReads(context, read, table, generation, row)
  }
  const compacted = compactedSegment(below)
  if (below === null || compacted === null) {
    const segment = shownSegment(below, null, slot)
    if (segment === null || below === null) return null
    return chain(context.segments.rowText(segment, slot), (text) => found(below, text))
  }
  const shows = ({ isDeleted }: SegmentFooter): boolean => {
    return shownSegment(below, isDeleted, slot) !== null
  }
  return chain(context.segments.compactedRow(compacted, slot, shows), (row) => {
    return row && found(below, row.text, row.footer.versionOf?.(slot))
  })
}

/**
 * The row of a segment in the form of a row record: its stored text, and the version that changed it last. Only for a
 * live row without a record over it.
 */
export function recordBelow(
  { extents, segments }: RowSources,
  read: ReadRecord,
  table: TableKey,
  { convertBefore, schemaNumber: current }: Generation,
  { extent, slot }: Position,
): Awaitable<Bytes> {
  return chain(extents.read(read, table, extent), (entry) => {
    const schemaNumber = entry.convert || extent < convertBefore ? EARLIER_SCHEMA : current
    const compacted = compactedSegment(entry)
    return chain(compacted === null ? null : segments.footer(compacted), (footer) => {
      const segment = shownSegment(entry, footer?.isDeleted ?? null, slot)
      if (segment === null) {
        throw new StoreError('DATA_CORRUPT', `There is no row in slot ${slot} of extent ${extent}`)
      }
      const version = footer?.versionOf?.(slot) ?? entry.version
      return chain(segments.rowText(segment, slot), (text) =>
        encodeRowRecord({ version, schemaNumber, text }),
      )
    })
  })
}

function asItReads(
  { schemas }: RowSources,
  read: ReadRecord,
  table: TableKey,
  { schemaNumber, widenedAt }: Generation,
  { position, version: changed, stored }: StoredRow,
): Awaitable<FoundRow> {
  const version = Math.max(changed, widenedAt)
  if (stored.schemaNumber === schemaNumber) return { position, version, text: stored.text, stored }
  return chain(schemas.get(table, schemaNumber, read), ({ columns, past }) => {
    const shown = hideDropped(stored.text, past, stored.version)
    return { position, version, text: convertRowText(shown, columns), stored }
  })
}

/**
 * The keys of the head and of the records that `findRow` reads, as far as the ID tells these keys. One query can read
 * them.
 */
export function recordsOfRow(table: TableKey, rowId: string): readonly Bytes[] {
  const id = parseRowId(rowId)
  const head = tableHeadKey(table)
  if (id === null) return [head]
  const page = Math.floor(id.extent / PAGE_EXTENTS)
  return [head, rowKey(table, id), extentPageKey(table, page)]
}

type Place = Readonly<{ position: Position; entry: ExtentEntry | null }>

/**
 * The position that an ID names: the row was created at this position in this generation, or its ID is preserved. The
 * row may be deleted.
 */
function findPlace(
  context: RowSources,
  read: ReadRecord,
  table: TableKey,
  generation: Generation,
  rowId: string,
): Awaitable<Place | null> {
  const id = parseRowId(rowId)
  if (id === null) return null
  return chain(context.forwards.of(generation), (forward) => {
    const minted = findMinted(context, read, table, generation, id)
    if (forward === null) return minted
    return chain(minted, (place) =>
      findKept(context, read, table, generation, { id, forward, place }),
    )
  })
}

/** Like `findPlace`, in a generation with preserved row IDs. @param minted - The position that the ID was made for. */
function findKept(
  { extents }: RowSources,
  read: ReadRecord,
  table: TableKey,
  { firstExtent, open }: Generation,
  { id, forward, place: minted }: Readonly<{ id: RowId; forward: ForwardMap; place: Place | null }>,
): Awaitable<Place | null> {
  if (minted !== null) {
    const { extent, slot } = minted.position
    const keptAnother = forward.idAt({ extent: extent - firstExtent, slot })
    return keptAnother === null ? minted : null
  }
  const kept = forward.positionOf(id)
  if (kept === null) return null
  const position = { extent: kept.extent + firstExtent, slot: kept.slot }
  if (open?.extent === position.extent) return { position, entry: null }
  return chain(extents.read(read, table, position.extent), (entry) => ({ position, entry }))
}

function findMinted(
  { extents }: RowSources,
  read: ReadRecord,
  table: TableKey,
  { firstExtent, nextExtent, open }: Generation,
  { nonce, extent, slot }: RowId,
): Awaitable<Place | null> {
  const position = { extent, slot }
  if (extent < firstExtent || extent >= nextExtent) return null
  if (open?.extent === extent) {
    return sameBytes(open.nonce, nonce) && slot < open.nextSlot ? { position, entry: null } : null
  }
  return chain(extents.read(read, table, extent), (entry) =>
    sameBytes(entry.nonce, nonce) && slot < entry.rowCount ? { position, entry } : null,
  )
}

export function rowNotFound(rowId: string): StoreError {
  return new StoreError('ROW_NOT_FOUND', `Row with ID '${rowId}' not found`)
}
