// Recompression: rewrites segments of some age in a smaller form. New segments are written uncompressed, because
// uncompressed ones are the fastest to write and to read. Segments that live long are worth the work of compressing
// them. Positions, row IDs, row versions, deleted rows, claims, named files and the table's version stay; readers and
// writers are not disturbed (recompressed-pages).
//
// Invariant: the flags of the extent entries alone tell which segments are still to be examined, so a run that ends
// early or crashes loses nothing.

import { inBatches } from '../../base/batches.js'
import { type Bytes, toHex } from '../../base/bytes.js'
import { monotonicMs } from '../../base/clock.js'
import type { CodecName } from '../../base/codecs.js'
import { waitAtMost } from '../../base/platform.js'
import type { StoreError } from '../../base/store-error.js'
import { type ExtentEntry, hasUnrecompressed, type SegmentRef } from '../../format/extent-page.js'
import {
  EXTENT_PAGES_RANGE,
  extentPagesRange,
  PAGE_EXTENTS,
  tableOfKey,
} from '../../format/keys.js'
import type { Hint } from '../../format/work-records.js'
import { scanBatches } from '../../kv/scan-batches.js'
import type { ObjectId } from '../../objects/objects.js'
import type { CheckGoesOn } from '../commit/stepwise.js'
import type { RecompressedCounts } from '../context/activity.js'
import type { StoreContext } from '../context/store-context.js'
import type { DutyRun } from './duty-run.js'
import { RecompressedPages, type Sum } from './recompressed-pages.js'
import {
  type Group,
  groupsByPage,
  isNamedBy,
  pagesOf,
  segmentGroupBytes,
  withStaged,
} from './recompression-groups.js'
import { SegmentAges } from './segment-ages.js'
import { stagedAmong } from './staged-chunks.js'
import type { Left, TeamVisits, Visit } from './team-visits.js'

/** Number of bytes of segments that are rewritten before a commit names the results. */
const COMMIT_BYTES = 64 * 1024 * 1024

/** Number of pages whose segments may be rewritten together, and are looked up together in the chunks of stashes. */
const PAGES_AT_ONCE = 64

/** Maximum number of damaged segments that are remembered, so that each is reported once and not read by every run. */
const DAMAGED_MAX = 10_000

/** Greater than every extent number, which is a u48. */
const EXTENTS_MAX = 2 ** 48 - PAGE_EXTENTS

/** How a run does its work. */
type Work = Readonly<{ codec: CodecName; pace: Pace; checkGoesOn: CheckGoesOn }>

export class Recompressor {
  readonly #context: StoreContext
  readonly #ages: SegmentAges
  readonly #damaged = new Set<ObjectId>()
  /** The pace of the run in progress. */
  #pace: Pace | undefined
  /** The commit stamp at the end of the last run, if no work was left then. */
  #doneAt: object | undefined

  constructor(context: StoreContext) {
    this.#context = context
    this.#ages = new SegmentAges(context)
  }

  /** Makes the run in progress continue without pauses. */
  hurry(): void {
    this.#pace?.hurry()
  }

