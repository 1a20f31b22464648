// Writes an array of rows as answers show them, `[{"$rowID":"…",…},…]`, in UTF-8: as one array of bytes, or as several
// pieces, each with its own writer. An export has lines of rows instead, without IDs unless they are requested.
//
// A page is copied, never parsed: the texts of a frame are copied to the end of the space that their row objects will
// take, and each text is moved from there to its place. A row object is longer than its text, so no text is overwritten
// before it has been moved.
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  LINE_FEED,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from '../../base/ascii.js'
import type { Bytes } from '../../base/bytes.js'
import { NO_BYTES, utf8 } from '../../base/bytes.js'
import type { ForwardMap } from '../../format/forward.js'
import { ROW_ID_CHARS, renderRowId, renderRowIdTail } from '../../format/row-id.js'
import type { Frame } from '../../format/segment-reader.js'
import type { FrameRows } from '../segments/frame-runs.js'

/** The extent of rows. The IDs of rows contain the number and the nonce of their extent. */
export type RowExtent = Readonly<{ extent: number; nonce: Bytes }>

const OPENING = utf8('{"$rowID":"')

/**
 * Maximum number of bytes around a row's text: a comma before the row or a line end after it; the opening, the row ID
 * and its end quote; a comma; and a brace.
 */
const ROW_BYTES_MAX = 1 + OPENING.length + ROW_ID_CHARS + 1 + 1 + 1

/** Maximum number of bytes of UTF-8 per UTF-16 unit. */
const UNIT_BYTES_MAX = 3

const FIRST_BYTES = 4 * 1024

/**
 * The UTF-8 bytes of longer texts are counted first. For other texts, the maximum number of bytes that they may need is
 * reserved.
 */
const SHORT_TEXT_UNITS = 16 * 1024

const encoder = new TextEncoder()

/** The limits of a page: maximum numbers of its rows, and of the bytes of their texts. */
export type PageLimits = Readonly<{ rows: number; bytes: number }>

/** The numbers of rows, and of bytes of their texts, that a page has before a piece. */
export type PageStart = Readonly<{ rowCount: number; textBytes: number }>

export const PAGE_START: PageStart = { rowCount: 0, textBytes: 0 }

/** Where and how a piece is written. */
export type PieceTarget = Readonly<{
  /** The piece is full with the first row that ends here or later. */
  bytes: number
  /** The memory to write to, as far as it has room. Nobody else may use it meanwhile. */
  memory?: Bytes | undefined
  /** Default: `array`, of objects with row IDs. */
  form?: 'array' | 'lines' | 'linesWithIds' | undefined
}>

export class PageWriter {
  readonly #isArray: boolean
  readonly #hasIds: boolean
  readonly #limits: PageLimits
  readonly #pieceBytes: number
  readonly #kept: Readonly<{ forward: ForwardMap; firstExtent: number }> | null
  #bytes: Bytes
  #length = 0
  #rowCount: number
  #textBytes: number
  /** `{"$rowID":"`, an ID of this extent, and `"`. For each further row, only the end of the ID is replaced. */
  readonly #head = new Uint8Array(OPENING.length + ROW_ID_CHARS + 1)
  #extent = -1

