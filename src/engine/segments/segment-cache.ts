// Rows of segments by (segment, row), through a cache of footers and frames with a byte budget.
//
// A frame is cached when a second row of it is read (PERFORMANCE.md, P22): of rows that are read once in a while only
// the footers stay. Runs of rows (pages, scans, rewrites) leave nothing behind, so that a walk does not evict the frames
// of point reads.

import { type Awaitable, chain, finallyDo, isSync, tryCall } from '../../base/awaitable.js'
import { BufferPool } from '../../base/buffer-pool.js'
import { ByteCache } from '../../base/byte-cache.js'
import { type Bytes, NO_BYTES } from '../../base/bytes.js'
import { freeMemory, yieldToEventLoop } from '../../base/platform.js'
import { StoreError } from '../../base/store-error.js'
import type { SegmentRef } from '../../format/extent-page.js'
import { type FramePlace, type FramePlaces, frameOf, placeOf } from '../../format/segment-footer.js'
import {
  claimedBytes,
  decodeFooter,
  decodeFrame,
  type Frame,
  footerRange,
  type SegmentFooter,
} from '../../format/segment-reader.js'
import { decodeFramePlaces, readRowText } from '../../format/segment-rows.js'
import { TRAILER_BYTES } from '../../format/segment-writer.js'
import type { ByteRange, ObjectStore } from '../../objects/objects.js'
import {
  checkMemoryFor,
  partsOf,
  READ_AT_WILL,
  type ReadBounds,
  type StoredPart,
} from './frame-parts.js'

/** Under the ID of a segment what is known of its places, under the key of a frame the frame. */
type Piece = Readonly<{ bytes: number; footer?: SegmentFooter; rows?: Rows; frame?: Frame }>

/** What reading single rows of a segment needs. */
type Rows = Readonly<{
  places: FramePlaces
  /** The keys of frames of which a row was asked for: a string that was looked up once is hashed. */
  frameKeys: string[]
}>

/** What they cost, about. */
function rowsBytes({ places }: Rows): number {
  return ROWS_BYTES + ROWS_NUMBER_BYTES * places.length
}

const ROWS_BYTES = 300

/** A number, and a third of a key. */
const ROWS_NUMBER_BYTES = 40

/** Rows from `first` to `limit` (not included) of a frame; row `first` is in slot `slot`. */
export type FrameRows = Readonly<{ frame: Frame; first: number; limit: number; slot: number }>

/** Memory that stays for pieces: for a few of those who read at the same time. */
const MEMORY_BYTES_MAX = 4 * 1024 * 1024

export class SegmentCache {
  readonly #objects: ObjectStore
  readonly #pieces: ByteCache<Piece>
  /** For pieces that are read to be copied from. */
  readonly #memory = new BufferPool(MEMORY_BYTES_MAX)

  constructor(objects: ObjectStore, bytesMax: number) {
    this.#objects = objects
    this.#pieces = new ByteCache(bytesMax, (_, { bytes }) => bytes)
  }

  /** @throws {StoreError} DATA_CORRUPT, STORAGE_UNAVAILABLE */
  footer(ref: SegmentRef): Awaitable<SegmentFooter> {
    return chain(this.footerOnce(ref), (footer) => {
      if (this.#pieces.get(ref.object)?.footer !== footer) this.#keepPiece(ref, { footer })
      return footer
    })
  }

  /** As `footer`, for those who read many that nobody else wants: it stays out of the cache. */
  footerOnce(ref: SegmentRef): Awaitable<SegmentFooter> {
    const cached = this.#pieces.get(ref.object)?.footer
    if (cached !== undefined) return cached
    return chain(this.#read(ref, footerRange(ref)), (bytes) => decodeFooter(ref, bytes))
  }

  /** The text of one row. At once, if what is not in memory comes at once. */
  rowText(ref: SegmentRef, row: number): Awaitable<string> {
    const rows = this.#pieces.get(ref.object)?.rows
    if (rows !== undefined) return this.#rowOf(ref, rows, row)
    return chain(this.#readRows(ref), (read) => this.#rowOf(ref, read, row))
  }

  #readRows(ref: SegmentRef): Awaitable<Rows> {
    const { footer } = this.#pieces.get(ref.object) ?? {}
    if (footer !== undefined) return this.#keepRows(ref, footer.places)
    const memory = this.#memory.take(ref.footerBytes + TRAILER_BYTES)
    return finallyDo(
      () =>
        chain(this.#read(ref, footerRange(ref), memory), (bytes) =>
          this.#keepRows(ref, decodeFramePlaces(ref, bytes)),
        ),
      () => this.#memory.give(memory),
    )
  }

  #keepRows(ref: SegmentRef, places: FramePlaces): Rows {
    const rows = { places, frameKeys: [] }
    this.#keepPiece(ref, { rows })
    return rows
  }

  /** Beside what is kept of the segment already. */
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
    return chain(this.#readFrame(ref, place), (bytes) =>
      chain(decodeFrame(ref, place, bytes), (frame) =>
        this.#kept(key, frame, bytes).rowText(row - place.firstRow),
      ),
    )
  }

