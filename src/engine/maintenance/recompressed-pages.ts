// Rewrites the segments of several extent pages in a smaller form.
//
// Invariants:
// - The commit that swaps segments checks their pages, and swaps an entry only if it still has the rewritten segment.
//   So it undoes no compaction, merge or append. The same commit swaps the segment in the chunks that name it
//   (staged-chunks).
// - A new segment is durable before that commit. Garbage collection deletes the old segment, but not while readers may
//   still use it.
// - An entry is flagged as recompressed by the commit that names the recompressed segment, or by the commit that notes
//   that recompression is not worthwhile.
// - Small segments that wait to be stored have their own memory. Its maximum size is `GATHERED_BYTES_MAX` plus one
//   object.
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
import type { KvCheck, KvView } from '../../kv/kv.js'
import type { ObjectId } from '../../objects/objects.js'
import type { RecompressedCounts } from '../context/activity.js'
import { versionBase } from '../context/public-versions.js'
import { SegmentPuts, SMALL_SEGMENT_BYTES_MAX } from '../context/segment-puts.js'
import type { StoreContext } from '../context/store-context.js'
import { putSharing } from '../context/stored-segments.js'
import { type Found, type Group, segmentGroupBytes } from './recompression-groups.js'
import { planChunkSwaps, type StagedSwap } from './staged-chunks.js'
import type { Visit } from './team-visits.js'

/** Maximum number of attempts to swap a page that others change. After that the page is left to the next run. */
const SWAP_TRIES_MAX = 8

/** Number of bytes of small segments that are stored together. */
const GATHERED_BYTES_MAX = 512 * 1024

const START = { start: 0, limit: PACKED_SEEN_BYTES }

/** `built`: the bytes to store as `object`. */
type Repacked = Found & Readonly<{ object: ObjectId; built: RepackedSegment }>

/** An entry to be swapped. `after`: null if its segment stays. */
type Swap = Readonly<{ found: Found; after: SegmentRef | null }>

/** A commit that swaps segments, in pages and in chunks that name them. */
type SwapPlan = Readonly<{
  due: readonly Swap[]
  checks: readonly KvCheck[]
  puts: readonly (readonly [Bytes, Bytes])[]
}>

/** A page in a view. */
type Page = Readonly<{ key: Bytes; bytes: Bytes; entries: ExtentEntry[] }>

/** Counts that grow during a run. */
export type Sum = { -readonly [K in keyof RecompressedCounts]: RecompressedCounts[K] }

/** `noteDamaged` is called for segments that cannot be rewritten. */
type PagesWork = Readonly<{
  codec: CodecName
  sum: Sum
  noteDamaged: (ref: SegmentRef, failure: StoreError) => void
}>

export class RecompressedPages {
  /** Bytes of segments that were read since the last swap. */
  bytes = 0
  readonly #context: StoreContext
  readonly #visit: Visit
  readonly #of: PagesWork
  readonly #segmentPuts: SegmentPuts
  #swaps: Swap[] = []
  /** Packed small segments that are not stored yet, and their bytes. */
  readonly #small: Repacked[] = []
  #smallBytes = 0

  constructor(context: StoreContext, visit: Visit, of: PagesWork) {
    this.#context = context
    this.#segmentPuts = new SegmentPuts(context)
    this.#visit = visit
    this.#of = of
  }

