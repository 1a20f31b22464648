// Finds rows of segments by (segment, row), through a cache of footers and frames with a maximum number of bytes.
//
// A frame is cached when a second row of it is read (PERFORMANCE.md, P22), so occasional reads of a frame cache only
// the footer. Reads of runs, too, cache only the footer (frame-runs.ts).

import { type Awaitable, chain, finallyDo } from '../../base/awaitable.js'
import { ByteCache } from '../../base/byte-cache.js'
import type { Bytes } from '../../base/bytes.js'
import { freeMemory } from '../../base/platform.js'
import { StoreError } from '../../base/store-error.js'
import type { SegmentRef } from '../../format/extent-page.js'
import {
  type FramePlace,
  type FramePlaces,
  findFrameIndex,
  framePlaceAt,
  listFramePlaces,
} from '../../format/segment-footer.js'
import { TRAILER_BYTES } from '../../format/segment-layout.js'
import {
  claimedBytes,
  decodeFooter,
  decodeFrame,
  type Frame,
  footerRange,
  type SegmentFooter,
} from '../../format/segment-reader.js'
import { decodeFramePlaces, readRowText } from '../../format/segment-rows.js'
import { decodeSegmentValues, type SegmentValues } from '../../format/segment-values.js'
import { READ_BYTES_MAX } from './frame-parts.js'
import { type FrameSource, isAlone, readFrames } from './frame-runs.js'
import { type FooterCache, ReadAhead, WALK_AT_WILL, type WalkBounds } from './read-ahead.js'
import {
  frameIn,
  type Opened,
  type Opening,
  planSegmentOpening,
  type RowRun,
  readOpening,
} from './segment-opening.js'
import type { SegmentReads } from './segment-reads.js'
import { type FrameList, runsInTurn } from './stored-runs.js'

/**
 * An entry of the cache. Under the ID of a segment are its footer and the places of its frames. Under the key of a
 * frame is the frame. Under the key of a segment's values is what the segment knows of its values, or null if it knows
 * nothing.
 */
type Piece = Readonly<{
  bytes: number
  footer?: SegmentFooter | undefined
  rows?: Rows | undefined
  frame?: Frame
  values?: SegmentValues | null
}>

/** The data that point reads of a segment need. */
type Rows = Readonly<{
  places: FramePlaces
  /**
   * The keys of frames from which a row was read. The strings are stored for reuse, because V8 caches the hash of a
   * string.
   */
  frameKeys: string[]
}>

/** Estimated memory, in bytes. */
function rowsBytes({ places }: Rows): number {
  return ROWS_BYTES + ROWS_NUMBER_BYTES * places.numbers.length
}

const ROWS_BYTES = 300

/** Estimated memory of an entry for a segment without values. */
const NO_VALUES_BYTES = 200

/** Estimated memory of a number of `places`, and of a third of a frame key: a frame has three numbers and one key. */
const ROWS_NUMBER_BYTES = 40

/** The place of a row. */
type RowPlace = Readonly<{ index: number; place: FramePlace; row: number }>

/** A row of a segment that a compaction wrote. */
export type CompactedRow = Readonly<{ footer: SegmentFooter; text: string }>

/**
 * Maximum memory, in bytes, of point reads that open segments concurrently. Further point reads read the footer first
 * and then the frame. That is slower for a single read, but with many reads the transfer of bytes takes most of the
 * time.
 */
const OPENING_BYTES_MAX = 4 * 1024 * 1024

export class SegmentCache implements FooterCache {
  readonly #reads: SegmentReads
  readonly #pieces: ByteCache<Piece>
  /** Memory of the point reads that are opening segments now, in bytes. */
  #openingBytes = 0

  /** @param bytesMax - Maximum size of the cache, in bytes; 0 caches nothing. */
  constructor(reads: SegmentReads, bytesMax: number) {
    this.#reads = reads
    this.#pieces = new ByteCache(bytesMax, (_, { bytes }) => bytes)
  }

  /** Estimated size, in bytes. */
  get bytes(): number {
    return this.#pieces.bytes
  }

  /** Number of lookups that found an entry. `misses` is the number of all other lookups. */
  get hits(): number {
    return this.#pieces.hits
  }

  get misses(): number {
    return this.#pieces.misses
  }

  /** Number of bytes of segments that were read because they were not cached. */
  get bytesRead(): number {
    return this.#reads.bytesRead
  }

  /** Whether each request for an object is expensive; see `ObjectStore`. */
  get isDear(): boolean {
    return this.#reads.requestCostBytes > 0
  }

