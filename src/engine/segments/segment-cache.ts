// Rows of segments by (segment, row), through a cache of footers and frames with a byte budget.
//
// A frame is cached when a second row of it is read (PERFORMANCE.md, P22), so rare reads cache only footers. Reads of
// runs cache only the footer too (frame-runs.ts).

import { type Awaitable, chain, finallyDo } from '../../base/awaitable.js'
import { ByteCache } from '../../base/byte-cache.js'
import type { Bytes } from '../../base/bytes.js'
import { freeMemory } from '../../base/platform.js'
import { StoreError } from '../../base/store-error.js'
import type { SegmentRef } from '../../format/extent-page.js'
import { type FramePlace, type FramePlaces, frameOf, placeOf } from '../../format/segment-footer.js'
import { TRAILER_BYTES } from '../../format/segment-layout.js'
import {
  decodeFrame,
  type Frame,
  footerRange,
  type SegmentFooter,
} from '../../format/segment-reader.js'
import { decodeFramePlaces, readRowText } from '../../format/segment-rows.js'
import { READ_AT_WILL, type ReadBounds } from './frame-parts.js'
import { type FrameRows, isDecompressed, readFrames } from './frame-runs.js'
import type { SegmentReads } from './segment-reads.js'

/** An entry of the cache: under the ID of a segment its footer and its places, under the key of a frame the frame. */
type Piece = Readonly<{ bytes: number; footer?: SegmentFooter; rows?: Rows; frame?: Frame }>

/** The data that point reads of a segment need. */
type Rows = Readonly<{
  places: FramePlaces
  /** The keys of frames from which a row was read. The strings are kept because V8 caches the hash of a string. */
  frameKeys: string[]
}>

/** Estimated memory, in bytes. */
function rowsBytes({ places }: Rows): number {
  return ROWS_BYTES + ROWS_NUMBER_BYTES * places.numbers.length
}

const ROWS_BYTES = 300

/** Estimated memory of a number and of its part of a key: three numbers share one. */
const ROWS_NUMBER_BYTES = 40

export class SegmentCache {
  readonly #reads: SegmentReads
  readonly #pieces: ByteCache<Piece>

  /** @param bytesMax - Size of the cache, in bytes, at most; 0 caches nothing. */
  constructor(reads: SegmentReads, bytesMax: number) {
    this.#reads = reads
    this.#pieces = new ByteCache(bytesMax, (_, { bytes }) => bytes)
  }

  /** Estimated size, in bytes. */
  get bytes(): number {
    return this.#pieces.bytes
  }

  /** Lookups that found an entry, and those that did not. */
  get hits(): number {
    return this.#pieces.hits
  }

  get misses(): number {
    return this.#pieces.misses
  }

  /** Bytes of segments that were read, because no cache had them. */
  get bytesRead(): number {
    return this.#reads.bytesRead
  }

  /** @throws {StoreError} DATA_CORRUPT, STORAGE_UNAVAILABLE */
  footer(ref: SegmentRef): Awaitable<SegmentFooter> {
    return chain(this.footerOnce(ref), (footer) => {
      if (this.#pieces.get(ref.object)?.footer !== footer) this.#keepPiece(ref, { footer })
      return footer
    })
  }

  /** The footer if the cache has it. */
  footerNow(ref: SegmentRef): SegmentFooter | undefined {
    return this.#pieces.get(ref.object)?.footer
  }

  /** As `footer`, but leaves the cache as it is. For callers that read many footers once. */
  footerOnce(ref: SegmentRef): Awaitable<SegmentFooter> {
    const cached = this.#pieces.get(ref.object)?.footer
    if (cached !== undefined) return cached
    return this.#reads.footer(ref)
  }

  /** The text of one row; synchronous if the reads that it needs are. */
  rowText(ref: SegmentRef, row: number): Awaitable<string> {
    const rows = this.#pieces.get(ref.object)?.rows
    if (rows !== undefined) return this.#rowOf(ref, rows, row)
    return chain(this.#readRows(ref), (read) => this.#rowOf(ref, read, row))
  }

  #readRows(ref: SegmentRef): Awaitable<Rows> {
    const { footer } = this.#pieces.get(ref.object) ?? {}
    if (footer !== undefined) return this.#keepRows(ref, footer.places)
    const { buffers } = this.#reads
    const memory = buffers.take(ref.footerBytes + TRAILER_BYTES)
    return finallyDo(
      () =>
        chain(this.#reads.range(ref, footerRange(ref), memory), (bytes) =>
          this.#keepRows(ref, decodeFramePlaces(ref, bytes)),
        ),
      () => buffers.give(memory),
    )
  }

  #keepRows(ref: SegmentRef, places: FramePlaces): Rows {
    const rows = { places, frameKeys: [] }
    this.#keepPiece(ref, { rows })
    return rows
  }

