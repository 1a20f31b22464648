// Reads a segment in parts: the footer once, then single frames. FORMAT.md section 6. A part that fails its crc, or
// does not fit the rest, is DATA_CORRUPT and never served.

import { type Awaitable, chain } from '../base/awaitable.js'
import { type Bytes, NO_BYTES } from '../base/bytes.js'
import { sliceText } from '../base/platform.js'
import type { StoreError } from '../base/store-error.js'
import type { ByteRange } from '../objects/objects.js'
import type { ColumnSummary } from '../schema/column-summary.js'
import { ByteReader } from './byte-reader.js'
import type { SegmentRef } from './extent-page.js'
import { isFileList } from './file-references.js'
import { openStoredFrame } from './frame-codec.js'
import { objectIdCrc } from './piece-crc.js'
import {
  CRC_BYTES,
  checkFrame,
  corrupt,
  decodeFrameIndex,
  type FramePlace,
  type FramePlaces,
  findFrameIndex,
  listFramePlaces,
  rawBytesOf,
  readDirectoryEntries,
  sectionAt,
} from './segment-footer.js'
import { FRAME_HEADER_BYTES, SECTION, TRAILER_BYTES } from './segment-layout.js'

export type SegmentFooter = Readonly<{
  rowCount: number
  frames: readonly FramePlace[]
  /** The places of the frames as numbers. */
  places: FramePlaces
  /** The index of the frame with a row: the last frame that does not begin after the row. */
  frameOf(row: number): number
  /** Estimated memory that this footer takes in the cache, in bytes. */
  bytes: number
  columns: readonly ColumnSummary[]
  /** The stored section of claims, which is decoded on demand. */
  claims: Bytes
  /** The stored IDs of the files that rows of the segment name; null: none; no bytes: there are too many to list. */
  files: Bytes | null
  /** Only for a compaction: the version of each row; null: all rows have the version of their extent. */
  versionOf: ((row: number) => number) | null
  /** Only for a compaction: the deleted rows; null: none. */
  isDeleted: ((row: number) => boolean) | null
}>

/** The range of a segment with its footer and trailer. */
export function footerRange(ref: SegmentRef): ByteRange {
  return { start: ref.objectBytes - TRAILER_BYTES - ref.footerBytes, limit: ref.objectBytes }
}

/** Estimated memory of a footer besides its bytes and its decoded lists. */
const FOOTER_BYTES = 1_024
const DECODED_BYTES_MAX = 6

/** @param bytes - The bytes of `footerRange`. */
export function decodeFooter(ref: SegmentRef, bytes: Bytes): SegmentFooter {
  const idCrc = objectIdCrc(ref.object)
  const entries = readDirectoryEntries(ref, idCrc, bytes)
  const hasValues = entries.some((at) => isOfValues(bytes[at]))
  const sections = new Map<number | undefined, Bytes>()
  let keptBytes = ref.footerBytes
  for (const at of entries) {
    const section = sectionAt(ref, idCrc, bytes, at)
    if (isOfValues(bytes[at])) keptBytes -= section.length
    else sections.set(bytes[at], hasValues ? section.slice() : section) // A copy, so that `bytes` can be freed.
  }
  let columns: readonly ColumnSummary[] | undefined // Decoded on demand: only imports need them.
  let frames: readonly FramePlace[] | undefined
  const places = decodeFrameIndex(ref, idCrc, sections.get(SECTION.frameIndex))
  return {
    rowCount: ref.rowCount,
    get frames() {
      frames ??= listFramePlaces(ref, places)
      return frames
    },
    places,
    frameOf: (row) => findFrameIndex(places, row),
    bytes: FOOTER_BYTES + DECODED_BYTES_MAX * keptBytes,
    get columns() {
      columns ??= decodeColumns(ref, sections.get(SECTION.columns))
      return columns
    },
    claims: sections.get(SECTION.claims) ?? NO_BYTES,
    files: fileList(ref, sections.get(SECTION.files)),
    versionOf: versionReader(ref, sections.get(SECTION.rowVersions)),
    isDeleted: deletedReader(ref, sections.get(SECTION.deletedRows)),
  }
}

/** Whether `decodeSegmentValues` decodes a section. These sections are large, and most readers do not need them. */
function isOfValues(section: number | undefined): boolean {
  return section === SECTION.columnValues || section === SECTION.valueFilters
}

function fileList(ref: SegmentRef, bytes: Bytes | undefined): Bytes | null {
  if (bytes === undefined) return null
  if (!isFileList(bytes)) throw corrupt(ref, 'its list of files ends within an ID')
  return bytes
}

function versionReader(ref: SegmentRef, bytes: Bytes | undefined): SegmentFooter['versionOf'] {
  if (bytes === undefined) return null
  if (bytes.length !== 8 * ref.rowCount)
    throw corrupt(ref, 'its row-version section has the wrong length')
  return (row) => new ByteReader(bytes.subarray(8 * row), `row versions of ${ref.object}`).u64()
}