  /** Recompresses the segments that are old enough. */
  async recompress(
    visits: TeamVisits,
    run: DutyRun,
    isHurried: boolean,
  ): Promise<RecompressedCounts> {
    const { kv, options, limits } = this.#context
    const sum = { recompressed: 0, bytesBefore: 0, bytesAfter: 0 }
    const { recompression: codec } = options
    const stamp = kv.shared ? undefined : kv.partition('').commitStamp?.()
    this.#ages.mark()
    if (codec === 'none' || (stamp !== undefined && stamp === this.#doneAt)) return sum
    const pace = new Pace(this.#context)
    this.#pace = pace
    if (isHurried) pace.hurry()
    const { checkGoesOn } = run
    let isLeft = false
    await visits.each(run, async (visit) => {
      try {
        const tables = await this.#recompressTeam(visit, { codec, pace, checkGoesOn }, sum)
        isLeft ||= tables.length > 0
        return this.#later(tables)
      } finally {
        if (sum.recompressed > 0) limits.forget(visit.teamId)
      }
    })
    this.#doneAt = isLeft ? undefined : stamp
    return sum
  }

  /** @param tables - Tables with segments that the run left for a later run. */
  #later(tables: readonly Bytes[]): Left {
    const { clock, recompressionAgeMs } = this.#context.options
    const due = clock.now() + Math.max(1, recompressionAgeMs)
    return { hints: tables.map((about): Hint => ({ due, kind: 'table', about })) }
  }

  /** @returns the tables with segments that are left for a later run. */
  async #recompressTeam(visit: Visit, work: Work, sum: Sum): Promise<Bytes[]> {
    const { codec } = work
    const noteDamaged = (ref: SegmentRef, failure: StoreError): void => this.#note(ref, failure)
    const left = new Map<string, Bytes>()
    const leave = (groups: readonly Group[]): void => {
      for (const key of pagesOf(groups)) left.set(toHex(tableOfKey(key)), tableOfKey(key))
    }
    for (const keys of inBatches(await pagesToRecompression(visit), PAGES_AT_ONCE)) {
      const pages = new RecompressedPages(this.#context, visit, { codec, sum, noteDamaged })
      const found: (readonly [Bytes, readonly ExtentEntry[]])[] = []
      for (const key of keys) found.push([key, await pages.entries(key)])
      const groups = groupsByPage(found).map(([key, all]) => {
        const open = all.filter((group) => !this.#isSkipped(group))
        leave(open.filter((group) => !this.#isOld(group)))
        return { key, old: open.filter((group) => this.#isOld(group)) }
      })
      const due = groups.flatMap(({ old }) => old.flat()).map(({ ref }) => ref.object)
      const staged = await stagedAmong(visit.partition, new Set(due))
      for (const { key, old } of groups) {
        const isDone = await this.#recompressPage(pages, key, withStaged(old, staged), work)
        if (!isDone) leave(old)
      }
    }
    return [...left.values()]
  }

  /**
   * Skips damaged segments and, on a shared store, segments that share an object: these were compressed when written.
   */
  #isSkipped(group: Group): boolean {
    const { kv } = this.#context
    return group.some(({ ref }) => {
      return (kv.shared && ref.shared !== undefined) || this.#damaged.has(ref.object)
    })
  }

  #isOld(group: Group): boolean {
    return group.every(({ ref }) => this.#ages.isOld(ref.object))
  }

  /**
   * Rewrites the groups of a page. Reads the page again, because the work on the pages before it may have taken
   * minutes.
   * @returns false: a group is left for the next run.
   */
  async #recompressPage(
    pages: RecompressedPages,
    key: Bytes,
    groups: readonly Group[],
    { pace, checkGoesOn }: Work,
  ): Promise<boolean> {
    if (groups.length === 0) return true
    let isDone = true
    try {
      const entries = await pages.entries(key)
      for (const group of groups) {
        if (pace.isOver || !isNamedBy(entries, key, group)) {
          isDone = false
          continue
        }
        await pace.turn(segmentGroupBytes(group))
        checkGoesOn()
        await pages.take(group)
        if (pages.bytes >= COMMIT_BYTES && !(await pages.swap())) isDone = false
      }
      return (await pages.swap()) && isDone
    } catch (failure) {
      pages.abandon(failure)
      throw failure
    }
  }

  #note({ object }: SegmentRef, failure: StoreError): void {
    if (this.#damaged.size < DAMAGED_MAX) this.#damaged.add(object)
    this.#context.background.report('recompression', failure)
  }
}

/** The keys of the pages with segments that no recompression has examined. */
async function pagesToRecompression({ partition, isFull, about }: Visit): Promise<Bytes[]> {
  const ranges = isFull
    ? [EXTENT_PAGES_RANGE]
    : about('table').map((table) => extentPagesRange(table, 0, EXTENTS_MAX))
  return partition.read(async (view) => {
    const found: Bytes[] = []
    for (const range of ranges) {
      for await (const entries of scanBatches(view, range)) {
        for (const [key, page] of entries) if (hasUnrecompressed(page)) found.push(key)
      }
    }
    return found
  })
}

/**
 * The pace of background work that reads many bytes. It pauses, so that readers and writers have the disk and the
 * processor, and the work ends early when the store closes.
 */
class Pace {
  readonly #lifecycle: StoreContext['lifecycle']
  readonly #bytesPerMs: number
  /** The monotonic time at which the next bytes may be read. */
  #next = 0
  #isHurried = false
  #wake: () => void = () => undefined
  readonly #hurried: Promise<void>

  constructor({ lifecycle, options }: Pick<StoreContext, 'lifecycle' | 'options'>) {
    this.#lifecycle = lifecycle
    this.#bytesPerMs = options.recompressionBytesPerSecond / 1_000
    this.#hurried = new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  /** Ends all pauses, because a caller waits. */
  hurry(): void {
    this.#isHurried = true
    this.#wake()
  }

  /** Whether the work must end, because the store closes. */
  get isOver(): boolean {
    return this.#lifecycle.isClosing
  }

  /** Waits until this number of bytes may be read. */
  async turn(bytes: number): Promise<void> {
    const began = Math.max(monotonicMs(), this.#next)
    this.#next = began + bytes / this.#bytesPerMs
    const ms = began - monotonicMs()
    if (ms <= 0 || this.#isHurried || this.isOver) return
    await this.#lifecycle.untilClosed((closing) => {
      const closed = new Promise<void>((resolve) => {
        closing.addEventListener('abort', () => resolve(), { once: true })
      })
      return waitAtMost(Promise.race([this.#hurried, closed]), ms, 'unref')
    })
  }
}
