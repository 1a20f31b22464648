// Settle: rewrites segments that have reached some age in a smaller form. New segments are written as they are, because
// that is the fastest to write and to read; those that stay are worth the work. Positions, row IDs, row versions, deleted
// rows, claims, named files and the table's version stay; readers and writers are not disturbed (settle-page).
//
// Invariant: what a run leaves, or loses in a crash, is found again by the flags of the entries alone.
import { inBatches } from '../../base/batches.js'
import type { Bytes } from '../../base/bytes.js'
import { toHex } from '../../base/bytes.js'
import type { CodecName } from '../../base/codecs.js'
import { isStoreError } from '../../base/store-error.js'
import { hasUnsettled, type SegmentRef } from '../../format/extent-page.js'
import {
  EXTENT_PAGES_RANGE,
  extentPagesRange,
  PAGE_EXTENTS,
  tableOfKey,
} from '../../format/keys.js'
import type { Hint } from '../../format/work-records.js'
import { scanBatches } from '../../kv/scan-batches.js'
import type { ObjectId } from '../../objects/objects.js'
import type { SettledCounts } from '../context/activity.js'
import type { StoreContext } from '../context/store-context.js'
import type { DutyRun } from './duty-run.js'
import { SegmentAges } from './segment-ages.js'
import { Pace } from './settle-pace.js'
import { SettledPage, type Sum } from './settle-page.js'
import { type StagedIn, stagedAmong } from './staged-chunks.js'
import type { Left, TeamVisits, Visit } from './team-visits.js'

/** Bytes of segments that are rewritten before a commit names what came of them. */
const COMMIT_BYTES = 64 * 1024 * 1024

/** Pages whose segments are looked for in the chunks of stashes at once. */
const PAGES_AT_ONCE = 64

/** Damaged segments that are remembered, so that they are reported once and not read by each run. */
const DAMAGED_MAX = 10_000

/** Above every extent, which is a u48. */
const EXTENTS_MAX = 2 ** 48 - PAGE_EXTENTS

/** How a run does its work. */
type Work = Readonly<{ codec: CodecName; pace: Pace }>

/** Segments that have their age, and where stashes name some of them. */
type OldSegments = Readonly<{
  due: ReadonlySet<ObjectId>
  staged: ReadonlyMap<ObjectId, StagedIn>
}>

export class Settler {
  readonly #context: StoreContext
  readonly #ages: SegmentAges
  readonly #damaged = new Set<ObjectId>()
  /** Of the run under way. */
  #pace: Pace | undefined
  /** The commit after which nothing was left to do. */
  #doneAt: object | undefined

  constructor(context: StoreContext) {
    this.#context = context
    this.#ages = new SegmentAges(context)
  }

  /** From here on the run under way waits for nothing. */
  hurry(): void {
    this.#pace?.hurry()
  }

  /** Settles the segments that are old enough. */
  async settle(visits: TeamVisits, run: DutyRun, isHurried: boolean): Promise<SettledCounts> {
    const { kv, options, limits } = this.#context
    const sum = { settled: 0, bytesBefore: 0, bytesAfter: 0 }
    const { settledCompression: codec } = options
    const stamp = kv.shared ? undefined : kv.partition('').commitStamp?.()
    this.#ages.mark()
    if (codec === 'none' || (stamp !== undefined && stamp === this.#doneAt)) return sum
    const pace = new Pace(this.#context)
    this.#pace = pace
    if (isHurried) pace.hurry()
    let isLeft = false
    await visits.each(run, async (visit) => {
      const tables = await this.#settleTeam(visit, { codec, pace }, sum)
      if (sum.settled > 0) limits.forget(visit.teamId)
      isLeft ||= tables.length > 0
      return this.#later(tables)
    })
    this.#doneAt = isLeft ? undefined : stamp
    return sum
  }

  /** @param tables - With segments that were left. */
  #later(tables: readonly Bytes[]): Left {
    const { clock, settleAfterMs } = this.#context.options
    const due = clock.now() + Math.max(1, settleAfterMs)
    return { hints: tables.map((about): Hint => ({ due, kind: 'table', about })) }
  }

  /** @returns the tables with segments that were left. */
  async #settleTeam(visit: Visit, work: Work, sum: Sum): Promise<Bytes[]> {
    const { codec, pace } = work
    const left = new Map<string, Bytes>()
    for (const keys of inBatches(await pagesToSettle(visit), PAGES_AT_ONCE)) {
      const pages = keys.map((key) => {
        return { key, page: new SettledPage(this.#context, visit, { key, codec, sum }) }
      })
      const due = new Set<ObjectId>()
      for (const { page } of pages) for (const object of await this.#oldIn(page)) due.add(object)
      const staged = await stagedAmong(visit.partition, due)
      for (const { key, page } of pages) {
        const table = tableOfKey(key)
        if (await this.#leavesSome(page, pace, { due, staged })) left.set(toHex(table), table)
      }
    }
    return [...left.values()]
  }

  async #oldIn(page: SettledPage): Promise<ObjectId[]> {
    return (await page.entries()).flatMap(({ segment, settled }) => {
      if (segment === null || settled || this.#isSkipped(segment)) return []
      return this.#ages.isOld(segment.object) ? [segment.object] : []
    })
  }

  /** @param old - What may be rewritten. The page is read again, as those before it may have taken minutes. */
  async #leavesSome(page: SettledPage, pace: Pace, old: OldSegments): Promise<boolean> {
    let isLeft = false
    try {
      for (const [index, { segment, settled }] of (await page.entries()).entries()) {
        if (segment === null || settled || this.#isSkipped(segment)) continue
        if (pace.isOver || !old.due.has(segment.object)) isLeft = true
        else if (!(await this.#settleOne(page, index, segment, { pace, old }))) isLeft = true
      }
      return !(await page.swap()) || isLeft
    } catch (failure) {
      page.abandon(failure)
      throw failure
    }
  }

  /** On a shared store, segments that share an object were compressed when they were made. */
  #isSkipped({ object, shared }: SegmentRef): boolean {
    return (shared !== undefined && this.#context.kv.shared) || this.#damaged.has(object)
  }

  /** @returns whether its page was not too busy. */
  async #settleOne(
    page: SettledPage,
    index: number,
    ref: SegmentRef,
    { pace, old }: Readonly<{ pace: Pace; old: OldSegments }>,
  ): Promise<boolean> {
    await pace.turn(ref.objectBytes)
    try {
      await page.take({ index, ref, staged: old.staged.get(ref.object) })
    } catch (failure) {
      if (!isStoreError(failure) || failure.code !== 'DATA_CORRUPT') throw failure
      if (!(await page.names(ref))) return true // Something has come in its place, so it may be gone.
      if (this.#damaged.size < DAMAGED_MAX) this.#damaged.add(ref.object)
      this.#context.background.report('settle', failure)
    }
    return page.bytes < COMMIT_BYTES || page.swap()
  }
}

/** The pages with segments that no settle has looked at, by their keys. */
async function pagesToSettle({ partition, isFull, about }: Visit): Promise<Bytes[]> {
  const ranges = isFull
    ? [EXTENT_PAGES_RANGE]
    : about('table').map((table) => extentPagesRange(table, 0, EXTENTS_MAX))
  return partition.read(async (view) => {
    const found: Bytes[] = []
    for (const range of ranges) {
      for await (const entries of scanBatches(view, range)) {
        for (const [key, page] of entries) if (hasUnsettled(page)) found.push(key)
      }
    }
    return found
  })
}