function deletedReader(ref: SegmentRef, bytes: Bytes | undefined): SegmentFooter['isDeleted'] {
  if (bytes === undefined) return null
  if (8 * bytes.length < ref.rowCount)
    throw corrupt(ref, 'its section of deleted rows has the wrong length')
  return (row) => ((bytes[row >> 3] ?? 0) & (1 << (row & 7))) !== 0
}

/** The rows of a frame, decoded on demand. */
export class Frame {
  readonly rowCount: number
  /** The concatenated texts of the rows. */
  readonly texts: Bytes
  /** The ends of the texts, stored right before them. */
  readonly #ends: DataView

  constructor(rowCount: number, ends: DataView, texts: Bytes) {
    this.rowCount = rowCount
    this.#ends = ends
    this.texts = texts
  }

  /** Memory that this frame takes in the cache, in bytes. */
  get bytes(): number {
    return 4 * this.rowCount + this.texts.length
  }

  /** A copy of the frame in memory of its own, of exactly the needed size. */
  alone(): Frame {
    const { byteOffset, byteLength } = this.#ends
    const raw = new Uint8Array(
      this.texts.buffer,
      byteOffset,
      byteLength + this.texts.length,
    ).slice()
    const ends = new DataView(raw.buffer, 0, byteLength)
    return new Frame(this.rowCount, ends, raw.subarray(byteLength))
  }

  /**
   * The end of a row's text in `texts`, which is also the beginning of the next row's text. For row -1 it is 0, where
   * the first row begins.
   */
  endOf(row: number): number {
    return row < 0 ? 0 : this.#ends.getUint32(4 * row)
  }

  rowText(row: number): string {
    return sliceText(this.texts, this.endOf(row - 1), this.endOf(row))
  }

  /** The texts of the rows from `start` to `limit` (exclusive). */
  rowTexts(start: number, limit: number): string[] {
    const first = this.endOf(start - 1)
    const last = this.endOf(limit - 1)
    const whole = sliceText(this.texts, first, last)
    const ascii = whole.length === last - first // Byte offsets are then string offsets.
    const texts: string[] = []
    for (let row = start; row < limit; row++) {
      const text = ascii
        ? whole.slice(this.endOf(row - 1) - first, this.endOf(row) - first)
        : this.rowText(row)
      texts.push(text)
    }
    return texts
  }
}

/**
 * Decodes a frame. The result is a promise only if the frame is compressed, and large or damaged. A compressed frame
 * is decoded into `memory` or into new memory, which may be larger; any other frame is a view of `bytes`.
 * @param bytes - The frame, from header to crc.
 * @param memory - Memory for the rows of a compressed frame, used if it is large enough.
 * @throws {StoreError} DATA_CORRUPT; FORMAT_UNKNOWN if this runtime cannot decompress it.
 */
export function decodeFrame(
  ref: SegmentRef,
  place: FramePlace,
  bytes: Bytes,
  memory?: Bytes,
): Awaitable<Frame> {
  checkFrame(ref, place, bytes)
  const stored = bytes.subarray(FRAME_HEADER_BYTES, bytes.length - CRC_BYTES)
  const problem = (what: string, cause?: unknown): StoreError =>
    corrupt(ref, `the frame at ${place.offset}: ${what}`, cause)
  const raw = openStoredFrame({ codec: bytes[0] ?? 0, stored }, rawBytesOf(bytes), problem, {
    memory,
  })
  return chain(raw, (texts) => openFrame(ref, place, texts))
}

/** The unverified number of row bytes in a stored frame, for planning. */
export function claimedBytes(bytes: Bytes): number {
  return bytes.length < FRAME_HEADER_BYTES ? 0 : rawBytesOf(bytes)
}

function openFrame(ref: SegmentRef, { rowCount, offset }: FramePlace, raw: Bytes): Frame {
  const tableBytes = 4 * rowCount
  const ends = new DataView(raw.buffer, raw.byteOffset, Math.min(tableBytes, raw.length))
  const texts = raw.subarray(tableBytes)
  if (raw.length < tableBytes || !isAscending(ends, texts.length)) {
    throw corrupt(ref, `the row table of the frame at ${offset} does not fit`)
  }
  return new Frame(rowCount, ends, texts)
}

/** Whether the ends of rows are ascending, and the last one is the end of the texts. */
function isAscending(ends: DataView, textBytes: number): boolean {
  let before = 0
  for (let at = 0; at < ends.byteLength; at += 4) {
    const end = ends.getUint32(at)
    if (end < before) return false
    before = end
  }
  return before === textBytes
}

function decodeColumns(ref: SegmentRef, bytes: Bytes | undefined): ColumnSummary[] {
  if (bytes === undefined) throw corrupt(ref, 'it has no columns')
  const reader = new ByteReader(bytes, `columns of segment ${ref.object}`)
  return Array.from({ length: reader.u16() }, () => {
    const id = String(JSON.parse(reader.text()))
    return { id, scalarMask: reader.u16(), elementMask: reader.u16(), seen: reader.u32() }
  })
}
