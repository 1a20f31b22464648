// Rows of segments by (segment, row), through a cache of footers and frames with a byte budget.
//
// A frame is kept when a single row of it is asked for the second time: of rows that are read once in a while
// only the footers stay. Runs of rows (pages, scans, rewrites) leave nothing behind, so that a walk does not
// push out the frames that point reads use.

import { BufferPool } from '../base/buffer-pool.js'
import { ByteCache } from '../base/byte-cache.js'
import type { Bytes } from '../base/bytes.js'
import { freeMemory, yieldToEventLoop } from '../base/platform.js'
import { after, attempt, ending, isHere, type Soon } from '../base/soon.js'
import { StoreError } from '../base/store-error.js'
import type { SegmentRef } from '../format/extent-page.js'
import {
  decodeFooter,
  decodeFrame,
  type Frame,
  type FramePlace,
  footerRange,
  type SegmentFooter,
} from '../format/segment-reader.js'
import type { ByteRange, ObjectStore } from '../objects/objects.js'
import { partsOf, READ_BYTES_MAX, type StoredPart } from './frame-parts.js'

type Piece = Readonly<{ bytes: number; footer?: KeptFooter; frame?: Frame }>

/** With the keys of its frames in the cache: strings that are hashed once. */
type KeptFooter = Readonly<{ footer: SegmentFooter; frameKeys: string[] }>

/** A frame, and the bytes that it is of. */
type ReadFrame = Readonly<{ frame: Frame; bytes: Bytes }>

/** Of a frame of which one row was asked for. */
const ASKED_ONCE: Piece = { bytes: 200 }

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
  footer(ref: SegmentRef): Soon<SegmentFooter> {
    return after(this.#keptFooter(ref), ({ footer }) => footer)
  }

  #keptFooter(ref: SegmentRef): Soon<KeptFooter> {
    const cached = this.#pieces.get(ref.object)?.footer
    if (cached !== undefined) return cached
    return after(this.footerOnce(ref), (footer) => {
      const kept = { footer, frameKeys: [] }
      this.#pieces.set(ref.object, { bytes: footer.bytes, footer: kept })
      return kept
    })
  }

  /** As `footer`, for those who read many that nobody else wants: it stays out of the cache. */
  footerOnce(ref: SegmentRef): Soon<SegmentFooter> {
    const cached = this.#pieces.get(ref.object)?.footer
    if (cached !== undefined) return cached.footer
    return after(this.#read(ref, footerRange(ref)), (bytes) => decodeFooter(ref, bytes))
  }

  /** The text of one row. At once, if what is not in memory comes at once. */
  rowText(ref: SegmentRef, row: number): Soon<string> {
    return after(this.#keptFooter(ref), ({ footer, frameKeys }) => {
      const index = footer.frameOf(row)
      const place = footer.placeOf(index)
      if (place === undefined || row >= ref.rowCount) throw missingRow(ref, row)
      frameKeys[index] ??= `${ref.object}:${index}`
      const key = frameKeys[index]
      const known = this.#pieces.get(key)
      if (known?.frame !== undefined) return known.frame.rowText(row - place.firstRow)
      if (known !== undefined) return this.#keep(key, ref, place, row)
      return this.#rowTextOnce(key, ref, place, row)
    })
  }

  #keep(key: string, ref: SegmentRef, place: FramePlace, row: number): Soon<string> {
    return after(this.#readFrame(ref, place), ({ frame, bytes }) => {
      return this.#kept(key, frame, bytes).rowText(row - place.firstRow)
    })
  }

  /** A frame that is not kept is read into memory that is used again: fresh memory costs more than reading it. */
  #rowTextOnce(key: string, ref: SegmentRef, place: FramePlace, row: number): Soon<string> {
    const memory = this.#memory.take(place.bytes)
    return ending(
      () =>
        after(this.#readFrame(ref, place, memory), ({ frame, bytes }) => {
          const at = row - place.firstRow
          // Else it was decompressed, or came elsewhere.
          if (frame.texts.buffer !== memory.buffer) return this.#kept(key, frame, bytes).rowText(at)
          this.#pieces.set(key, ASKED_ONCE)
          return frame.rowText(at)
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

  #readFrame(ref: SegmentRef, place: FramePlace, memory?: Bytes): Soon<ReadFrame> {
    const range = { start: place.offset, limit: place.offset + place.bytes }
    return after(this.#read(ref, range, memory), (bytes) =>
      after(decodeFrame(ref, place, bytes), (frame) => ({ frame, bytes })),
    )
  }

  /**
   * Rows `start` (included) to `limit` (not included) in their frames, about a megabyte of them at a time,
   * which must not be looked at any more when the next piece is asked for.
   */
  async *frames(ref: SegmentRef, start: number, limit: number): AsyncGenerator<FrameRows[]> {
    const footer = await this.footer(ref)
    const { frames } = footer
    let index = footer.frameOf(start)
    while (index < frames.length && (frames[index]?.firstRow ?? limit) < limit) {
      const run = frameRun(frames, index, limit)
      const memory = this.#memory.take(runBytes(run))
      try {
        for (const [number, part] of (await this.#readFrames(ref, run, memory)).entries()) {
          if (number > 0) await yieldToEventLoop() // What was decompressed took a millisecond or more.
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
  ): Promise<readonly StoredPart[]> {
    const first = run[0]
    if (first === undefined) return []
    const range = { start: first.offset, limit: first.offset + runBytes(run) }
    const bytes = await this.#read(ref, range, memory)
    return partsOf(run, bytes, first.offset)
  }

  #read(ref: SegmentRef, range: ByteRange, memory?: Bytes): Soon<Uint8Array> {
    return after(this.#objects.get(ref.object, range, memory), (bytes) => {
      if (bytes !== null) return bytes
      throw new StoreError('DATA_CORRUPT', `Segment ${ref.object} is missing`)
    })
  }
}

/** Neighbouring frames stand one after the other. */
function runBytes(run: readonly FramePlace[]): number {
  return run.reduce((bytes, place) => bytes + place.bytes, 0)
}

/**
 * Those that are not large are there at once: a promise for each would cost more than reading it. Nothing is under
 * way any more when this fails, as the memory is used again.
 */
function decodeAll(ref: SegmentRef, part: StoredPart): Soon<Frame[]> {
  const frames = part.map(({ place, bytes }) => attempt(() => decodeFrame(ref, place, bytes)))
  return frames.every(isHere) ? frames : allSettled(frames)
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

async function allSettled(frames: readonly Soon<Frame>[]): Promise<Frame[]> {
  const settled = await Promise.allSettled(frames)
  return settled.map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason
    return outcome.value
  })
}

/** Neighbouring frames from `index` on that one read brings, up to the row `limit`. */
function frameRun(frames: readonly FramePlace[], index: number, limit: number): FramePlace[] {
  const run: FramePlace[] = []
  let bytes = 0
  for (const place of frames.slice(index)) {
    bytes += place.bytes
    if (run.length > 0 && (place.firstRow >= limit || bytes > READ_BYTES_MAX)) break
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
