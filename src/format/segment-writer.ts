// Builds a segment: the rows of a chunk as frames, then a footer. FORMAT.md section 6.
import { type Bytes, utf8 } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import { crc32 } from '../base/platform.js'
import type { ObjectId } from '../objects/objects.js'
import type { ColumnSummary } from '../schema/column-summary.js'
import { ByteWriter } from './byte-writer.js'
import { type ClaimRun, encodeClaims } from './claims.js'
import { objectBytes } from './extent-page.js'
import { FileIds } from './file-references.js'
import { CODEC } from './frame-codec.js'
import { SLOTS_MAX } from './keys.js'

export const SEGMENT_MAGIC: Bytes = utf8('RSSG')
export const TRAILER_MAGIC: Bytes = utf8('GSSR')
export const TRAILER_BYTES = 16
export const FRAME_HEADER_BYTES = 11
export const DIRECTORY_ENTRY_BYTES = 9
export const FRAME_ROWS_MAX = 64
export const FRAME_TEXT_BYTES_MAX = 256 * 1024

/** Sections of the footer. Written to disk: never change or reuse a number. */
export const SECTION = Object.freeze({
  frameIndex: 1,
  columns: 2,
  rowVersions: 3,
  deletedRows: 4,
  claims: 5,
  files: 6,
})

/** Stands for the position of the directory in its crc; no frame begins there. */
export const DIRECTORY_PLACE = 0xfffffffe
export const TRAILER_PLACE = 0xffffffff

/** File IDs that a segment lists: one that names more has to be read to know them. */
const FILES_LISTED_MAX = 65_536

export type BuiltSegment = Readonly<{
  bytes: Bytes
  footerBytes: number
  /** The files that its rows name. */
  files: FileIds
}>

/** The crc32 of a piece of an object, bound to the object's id and to the piece's place in it. */
export function pieceCrc(id: Bytes, place: number, piece: Bytes): number {
  return crc32(piece, crc32(new ByteWriter(20).bytes(id).u32(place).finish()))
}

/** Room for the texts of a frame to begin with: 64 rows of some hundred bytes. */
const FRAME_BYTES_FIRST = 64 * 1024

/** Builds the bytes of a segment row by row. */
export class SegmentBuilder {
  readonly #id: Bytes
  readonly #writer: ByteWriter
  readonly #frameIndex = new ByteWriter(192)
  readonly #files = new FileIds(FILES_LISTED_MAX)
  /** The row texts of the frame that is being built, and where each ends. */
  readonly #texts = new ByteWriter(FRAME_BYTES_FIRST)
  #ends: number[] = []
  #firstRow = 0

  /**
   * @param object - The id that the segment will be stored under: its checksums are bound to it.
   * @param buffer - Where to build it; a larger one is made when it does not hold the segment.
   */
  constructor(object: ObjectId, buffer: Uint8Array<ArrayBuffer> | number) {
    this.#id = objectBytes(object)
    this.#writer = new ByteWriter(buffer)
    this.#writer.bytes(SEGMENT_MAGIC).u8(1).bytes(new Uint8Array(3))
  }

  get rowCount(): number {
    return this.#firstRow + this.#ends.length
  }

  /** Adds the text of the next row. */
  add(text: string): void {
    this.addRow((texts) => texts.utf8(text))
  }

  /**
   * Adds the next row, whose text `write` appends. A frame has 64 rows, or as many as 256 KiB hold, but at
   * least one.
   */
  addRow(write: (texts: ByteWriter) => void): void {
    if (this.#ends.length === FRAME_ROWS_MAX) this.#endFrame()
    const start = this.#texts.length
    write(this.#texts)
    if (this.#texts.length > FRAME_TEXT_BYTES_MAX && this.#ends.length > 0) {
      const text = this.#texts.written(start).slice()
      this.#texts.truncate(start)
      this.#endFrame()
      this.#texts.bytes(text)
    }
    this.#ends.push(this.#texts.length)
  }

  /** The whole segment, of 1 to 65,536 rows. The builder must not be used afterwards. */
  finish(columns: readonly ColumnSummary[], claims: readonly ClaimRun[]): BuiltSegment {
    return this.#finish([
      [SECTION.columns, encodeColumns(columns)],
      ...(claims.length === 0 ? [] : [[SECTION.claims, encodeClaims(claims)] as const]),
    ])
  }

  /**
   * The whole segment of a fold.
   * @param versions - One for each row.
   * @param deleted - A bit for each row; null: none is deleted.
   */
  finishFold(versions: readonly number[], deleted: Bytes | null): BuiltSegment {
    invariant(versions.length === this.rowCount, 'each row has a version')
    const encoded = new ByteWriter(8 * versions.length)
    for (const version of versions) encoded.u64(version)
    return this.#finish([
      [SECTION.columns, encodeColumns([])],
      [SECTION.rowVersions, encoded.finish()],
      ...(deleted === null ? [] : [[SECTION.deletedRows, deleted] as const]),
    ])
  }

  #finish(sections: readonly (readonly [number, Bytes])[]): BuiltSegment {
    const { rowCount } = this
    invariant(rowCount > 0 && rowCount <= SLOTS_MAX, 'a segment has 1 to 65,536 rows')
    this.#endFrame()
    const footerBytes = writeFooter(this.#writer, this.#id, [
      [SECTION.frameIndex, this.#frameIndex.finish()],
      ...sections,
      ...(this.#files.isEmpty ? [] : [[SECTION.files, this.#files.encode()] as const]),
    ])
    const trailer = new ByteWriter(8).u32(footerBytes).u32(rowCount).finish()
    this.#writer
      .bytes(trailer)
      .u32(pieceCrc(this.#id, TRAILER_PLACE, trailer))
      .bytes(TRAILER_MAGIC)
    return { bytes: this.#writer.finish(), footerBytes, files: this.#files }
  }

  /** The buffer, when the segment is not wanted any more. */
  abandon(): Bytes {
    return this.#writer.finish()
  }

  #endFrame(): void {
    const offset = this.#writer.length
    const texts = this.#texts.written(0)
    this.#files.note(texts)
    writeFrame(this.#writer, this.#id, this.#ends, texts)
    const bytes = this.#writer.length - offset
    this.#frameIndex.u32(offset).u32(bytes).u32(this.#firstRow)
    this.#firstRow += this.#ends.length
    this.#ends = []
    this.#texts.truncate(0)
  }
}

function writeFrame(writer: ByteWriter, id: Bytes, ends: readonly number[], texts: Bytes): void {
  const offset = writer.length
  const rawBytes = 4 * ends.length + texts.length
  writer.u8(CODEC.none).u16(ends.length).u32(rawBytes).u32(rawBytes)
  for (const end of ends) writer.u32(end)
  writer.bytes(texts)
  writer.u32(pieceCrc(id, offset, writer.written(offset)))
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
