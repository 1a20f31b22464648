// Deletes unreferenced and expired data. Repeatable: a crash at any point leaves work
// for the next sweep, and nothing leaks permanently.
//
// Invariants:
// - A record that makes others unreachable (a stash head, a retirement) is marked or deleted by a
//   commit before anything below it is deleted.
// - An object is deleted only if two marks, `orphanGraceMs` or more apart, found no record naming it, none
//   between them found one, and it was pending at neither: so no reader and no commit still uses it. On a shared store
//   this holds for the objects of all incarnations (context/incarnation, sweep-incarnations).
//   (Objects of uploads that a PUT replaced or a completion refused are deleted at once: only those two use them.)
// - On a shared store, each commit for a team checks the lease of its duty (duty-run), and a run looks where there is work
//   (team-visits).
import { inBatches } from '../../base/batches.js'
import { monotonicMs } from '../../base/clock.js'
import { decodeFilesHeadOrEmpty } from '../../format/file-records.js'
import { FILES_HEAD_KEY, IDEMPOTENCY_RANGE } from '../../format/keys.js'
import { decodeIdempotencyRecord } from '../../format/records.js'
import type { Hint } from '../../format/work-records.js'
import type { KvCheck, KvPartition } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import type { ObjectId } from '../../objects/objects.js'
import type { BytesHeld } from '../api/activity-types.js'
import type { SweepReport } from '../api/report-types.js'
import { deleteUnchanged } from '../commit/delete-records.js'
import { isExpired } from '../commit/idempotency.js'
import { type CheckGoesOn, stepwise } from '../commit/stepwise.js'
import type { SettledCounts } from '../context/activity.js'
import type { TEAM_DUTIES } from '../context/due-teams.js'
import { bytesOfNamed, namedObjects, objectOf } from '../context/named-objects.js'
import { readInUse } from '../context/other-incarnations.js'
import type { StoreContext } from '../context/store-context.js'
import { readTeams } from '../context/team-entries.js'
import { DutyRun } from './duty-run.js'
import { foldPartition } from './fold.js'
import { noteSwept } from './last-sweeps.js'
import { Settler } from './settle.js'
import { SharedRun } from './shared-run.js'
import { FileSweeper, type FilesSwept } from './sweep-files.js'
import {
  laterTables,
  sweepDeadTables,
  sweepGenerations,
  sweepSchemas,
} from './sweep-generations.js'
import { sweepHistory } from './sweep-history.js'
import { IncarnationSweeper } from './sweep-incarnations.js'
import { laterJobs, sweepJobs } from './sweep-jobs.js'
import { sweepKeyIndexes } from './sweep-keys.js'
import { laterStashes, sweepStashes } from './sweep-stashes.js'
import { laterUploads, sweepUploads } from './sweep-uploads.js'
import { FULL_SCAN_MS, TeamVisits, type Visit } from './team-visits.js'

type TablesSwept = Omit<SweepReport, keyof FilesSwept | 'settled'>

/** Objects that one call deletes, at most. */
const DELETE_COUNT = 1_000

export class Sweeper {
  readonly #context: StoreContext
  /** Objects that the marks so far found unnamed, with the monotonic time of the first such mark. */
  readonly #unnamed = new Map<ObjectId, number>()
  readonly #fileSweeper: FileSweeper
  readonly #settler: Settler
  readonly #incarnations: IncarnationSweeper
  readonly #visits: Readonly<Record<(typeof TEAM_DUTIES)[number], TeamVisits>>
  /** When objects were marked last, by a clock that nobody sets. */
  #markedAt: number | undefined
  readonly #running = new SharedRun<TablesSwept>()
  readonly #folding = new SharedRun<number>()
  readonly #settling = new SharedRun<number>()
  readonly #filing = new SharedRun<FilesSwept>()

