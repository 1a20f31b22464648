// The records of a chunk: the place of its rows, and the summaries of its columns, so that finalizing reads no rows.
// FORMAT.md section 4.
import { type Bytes, sameBytes } from '../base/bytes.js'
import { crc32 } from '../base/platform.js'
import type { ColumnSummary } from '../schema/column-summary.js'
import { ByteReader } from './byte-reader.js'
import { ByteWriter } from './byte-writer.js'
import { objectBytes, type SegmentRef, segmentRef } from './extent-page.js'
import { readShared, SHARED_BYTES, someShare, storedIn, writeShared } from './shared-objects.js'

/** The `firstRow` of a column that no row names: the chunk has only a header. */
export const NO_ROW = 0xffffffff

/** A column of a chunk: its summary, and the index in the chunk of the first row that names it. */
export type ChunkColumn = Readonly<{ summary: ColumnSummary; firstRow: number }>

/** Stored rows that are not yet part of a table. */
export type StoredChunk = Readonly<{
  rowCount: number
  /** The CSV line of the first row if row r is on line `firstLine + r`, for every row r; otherwise 0. */
  firstLine: number
  /** Whether a row has a `$rowID`: then its segment has claims. */
  hasClaims: boolean
  /** Whether rows may name files, which the footers of segments list. */
  namesFiles: boolean
  columns: readonly ChunkColumn[]
  segments: readonly SegmentRef[]
}>

/** The name of a chunk's column list record. Chunks with the same columns share one list. */
export type ColumnListName = Readonly<{ crc: number; probe: number }>

export type ChunkReference = Readonly<{ putAt: number; list: ColumnListName; chunk: StoredChunk }>

export function encodeChunkReference({ putAt, list, chunk }: ChunkReference): Bytes {
  const { columns, segments } = chunk
  const version = someShare(segments) ? SHARED_VERSION : VERSION
  const room = 64 + SUMMARY_BYTES * columns.length + (30 + SHARED_BYTES) * segments.length
  const writer = new ByteWriter(room).u8(version)
  writer
    .u48(putAt)
    .u48(chunk.rowCount)
    .u32(chunk.firstLine)
    .u8((chunk.hasClaims ? HAS_CLAIMS : 0) | (chunk.namesFiles ? NAMES_FILES : 0))
  writer.u32(list.crc).u32(list.probe)
  writer.u16(columns.length)
  for (const { summary, firstRow } of columns) {
    writer.u16(summary.scalarMask).u16(summary.elementMask).u32(summary.seen).u32(firstRow)
  }
  return writeSegments(writer, version, segments)
}

function writeSegments(
  writer: ByteWriter,
  version: number,
  segments: readonly SegmentRef[],
): Bytes {
  writer.u16(segments.length)
  for (const segment of segments) {
    writer.bytes(objectBytes(storedIn(segment))).u32(segment.rowCount)
    writer.u48(segment.objectBytes).u32(segment.footerBytes)
    if (version === SHARED_VERSION) writeShared(writer, segment)
  }
  return writer.finish()
}

/**
 * The record of a chunk with its segments replaced by other segments with the same rows.
 * @param replace - Returns the replacement of a segment.
 */
export function withSegments(bytes: Bytes, replace: (segment: SegmentRef) => SegmentRef): Bytes {
  const { reader, version: before } = openChunk(bytes)
  reader.bytes(LIST_AT)
  reader.bytes(8)
  reader.bytes(SUMMARY_BYTES * reader.u16())
  const kept = bytes.subarray(1, bytes.length - reader.rest().length)
  const segments = readSegments(reader, before).map(replace)
  reader.end()
  const version = someShare(segments) ? SHARED_VERSION : VERSION
  const writer = new ByteWriter(bytes.length + SHARED_BYTES * segments.length)
  return writeSegments(writer.u8(version).bytes(kept), version, segments)
}

const VERSION = 1
/** The record version for a chunk with a segment in a shared object. */
const SHARED_VERSION = 2

/**
 * Decodes the references of one stash. Most chunks of an import have the same columns and summaries. Such chunks
 * share one `columns` array, so that a caller need judge it only once.
 */
export class ChunkDecoder {
  readonly #columnsOf: (list: ColumnListName) => readonly string[]
  #last: Known | undefined
  readonly #known = new Map<number, Known>()

  /** @param columnsOf - Finds the column IDs of a list. */
  constructor(columnsOf: (list: ColumnListName) => readonly string[]) {
    this.#columnsOf = columnsOf
  }

