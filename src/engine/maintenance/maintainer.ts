// Deletes unreferenced and expired data. It can be repeated: after a crash at any point, the next garbage collection
// does the remaining work, and nothing leaks permanently.
//
// Invariants:
// - A record that makes others unreachable (a stash head, a retirement) is marked or deleted by a commit before
//   anything below it is deleted.
// - An object is deleted only after two marks, at least `orphanGraceMs` apart. Both have found that no record names the
//   object and that it is not pending, and no mark in between has found a record that names it. So no reader and no
//   commit still uses it. On a shared store this holds for the objects of all incarnations (leases/incarnation,
//   collect-incarnations). (Objects of uploads that a PUT replaced or a completion refused are deleted at once: nothing
//   but the upload uses them.)
// - On a shared store, each commit for a team checks the lease of its duty (duty-run), and a run goes where there is
//   work (team-visits).
import { inBatches } from '../../base/batches.js'
import { monotonicMs } from '../../base/clock.js'
import { decodeFilesHeadOrEmpty } from '../../format/file-records.js'
import { FILES_HEAD_KEY, IDEMPOTENCY_RANGE } from '../../format/keys.js'
import { decodeIdempotencyRecord } from '../../format/records.js'
import type { Hint } from '../../format/work-records.js'
import type { KvCheck, KvPartition } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import type { ObjectId } from '../../objects/objects.js'
import { deleteUnchanged } from '../commit/delete-records.js'
import { isExpired } from '../commit/idempotency.js'
import { type CheckGoesOn, stepwise } from '../commit/stepwise.js'
import type { RecompressedCounts } from '../context/activity.js'
import { bytesOfNamed, namedObjects, objectOf } from '../context/named-objects.js'
import { readInUse } from '../context/other-incarnations.js'
import type { StoreContext } from '../context/store-context.js'
import { readTeams } from '../context/team-entries.js'
import type { TEAM_DUTIES } from '../leases/due-teams.js'
import type { BytesHeld } from '../types/activity-types.js'
import type { MaintenanceReport } from '../types/event-types.js'
import { FileCollector, type FilesCollected } from './collect-files.js'
import {
  collectDeadTables,
  collectGenerations,
  collectSchemas,
  laterTables,
} from './collect-generations.js'
import { collectHistory } from './collect-history.js'
import { IncarnationCollector } from './collect-incarnations.js'
import { collectJobs, laterJobs } from './collect-jobs.js'
import { collectKeyIndexes } from './collect-keys.js'
import { collectStashes, laterStashes } from './collect-stashes.js'
import { collectUploads, laterUploads } from './collect-uploads.js'
import { compactPartition } from './compact.js'
import { DutyRun } from './duty-run.js'
import { noteCollected } from './last-collections.js'
import { Recompressor } from './recompress.js'
import { SharedRun } from './shared-run.js'
import { FULL_SCAN_MS, TeamVisits, type Visit } from './team-visits.js'

type TablesCollected = Omit<MaintenanceReport, keyof FilesCollected | 'recompressed'>

/** Maximum number of objects that one call deletes. */
const DELETE_COUNT = 1_000

export class Maintainer {
  readonly #context: StoreContext
  /** Objects that no mark so far found named, with the monotonic time of the first of these marks. */
  readonly #unnamed = new Map<ObjectId, number>()
  readonly #fileCollector: FileCollector
  readonly #recompressor: Recompressor
  readonly #incarnations: IncarnationCollector
  readonly #visits: Readonly<Record<(typeof TEAM_DUTIES)[number], TeamVisits>>
  /** The monotonic time of the last mark. */
  #markedAt: number | undefined
  readonly #running = new SharedRun<TablesCollected>()
  readonly #compacting = new SharedRun<number>()
  readonly #recompressing = new SharedRun<number>()
  readonly #filing = new SharedRun<FilesCollected>()

