// Counts what a store does, and reports it as events. The cost is one addition for each commit, segment, page and
// single read; rows cost nothing.
import { type Clock, monotonicMs } from '../../base/clock.js'
import { createTell } from '../../base/hooks.js'
import type { KvGroup } from '../../kv/kv.js'
import type {
  BytesHeld,
  MaintenanceKind,
  SizeClass,
  StoreActivity,
} from '../types/activity-types.js'
import type { MaintenanceReport, StoreEvent } from '../types/event-types.js'
import type { StoreOptions } from '../types/store-options.js'

/**
 * Number of classes of group sizes that have an upper bound: class `i` has groups of up to 2 ** i commits. Larger
 * groups share one class.
 */
const GROUP_CLASSES = 9

/** The number of segments that a recompression compressed, and their bytes before and after. */
export type RecompressedCounts = Readonly<{
  recompressed: number
  bytesBefore: number
  bytesAfter: number
}>

/** The counts that are made here; `engine/store-memory` adds the other ones, such as those of the caches. */
export type Counted = Omit<StoreActivity, 'jobsRunning' | 'segmentBytesRead' | 'caches'>

const KINDS = ['objects', 'stashes', 'generations', 'files', 'uploads', 'jobs'] as const

export class Activity {
  rowsIn = 0
  rowsOut = 0
  segmentBytesWritten = 0
  fileBytesWritten = 0
  segmentsSkipped = 0
  /**
   * What the last garbage collection found; undefined: none has ended yet, or another process collects, and counts.
   */
  bytesHeld: BytesHeld | undefined
  #commits = 0
  #commitMs = 0
  #recordBytesWritten = 0
  readonly #groupSizes: number[] = Array(GROUP_CLASSES + 1).fill(0)
  #compactions = 0
  #recompressed = 0
  #collections = 0
  readonly #collected = { objects: 0, stashes: 0, generations: 0, files: 0, uploads: 0, jobs: 0 }
  readonly #endedAt: Partial<Record<MaintenanceKind, number>> = {}
  readonly #clock: Clock
  readonly #tell = createTell()
  readonly #onEvent: ((event: StoreEvent) => void) | undefined

  constructor({ clock, onEvent }: Pick<StoreOptions, 'onEvent'> & Readonly<{ clock: Clock }>) {
    this.#clock = clock
    this.#onEvent = onEvent
  }

  #report(event: StoreEvent): void {
    const onEvent = this.#onEvent
    if (onEvent !== undefined) this.#tell('onEvent', () => onEvent(event))
  }

  readonly committed = (group: KvGroup): void => {
    const { commits, records, bytes, ms } = group
    this.#commits += commits
    this.#commitMs += ms
    this.#recordBytesWritten += bytes
    const index = Math.min(GROUP_CLASSES, 32 - Math.clz32(commits - 1)) // The class up to 2 ** index.
    this.#groupSizes[index] = (this.#groupSizes[index] ?? 0) + 1
    this.#report({ name: 'commit', commits, records, bytes, ms })
  }

  /** Runs a compaction of all teams. */
  async compact(run: () => Promise<number>): Promise<number> {
    const began = monotonicMs()
    const compactions = await run()
    this.ended('compaction')
    this.#compactions += compactions
    if (compactions > 0)
      this.#report({ name: 'compaction', compactions, ms: monotonicMs() - began })
    return compactions
  }

  /** Runs a recompression of all teams, and counts what it does. */
  async recompress(run: () => Promise<RecompressedCounts>): Promise<number> {
    const began = monotonicMs()
    const { recompressed: segments, bytesBefore, bytesAfter } = await run()
    this.ended('recompression')
    this.#recompressed += segments
    const ms = monotonicMs() - began
    if (segments > 0) this.#report({ name: 'recompression', segments, bytesBefore, bytesAfter, ms })
    return segments
  }

  /** Runs a garbage collection. */
  async collect<R extends Partial<MaintenanceReport>>(run: () => Promise<R>): Promise<R> {
    const began = monotonicMs()
    const report = await run()
    this.ended('garbageCollection')
    const collected: Partial<MaintenanceReport> = { ...report }
    this.#collections++
    for (const kind of KINDS) {
      this.#collected[kind] += collected[kind] ?? 0
    }
    this.#report({ name: 'garbageCollection', collected, ms: monotonicMs() - began })
    return report
  }

  /** Notes that a run has succeeded. */
  ended(kind: MaintenanceKind): void {
    this.#endedAt[kind] = this.#clock.now()
  }

  jobEnded(ended: Omit<Extract<StoreEvent, { name: 'job' }>, 'name'>): void {
    this.#report({ name: 'job', ...ended })
  }

  counted(): Counted {
    const { rowsIn, rowsOut } = this
    return {
      rowsIn,
      rowsOut,
      commits: this.#commits,
      commitMs: this.#commitMs,
      groupSizes: this.#groupSizes.map((count, index): SizeClass => {
        return { max: index === GROUP_CLASSES ? Number.POSITIVE_INFINITY : 2 ** index, count }
      }),
      compactions: this.#compactions,
      recompressed: this.#recompressed,
      collections: this.#collections,
      collected: { ...this.#collected },
      endedAt: { ...this.#endedAt },
      bytesWritten: {
        records: this.#recordBytesWritten,
        segments: this.segmentBytesWritten,
        files: this.fileBytesWritten,
      },
      segmentsSkipped: this.segmentsSkipped,
      bytesHeld: this.bytesHeld,
    }
  }
}
