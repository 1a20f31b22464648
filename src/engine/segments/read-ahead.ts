// Reads ahead the frames of a walk over several segments, from a store where each request is expensive. Reads begin
// before the walk needs them, and run concurrently.
//
// Invariants:
// - Frames are handed out in the order of the walk. A failed read fails the walk only when the walk needs the frames of
//   this read.
// - Unused reads are limited in their number, in their bytes, and by the number of bytes that the walk still takes.
//   Only the read for which the walk waits is exempt from these limits.
// - The memory of a read returns to the pool after the read has ended, never before.

import { invariant } from '../../base/invariant.js'
import type { SegmentRef } from '../../format/extent-page.js'
import { claimedBytes, decodeFooter, type SegmentFooter } from '../../format/segment-reader.js'
import { COPIES, checkMemoryFor, READ_AT_WILL, type ReadBounds } from './frame-parts.js'
import { type FrameRows, type FrameSource, readFrames } from './frame-runs.js'
import {
  framesIn,
  type Opening,
  planSegmentOpening,
  type RowRun,
  readOpening,
} from './segment-opening.js'
import type { SegmentReads } from './segment-reads.js'
import { type FrameList, frameRun, runBytes, type StoredRun } from './stored-runs.js'

/** Maximum number of unused reads of a walk: reads that are in progress, or whose frames were not used yet. */
const READS_AHEAD_MAX = 16

/** Maximum number of bytes of the unused reads of a walk. */
export const AHEAD_BYTES_MAX = 4 * 1024 * 1024

/** Minimum size of a read, in bytes, even if the walk takes fewer bytes. */
const READ_BYTES_MIN = 64 * 1024

/** Number of bytes of rows per stored byte that is assumed until frames of the walk were read. */
const EXPANSION_FIRST = 4

/** Limits of a walk. */
export type WalkBounds = ReadBounds &
  Readonly<{
    /** Maximum number of bytes of unused reads. */
    aheadBytes: number
    /** Maximum number of bytes of rows that the walk still takes. */
    wanted: () => number
  }>

export const WALK_AT_WILL: WalkBounds = {
  ...READ_AT_WILL,
  aheadBytes: AHEAD_BYTES_MAX,
  wanted: () => Number.POSITIVE_INFINITY,
}

/** The part of the cache that a walk uses. */
export type FooterCache = Readonly<{
  /** The frames of the segment; undefined: they are unknown. */
  framesNow(ref: SegmentRef): FrameList | undefined
  keepFooter(ref: SegmentRef, footer: SegmentFooter): void
}>

type Read = Readonly<{ bytes: number; buffer: Uint8Array<ArrayBuffer>; run: Promise<StoredRun> }>

type PlannedRead = Readonly<{
  bytes: number
  begin: (buffer: Read['buffer']) => Promise<StoredRun>
  /** Whether this reads a single frame, which may exceed the limits. */
  isFrame: boolean
}>

/** A run of the walk, and its reads. */
class Reading {
  readonly run: RowRun
  /** Reads that have begun and whose frames were not handed out, in the order of the frames. */
  readonly reads: Read[] = []
  opening: Opening | undefined
  frames: FrameList['frames'] | undefined
  /** The first frame that no read includes. */
  next = 0

  constructor(run: RowRun) {
    this.run = run
  }

  /** @param next - The first frame that no read includes. */
  know({ frames }: FrameList, next: number): void {
    this.frames = frames
    this.next = next
  }

  /**
   * Whether all reads of the run have begun. While the frames of the segment are unknown, this is so if the opening
   * reads them up to the end of the run.
   */
  get isBegun(): boolean {
    const { frames, next, opening, run } = this
    if (frames === undefined) return opening?.isWhole === true
    return (frames[next]?.firstRow ?? run.limit) >= run.limit
  }
}

export class ReadAhead implements FrameSource {
  readonly #reads: SegmentReads
  readonly #cache: FooterCache
  readonly #runs: readonly RowRun[]
  readonly #bounds: WalkBounds
  readonly #readings: Reading[] = []
  /** Index of the run that the walk has reached. */
  #current = 0
  /** Unused reads. */
  readonly #held = new Set<Read>()
  #heldBytes = 0
  #rawBytes = 0
  #storedBytes = 0

  /** @param runs - The runs of the walk, in order. */
  constructor(
    reads: SegmentReads,
    cache: FooterCache,
    runs: readonly RowRun[],
    bounds: WalkBounds,
  ) {
    this.#reads = reads
    this.#cache = cache
    this.#runs = runs
    this.#bounds = bounds
  }