  /** The entries of a page of the table's generation. Overwritten rows and rows of a deleted table stay as they are. */
  async entries(key: Bytes): Promise<readonly ExtentEntry[]> {
    return (await this.#visit.partition.read((view) => readLivePage(view, key)))?.entries ?? []
  }

  /**
   * Reads the segments of an object, and packs them if any is unpacked. Small segments are gathered. If one segment is
   * damaged, the object must stay for it, so none of its segments is rewritten.
   */
  async take(group: Group): Promise<void> {
    if (await this.#isInVain(group)) return this.#leave(group)
    const packed = await this.#packAll(group)
    if (packed === undefined) return
    this.bytes += segmentGroupBytes(group)
    if (group.some(({ ref }) => ref.objectBytes > SMALL_SEGMENT_BYTES_MAX)) {
      return this.#store(packed)
    }
    this.#small.push(...packed)
    for (const { built } of packed) this.#smallBytes += built.bytes.length
    if (this.#smallBytes >= GATHERED_BYTES_MAX) await this.#storeSmall()
  }

  /**
   * Whether a rewrite is pointless: all segments are compressed already, or their object would stay for other segments.
   */
  async #isInVain(group: Group): Promise<boolean> {
    const { objects } = this.#context
    const object = group[0]?.ref.shared?.object
    if (object !== undefined) {
      // If the object is longer than the segments of the group, it has other segments, or is damaged.
      const end = segmentGroupBytes(group)
      const last = await objects.get(object, { start: end - 1, limit: end + 1 })
      if (last !== null && last.length > 1) return true
    }
    for (const { ref } of group) {
      const start = await objects.get(storedIn(ref), rangeInObject(ref, START))
      if (start === null || !isPacked(start)) return false
    }
    return true
  }

  /** @returns undefined: a segment is damaged, or was replaced and its object is gone. */
  async #packAll(group: Group): Promise<Repacked[] | undefined> {
    const packed: Repacked[] = []
    for (const found of group) {
      try {
        packed.push(await this.#pack(found))
      } catch (failure) {
        this.#giveUp(packed)
        if (!isStoreError(failure) || failure.code !== 'DATA_CORRUPT') throw failure
        if (await this.#isNamed(found)) this.#of.noteDamaged(found.ref, failure)
        return undefined
      }
    }
    return packed
  }

  /** Whether an entry still names a segment. If no entry does, a missing object is no damage. */
  async #isNamed({ ref, at }: Found): Promise<boolean> {
    for (const { key, index } of at) {
      if ((await this.entries(key))[index]?.segment?.object === ref.object) return true
    }
    return false
  }

  #leave(group: Group): void {
    for (const found of group) this.#swaps.push({ found, after: null })
  }

  #giveUp(packed: readonly Repacked[]): void {
    const { ids, buffers } = this.#context
    ids.release(packed.map(({ object }) => object))
    for (const { built } of packed) buffers.give(built.bytes)
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
      const built = await repackSegment(ref, bytes, target)
      if (built.bytes.length > SMALL_SEGMENT_BYTES_MAX) return { ...found, object, built }
      const own = built.bytes.slice() // This is a copy, because the lent buffer is larger and many segments wait.
      buffers.give(built.bytes)
      return { ...found, object, built: { ...built, bytes: own } }
    } catch (failure) {
      ids.release([object])
      throw failure
    } finally {
      buffers.give(memory)
    }
  }

  async #storeSmall(): Promise<void> {
    this.#smallBytes = 0
    if (this.#small.length > 0) await this.#store(this.#small.splice(0))
  }

  /** Stores all the segments. If they save less than `recompressionSavingMin`, stores none of them. */
  async #store(all: readonly Repacked[]): Promise<void> {
    const { ids, buffers, options } = this.#context
    const bytesMax = Math.floor((1 - options.recompressionSavingMin / 100) * segmentGroupBytes(all))
    const objects = all.map(({ object }) => object)
    try {
      if (all.reduce((sum, { built }) => sum + built.bytes.length, 0) > bytesMax) {
        ids.release(objects)
        this.#leave(all)
        return
      }
      // All puts begin in one turn of the event loop, so that small segments share an object.
      const puts = await Promise.allSettled(all.map((one) => this.#put(one)))
      for (const put of puts) if (put.status === 'rejected') throw put.reason
      for (const [at, put] of puts.entries()) {
        const found = all[at]
        if (found === undefined || put.status === 'rejected') continue
        this.#swaps.push({ found, after: put.value })
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

  /**
   * Swaps the rewritten segments into their pages, except where another commit has replaced the old segments.
   * @returns false: the page is too busy.
   */
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
    const { due, checks, puts } = plan
    const writer = { teamId, partition }
    const { ok } = await this.#context.incarnation.commit(writer, objectsOf(due), { checks, puts })
    if (ok) this.#count(due)
    return ok
  }

  /** @returns null: nothing is left to swap. */
  async #planSwap(view: KvView): Promise<SwapPlan | null> {
    const pages = new Map<Bytes, Page | null>()
    const due = new Set<Swap>()
    for (const swap of this.#swaps) {
      for (const { key, index } of swap.found.at) {
        if (!pages.has(key)) pages.set(key, await readLivePage(view, key))
        const entries = pages.get(key)?.entries
        const entry = entries?.[index]
        if (entries === undefined || entry?.segment?.object !== swap.found.ref.object) continue
        entries[index] = { ...entry, segment: swap.after ?? entry.segment, recompressed: true }
        due.add(swap)
      }
    }
    if (due.size === 0) return null
    const found = [...pages.values()].filter((page) => page !== null)
    const chunks = await planChunkSwaps(view, stagedOf(due), versionBase(this.#context))
    const checks = found.map(({ key, bytes }) => ({ key, equals: bytes }))
    const puts = found.map(({ key, entries }) => [key, encodeExtentPage(entries)] as const)
    return {
      due: [...due],
      checks: [...checks, ...chunks.checks],
      puts: [...puts, ...chunks.puts],
    }
  }

  #count(swaps: readonly Swap[]): void {
    const { sum } = this.#of
    for (const { found, after } of swaps) {
      if (after === null) continue
      sum.recompressed++
      sum.bytesBefore += found.ref.objectBytes
      sum.bytesAfter += after.objectBytes
    }
  }

  /** Abandons the segments that no commit names. @param failure - If its outcome is unknown, a commit may name them. */
  abandon(failure: unknown): void {
    this.#context.ids.releaseAfter(failure, objectsOf(this.#swaps))
    this.#giveUp(this.#small.splice(0))
    this.#smallBytes = 0
    this.#forget()
  }

  #forget(): void {
    this.#swaps = []
    this.bytes = 0
  }
}

/** @returns null: the page does not belong to the current generation of its table. */
async function readLivePage(view: KvView, key: Bytes): Promise<Page | null> {
  const head = await view.get(tableHeadKey(tableOfKey(key)))
  if (head === null) return null
  const { firstExtent, nextExtent } = decodeTableHead(head).generation
  const first = firstExtentOfPageKey(key)
  const page = first < firstExtent || first >= nextExtent ? null : await view.get(key)
  if (page === null) return null
  const bytes = page.slice() // This is a copy, because bytes of a view are valid only within the view.
  return { key, bytes, entries: decodeExtentPage(bytes) }
}

function objectsOf(swaps: readonly Swap[]): ObjectId[] {
  return swaps.flatMap(({ after }) => (after === null ? [] : [after.object]))
}

function stagedOf(swaps: Iterable<Swap>): StagedSwap[] {
  return [...swaps].flatMap(({ found: { ref, staged }, after }) => {
    return after === null || staged === undefined ? [] : [{ before: ref, after, staged }]
  })
}