  /** Caches more data of a segment, together with what the cache already has of it. */
  #keepPiece({ object }: SegmentRef, more: Pick<Piece, 'footer' | 'rows'>): void {
    const { footer, rows } = { ...this.#pieces.get(object), ...more }
    const bytes = (footer?.bytes ?? 0) + (rows === undefined ? 0 : rowsBytes(rows))
    this.#pieces.set(object, {
      bytes,
      ...(footer !== undefined && { footer }),
      ...(rows !== undefined && { rows }),
    })
  }

  #rowOf(ref: SegmentRef, { places, frameKeys }: Rows, row: number): Awaitable<string> {
    const index = frameOf(places, row)
    const place = placeOf(ref, places, index)
    if (place === undefined || row >= ref.rowCount) throw missingRow(ref, row)
    const key = frameKeys[index]
    if (key === undefined) return this.#rowTextOnce(ref, frameKeys, { index, place, row })
    const frame = this.#pieces.get(key)?.frame
    return frame === undefined
      ? this.#keep(key, ref, place, row)
      : frame.rowText(row - place.firstRow)
  }

  #keep(key: string, ref: SegmentRef, place: FramePlace, row: number): Awaitable<string> {
    return chain(this.#reads.frame(ref, place), (bytes) =>
      chain(decodeFrame(ref, place, bytes), (frame) =>
        this.#kept(key, frame, bytes).rowText(row - place.firstRow),
      ),
    )
  }

  /** Reads a row of an uncached frame through a pooled buffer, because allocating one costs more than the read. */
  #rowTextOnce(
    ref: SegmentRef,
    frameKeys: string[],
    { index, place, row }: Readonly<{ index: number; place: FramePlace; row: number }>,
  ): Awaitable<string> {
    const { buffers } = this.#reads
    const memory = buffers.take(place.bytes)
    const rowInFrame = row - place.firstRow
    return finallyDo(
      () =>
        chain(this.#reads.frame(ref, place, memory), (bytes) => {
          // Bytes elsewhere, and decompressed frames, have memory of their own.
          const isOurs = bytes.buffer === memory.buffer
          const text = isOurs ? readRowText(ref, place, bytes, rowInFrame) : null
          const key = `${ref.object}:${index}`
          if (text !== null) {
            frameKeys[index] = key
            return text
          }
          return chain(decodeFrame(ref, place, bytes), (frame) => {
            frameKeys[index] = key
            return this.#kept(key, frame, bytes).rowText(rowInFrame)
          })
        }),
      () => buffers.give(memory),
    )
  }

  /** Caches a frame and returns it in its cached form. @param read - The stored bytes of the frame. */
  #kept(key: string, frame: Frame, read: Bytes): Frame {
    if (!isDecompressed(frame, read)) {
      this.#pieces.set(key, { bytes: frame.bytes, frame })
      return frame
    }
    const alone = frame.alone()
    freeMemory(frame.texts)
    this.#pieces.set(key, { bytes: alone.bytes, frame: alone })
    return alone
  }

  /**
   * Rows `start` (included) to `limit` (not included) in their frames, in pieces of about 1 MiB. Each piece is valid
   * only until the next is requested.
   * @throws {NeedsMemory} A frame is larger than `bounds` allow.
   */
  frames(
    ref: SegmentRef,
    start: number,
    limit: number,
    bounds: ReadBounds = READ_AT_WILL,
  ): AsyncGenerator<FrameRows[]> {
    return readFrames(this.#reads, { ref, footer: () => this.footer(ref), start, limit }, bounds)
  }

  /** The texts of rows `start` (included) to `limit` (not included), in pieces of about 1 MiB. */
  async *rowTexts(ref: SegmentRef, start: number, limit: number): AsyncGenerator<string[]> {
    for await (const piece of this.frames(ref, start, limit)) {
      yield piece.flatMap((rows) => rows.frame.rowTexts(rows.first, rows.limit))
    }
  }
}

function missingRow(ref: SegmentRef, row: number): StoreError {
  return new StoreError('DATA_CORRUPT', `Segment ${ref.object} has no row ${row}`)
}
