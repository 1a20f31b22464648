// The segments of one extent page on their way into a smaller form.
//
// Invariants:
// - The commit that swaps segments checks the page, and swaps an entry only if it still has the segment that was
//   rewritten: so it takes back nothing that a fold, a merge or an append wrote. Chunks that name such a segment are
//   swapped by the same commit (staged-chunks).
// - A new segment is durable before that commit. The old one is left to the sweep, which spares it while readers may
//   still use it.
// - An entry is flagged as settled by the commit that names the settled segment, or that finds its segment not worth it.
import type { Awaitable } from '../../base/awaitable.js'
import type { Bytes } from '../../base/bytes.js'
import type { CodecName } from '../../base/codecs.js'
import { StoreError } from '../../base/store-error.js'
import {
  decodeExtentPage,
  type ExtentEntry,
  encodeExtentPage,
  type SegmentRef,
} from '../../format/extent-page.js'
import { firstExtentOfPageKey, tableHeadKey, tableOfKey } from '../../format/keys.js'
import { decodeTableHead } from '../../format/records.js'
import { isPacked, PACKED_SEEN_BYTES, repackSegment } from '../../format/repack-segment.js'
import { rangeInObject, storedIn } from '../../format/shared-objects.js'
import type { KvView } from '../../kv/kv.js'
import type { ObjectId } from '../../objects/objects.js'
import type { SettledCounts } from '../context/activity.js'
import { versionBase } from '../context/public-versions.js'
import type { StoreContext } from '../context/store-context.js'
import { putSegment } from '../context/stored-segments.js'
import { type ChunkSwaps, planChunkSwaps, type StagedIn, type StagedSwap } from './staged-chunks.js'
import type { Visit } from './team-visits.js'

/** A page that others change in between is read again; after so many times it is left to the next run. */
const SWAP_TRIES_MAX = 8

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
  #swaps: Swap[] = []

  constructor(context: StoreContext, visit: Visit, of: PageWork) {
    this.#context = context
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
   * @param staged - Where a stash names the segment too.
   * @throws {StoreError} DATA_CORRUPT
   */
  async rewrite(index: number, ref: SegmentRef, staged: StagedIn | undefined): Promise<void> {
    const { objects, buffers } = this.#context
    const read = (limit: number, memory?: Bytes): Awaitable<Bytes | null> => {
      return objects.get(storedIn(ref), rangeInObject(ref, { start: 0, limit }), memory)
    }
    const start = await read(PACKED_SEEN_BYTES)
    if (start !== null && isPacked(start)) {
      this.#swaps.push({ index, before: ref, after: null, staged })
      return
    }
    const memory = buffers.take(ref.objectBytes)
    try {
      const bytes = await read(ref.objectBytes, memory)
      if (bytes === null) {
        throw new StoreError('DATA_CORRUPT', `Segment ${ref.object} is missing`)
      }
      this.bytes += ref.objectBytes
      this.#swaps.push({ index, before: ref, after: await this.#repack(ref, bytes), staged })
    } finally {
      buffers.give(memory)
    }
  }

  /** @returns null: it is not worth it. */
  async #repack(ref: SegmentRef, bytes: Bytes): Promise<SegmentRef | null> {
    const { ids, buffers, options } = this.#context
    const bytesMax = Math.floor((1 - options.settleSavingMin / 100) * ref.objectBytes)
    const object = ids.next()
    const takeBuffer = (count: number): Uint8Array<ArrayBuffer> => buffers.take(count)
    try {
      const packed = await repackSegment(ref, bytes, {
        object,
        codec: this.#of.codec,
        bytesMax,
        takeBuffer,
      })
      if (packed === null) {
        ids.release([object])
        return null
      }
      await putSegment(this.#context, object, packed)
      const { rowCount } = ref
      const { footerBytes } = packed
      const objectBytes = packed.bytes.length
      buffers.give(packed.bytes)
      return { object, rowCount, objectBytes, footerBytes }
    } catch (failure) {
      ids.release([object])
      throw failure
    }
  }

  /** Names what was rewritten so far, where nothing else has come in its place. @returns false: the page is too busy. */
  async swap(): Promise<boolean> {
    const { ids } = this.#context
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