  frames(run: RowRun): AsyncGenerator<FrameRows[]> {
    const reading = this.#reach(run)
    let taken: Read | undefined
    const stored = {
      next: async () => {
        this.#fill(true)
        taken = reading.reads.shift()
        if (taken === undefined) return null
        const found = await taken.run
        this.#learn(found)
        this.#fill(false)
        return found
      },
      release: () => {
        if (taken !== undefined) this.#end(taken)
      },
    }
    return readFrames(stored, run, this.#bounds, this.#reads.buffers)
  }

  /** Awaits the reads in progress, because they use their memory until they end. */
  async close(): Promise<void> {
    for (const read of [...this.#held]) {
      await read.run.catch(() => undefined)
      this.#end(read)
    }
  }

  #reach({ ref, start }: RowRun): Reading {
    for (; ; this.#current++) {
      const reading = this.#readingOf(this.#current)
      const { run } = reading
      if (run.ref.object === ref.object && run.start === start) return reading
    }
  }

  #readingOf(at: number): Reading {
    const known = this.#readings[at]
    if (known !== undefined) return known
    const run = this.#runs[at]
    invariant(run !== undefined, 'a walk reads the runs that it has named, in order')
    const reading = new Reading(run)
    this.#readings[at] = reading
    return reading
  }

  /** Begins reads while there is room. @param isAwaited - Whether the walk has nothing to use. */
  #fill(isAwaited: boolean): void {
    for (let at = this.#current; at < this.#runs.length; at++) {
      const reading = this.#readingOf(at)
      for (;;) {
        const isNeeded = isAwaited && at === this.#current && reading.reads.length === 0
        const room = this.#room
        const next = this.#plan(reading, Math.max(room, READ_BYTES_MIN), isNeeded)
        if (next === undefined) break
        if (isNeeded) checkMemoryFor(next.isFrame ? next.bytes : 0, this.#bounds)
        else if (next.bytes > room || this.#held.size >= READS_AHEAD_MAX) return
        this.#begin(reading, next)
      }
      if (!reading.isBegun) return
    }
  }

  /** Number of bytes that may be read ahead now. */
  get #room(): number {
    const { aheadBytes, memoryBytes, wanted } = this.#bounds
    const expansion =
      this.#storedBytes > 0 ? Math.max(1, this.#rawBytes / this.#storedBytes) : EXPANSION_FIRST
    const bytes = Math.min(aheadBytes, memoryBytes / COPIES, wanted() / expansion)
    return Math.floor(bytes) - this.#heldBytes
  }

  /** The next read of a run; undefined: the run needs no more reads, or the frames of its segment are unknown. */
  #plan(reading: Reading, windowBytes: number, isNeeded: boolean): PlannedRead | undefined {
    const { run } = reading
    if (reading.frames === undefined) {
      if (reading.opening !== undefined) return undefined
      const known = this.#cache.framesNow(run.ref)
      if (known === undefined) return this.#planOpening(reading, windowBytes, isNeeded)
      reading.know(known, known.frameOf(run.start))
    }
    const bytesMax = Math.min(windowBytes, this.#bounds.bytes)
    const frames = frameRun(reading.frames ?? [], reading.next, run.limit, bytesMax)
    const [first] = frames
    if (first === undefined) return undefined
    const { offset } = first
    const bytes = runBytes(frames)
    const begin = async (buffer: Read['buffer']): Promise<StoredRun> => {
      reading.next += frames.length
      const range = { start: offset, limit: offset + bytes }
      return { frames, bytes: await this.#reads.range(run.ref, range, buffer), offset, buffer }
    }
    return { bytes, begin, isFrame: frames.length === 1 }
  }

  #planOpening(reading: Reading, windowBytes: number, isNeeded: boolean): PlannedRead {
    const { run } = reading
    const { requestCostBytes } = this.#reads
    const bytes = Math.max(this.#bounds.bytes, READ_BYTES_MIN)
    const window = Math.min(windowBytes, bytes)
    const limits = { requestCostBytes, windowBytes: window, bytesMax: isNeeded ? bytes : window }
    const opening = planSegmentOpening(run, limits)
    const begin = (buffer: Read['buffer']): Promise<StoredRun> => {
      reading.opening = opening
      return this.#open(reading, opening, buffer)
    }
    return { bytes: opening.bytes, begin, isFrame: false }
  }

  async #open(reading: Reading, opening: Opening, buffer: Read['buffer']): Promise<StoredRun> {
    const { ref, start, limit } = reading.run
    const opened = await readOpening(this.#reads, ref, opening, buffer)
    const footer = decodeFooter(ref, new Uint8Array(opened.footer)) // This is a copy, because the buffer is reused.
    this.#cache.keepFooter(ref, footer)
    const first = footer.frameOf(start)
    const frames = framesIn(opened, footer.frames, first, limit)
    reading.know(footer, first + frames.length)
    return { frames, bytes: opened.frames, offset: opened.offset, buffer }
  }

  #begin(reading: Reading, { bytes, begin }: PlannedRead): void {
    const buffer = this.#reads.buffers.take(bytes)
    const run = begin(buffer)
    run.catch(() => undefined) // The user of the frames gets the failure.
    const read = { bytes, buffer, run }
    this.#held.add(read)
    this.#heldBytes += bytes
    reading.reads.push(read)
  }

  #end(read: Read): void {
    if (!this.#held.delete(read)) return
    this.#heldBytes -= read.bytes
    this.#reads.buffers.give(read.buffer)
  }

  /** Updates the ratio of the length of rows to their stored length. */
  #learn({ frames, bytes, offset }: StoredRun): void {
    for (const place of frames) {
      this.#storedBytes += place.bytes
      this.#rawBytes += claimedBytes(bytes.subarray(place.offset - offset))
    }
  }
}
