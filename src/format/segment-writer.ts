// Builds a segment: the rows of a chunk as frames, then a footer. FORMAT.md section 6.
import { type Bytes, utf8 } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import { crc32 } from '../base/platform.js'
import type { ObjectId } from '../objects/objects.js'
import type { ColumnSummary } from '../schema/column-summary.js'
import { ByteWriter } from './byte-writer.js'
import { type ClaimRun, encodeClaims } from './claims.js'
import { objectBytes } from './extent-page.js'
import { SLOTS_MAX } from './keys.js'

export const SEGMENT_MAGIC: Bytes = utf8('RSSG')
export const TRAILER_MAGIC: Bytes = utf8('GSSR')
export const SEGMENT_HEADER_BYTES = 8
export const TRAILER_BYTES = 16
export const FRAME_HEADER_BYTES = 11
export const DIRECTORY_ENTRY_BYTES = 9
export const FRAME_ROWS_MAX = 64
export const FRAME_TEXT_BYTES_MAX = 256 * 1024

/** How a frame's bytes are stored. Written to disk: never change or reuse a number. */
export const CODEC = Object.freeze({ none: 0 }) // 1 and 2 are kept free for deflate and zstd.

/** Sections of the footer. Written to disk: never change or reuse a number. */
export const SECTION = Object.freeze({ frameIndex: 1, columns: 2, claims: 5 }) // 3, 4: see FORMAT.md.

/** Stands for the position of the directory in its crc; no frame begins there. */
export const DIRECTORY_PLACE = 0xfffffffe
export const TRAILER_PLACE = 0xffffffff

export type BuiltSegment = Readonly<{ bytes: Bytes; footerBytes: number }>

/** The crc32 of a piece of an object, bound to the object's id and to the piece's place in it. */
export function pieceCrc(id: Bytes, place: number, piece: Bytes): number {
  return crc32(piece, crc32(new ByteWriter(20).bytes(id).u32(place).finish()))
}

/**
 * Builds the bytes of a segment.
 * @param rowTexts - 1 to 65,536 row texts in order; together at most 1 GiB.
 */
export function buildSegment(
  objectId: ObjectId,
  rowTexts: readonly string[],
  columns: readonly ColumnSummary[],
  claims: readonly ClaimRun[] = [],
): BuiltSegment {
  invariant(rowTexts.length > 0 && rowTexts.length <= SLOTS_MAX, 'a segment has 1 to 65,536 rows')
  const id = objectBytes(objectId)
  const writer = new ByteWriter(estimateBytes(rowTexts))
  writer.bytes(SEGMENT_MAGIC).u8(1).bytes(new Uint8Array(3))
  const frameIndex = new ByteWriter(12 * Math.ceil(rowTexts.length / FRAME_ROWS_MAX))
  let firstRow = 0
  while (firstRow < rowTexts.length) {
    const limit = frameLimit(rowTexts, firstRow)
    const offset = writer.length
    writeFrame(writer, id, rowTexts.slice(firstRow, limit))
    frameIndex
      .u32(offset)
      .u32(writer.length - offset)
      .u32(firstRow)
    firstRow = limit
  }
  const footerBytes = writeFooter(writer, id, [
    [SECTION.frameIndex, frameIndex.finish()],
    [SECTION.columns, encodeColumns(columns)],
    ...(claims.length === 0 ? [] : [[SECTION.claims, encodeClaims(claims)] as const]),
  ])
  const trailer = new ByteWriter(8).u32(footerBytes).u32(rowTexts.length).finish()
  writer
    .bytes(trailer)
    .u32(pieceCrc(id, TRAILER_PLACE, trailer))
    .bytes(TRAILER_MAGIC)
  return { bytes: writer.finish(), footerBytes }
}

function estimateBytes(rowTexts: readonly string[]): number {
  let chars = 0
  for (const text of rowTexts) chars += text.length
  return 512 + chars + 5 * rowTexts.length
}

/** Where the frame that begins at `first` ends: 64 rows, or as many as 256 KiB hold, but at least one. */
function frameLimit(rowTexts: readonly string[], first: number): number {
  const most = Math.min(rowTexts.length, first + FRAME_ROWS_MAX)
  let chars = 0
  for (let row = first; row < most; row++) {
    chars += rowTexts[row]?.length ?? 0
    if (chars > FRAME_TEXT_BYTES_MAX && row > first) return row
  }
  return most
}

function writeFrame(writer: ByteWriter, id: Bytes, texts: readonly string[]): void {
  const offset = writer.length
  const joined = utf8(texts.join(''))
  const raw = new ByteWriter(4 * texts.length + joined.length)
  let chars = 0
  for (const text of texts) chars += text.length
  const ascii = chars === joined.length // Then a row has as many bytes as UTF-16 units.
  let end = 0
  for (const text of texts) {
    end += ascii ? text.length : utf8(text).length
    raw.u32(end)
  }
  const stored = raw.bytes(joined).finish()
  const head = new ByteWriter(FRAME_HEADER_BYTES).u8(CODEC.none).u16(texts.length)
  const header = head.u32(stored.length).u32(stored.length).finish()
  const crc = crc32(stored, pieceCrc(id, offset, header))
  writer.bytes(header).bytes(stored).u32(crc)
}

/** The directory comes first, so that its length is known from its first byte. */
function writeFooter(
  writer: ByteWriter,
  id: Bytes,
  sections: readonly (readonly [number: number, bytes: Bytes])[],
): number {
  const start = writer.length
  const directory = new ByteWriter(32).u8(sections.length)
  let offset = 1 + DIRECTORY_ENTRY_BYTES * sections.length + 4
  for (const [number, bytes] of sections) {
    directory.u8(number).u32(offset).u32(bytes.length)
    offset += bytes.length + 4
  }
  const listed = directory.finish()
  writer.bytes(listed).u32(pieceCrc(id, DIRECTORY_PLACE, listed))
  for (const [number, bytes] of sections) writer.bytes(bytes).u32(pieceCrc(id, number, bytes))
  return writer.length - start
}

function encodeColumns(columns: readonly ColumnSummary[]): Bytes {
  const writer = new ByteWriter(32 * columns.length + 2).u16(columns.length)
  for (const { id, scalarMask, elementMask, seen } of columns) {
    writer.text(JSON.stringify(id)).u16(scalarMask).u16(elementMask).u32(seen)
  }
  return writer.finish()
}