  constructor(context: StoreContext) {
    this.#context = context
    this.#fileSweeper = new FileSweeper(context)
    this.#settler = new Settler(context)
    this.#incarnations = new IncarnationSweeper(context)
    this.#visits = {
      sweep: new TeamVisits(context, 'sweep'),
      fold: new TeamVisits(context, 'fold'),
      files: new TeamVisits(context, 'files'),
      settle: new TeamVisits(context, 'settle'),
    }
  }

  /** One sweep over the whole store, also of the teams that other processes sweep. */
  async sweep(signal?: AbortSignal): Promise<SweepReport> {
    const swept = await this.sweepFiles(true, signal)
    const folds = await this.fold(true, signal)
    const settled = await this.settle(true, signal) // After the fold, so that it rewrites no segment that the fold would.
    return { ...swept, ...(await this.sweepTables(true, signal, folds)), folds, settled }
  }

  /**
   * Sweeps everything but files, which are swept less often. Concurrent calls share one sweep.
   * @param takesOver - Also what other processes sweep.
   * @param signal - Of the caller, as that of all runs: see `SharedRun`.
   * @param folded - What a fold did right before. Default: none has run.
   */
  sweepTables(takesOver = false, signal?: AbortSignal, folded?: number): Promise<TablesSwept> {
    return this.#share(this.#running, takesOver, signal, (run) => {
      return this.#context.activity.sweep(() => this.#sweepAll(run, folded))
    })
  }

  /** Sweeps the files of all teams, as `sweepTables` does the rest. */
  sweepFiles(takesOver = false, signal?: AbortSignal): Promise<FilesSwept> {
    return this.#share(this.#filing, takesOver, signal, (run) => {
      return this.#context.activity.sweep(() => this.#sweepAllFiles(run))
    })
  }

  /** Folds the row records of all teams. Concurrent calls share one fold. */
  fold(takesOver = false, signal?: AbortSignal): Promise<number> {
    return this.#share(this.#folding, takesOver, signal, (run) => {
      return this.#context.activity.fold(() => this.#foldAll(run))
    })
  }

  /**
   * Compresses old segments of all teams. Concurrent calls share one run.
   * @param takesOver - Also what other processes compress; and nothing waits for its turn any more.
   */
  settle(takesOver = false, signal?: AbortSignal): Promise<number> {
    if (takesOver) this.#settler.hurry()
    return this.#settling.join({ takesOver }, signal, (checkGoesOn) => {
      const run = new DutyRun(this.#context, this.#takesAll(takesOver), checkGoesOn)
      return this.#context.activity.settle(() => this.#settleAll(run, takesOver))
    })
  }

  /** A run that calls share. */
  #share<T>(
    shared: SharedRun<T>,
    takesOver: boolean,
    signal: AbortSignal | undefined,
    work: (run: DutyRun) => Promise<T>,
  ): Promise<T> {
    const takesAll = this.#takesAll(takesOver)
    return shared.join({ takesOver: takesAll }, signal, (checkGoesOn) => {
      return work(new DutyRun(this.#context, takesAll, checkGoesOn))
    })
  }

  /** Where no other process can write, no run leaves anything to others. */
  #takesAll(takesOver: boolean): boolean {
    return takesOver || !this.#context.kv.shared
  }

  /** Finds out which processes have ended: what they did, others take over. */
  async #endOthers(): Promise<void> {
    if (this.#context.kv.shared) await this.#incarnations.sweep()
  }

  async #foldAll(run: DutyRun): Promise<number> {
    await this.#endOthers()
    let folds = 0
    await this.#visits.fold.each(run, async (visit) => {
      const { folded, again } = await foldPartition(this.#context, visit)
      folds += folded
      return { hints: again }
    })
    if (folds > 0) this.#noteObjects()
    return folds
  }

  async #settleAll(run: DutyRun, isHurried: boolean): Promise<SettledCounts> {
    await this.#endOthers()
    const counts = await this.#settler.settle(this.#visits.settle, run, isHurried)
    if (counts.settled > 0) this.#noteObjects()
    return counts
  }

  async #sweepAllFiles(run: DutyRun): Promise<FilesSwept> {
    await this.#endOthers()
    let files = 0
    await this.#visits.files.each(run, async ({ teamId, partition }) => {
      files += (await this.#fileSweeper.sweep(teamId, partition, run.checkGoesOn)).files
      // Rows that stop naming a file give no hint: where there are files, each sweep looks.
      const head = await partition.read((view) => view.get(FILES_HEAD_KEY))
      return { isDue: decodeFilesHeadOrEmpty(head).files > 0 }
    })
    if (files > 0) this.#noteObjects()
    await noteSwept(this.#context, 'files')
    return { files }
  }

  /** No record names some objects any more. */
  #noteObjects(): void {
    if (this.#context.kv.shared) this.#context.dueTeams.note('objects', '', 0)
  }

  async #sweepAll(run: DutyRun, folded?: number): Promise<TablesSwept> {
    const { kv, limits, uploads } = this.#context
    const all = { stashes: 0, generations: 0, uploads: 0, jobs: 0 }
    await this.#incarnations.sweep() // First, so that nothing of an ended process is spared for it.
    const folds = folded ?? (await this.fold(run.takesOver))
    await this.#visits.sweep.each(run, async (visit) => {
      try {
        const { swept, later } = await sweepTeam(this.#context, visit)
        all.stashes += swept.stashes
        all.generations += swept.generations
        all.uploads += swept.uploads
        all.jobs += swept.jobs
        return { hints: later }
      } finally {
        limits.forget(visit.teamId)
      }
    })
    if (kv.shared) {
      limits.forgetAll() // Another process may have swept, and written.
      uploads.forgetAll()
    }
    if (Object.values(all).some((count) => count > 0)) this.#noteObjects()
    const objects = await this.#sweepDueObjects(run)
    run.checkGoesOn()
    await kv.reclaim?.()
    await noteSwept(this.#context, 'sweep')
    return { folds, ...all, objects }
  }

  /** @returns how many objects were deleted. */
  async #sweepDueObjects(run: DutyRun): Promise<number> {
    const records = await this.#dueObjects(run)
    if (records === null) return 0
    const deleted = await run.on('objects', '', (system) => this.#sweepObjects(system, run))
    if (deleted === undefined)
      this.#context.activity.bytesHeld = undefined // Another process counts them.
    else await this.#settleObjects(records)
    return deleted ?? 0
  }

  /**
   * Whether to look for objects that no record names: on a shared store, if work was done for any team since the last
   * look, or found objects wait for their end.
   * @returns what says so; null: they need not be looked for.
   */
  async #dueObjects(run: DutyRun): Promise<readonly KvCheck[] | null> {
    const { kv, dueTeams, options } = this.#context
    if (!kv.shared) return []
    await dueTeams.write()
    const due = (await dueTeams.due('objects')).get('') ?? []
    if (run.takesOver || this.#markedAt === undefined) return due
    const since = monotonicMs() - this.#markedAt
    if (since >= FULL_SCAN_MS) return due
    return due.length > 0 && since >= options.orphanGraceMs ? due : null
  }

  async #settleObjects(records: readonly KvCheck[]): Promise<void> {
    const { kv, dueTeams } = this.#context
    if (kv.shared) await dueTeams.settle('objects', '', records, this.#unnamed.size > 0 ? 0 : null)
  }

  #teams(): Promise<string[]> {
    return this.#context.kv.partition('').read(readTeams)
  }

  async #sweepObjects(system: KvPartition, { checkGoesOn }: DutyRun): Promise<number> {
    const { objects, options, kv, activity } = this.#context
    // A store that stopped writing may hold commits whose outcome is unknown: nothing is deleted then.
    await system.commit({})
    this.#markedAt = monotonicMs()
    // An object listed before the mark that no record names is garbage or pending: what is pending is read in between.
    const listed = await listAll(this.#context, checkGoesOn)
    const { isPending } = await readInUse(this.#context)
    const pending = new Set(listed.filter(isPending))
    // A team is entered before any of its objects stops being pending, so no relevant team is missed.
    const partitions = (await this.#teams()).map((teamId) => {
      return stepwise(kv.partition(teamId), checkGoesOn)
    })
    const { named, bytesHeld } = await markAll(partitions)
    activity.bytesHeld = bytesHeld
    const now = options.clock.monotonicMs()
    const unnamed = listed.filter((id) => !named.has(id) && !pending.has(id))
    const due = unnamed.filter(
      (id) => now - (this.#unnamed.get(id) ?? now) >= options.orphanGraceMs,
    )
    const doomed = due.filter((id) => this.#unnamed.has(id) && !isPending(id))
    const before = new Map(this.#unnamed)
    this.#unnamed.clear()
    for (const id of unnamed) this.#unnamed.set(id, before.get(id) ?? now)
    // Read after the mark: a hold that is entered later is that of a backup whose views do not name them.
    if ((await readInUse(this.#context)).isHeld) return 0 // They are found again.
    if (doomed.length > 0) await kv.flush?.() // A power cut must not bring back a record that names one.
    for (const some of inBatches(doomed, DELETE_COUNT)) {
      checkGoesOn()
      await objects.delete(some)
      for (const id of some) this.#unnamed.delete(id)
    }
    return doomed.length
  }
}

type TeamSwept = Pick<SweepReport, 'stashes' | 'generations' | 'uploads' | 'jobs'>

/** Deletes what is unreferenced or expired in one team. */
export async function sweepTeam(
  context: StoreContext,
  visit: Visit,
): Promise<Readonly<{ swept: TeamSwept; later: Hint[] }>> {
  const uploads = await sweepUploads(context, visit)
  await sweepHistory(context, visit) // First, as overwritten rows and schemas are kept for it.
  const generations = await sweepGenerations(context, visit)
  await sweepDeadTables(visit)
  await sweepSchemas(visit)
  await sweepKeyIndexes(visit)
  const stashes = await sweepStashes(context, visit)
  if (visit.isFull || visit.about('results').length > 0) await sweepRepeats(context, visit)
  const jobs = await sweepJobs(context, visit)
  const later = [
    ...(await laterUploads(context, visit)),
    ...(await laterTables(context, visit)),
    ...(await laterStashes(context, visit)),
    ...(await laterJobs(context, visit)),
  ]
  return { swept: { uploads, generations, stashes, jobs }, later }
}

async function listAll({ objects }: StoreContext, checkGoesOn: CheckGoesOn): Promise<ObjectId[]> {
  const listed: ObjectId[] = []
  let after: ObjectId | undefined
  for (;;) {
    checkGoesOn()
    const ids = await objects.list('', after)
    if (ids.length === 0) return listed
    for (const id of ids) listed.push(id)
    after = ids[ids.length - 1]
  }
}

type Marked = Readonly<{ named: ReadonlySet<ObjectId>; bytesHeld: BytesHeld }>

/** Lists every object that a record names, in one view for each team, and adds up their bytes. */
async function markAll(partitions: readonly KvPartition[]): Promise<Marked> {
  const named = new Set<ObjectId>()
  const sharing = new Set<ObjectId>() // The segments that share their objects, by their own IDs.
  const bytesHeld = { rows: 0, stashes: 0, files: 0, uploads: 0 }
  for (const partition of partitions) {
    await partition.read(async (view) => {
      for await (const one of namedObjects(view)) {
        const shares = one.kind === 'segment' && one.ref.shared !== undefined
        const counted = shares ? sharing : named
        const { size } = counted
        named.add(objectOf(one))
        if (shares) sharing.add(one.ref.object)
        if (counted.size === size) continue
        const [kind, bytes] = bytesOfNamed(one)
        bytesHeld[kind] += bytes
      }
    })
  }
  return { named, bytesHeld }
}

/** Deletes expired idempotency records, unless one was replaced meanwhile. */
async function sweepRepeats({ options }: StoreContext, { partition }: Visit): Promise<void> {
  const over = await partition.read(async (view) => {
    const found: KvCheck[] = []
    for await (const entries of scanBatches(view, IDEMPOTENCY_RANGE)) {
      for (const [key, equals] of entries) {
        if (isExpired(options, decodeIdempotencyRecord(equals))) found.push({ key, equals })
      }
    }
    return found
  })
  await deleteUnchanged(partition, over)
}
