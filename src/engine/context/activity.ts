// Counts what a store does, and reports it as events. A commit, a segment, a page and a single read cost an addition
// each; nothing is done per row.
import { type Clock, monotonicMs } from '../../base/clock.js'
import { createTell } from '../../base/hooks.js'
import type { KvGroup } from '../../kv/kv.js'
import type { BytesHeld, SizeClass, StoreActivity, UpkeepKind } from '../api/activity-types.js'
import type { StoreEvent } from '../api/event-types.js'
import type { SweepReport } from '../api/report-types.js'
import type { StoreOptions } from '../api/store-options.js'

/** The largest group that has a class of its own is 2 to the power of this less one. */
const GROUP_CLASSES = 9

/** Segments that a settle compressed, and their bytes before and after. */
export type SettledCounts = Readonly<{ settled: number; bytesBefore: number; bytesAfter: number }>

/** The counts that are kept here; `engine/store-memory` has those of the caches. */
export type Counted = Omit<StoreActivity, 'jobsRunning' | 'segmentBytesRead' | 'caches'>

const KINDS = ['objects', 'stashes', 'generations', 'files', 'uploads', 'jobs'] as const

export class Activity {
  rowsIn = 0
  rowsOut = 0
  segmentBytesWritten = 0
  fileBytesWritten = 0
  segmentsSkipped = 0
  /** What the last sweep found; undefined: none has ended yet, or another process counts. */
  bytesHeld: BytesHeld | undefined
  #commits = 0
  #commitMs = 0
  #recordBytesWritten = 0
  readonly #groupSizes: number[] = Array(GROUP_CLASSES + 1).fill(0)
  #folds = 0
  #settled = 0
  #sweeps = 0
  readonly #swept = { objects: 0, stashes: 0, generations: 0, files: 0, uploads: 0, jobs: 0 }
  readonly #endedAt: Partial<Record<UpkeepKind, number>> = {}
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

  /** Runs a fold of all teams. */
  async fold(run: () => Promise<number>): Promise<number> {
    const began = monotonicMs()
    const folds = await run()
    this.ended('fold')
    this.#folds += folds
    if (folds > 0) this.#report({ name: 'fold', folds, ms: monotonicMs() - began })
    return folds
  }

  /** Runs a settle of all teams, which counts what it does. */
  async settle(run: () => Promise<SettledCounts>): Promise<number> {
    const began = monotonicMs()
    const { settled: segments, bytesBefore, bytesAfter } = await run()
    this.ended('settle')
    this.#settled += segments
    const ms = monotonicMs() - began
    if (segments > 0) this.#report({ name: 'settle', segments, bytesBefore, bytesAfter, ms })
    return segments
  }

  /** Runs a sweep. */
  async sweep<R extends Partial<SweepReport>>(run: () => Promise<R>): Promise<R> {
    const began = monotonicMs()
    const report = await run()
    this.ended('sweep')
    const swept: Partial<SweepReport> = { ...report }
    this.#sweeps++
    for (const kind of KINDS) {
      this.#swept[kind] += swept[kind] ?? 0
    }
    this.#report({ name: 'sweep', swept, ms: monotonicMs() - began })
    return report
  }

  /** Notes that something ended well. */
  ended(kind: UpkeepKind): void {
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
      folds: this.#folds,
      settled: this.#settled,
      sweeps: this.#sweeps,
      swept: { ...this.#swept },
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