  decode(bytes: Bytes): ChunkReference {
    const { reader, version } = openChunk(bytes)
    const putAt = reader.u48()
    const rowCount = reader.u48()
    const firstLine = reader.u32()
    const flags = reader.u8()
    const [hasClaims, namesFiles] = [(flags & HAS_CLAIMS) !== 0, (flags & NAMES_FILES) !== 0]
    const { list, columns } = this.#columns(reader)
    const segments = readSegments(reader, version)
    reader.end()
    const chunk = { rowCount, firstLine, hasClaims, namesFiles, columns, segments }
    return { putAt, list, chunk }
  }

  /**
   * Reads the name of the column list and the summaries. Compares their bytes with those of the last chunk before
   * decoding them.
   */
  #columns(reader: ByteReader): Known {
    if (this.#last !== undefined && reader.skip(this.#last.bytes)) return this.#last
    const listed = reader.rest()
    const list = { crc: reader.u32(), probe: reader.u32() }
    const summaries = reader.bytes(SUMMARY_BYTES * reader.u16())
    const bytes = listed.subarray(0, LIST_BYTES + summaries.length)
    const name = crc32(bytes)
    const known = this.#known.get(name)
    if (known !== undefined && sameBytes(known.bytes, bytes)) {
      this.#last = known
      return known
    }
    const ids = this.#columnsOf(list)
    if (summaries.length !== SUMMARY_BYTES * ids.length) {
      throw reader.corrupt('its column list has the wrong length')
    }
    const inner = new ByteReader(summaries, 'chunk reference')
    const columns = ids.map((id) => readChunkColumn(inner, id))
    this.#last = { bytes, list, columns }
    if (this.#known.size < KNOWN_MAX) this.#known.set(name, this.#last)
    return this.#last
  }
}

const HAS_CLAIMS = 0x01
const NAMES_FILES = 0x02
/** The maximum number of cached sets of columns with summaries. */
const KNOWN_MAX = 1_000

/** @property bytes - The encoded name of the list, and the summaries. */
type Known = Readonly<{ bytes: Bytes; list: ColumnListName; columns: readonly ChunkColumn[] }>

const SUMMARY_BYTES = 12
/** Bytes between the record version and the name of the column list. */
const LIST_AT = 6 + 6 + 4 + 1
const LIST_BYTES = 4 + 4 + 2

/** The parts of a reference for garbage collection. */
type ChunkSegments = Pick<ChunkReference, 'putAt'> & Pick<StoredChunk, 'namesFiles' | 'segments'>

export function decodeChunkSegments(bytes: Bytes): ChunkSegments {
  const { reader, version } = openChunk(bytes)
  const putAt = reader.u48()
  reader.bytes(6 + 4)
  const namesFiles = (reader.u8() & NAMES_FILES) !== 0
  reader.bytes(8)
  reader.bytes(SUMMARY_BYTES * reader.u16())
  const segments = readSegments(reader, version)
  reader.end()
  return { putAt, namesFiles, segments }
}

/** The name of the column list that a reference uses. */
export function decodeListName(bytes: Bytes): ColumnListName {
  const { reader } = openChunk(bytes)
  reader.bytes(LIST_AT)
  return { crc: reader.u32(), probe: reader.u32() }
}

export function encodeColumnList(ids: readonly string[]): Bytes {
  const writer = new ByteWriter(64).u8(1).u16(ids.length)
  for (const id of ids) writer.text(JSON.stringify(id))
  return writer.finish()
}

export function decodeColumnList(bytes: Bytes): string[] {
  const reader = new ByteReader(bytes, 'column list')
  reader.recordVersion()
  const ids = Array.from({ length: reader.u16() }, () => String(JSON.parse(reader.text())))
  reader.end()
  return ids
}

export function columnListCrc(record: Bytes): number {
  return crc32(record)
}

function openChunk(bytes: Bytes): Readonly<{ reader: ByteReader; version: number }> {
  const reader = new ByteReader(bytes, 'chunk reference')
  return { version: reader.recordVersion(SHARED_VERSION), reader }
}

function readChunkColumn(reader: ByteReader, id: string): ChunkColumn {
  const scalarMask = reader.u16()
  const elementMask = reader.u16()
  const seen = reader.u32()
  return { summary: { id, scalarMask, elementMask, seen }, firstRow: reader.u32() }
}

function readSegments(reader: ByteReader, version: number): SegmentRef[] {
  const count = reader.u16()
  if (count === 0) return []
  const segments = [readSegment(reader, version)] // Most have only one; an empty array would grow to 17 (P50).
  while (segments.length < count) segments.push(readSegment(reader, version))
  return segments
}

function readSegment(reader: ByteReader, version: number): SegmentRef {
  const object = reader.bytes(16)
  const rowCount = reader.u32()
  const objectBytes = reader.u48()
  const footerBytes = reader.u32()
  const place = version === SHARED_VERSION ? readShared(reader, object) : null
  return segmentRef(place, object, rowCount, objectBytes, footerBytes)
}
