// Builds a segment: the rows of a chunk as frames, then a footer. FORMAT.md section 6.
//
// A frame has 64 rows or 16 KiB, whichever is more (PERFORMANCE.md, P11). The header and the ends of rows precede the
// texts, but their size is known only when the frame ends. So room is left for them, and the texts are written behind
// it:
//
//   begin   … |  room for header + ends of as many rows as the frame before  | text text text →
//                                                                            ^ textsFrom
//   end     … | header | end end end end | text text text |
//                      ← the texts are moved by the difference, once; the ends are filled in
import type { Bytes } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import type { ObjectId } from '../objects/objects.js'
import type { ColumnSummary } from '../schema/column-summary.js'
import type { JsonByteScanner } from '../schema/scan-json-bytes.js'
import { ByteWriter } from './byte-writer.js'
import { type ClaimRun, encodeClaims } from './claims.js'
import { ColumnValuesBuilder } from './column-values.js'
import { FileIds } from './file-references.js'
import {
  CODEC,
  type Compression,
  type CompressionByRows,
  codecBit,
  packFrame,
  type StoredFrame,
} from './frame-codec.js'
import { SLOTS_MAX } from './keys.js'
import { objectIdCrc, pieceCrc } from './piece-crc.js'
import {
  DIRECTORY_ENTRY_BYTES,
  DIRECTORY_PLACE,
  END_BYTES,
  FRAME_HEADER_BYTES,
  SECTION,
  SEGMENT_HEADER,
  TRAILER_MAGIC,
  TRAILER_PLACE,
} from './segment-layout.js'
import { TextBuffer } from './text-buffer.js'

/**
 * A frame is full when it has at least this many rows and this many bytes of text. Smaller frames would not do: each
 * takes about 20 µs to compress and to read, whatever its size; reading a few kilobytes more costs almost nothing.
 */
const FRAME_ROWS_FULL = 64
const FRAME_TEXT_BYTES_FULL = 16 * 1024
/** A frame with this many rows is full too. The bytes limit the text of a frame with more than one row. */
const FRAME_ROWS_MAX = 1_024
const FRAME_TEXT_BYTES_MAX = 256 * 1024

/**
 * A segment has short rows if the rows of its first frame average fewer bytes than this. Uncompressed, short rows
 * would take more space than in a database (PERFORMANCE.md, P36).
 */
const SHORT_ROW_BYTES = 128

/**
 * The maximum number of file IDs that a segment lists. If its rows name more files, they must be read to find the
 * IDs.
 */
const FILES_LISTED_MAX = 16_384

export type BuiltSegment = Readonly<{
  bytes: Bytes
  footerBytes: number
  /** The codecs of the segment's frames, one bit per codec, see `codecBit`. */
  codecs: number
  /** The files that the segment's rows name. */
  files: FileIds
  /** Buffers that are free once the bytes are stored: the bytes themselves, and working memory. */
  used: readonly Bytes[]
}>

/** Returns a buffer with arbitrary content. */
type TakeBuffer = (bytes: number) => Uint8Array<ArrayBuffer>

/** A frame that is being compressed. */
type PackingFrame = Readonly<{ rowCount: number; rawBytes: number; packed: Promise<StoredFrame> }>

/** Initial room for compressed frames, as a share of their raw size. */
const PACKED_BYTES_FIRST = 0.5

/** Builds the bytes of a segment row by row. Full frames are compressed while further rows are added. */
export class SegmentBuilder {
  readonly #idCrc: number
  readonly #compressions: CompressionByRows
  /** The compression of frames; null: the first frame will decide it. */
  #compression: Compression | null
  readonly #takeBuffer: TakeBuffer
  /** The bytes of the segment. If frames are compressed, it has only their raw bytes. */
  #writer: TextBuffer
  /** Number of bytes of a frame before its raw bytes. */
  readonly #headerBytes: number
  readonly #packing: PackingFrame[] = []
  #codecs = 0
  readonly #frameIndex = new ByteWriter(192)
  readonly #files = new FileIds(FILES_LISTED_MAX)
  readonly #values: ColumnValuesBuilder | null
  /**
   * The beginning of the current frame, and of its texts. Between the two is room for the frame's header and as many
   * row ends as in the last frame. Both are set by the frame's first row.
   */
  #frameFrom = 0
  #textsFrom = 0
  #rowsBefore = FRAME_ROWS_FULL
  /** The ends of the current frame's texts, counted from the beginning of the first text. */
  readonly #ends = new Uint32Array(FRAME_ROWS_MAX)
  /** Per row, whether its values were already recorded by the scanner. */
  readonly #areNoted: Uint8Array
  #frameRows = 0
  /** Number of rows in all ended frames, and in the ended frames that were already written to the segment. */
  #endedRows = 0
  #firstRow = 0

