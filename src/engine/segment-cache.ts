// Rows of segments by (segment, row), through a cache of footers and frames with a byte budget.
//
// Single rows keep their frame in the cache; runs of rows (pages, scans, rewrites) use what is there
// and leave nothing behind, so that a walk does not push out the frames that point reads use.

import { BufferPool } from '../base/buffer-pool.js'
import { ByteCache } from '../base/byte-cache.js'
import type { Bytes } from '../base/bytes.js'
import { StoreError } from '../base/store-error.js'
import type { SegmentRef } from '../format/extent-page.js'
import {
  claimedBytes,
  decodeFooter,
  decodeFrame,
  type Frame,
  type FramePlace,
  footerRange,
  type SegmentFooter,
} from '../format/segment-reader.js'
import type { ByteRange, ObjectStore } from '../objects/objects.js'

type Piece = { readonly bytes: number; readonly footer?: SegmentFooter; readonly frame?: Frame }

/** Rows from `first` to `limit` (not included) of a frame; row `first` is in slot `slot`. */
export type FrameRows = Readonly<{ frame: Frame; first: number; limit: number; slot: number }>

/** Memory that stays for pieces: for a few of those who read at the same time. */
const MEMORY_BYTES_MAX = 4 * 1024 * 1024

/** One read of neighbouring frames takes at most so many bytes. */
const READ_BYTES_MAX = 1024 * 1024

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
  async footer(ref: SegmentRef): Promise<SegmentFooter> {
    const cached = this.#pieces.get(ref.object)?.footer
    if (cached !== undefined) return cached
    const footer = await this.footerOnce(ref)
    const bytes = ref.footerBytes + 64 * footer.frames.length + 128 * footer.columns.length // About.
    this.#pieces.set(ref.object, { bytes, footer })
    return footer
  }

  /** As `footer`, for those who read many that nobody else wants: it stays out of the cache. */
  async footerOnce(ref: SegmentRef): Promise<SegmentFooter> {
    const cached = this.#pieces.get(ref.object)?.footer
    return cached ?? decodeFooter(ref, await this.#read(ref, footerRange(ref)))
  }

  /** The text of one row. */
  async rowText(ref: SegmentRef, row: number): Promise<string> {
    const { frames } = await this.footer(ref)
    const index = frameOf(frames, row)
    const place = frames[index]
    if (place === undefined || row >= ref.rowCount) throw missingRow(ref, row)
    const key = `${ref.object}:${index}`
    let frame = this.#pieces.get(key)?.frame
    if (frame === undefined) {
      const range = { start: place.offset, limit: place.offset + place.bytes }
      frame = await decodeFrame(ref, place, await this.#read(ref, range))
      this.#pieces.set(key, { bytes: frame.bytes, frame })
    }
    return frame.rowText(row - place.firstRow)
  }

  /**
   * Rows `start` (included) to `limit` (not included) in their frames, about a megabyte of them at a time,
   * which must not be looked at any more when the next piece is asked for.
   */
  async *frames(ref: SegmentRef, start: number, limit: number): AsyncGenerator<FrameRows[]> {
    const { frames } = await this.footer(ref)
    let index = frameOf(frames, start)
    while (index < frames.length && (frames[index]?.firstRow ?? limit) < limit) {
      const run = frameRun(frames, index, limit)
      const memory = this.#memory.take(runBytes(run))
      try {
        for (const part of await this.#readFrames(ref, run, memory)) {
          const read = await decodeAll(ref, part)
          yield read.map((frame, i) => frameRows(frame, part[i]?.place.firstRow ?? 0, start, limit))
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
    const frames = run.map((place) => {
      const start = place.offset - first.offset
      return { place, bytes: bytes.subarray(start, start + place.bytes) }
    })
    return partsOf(frames)
  }

  async #read(ref: SegmentRef, range: ByteRange, memory?: Bytes): Promise<Uint8Array> {
    const bytes = await this.#objects.get(ref.object, range, memory)
    if (bytes !== null) return bytes
    throw new StoreError('DATA_CORRUPT', `Segment ${ref.object} is missing`)
  }
}

/** Neighbouring frames stand one after the other. */
function runBytes(run: readonly FramePlace[]): number {
  return run.reduce((bytes, place) => bytes + place.bytes, 0)
}

type StoredPart = readonly Readonly<{ place: FramePlace; bytes: Bytes }>[]

/** What is stored in little may be much: frames that claim more than about a megabyte of rows together are parted. */
function partsOf(frames: StoredPart): readonly StoredPart[] {
  const parts: StoredPart[number][][] = []
  let rawBytes = Number.POSITIVE_INFINITY
  for (const frame of frames) {
    const claimed = claimedBytes(frame.bytes)
    rawBytes += claimed
    if (rawBytes > READ_BYTES_MAX) {
      parts.push([])
      rawBytes = claimed
    }
    parts[parts.length - 1]?.push(frame)
  }
  return parts
}

/**
 * Those that are not compressed are there at once: a promise for each would cost more than reading it. Nothing is
 * under way any more when this fails, as the memory is used again.
 */
async function decodeAll(ref: SegmentRef, part: StoredPart): Promise<Frame[]> {
  const frames = part.map(({ place, bytes }) => {
    try {
      return decodeFrame(ref, place, bytes)
    } catch (failure) {
      return Promise.reject(failure)
    }
  })
  if (frames.every(isHere)) return frames
  const settled = await Promise.allSettled(frames)
  return settled.map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason
    return outcome.value
  })
}

function isHere(frame: Frame | Promise<Frame>): frame is Frame {
  return !(frame instanceof Promise)
}

/** Index of the frame that holds a row: the last that does not begin after it. */
function frameOf(frames: readonly FramePlace[], row: number): number {
  let low = 0
  let high = frames.length - 1
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((frames[middle]?.firstRow ?? 0) <= row) low = middle
    else high = middle - 1
  }
  return low
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