  /** @throws {StoreError} DATA_CORRUPT, STORAGE_UNAVAILABLE */
  footer(ref: SegmentRef): Awaitable<SegmentFooter> {
    return chain(this.footerOnce(ref), (footer) => {
      if (this.#pieces.get(ref.object)?.footer !== footer) this.#keepPiece(ref, { footer })
      return footer
    })
  }

  keepFooter(ref: SegmentRef, footer: SegmentFooter): void {
    this.#keepPiece(ref, { footer })
  }

  framesNow(ref: SegmentRef): FrameList | undefined {
    const { footer, rows } = this.#pieces.get(ref.object) ?? {}
    if (footer !== undefined || rows === undefined) return footer
    return {
      frames: listFramePlaces(ref, rows.places),
      frameOf: (row) => findFrameIndex(rows.places, row),
    }
  }

  /** The footer, if the cache has it. */
  footerNow(ref: SegmentRef): SegmentFooter | undefined {
    return this.#pieces.get(ref.object)?.footer
  }

  /** The footer, which is not cached: for callers that read many footers, each once. */
  footerOnce(ref: SegmentRef): Awaitable<SegmentFooter> {
    const cached = this.#pieces.get(ref.object)?.footer
    if (cached !== undefined) return cached
    return this.#reads.footer(ref)
  }

  /** What a segment knows of its values; null: it knows nothing. The footer is cached, too. */
  values(ref: SegmentRef): Awaitable<SegmentValues | null> {
    const key = `${ref.object}:values`
    const cached = this.#pieces.get(key)?.values
    if (cached !== undefined) return cached
    return chain(this.#reads.range(ref, footerRange(ref)), (bytes) => {
      const values = decodeSegmentValues(ref, bytes)
      this.#pieces.set(key, { bytes: values?.bytes ?? NO_VALUES_BYTES, values })
      if (this.footerNow(ref) === undefined) this.keepFooter(ref, decodeFooter(ref, bytes))
      return values
    })
  }