  /**
   * @param object - The object ID of the segment, which its checksums cover.
   * @param bytesFirst - Initial size of the buffer, which grows if necessary.
   * @param takeBuffer - Returns a buffer of at least the given size.
   * @param notesValues - Whether to record column values in the footer; or the IDs of the columns whose values to
   *   record.
   */
  constructor(
    object: ObjectId,
    bytesFirst: number,
    compression: Compression | CompressionByRows,
    takeBuffer: TakeBuffer = (bytes) => new Uint8Array(bytes),
    notesValues: boolean | readonly string[] = false,
  ) {
    const wanted = typeof notesValues === 'boolean' ? null : notesValues
    this.#values = notesValues === false ? null : new ColumnValuesBuilder(wanted)
    this.#areNoted = new Uint8Array(notesValues === false ? 0 : FRAME_ROWS_MAX)
    this.#takeBuffer = takeBuffer
    this.#idCrc = objectIdCrc(object)
    const isGiven = typeof compression === 'string'
    this.#compressions = isGiven ? { short: compression, other: compression } : compression
    this.#compression = isGiven ? compression : null
    this.#writer = new TextBuffer(takeBuffer(bytesFirst))
    const mayBeRaw = !isGiven || compression === 'none'
    this.#headerBytes = mayBeRaw ? FRAME_HEADER_BYTES : 0
    if (mayBeRaw) writeHeader(this.#writer)
  }

  get rowCount(): number {
    return this.#endedRows + this.#frameRows
  }

  /** Adds the text of the next row. */
  add(text: string): void {
    this.addRow((texts) => texts.utf8(text))
  }

  /**
   * Adds the next row; `write` appends its text. A frame ends once it has 64 rows and 16 KiB of text, or 1,024 rows;
   * and before a row with which it would exceed 256 KiB.
   * @param scanned - The scanner, if the row is its current row.
   */
  addRow(write: (texts: TextBuffer) => void, scanned?: JsonByteScanner): void {
    if (this.#isFrameFull) this.#endFrame()
    if (this.#frameRows === 0) this.#beginFrame()
    const writer = this.#writer
    const start = writer.length
    write(writer)
    if (this.#textBytes > FRAME_TEXT_BYTES_MAX && this.#frameRows > 0) {
      const text = writer.written(start).slice()
      writer.truncate(start)
      this.#endFrame()
      this.#beginFrame()
      writer.bytes(text)
    }
    if (this.#values !== null) this.#noteScanned(this.#values, scanned)
    this.#ends[this.#frameRows++] = this.#textBytes
  }

  #noteScanned(values: ColumnValuesBuilder, scanned: JsonByteScanner | undefined): void {
    if (scanned !== undefined) values.noteScanned(scanned)
    this.#areNoted[this.#frameRows] = scanned === undefined ? 0 : 1
  }

  get #textBytes(): number {
    return this.#writer.length - this.#textsFrom
  }

  get #isFrameFull(): boolean {
    const rowCount = this.#frameRows
    if (rowCount < FRAME_ROWS_FULL) return false
    return this.#textBytes >= FRAME_TEXT_BYTES_FULL || rowCount === FRAME_ROWS_MAX
  }

  /** The whole segment, of 1 to 65,536 rows. The builder must not be used afterwards. */
  finish(columns: readonly ColumnSummary[], claims: readonly ClaimRun[]): Promise<BuiltSegment> {
    return this.#finish([
      [SECTION.columns, encodeColumns(columns)],
      ...(claims.length === 0 ? [] : [[SECTION.claims, encodeClaims(claims)] as const]),
    ])
  }

  /**
   * The whole segment of a compaction.
   * @param versions - One per row.
   * @param deleted - One bit per row; null: none is deleted.
   */
  finishCompaction(versions: readonly number[], deleted: Bytes | null): Promise<BuiltSegment> {
    invariant(versions.length === this.rowCount, 'each row has a version')
    const encoded = new ByteWriter(8 * versions.length)
    for (const version of versions) encoded.u64(version)
    return this.#finish([
      [SECTION.columns, encodeColumns([])],
      [SECTION.rowVersions, encoded.finish()],
      ...(deleted === null ? [] : [[SECTION.deletedRows, deleted] as const]),
    ])
  }

  async #finish(sections: Sections): Promise<BuiltSegment> {
    const { rowCount } = this
    invariant(rowCount > 0 && rowCount <= SLOTS_MAX, 'a segment has 1 to 65,536 rows')
    this.#endFrame()
    const raw = this.#packing.length === 0 ? null : await this.#writePacked()
    const footerBytes = writeEnd(this.#writer, this.#idCrc, rowCount, [
      [SECTION.frameIndex, this.#frameIndex.finish()],
      ...sections,
      ...(this.#files.isEmpty ? [] : [[SECTION.files, this.#files.encode()] as const]),
      ...(this.#values?.finish() ?? []),
    ])
    const bytes = this.#writer.finish()
    const used = raw === null ? [bytes] : [bytes, raw]
    return { bytes, footerBytes, codecs: this.#codecs, files: this.#files, used }
  }

  /** Discards the segment. @returns the buffers that may be reused. */
  abandon(): readonly Bytes[] {
    // The compressor may still read the buffer.
    return this.#packing.length > 0 ? [] : [this.#writer.finish()]
  }

  #beginFrame(): void {
    this.#frameFrom = this.#writer.length
    this.#writer.skip(this.#headerBytes + END_BYTES * this.#rowsBefore)
    this.#textsFrom = this.#writer.length
  }

  #endFrame(): void {
    const writer = this.#writer
    const rowCount = this.#frameRows
    const textBytes = this.#textBytes
    const rawFrom = this.#frameFrom + this.#headerBytes
    const shift = rawFrom + END_BYTES * rowCount - this.#textsFrom
    if (shift !== 0) writer.move(this.#textsFrom, shift)
    const view = writer.view()
    for (let row = 0; row < rowCount; row++)
      view.setUint32(rawFrom + END_BYTES * row, this.#ends[row] ?? 0)
    const texts = writer.written(rawFrom + END_BYTES * rowCount)
    this.#files.note(texts)
    this.#values?.note(texts, this.#ends, rowCount, this.#areNoted)
    const rawBytes = END_BYTES * rowCount + textBytes
    const { short, other } = this.#compressions
    this.#compression ??= rawBytes < SHORT_ROW_BYTES * rowCount ? short : other
    if (this.#compression === 'none') {
      const frame = { codec: CODEC.none, rowCount, rawBytes }
      setFrameHeader(view, this.#frameFrom, frame, rawBytes)
      this.#sealFrame(this.#frameFrom, rowCount)
    } else {
      // The writer may switch to a larger buffer; these bytes in the old one do not change.
      const packed = packFrame(this.#compression, writer.written(rawFrom))
      this.#packing.push({ rowCount, rawBytes, packed })
    }
    this.#endedRows += rowCount
    this.#rowsBefore = rowCount
    this.#frameRows = 0
  }

  /** Writes the compressed frames into a segment. @returns the buffer with their raw bytes. */
  async #writePacked(): Promise<Bytes> {
    const raw = this.#writer.finish()
    const writer = new TextBuffer(this.#takeBuffer(Math.ceil(PACKED_BYTES_FIRST * raw.length)))
    writeHeader(writer)
    this.#writer = writer
    for (const { rowCount, rawBytes, packed } of this.#packing) {
      const { codec, stored } = await packed
      this.#codecs |= codecBit(codec)
      const offset = writer.length
      writer.skip(FRAME_HEADER_BYTES)
      setFrameHeader(writer.view(), offset, { codec, rowCount, rawBytes }, stored.length)
      writer.bytes(stored)
      this.#sealFrame(offset, rowCount)
    }
    return raw
  }

  #sealFrame(offset: number, rowCount: number): void {
    const writer = this.#writer
    writer.u32(pieceCrc(this.#idCrc, offset, writer.written(offset)))
    this.#frameIndex
      .u32(offset)
      .u32(writer.length - offset)
      .u32(this.#firstRow)
    this.#firstRow += rowCount
  }
}

function writeHeader(writer: TextBuffer): void {
  writer.bytes(SEGMENT_HEADER)
}

export function setFrameHeader(
  view: DataView,
  at: number,
  { codec, rowCount, rawBytes }: { codec: number; rowCount: number; rawBytes: number },
  storedBytes: number,
): void {
  view.setUint8(at, codec)
  view.setUint16(at + 1, rowCount)
  view.setUint32(at + 3, rawBytes)
  view.setUint32(at + 7, storedBytes)
}

/** Sections of a footer by number. */
export type Sections = readonly (readonly [number: number, bytes: Bytes])[]

/** Writes the footer and the trailer. @returns the size of the footer */
export function writeEnd(
  writer: TextBuffer,
  idCrc: number,
  rowCount: number,
  sections: Sections,
): number {
  const footerBytes = writeFooter(writer, idCrc, sections)
  const trailer = new ByteWriter(8).u32(footerBytes).u32(rowCount).finish()
  writer
    .bytes(trailer)
    .u32(pieceCrc(idCrc, TRAILER_PLACE, trailer))
    .bytes(TRAILER_MAGIC)
  return footerBytes
}

/** Writes the directory first, so that its length is known from its first byte. */
function writeFooter(writer: TextBuffer, idCrc: number, sections: Sections): number {
  const start = writer.length
  const directory = new ByteWriter(32).u8(sections.length)
  let offset = 1 + DIRECTORY_ENTRY_BYTES * sections.length + 4
  for (const [number, bytes] of sections) {
    directory.u8(number).u32(offset).u32(bytes.length)
    offset += bytes.length + 4
  }
  const listed = directory.finish()
  writer.bytes(listed).u32(pieceCrc(idCrc, DIRECTORY_PLACE, listed))
  for (const [number, bytes] of sections) writer.bytes(bytes).u32(pieceCrc(idCrc, number, bytes))
  return writer.length - start
}

function encodeColumns(columns: readonly ColumnSummary[]): Bytes {
  const writer = new ByteWriter(32 * columns.length + 2).u16(columns.length)
  for (const { id, scalarMask, elementMask, seen } of columns) {
    writer.text(JSON.stringify(id)).u16(scalarMask).u16(elementMask).u32(seen)
  }
  return writer.finish()
}