  /** A frame that is not kept is read into memory that is used again: fresh memory costs more than reading it. */
  #rowTextOnce(
    ref: SegmentRef,
    frameKeys: string[],
    { index, place, row }: Readonly<{ index: number; place: FramePlace; row: number }>,
  ): Awaitable<string> {
    const memory = this.#memory.take(place.bytes)
    const rowInFrame = row - place.firstRow
    return finallyDo(
      () =>
        chain(this.#readFrame(ref, place, memory), (bytes) => {
          // Else it came elsewhere, or is decompressed: then it has memory of its own.
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
      () => this.#memory.give(memory),
    )
  }

  /** The frame as it is kept from now on. @param read - The bytes that it is of. */
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

  #readFrame(ref: SegmentRef, { offset, bytes }: FramePlace, memory?: Bytes): Awaitable<Bytes> {
    return this.#read(ref, { start: offset, limit: offset + bytes }, memory)
  }

  /**
   * Rows `start` (included) to `limit` (not included) in their frames, about a megabyte of them at a time,
   * which must not be looked at any more when the next piece is asked for.
   * @throws {NeedsMemory} A frame is larger than `bounds` allow.
   */
  async *frames(
    ref: SegmentRef,
    start: number,
    limit: number,
    bounds: ReadBounds = READ_AT_WILL,
  ): AsyncGenerator<FrameRows[]> {
    const footer = await this.footer(ref)
    const { frames } = footer
    let index = footer.frameOf(start)
    while (index < frames.length && (frames[index]?.firstRow ?? limit) < limit) {
      const run = frameRun(frames, index, limit, bounds.bytes)
      checkMemoryFor(run.length === 1 ? runBytes(run) : 0, bounds)
      const memory = this.#memory.take(runBytes(run))
      try {
        for (const [number, part] of (await this.#readFrames(ref, run, memory, bounds)).entries()) {
          if (number > 0) await yieldToEventLoop() // What was decompressed took a millisecond or more.
          checkMemoryFor(part.length === 1 ? claimedBytes(part[0]?.bytes ?? NO_BYTES) : 0, bounds)
          const read = await decodeAll(ref, part)
          try {
            yield read.map((frame, i) =>
              frameRows(frame, part[i]?.place.firstRow ?? 0, start, limit),
            )
          } finally {
            freeAll(read, part)
          }
        }
      } finally {
        this.#memory.give(memory)
      }
      index += run.length
    }
  }

  /** The texts of rows `start` (included) to `limit` (not included), in pieces of about a megabyte. */
  async *rowTexts(ref: SegmentRef, start: number, limit: number): AsyncGenerator<string[]> {
    for await (const piece of this.frames(ref, start, limit)) {
      yield piece.flatMap((rows) => rows.frame.rowTexts(rows.first, rows.limit))
    }
  }

  /** The stored bytes of frames, in parts that are decompressed one after the other. */
  async #readFrames(
    ref: SegmentRef,
    run: readonly FramePlace[],
    memory: Bytes,
    bounds: ReadBounds,
  ): Promise<readonly StoredPart[]> {
    const first = run[0]
    if (first === undefined) return []
    const range = { start: first.offset, limit: first.offset + runBytes(run) }
    const bytes = await this.#read(ref, range, memory)
    return partsOf(run, bytes, first.offset, bounds.bytes)
  }

  #read(ref: SegmentRef, range: ByteRange, memory?: Bytes): Awaitable<Uint8Array> {
    const bytes = this.#objects.get(ref.object, range, memory)
    return isSync(bytes) ? present(ref, bytes) : bytes.then((read) => present(ref, read))
  }
}

function present(ref: SegmentRef, bytes: Bytes | null): Bytes {
  if (bytes !== null) return bytes
  throw new StoreError('DATA_CORRUPT', `Segment ${ref.object} is missing`)
}

/** Neighbouring frames stand one after the other. */
function runBytes(run: readonly FramePlace[]): number {
  return run.reduce((bytes, place) => bytes + place.bytes, 0)
}

/**
 * Those that are not large are there at once: a promise for each would cost more than reading it. Nothing is under
 * way any more when this fails, as the memory is used again.
 */
function decodeAll(ref: SegmentRef, part: StoredPart): Awaitable<Frame[]> {
  const frames = part.map(({ place, bytes }) => tryCall(() => decodeFrame(ref, place, bytes)))
  return frames.every(isSync) ? frames : allSettled(frames)
}

/** A frame that was decompressed has memory of its own. */
function isDecompressed(frame: Frame, stored: Bytes): boolean {
  return frame.texts.buffer !== stored.buffer
}

function freeAll(frames: readonly Frame[], part: StoredPart): void {
  for (const [i, { bytes }] of part.entries()) {
    const frame = frames[i]
    if (frame !== undefined && isDecompressed(frame, bytes)) freeMemory(frame.texts)
  }
}

async function allSettled(frames: readonly Awaitable<Frame>[]): Promise<Frame[]> {
  const settled = await Promise.allSettled(frames)
  return settled.map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason
    return outcome.value
  })
}

/** Neighbouring frames from `index` on that one read brings, up to the row `limit`. */
function frameRun(
  frames: readonly FramePlace[],
  index: number,
  limit: number,
  bytesMax: number,
): FramePlace[] {
  const run: FramePlace[] = []
  let bytes = 0
  for (const place of frames.slice(index)) {
    bytes += place.bytes
    if (run.length > 0 && (place.firstRow >= limit || bytes > bytesMax)) break
    run.push(place)
  }
  return run
}

function frameRows(frame: Frame, firstRow: number, start: number, limit: number): FrameRows {
  const first = Math.max(0, start - firstRow)
  return { frame, first, limit: Math.min(frame.rowCount, limit - firstRow), slot: firstRow + first }
}

function missingRow(ref: SegmentRef, row: number): StoreError {
  return new StoreError('DATA_CORRUPT', `Segment ${ref.object} has no row ${row}`)
}