  /** The text of a row. Synchronous if the reads of the object store are. */
  rowText(ref: SegmentRef, row: number): Awaitable<string> {
    const rows = this.#pieces.get(ref.object)?.rows
    if (rows !== undefined) return this.#rowOf(ref, rows, row)
    const opening = this.#openingFor(ref, row)
    if (opening === undefined) {
      return chain(this.#readRows(ref), (read) => this.#rowOf(ref, read, row))
    }
    return this.#open(ref, opening, (opened) => {
      const read = this.#keepRows(ref, decodeFramePlaces(ref, opened.footer))
      return this.#rowOf(ref, read, row, opened)
    })
  }

  /**
   * A row of a segment that a compaction wrote, and the footer of the segment.
   * @param shows - Tells by the footer whether the row is live. The text of a deleted row is not read.
   * @returns null: the row is not live.
   */
  compactedRow(
    ref: SegmentRef,
    row: number,
    shows: (footer: SegmentFooter) => boolean,
  ): Awaitable<CompactedRow | null> {
    const opening = this.#openingFor(ref, row)
    if (opening === undefined) {
      return chain(this.footer(ref), (footer) => {
        if (!shows(footer)) return null
        return chain(this.rowText(ref, row), (text) => ({ footer, text }))
      })
    }
    return this.#open(ref, opening, (opened) => {
      const footer = decodeFooter(ref, new Uint8Array(opened.footer)) // This is a copy, because the memory is reused.
      this.keepFooter(ref, footer)
      if (!shows(footer)) return null
      const rows = this.#keepRows(ref, footer.places)
      return chain(this.#rowOf(ref, rows, row, opened), (text) => ({ footer, text }))
    })
  }

  /** How to open a segment for a row. undefined: the footer is known, or is read before the frame. */
  #openingFor(ref: SegmentRef, row: number): Opening | undefined {
    const { requestCostBytes } = this.#reads
    if (requestCostBytes === 0 || this.footerNow(ref) !== undefined) return undefined
    const limits = { requestCostBytes, windowBytes: requestCostBytes, bytesMax: OPENING_BYTES_MAX }
    const opening = planSegmentOpening({ ref, start: row, limit: row + 1 }, limits)
    return this.#openingBytes + opening.bytes > OPENING_BYTES_MAX ? undefined : opening
  }

  /** Reads the footer of a segment together with frames. The frames are valid until `use` has settled. */
  async #open<T>(
    ref: SegmentRef,
    opening: Opening,
    use: (opened: Opened) => Awaitable<T>,
  ): Promise<T> {
    const { buffers } = this.#reads
    const memory = buffers.take(opening.bytes)
    this.#openingBytes += opening.bytes
    try {
      return await use(await readOpening(this.#reads, ref, opening, memory))
    } finally {
      this.#openingBytes -= opening.bytes
      buffers.give(memory)
    }
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

  /** Adds data of a segment to its cached data. */
  #keepPiece({ object }: SegmentRef, more: Pick<Piece, 'footer' | 'rows'>): void {
    const kept = this.#pieces.get(object)
    const footer = more.footer ?? kept?.footer
    const rows = more.rows ?? kept?.rows
    const bytes = (footer?.bytes ?? 0) + (rows === undefined ? 0 : rowsBytes(rows))
    this.#pieces.set(object, { bytes, footer, rows })
  }

  /** @param opened - Bytes of the segment that are already in memory. */
  #rowOf(
    ref: SegmentRef,
    { places, frameKeys }: Rows,
    row: number,
    opened?: Opened,
  ): Awaitable<string> {
    const index = findFrameIndex(places, row)
    const place = framePlaceAt(ref, places, index)
    if (place === undefined || row >= ref.rowCount) throw missingRow(ref, row)
    const bytes = opened && frameIn(opened, place)
    if (bytes !== undefined) return this.#rowTextIn(ref, frameKeys, { index, place, row }, bytes)
    const key = frameKeys[index]
    if (key === undefined) return this.#rowTextOnce(ref, frameKeys, { index, place, row })
    const frame = this.#pieces.get(key)?.frame
    if (frame !== undefined) return frame.rowText(row - place.firstRow)
    return chain(this.#reads.frame(ref, place), (read) =>
      this.#decode(ref, frameKeys, { index, place, row }, read),
    )
  }

  /** Reads a row of an uncached frame into a pooled buffer, because allocating a buffer costs more than the read. */
  #rowTextOnce(ref: SegmentRef, frameKeys: string[], at: RowPlace): Awaitable<string> {
    const { buffers } = this.#reads
    const { place } = at
    const memory = buffers.take(place.bytes)
    return finallyDo(
      () =>
        chain(this.#reads.frame(ref, place, memory), (bytes) => {
          // If the store did not use the given memory, the bytes have memory of their own.
          return bytes.buffer === memory.buffer
            ? this.#rowTextIn(ref, frameKeys, at, bytes)
            : this.#decode(ref, frameKeys, at, bytes)
        }),
      () => buffers.give(memory),
    )
  }

  /** The text of a row of a frame in reused memory. */
  #rowTextIn(ref: SegmentRef, frameKeys: string[], at: RowPlace, bytes: Bytes): Awaitable<string> {
    const { index, place, row } = at
    const text = readRowText(ref, place, bytes, row - place.firstRow)
    if (text === null) return this.#packedRowText(ref, frameKeys, at, bytes)
    frameKeys[index] = frameKey(ref, index)
    return text
  }

  /** The text of a row of a compressed frame. The frame is cached only if its memory is not reused. */
  #packedRowText(
    ref: SegmentRef,
    frameKeys: string[],
    { index, place, row }: RowPlace,
    bytes: Bytes,
  ): Awaitable<string> {
    const { buffers } = this.#reads
    const memory = buffers.take(Math.min(claimedBytes(bytes), READ_BYTES_MAX))
    return finallyDo(
      () =>
        chain(decodeFrame(ref, place, bytes, memory), (frame) => {
          const key = frameKey(ref, index)
          frameKeys[index] = key
          const kept = isAlone(frame, [bytes, memory]) ? this.#kept(key, frame, bytes) : frame
          return kept.rowText(row - place.firstRow)
        }),
      () => buffers.give(memory),
    )
  }

  /** The text of a row of a frame; caches the frame. @param bytes - The stored frame. */
  #decode(
    ref: SegmentRef,
    frameKeys: string[],
    { index, place, row }: RowPlace,
    bytes: Bytes,
  ): Awaitable<string> {
    return chain(decodeFrame(ref, place, bytes), (frame) => {
      const key = frameKeys[index] ?? frameKey(ref, index)
      frameKeys[index] = key
      return this.#kept(key, frame, bytes).rowText(row - place.firstRow)
    })
  }

  /** Caches a frame and returns it in its cached form. @param read - The stored bytes of the frame. */
  #kept(key: string, frame: Frame, read: Bytes): Frame {
    if (!isAlone(frame, [read])) {
      this.#pieces.set(key, { bytes: frame.bytes, frame })
      return frame
    }
    const alone = frame.alone()
    freeMemory(frame.texts)
    this.#pieces.set(key, { bytes: alone.bytes, frame: alone })
    return alone
  }

  /**
   * The frames of a walk. Where requests are expensive, the next runs are read while the walk uses a run.
   * @param runs - The runs of the walk, in order.
   */
  walk(runs: () => readonly RowRun[], bounds: WalkBounds): FrameSource {
    const reads = this.#reads
    if (reads.requestCostBytes > 0) return new ReadAhead(reads, this, runs(), bounds)
    return {
      frames: (run) => {
        return readFrames(
          runsInTurn(reads, run, () => this.footer(run.ref), bounds),
          run,
          bounds,
          reads.buffers,
        )
      },
      close: () => undefined,
    }
  }

  /** The texts of rows `start` (included) to `limit` (not included), in pieces of about 1 MiB. */
  async *rowTexts(ref: SegmentRef, start: number, limit: number): AsyncGenerator<string[]> {
    const run = { ref, start, limit }
    const walk = this.walk(() => [run], WALK_AT_WILL)
    try {
      for await (const piece of walk.frames(run)) {
        yield piece.flatMap((rows) => rows.frame.rowTexts(rows.first, rows.limit))
      }
    } finally {
      await walk.close()
    }
  }
}

function frameKey({ object }: SegmentRef, index: number): string {
  return `${object}:${index}`
}

function missingRow(ref: SegmentRef, row: number): StoreError {
  return new StoreError('DATA_CORRUPT', `Segment ${ref.object} has no row ${row}`)
}