  /** @param kept - Preserved row IDs, if rows have some. */
  constructor(
    limits: PageLimits,
    kept: Readonly<{ forward: ForwardMap; firstExtent: number }> | null,
    { rowCount, textBytes }: PageStart,
    { bytes, memory = NO_BYTES, form = 'array' }: PieceTarget,
  ) {
    this.#isArray = form === 'array'
    this.#hasIds = form !== 'lines'
    this.#bytes = memory.length > 0 ? memory : new Uint8Array(FIRST_BYTES)
    this.#limits = limits
    this.#pieceBytes = bytes
    this.#kept = kept
    this.#rowCount = rowCount
    this.#textBytes = textBytes
    if (rowCount === 0 && this.#isArray) this.#bytes[this.#length++] = OPEN_BRACKET
    this.#head.set(OPENING)
    this.#head[this.#head.length - 1] = QUOTE
  }

  /** Number of rows of the page so far. */
  get rowCount(): number {
    return this.#rowCount
  }

  /** Number of bytes of texts of the page so far. */
  get textBytes(): number {
    return this.#textBytes
  }

  get isPieceFull(): boolean {
    return this.#length >= this.#pieceBytes
  }

  /** Number of bytes for which the piece, or the page, still has room. */
  get bytesLeft(): number {
    return Math.min(this.#pieceBytes - this.#length, this.#limits.bytes - this.#textBytes)
  }

  /** Makes room for all rows of these frames at once, because growing means copying. */
  expect(frames: readonly FrameRows[]): void {
    let count = 0
    for (const { frame, first, limit } of frames) {
      if (this.#length + count >= this.#pieceBytes) break
      count += frame.endOf(limit - 1) - frame.endOf(first - 1) + ROW_BYTES_MAX * (limit - first)
    }
    this.#reserve(count + 1)
  }

  /** Appends rows of a frame until the page is full. @returns how many rows were appended */
  takeStored(place: RowExtent, { frame, first, limit, slot }: FrameRows): number {
    const last = this.#lastFitting(frame, first, limit)
    if (last === first) return 0
    const from = frame.endOf(first - 1)
    const textBytes = frame.endOf(last - 1) - from
    let text = this.#reserve(textBytes + ROW_BYTES_MAX * (last - first)) - textBytes
    const bytes = this.#bytes
    bytes.set(frame.texts.subarray(from, from + textBytes), text)
    for (let row = first, start = from; row < last; row++) {
      const end = frame.endOf(row)
      this.#open(place, slot + row - first)
      if (end > start) {
        if (this.#hasIds) bytes[this.#length++] = COMMA
        bytes.copyWithin(this.#length, text, text + end - start)
        this.#length += end - start
      }
      this.#close()
      text += end - start
      start = end
    }
    this.#textBytes += textBytes
    return last - first
  }

  /** Appends one row. @returns false: the page is full */
  takeText(place: RowExtent, slot: number, text: string): boolean {
    if (this.#rowCount >= this.#limits.rows) return false
    this.#reserve(ROW_BYTES_MAX + textBytesMax(text))
    const before = this.#length
    const isFirst = this.#rowCount === 0
    this.#open(place, slot)
    const bytes = this.#bytes
    if (text !== '' && this.#hasIds) bytes[this.#length++] = COMMA
    const { written } = encoder.encodeInto(text, bytes.subarray(this.#length))
    if (!isFirst && this.#textBytes + written > this.#limits.bytes) {
      this.#length = before
      this.#rowCount--
      return false
    }
    this.#length += written
    this.#close()
    this.#textBytes += written
    return true
  }

  /** The piece. @param isLast - Whether the page ends with it. */
  finish(isLast: boolean): Bytes {
    if (isLast && this.#isArray) {
      this.#reserve(1)
      this.#bytes[this.#length++] = CLOSE_BRACKET
    }
    return this.#bytes.subarray(0, this.#length)
  }

  /** The first row from `first` to `limit` that no longer fits. A page has at least one row. */
  #lastFitting(frame: Frame, first: number, limit: number): number {
    const last = Math.min(limit, first + this.#limits.rows - this.#rowCount)
    const textMax = frame.endOf(first - 1) + this.#limits.bytes - this.#textBytes
    let fitting = last
    while (fitting > first && frame.endOf(fitting - 1) > textMax) fitting--
    return fitting === first && last > first && this.#rowCount === 0 ? first + 1 : fitting
  }

  /** Makes room for more bytes. @returns the offset after these bytes */
  #reserve(count: number): number {
    const end = this.#length + count
    if (end > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(end, 2 * this.#bytes.length))
      larger.set(this.#bytes.subarray(0, this.#length))
      this.#bytes = larger
    }
    return end
  }

  /** Begins a row object: writes what precedes its cells. */
  #open(place: RowExtent, slot: number): void {
    if (this.#rowCount++ > 0 && this.#isArray) this.#bytes[this.#length++] = COMMA
    if (!this.#hasIds) {
      this.#bytes[this.#length++] = OPEN_BRACE
      return
    }
    this.#putRowId(place, slot)
    this.#bytes.set(this.#head, this.#length)
    this.#length += this.#head.length
  }

  #close(): void {
    this.#bytes[this.#length++] = CLOSE_BRACE
    if (!this.#isArray) this.#bytes[this.#length++] = LINE_FEED
  }

  #putRowId({ extent, nonce }: RowExtent, slot: number): void {
    const kept = this.#kept?.forward.idAt({ extent: extent - this.#kept.firstExtent, slot }) ?? null
    if (kept !== null) {
      encoder.encodeInto(
        renderRowId(kept.nonce, kept.extent, kept.slot),
        this.#head.subarray(OPENING.length),
      )
      this.#extent = -1
      return
    }
    if (this.#extent !== extent) {
      encoder.encodeInto(renderRowId(nonce, extent, 0), this.#head.subarray(OPENING.length))
      this.#extent = extent
    }
    renderRowIdTail(this.#head, OPENING.length, extent, slot)
  }
}

/** The maximum number of UTF-8 bytes of a well-formed text. */
export function textBytesMax(text: string): number {
  if (text.length <= SHORT_TEXT_UNITS) return UNIT_BYTES_MAX * text.length
  let bytes = text.length
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit < 0x80) continue
    bytes += unit < 0x800 || isSurrogate(unit) ? 1 : 2 // A pair has four bytes.
  }
  return bytes
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff
}
