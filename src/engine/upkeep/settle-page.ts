// The segments of one extent page on their way into a smaller form.
//
// Invariants:
// - The commit that swaps segments checks the page, and swaps an entry only if it still has the segment that was
//   rewritten: so it takes back nothing that a fold, a merge or an append wrote. Chunks that name such a segment are
//   swapped by the same commit (staged-chunks).
// - A new segment is durable before that commit. The old one is left to the sweep, which spares it while readers may
//   still use it.
// - An entry is flagged as settled by the commit that names the settled segment, or that finds its segment not worth it.
import type { Bytes } from '../../base/bytes.js'
import type { CodecName } from '../../base/codecs.js'
import { isStoreError, StoreError } from '../../base/store-error.js'
import {
  decodeExtentPage,
  type ExtentEntry,
  encodeExtentPage,
  type SegmentRef,
} from '../../format/extent-page.js'
import { firstExtentOfPageKey, tableHeadKey, tableOfKey } from '../../format/keys.js'
import { decodeTableHead } from '../../format/records.js'
import {
  isPacked,
  PACKED_SEEN_BYTES,
  type RepackedSegment,
  repackSegment,
} from '../../format/repack-segment.js'
import { rangeInObject, storedIn } from '../../format/shared-objects.js'
import type { KvView } from '../../kv/kv.js'
import type { ObjectId } from '../../objects/objects.js'
import type { SettledCounts } from '../context/activity.js'
import { versionBase } from '../context/public-versions.js'
import { SegmentPuts, SMALL_SEGMENT_BYTES_MAX } from '../context/segment-puts.js'
import type { StoreContext } from '../context/store-context.js'
import { putSharing } from '../context/stored-segments.js'
import { type ChunkSwaps, planChunkSwaps, type StagedIn, type StagedSwap } from './staged-chunks.js'
import type { Visit } from './team-visits.js'

/** A page that others change in between is read again; after so many times it is left to the next run. */
const SWAP_TRIES_MAX = 8

/** Bytes of small segments that are stored together. */
const GATHERED_BYTES_MAX = 512 * 1024

const START = { start: 0, limit: PACKED_SEEN_BYTES }

/** An entry with a segment to be settled. `staged`: where a stash names it too. */
export type Found = Readonly<{ index: number; ref: SegmentRef; staged: StagedIn | undefined }>

/** `built`: in a lent buffer, to be stored under the ID of `object`. */
type Repacked = Found & Readonly<{ object: ObjectId; built: RepackedSegment }>

/** An entry to be swapped. `after`: null if its segment stays. `staged`: where a stash names it too. */
type Swap = Readonly<{
  index: number
  before: SegmentRef
  after: SegmentRef | null
  staged: StagedIn | undefined
}>

/** A commit that swaps segments: the page before and after, and the chunks that name some of them. */
type SwapPlan = Readonly<{ due: readonly Swap[]; page: Bytes; next: Bytes; chunks: ChunkSwaps }>

/** Counts that grow while a run goes on. */
export type Sum = { -readonly [K in keyof SettledCounts]: SettledCounts[K] }

/** A page by its key, and where counts go. */
type PageWork = Readonly<{ key: Bytes; codec: CodecName; sum: Sum }>

export class SettledPage {
  /** Bytes of the segments that were read since the last swap. */
  bytes = 0
  readonly #context: StoreContext
  readonly #visit: Visit
  readonly #of: PageWork
  readonly #segmentPuts: SegmentPuts
  #swaps: Swap[] = []
  /** Small segments that were packed and are not stored yet, and their bytes. */
  readonly #small: Repacked[] = []
  #smallBytes = 0
  /** Segments that are compressed, and share an object that may go. */
  #packed: Found[] = []

  constructor(context: StoreContext, visit: Visit, of: PageWork) {
    this.#context = context
    this.#segmentPuts = new SegmentPuts(context)
    this.#visit = visit
    this.#of = of
  }