  constructor(context: StoreContext) {
    this.#context = context
    this.#fileCollector = new FileCollector(context)
    this.#recompressor = new Recompressor(context)
    this.#incarnations = new IncarnationCollector(context)
    this.#visits = {
      garbageCollection: new TeamVisits(context, 'garbageCollection'),
      compaction: new TeamVisits(context, 'compaction'),
      files: new TeamVisits(context, 'files'),
      recompression: new TeamVisits(context, 'recompression'),
    }
  }

  /** Collects the whole store once, including the teams that other processes collect. */
  async maintain(signal?: AbortSignal): Promise<MaintenanceReport> {
    const collected = await this.collectFiles(true, signal)
    const compactions = await this.compact(true, signal)
    // This follows the compaction, so that no segment is rewritten twice.
    const recompressed = await this.recompress(true, signal)
    return {
      ...collected,
      ...(await this.collectTables(true, signal, compactions)),
      compactions,
      recompressed,
    }
  }

  /**
   * Collects everything but files, which are collected less often. Concurrent calls share one garbage collection.
   * @param takesOver - Whether to collect what other processes collect, too.
   * @param signal - Aborts the call of this caller only; see `SharedRun`.
   * @param compacted - The number of extents that a compaction has just rewritten. Default: no compaction has run, so
   *   one runs first.
   */
  collectTables(
    takesOver = false,
    signal?: AbortSignal,
    compacted?: number,
  ): Promise<TablesCollected> {
    return this.#share(this.#running, takesOver, signal, (run) => {
      return this.#context.activity.collect(() => this.#collectAll(run, compacted))
    })
  }

  /** Collects the files of all teams. Concurrent calls share one garbage collection. */
  collectFiles(takesOver = false, signal?: AbortSignal): Promise<FilesCollected> {
    return this.#share(this.#filing, takesOver, signal, (run) => {
      return this.#context.activity.collect(() => this.#collectAllFiles(run))
    })
  }

  /** Compacts the row records of all teams. Concurrent calls share one compaction. */
  compact(takesOver = false, signal?: AbortSignal): Promise<number> {
    return this.#share(this.#compacting, takesOver, signal, (run) => {
      return this.#context.activity.compact(() => this.#compactAll(run))
    })
  }

  /**
   * Compresses old segments of all teams. Concurrent calls share one run.
   * @param takesOver - Whether to compress what other processes compress, too, without pauses.
   */
  recompress(takesOver = false, signal?: AbortSignal): Promise<number> {
    if (takesOver) this.#recompressor.hurry()
    return this.#recompressing.join({ takesOver }, signal, (checkGoesOn) => {
      const run = new DutyRun(this.#context, this.#takesAll(takesOver), checkGoesOn)
      return this.#context.activity.recompress(() => this.#recompressAll(run, takesOver))
    })
  }

  /** Starts a run that calls share, or joins it. */
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

  /** Whether a run leaves no work to other processes: if its caller requests this, or if no other process can write. */
  #takesAll(takesOver: boolean): boolean {
    return takesOver || !this.#context.kv.shared
  }

  /** Ends the incarnations of dead processes, so that this process can take over their duties. */
  async #endOthers(): Promise<void> {
    if (this.#context.kv.shared) await this.#incarnations.collect()
  }

  async #compactAll(run: DutyRun): Promise<number> {
    await this.#endOthers()
    let compactions = 0
    await this.#visits.compaction.each(run, async (visit) => {
      const { compacted, again } = await compactPartition(this.#context, visit)
      compactions += compacted
      return { hints: again }
    })
    if (compactions > 0) this.#noteObjects()
    return compactions
  }

  async #recompressAll(run: DutyRun, isHurried: boolean): Promise<RecompressedCounts> {
    await this.#endOthers()
    const counts = await this.#recompressor.recompress(this.#visits.recompression, run, isHurried)
    if (counts.recompressed > 0) this.#noteObjects()
    return counts
  }

  async #collectAllFiles(run: DutyRun): Promise<FilesCollected> {
    await this.#endOthers()
    let files = 0
    await this.#visits.files.each(run, async ({ teamId, partition }) => {
      files += (await this.#fileCollector.collect(teamId, partition, run.checkGoesOn)).files
      // Rows that stop naming a file give no hint: so if a team has files, each garbage collection examines the team.
      const head = await partition.read((view) => view.get(FILES_HEAD_KEY))
      return { isDue: decodeFilesHeadOrEmpty(head).files > 0 }
    })
    if (files > 0) this.#noteObjects()
    await noteCollected(this.#context, 'files')
    return { files }
  }

  /** Notes that some objects may have lost their last name. */
  #noteObjects(): void {
    if (this.#context.kv.shared) this.#context.dueTeams.note('objects', '', 0)
  }

  async #collectAll(run: DutyRun, compacted?: number): Promise<TablesCollected> {
    const { kv, limits, uploads } = this.#context
    const all = { stashes: 0, generations: 0, uploads: 0, jobs: 0 }
    await this.#incarnations.collect() // This comes first, so that nothing is kept for processes that have ended.
    const compactions = compacted ?? (await this.compact(run.takesOver))
    await this.#visits.garbageCollection.each(run, async (visit) => {
      try {
        const { collected, later } = await collectTeam(this.#context, visit)
        all.stashes += collected.stashes
        all.generations += collected.generations
        all.uploads += collected.uploads
        all.jobs += collected.jobs
        return { hints: later }
      } finally {
        limits.forget(visit.teamId)
      }
    })
    if (kv.shared) {
      limits.forgetAll() // Another process may have collected or written.
      uploads.forgetAll()
    }
    if (Object.values(all).some((count) => count > 0)) this.#noteObjects()
    const objects = await this.#collectDueObjects(run)
    run.checkGoesOn()
    await kv.reclaim?.()
    await noteCollected(this.#context, 'garbageCollection')
    return { compactions, ...all, objects }
  }

  /** @returns the number of objects that were deleted. */
  async #collectDueObjects(run: DutyRun): Promise<number> {
    const records = await this.#dueObjects(run)
    if (records === null) return 0
    const deleted = await run.on('objects', '', (system) => this.#collectObjects(system, run))
    if (deleted === undefined)
      this.#context.activity.bytesHeld = undefined // Another process counts the bytes.
    else await this.#settleObjects(records)
    return deleted ?? 0
  }

  /**
   * Whether to look for objects that no record names. On a shared store a look is needed only if the duty has worked on
   * a team since the last look, or if unnamed objects wait for their deletion.
   * @returns the records that say so; null: no look is needed.
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

  async #collectObjects(system: KvPartition, { checkGoesOn }: DutyRun): Promise<number> {
    const { objects, options, kv, activity } = this.#context
    // A store that stopped writing may hold commits with an unknown outcome: then this commit fails, and nothing is
    // deleted.
    await system.commit({})
    this.#markedAt = monotonicMs()
    // The pending objects are read between the list and the mark: an unnamed listed object is garbage or pending.
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
    // This is read after the mark: if a backup takes its hold later, its views do not name these objects.
    if ((await readInUse(this.#context)).isHeld) return 0 // The next mark finds them again.
    if (doomed.length > 0) await kv.flush?.() // A power failure must not restore a record that names a deleted object.
    for (const some of inBatches(doomed, DELETE_COUNT)) {
      checkGoesOn()
      await objects.delete(some)
      for (const id of some) this.#unnamed.delete(id)
    }
    return doomed.length
  }
}

type TeamCollected = Pick<MaintenanceReport, 'stashes' | 'generations' | 'uploads' | 'jobs'>

/** Deletes what is unreferenced or expired in one team. */
export async function collectTeam(
  context: StoreContext,
  visit: Visit,
): Promise<Readonly<{ collected: TeamCollected; later: Hint[] }>> {
  const uploads = await collectUploads(context, visit)
  await collectHistory(context, visit) // Histories come first, because they keep overwritten rows and schemas.
  const generations = await collectGenerations(context, visit)
  await collectDeadTables(visit)
  await collectSchemas(visit)
  await collectKeyIndexes(visit)
  const stashes = await collectStashes(context, visit)
  if (visit.isFull || visit.about('results').length > 0) await collectRepeats(context, visit)
  const jobs = await collectJobs(context, visit)
  const later = [
    ...(await laterUploads(context, visit)),
    ...(await laterTables(context, visit)),
    ...(await laterStashes(context, visit)),
    ...(await laterJobs(context, visit)),
  ]
  return { collected: { uploads, generations, stashes, jobs }, later }
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

/** Lists every object that a record names, in one view per team, and adds up their bytes. */
async function markAll(partitions: readonly KvPartition[]): Promise<Marked> {
  const named = new Set<ObjectId>()
  const sharing = new Set<ObjectId>() // IDs of segments that share an object.
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

/** Deletes expired idempotency records, except records that were replaced meanwhile. */
async function collectRepeats({ options }: StoreContext, { partition }: Visit): Promise<void> {
  const now = await options.clock.lifetimeMs()
  const over = await partition.read(async (view) => {
    const found: KvCheck[] = []
    for await (const entries of scanBatches(view, IDEMPOTENCY_RANGE)) {
      for (const [key, equals] of entries) {
        if (isExpired(options, decodeIdempotencyRecord(equals), now)) found.push({ key, equals })
      }
    }
    return found
  })
  await deleteUnchanged(partition, over)
}