  /** Those of the table's generation: rows that were overwritten, or are of a deleted table, stay as they are. */
  async entries(): Promise<readonly ExtentEntry[]> {
    const bytes = await this.#visit.partition.read((view) => this.#read(view))
    return bytes === null ? [] : decodeExtentPage(bytes)
  }

  async #read(view: KvView): Promise<Bytes | null> {
    const head = await view.get(tableHeadKey(tableOfKey(this.#of.key)))
    if (head === null) return null
    const { firstExtent, nextExtent } = decodeTableHead(head).generation
    const first = firstExtentOfPageKey(this.#of.key)
    if (first < firstExtent || first >= nextExtent) return null
    return view.get(this.#of.key)
  }

  /** Whether the page still names a segment: an object that is gone was not damaged if it does not. */
  async names({ object }: SegmentRef): Promise<boolean> {
    return (await this.entries()).some(({ segment }) => segment?.object === object)
  }

  /**
   * Reads a segment, and packs it if that can be judged by it alone. Small ones are gathered.
   * @throws {StoreError} DATA_CORRUPT
   */
  async take(found: Found): Promise<void> {
    const { objects } = this.#context
    const { ref } = found
    const start = await objects.get(storedIn(ref), rangeInObject(ref, START))
    if (start !== null && isPacked(start)) {
      if (ref.shared === undefined) this.#leave(found)
      else this.#packed.push(found)
      return
    }
    const one = await this.#pack(found)
    this.bytes += ref.objectBytes
    if (ref.objectBytes > SMALL_SEGMENT_BYTES_MAX) return this.#store([one])
    this.#small.push(one)
    this.#smallBytes += one.built.bytes.length
    if (this.#smallBytes >= GATHERED_BYTES_MAX) await this.#storeSmall()
  }

  #leave({ index, ref, staged }: Found): void {
    this.#swaps.push({ index, before: ref, after: null, staged })
  }

  async #pack(found: Found): Promise<Repacked> {
    const { objects, ids, buffers } = this.#context
    const { ref } = found
    const memory = buffers.take(ref.objectBytes)
    const object = ids.next()
    try {
      const range = rangeInObject(ref, { start: 0, limit: ref.objectBytes })
      const bytes = await objects.get(storedIn(ref), range, memory)
      if (bytes === null) throw new StoreError('DATA_CORRUPT', `Segment ${ref.object} is missing`)
      const takeBuffer = (count: number): Uint8Array<ArrayBuffer> => buffers.take(count)
      const target = { object, codec: this.#of.codec, takeBuffer }
      return { ...found, object, built: await repackSegment(ref, bytes, target) }
    } catch (failure) {
      ids.release([object])
      throw failure
    } finally {
      buffers.give(memory)
    }
  }

  /** Those that are compressed go with the others of their objects, which would stay because of them. */
  async #storeSmall(): Promise<void> {
    const left = new Set(this.#small.map(({ ref }) => storedIn(ref)))
    for (const found of this.#packed.splice(0)) {
      const one = left.has(storedIn(found.ref)) ? await this.#packUndamaged(found) : null
      if (one === null) this.#leave(found)
      else this.#small.push(one)
    }
    this.#smallBytes = 0
    if (this.#small.length > 0) await this.#store(this.#small.splice(0))
  }

  /** @returns null: it is damaged, which its readers will be told. */
  async #packUndamaged(found: Found): Promise<Repacked | null> {
    try {
      return await this.#pack(found)
    } catch (failure) {
      if (isStoreError(failure) && failure.code === 'DATA_CORRUPT') return null
      throw failure
    }
  }

  /** Stores all of them or, if that is not worth it, none. */
  async #store(all: readonly Repacked[]): Promise<void> {
    const { ids, buffers, options } = this.#context
    const sum = (bytesOf: (one: Repacked) => number): number =>
      all.reduce((bytes, one) => bytes + bytesOf(one), 0)
    const bytesMax = Math.floor(
      (1 - options.settleSavingMin / 100) * sum(({ ref }) => ref.objectBytes),
    )
    const objects = all.map(({ object }) => object)
    try {
      if (sum(({ built }) => built.bytes.length) > bytesMax) {
        ids.release(objects)
        for (const one of all) this.#leave(one)
        return
      }
      // Begun in one turn, so that small ones share an object.
      const puts = await Promise.allSettled(all.map((one) => this.#put(one)))
      for (const put of puts) if (put.status === 'rejected') throw put.reason
      for (const [at, put] of puts.entries()) {
        const one = all[at]
        if (one === undefined || put.status === 'rejected') continue
        const { index, ref, staged } = one
        this.#swaps.push({ index, before: ref, after: put.value, staged })
      }
    } catch (failure) {
      ids.release(objects)
      throw failure
    } finally {
      for (const { built } of all) buffers.give(built.bytes)
    }
  }

  #put({ ref, object, built }: Repacked): Promise<SegmentRef> {
    const { rowCount } = ref
    const { footerBytes } = built
    const next = { object, rowCount, objectBytes: built.bytes.length, footerBytes }
    return putSharing({ ...this.#context, segmentPuts: this.#segmentPuts }, next, built)
  }

  /** Names what was rewritten so far, where nothing else has come in its place. @returns false: the page is too busy. */
  async swap(): Promise<boolean> {
    const { ids } = this.#context
    await this.#storeSmall()
    for (let tries = 0; tries < SWAP_TRIES_MAX && this.#swaps.length > 0; tries++) {
      if (!(await this.#trySwap())) continue
      ids.release(objectsOf(this.#swaps))
      this.#forget()
    }
    const isDone = this.#swaps.length === 0
    this.abandon(undefined)
    return isDone
  }

  async #trySwap(): Promise<boolean> {
    const { partition, teamId } = this.#visit
    const plan = await partition.read((view) => this.#planSwap(view))
    if (plan === null) return true
    const { due, page, next, chunks } = plan
    const { ok } = await this.#context.incarnation.commit({ teamId, partition }, objectsOf(due), {
      checks: [{ key: this.#of.key, equals: page }, ...chunks.checks],
      puts: [[this.#of.key, next], ...chunks.puts],
    })
    if (ok) this.#count(due)
    return ok
  }

  /** @returns null: nothing is left to swap. */
  async #planSwap(view: KvView): Promise<SwapPlan | null> {
    const page = await this.#read(view)
    if (page === null) return null
    const entries = decodeExtentPage(page)
    const due = this.#swaps.filter(({ index, before }) => {
      return entries[index]?.segment?.object === before.object
    })
    if (due.length === 0) return null
    for (const { index, after } of due) {
      const entry = entries[index]
      if (entry === undefined) continue
      entries[index] = { ...entry, segment: after ?? entry.segment, settled: true }
    }
    const chunks = await planChunkSwaps(view, stagedOf(due), versionBase(this.#context))
    return { due, page: page.slice(), next: encodeExtentPage(entries), chunks }
  }

  #count(swaps: readonly Swap[]): void {
    for (const { before, after } of swaps) {
      if (after === null) continue
      this.#of.sum.settled++
      this.#of.sum.bytesBefore += before.objectBytes
      this.#of.sum.bytesAfter += after.objectBytes
    }
  }

  /** Gives up what no commit names. @param failure - Why: if its outcome is unknown, one may name it after all. */
  abandon(failure: unknown): void {
    this.#context.ids.releaseAfter(failure, objectsOf(this.#swaps))
    this.#context.ids.release(this.#small.splice(0).map(({ object }) => object))
    this.#packed = []
    this.#forget()
  }

  #forget(): void {
    this.#swaps = []
    this.bytes = 0
  }
}

function objectsOf(swaps: readonly Swap[]): ObjectId[] {
  return swaps.flatMap(({ after }) => (after === null ? [] : [after.object]))
}

function stagedOf(swaps: readonly Swap[]): StagedSwap[] {
  return swaps.flatMap(({ before, after, staged }) => {
    return after === null || staged === undefined ? [] : [{ before, after, staged }]
  })
}
