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
import { IDEMPOTENCY_RANGE } from '../../format/keys.js'
import { decodeIdempotencyRecord } from '../../format/records.js'
import type { KvCheck, KvPartition } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import type { ObjectId } from '../../objects/objects.js'
import type { BytesHeld } from '../api/activity-types.js'
import type { SweepReport } from '../api/report-types.js'
import { deleteUnchanged } from '../commit/delete-records.js'
import { isExpired } from '../commit/idempotency.js'
import { bytesOfNamed, namedObjects, objectOf } from '../context/named-objects.js'
import { readInUse } from '../context/other-incarnations.js'
import type { StoreContext } from '../context/store-context.js'
import { readTeams } from '../context/team-entries.js'
import { foldPartition } from './fold.js'
import { FileSweeper, type FilesSwept } from './sweep-files.js'
import { sweepGenerations, sweepSchemas } from './sweep-generations.js'
import { IncarnationSweeper } from './sweep-incarnations.js'
import { sweepJobs } from './sweep-jobs.js'
import { sweepStashes } from './sweep-stashes.js'
import { sweepUploads } from './sweep-uploads.js'

type TablesSwept = Omit<SweepReport, keyof FilesSwept>

export class Sweeper {
  readonly #context: StoreContext
  /** Objects that the marks so far found unnamed, with the time of the first such mark. */
  readonly #unnamed = new Map<ObjectId, number>()
  readonly #fileSweeper: FileSweeper
  readonly #incarnations: IncarnationSweeper
  #running: Promise<TablesSwept> | undefined
  #folding: Promise<number> | undefined
  #filing: Promise<FilesSwept> | undefined

  constructor(context: StoreContext) {
    this.#context = context
    this.#fileSweeper = new FileSweeper(context)
    this.#incarnations = new IncarnationSweeper(context)
  }

  /** One sweep over the whole store. */
  async sweep(): Promise<SweepReport> {
    const swept = await this.sweepFiles()
    return { ...swept, ...(await this.sweepTables()) }
  }

  /** Sweeps everything but files, which are swept less often. Concurrent calls share one sweep. */
  sweepTables(): Promise<TablesSwept> {
    this.#running ??= this.#context.activity
      .sweep(() => this.#sweepAll())
      .finally(() => {
        this.#running = undefined
      })
    return this.#running
  }

  /** Sweeps the files of all teams. Concurrent calls share one sweep. */
  sweepFiles(): Promise<FilesSwept> {
    this.#filing ??= this.#context.activity
      .sweep(() => this.#sweepAllFiles())
      .finally(() => {
        this.#filing = undefined
      })
    return this.#filing
  }

  /** Folds the row records of all teams. Concurrent calls share one fold. */
  fold(): Promise<number> {
    this.#folding ??= this.#context.activity
      .fold(() => this.#foldAll())
      .finally(() => {
        this.#folding = undefined
      })
    return this.#folding
  }

  async #foldAll(): Promise<number> {
    let folds = 0
    for (const [teamId, partition] of await this.#teamPartitions()) {
      folds += await foldPartition(this.#context, { teamId, partition })
    }
    return folds
  }

  async #sweepAllFiles(): Promise<FilesSwept> {
    let files = 0
    for (const [teamId, partition] of await this.#teamPartitions()) {
      files += (await this.#fileSweeper.sweep(teamId, partition)).files
    }
    return { files }
  }

  async #sweepAll(): Promise<TablesSwept> {
    let stashes = 0
    let generations = 0
    let uploads = 0
    let jobs = 0
    await this.#incarnations.sweep() // First, so that nothing of an ended process is spared for it.
    const folds = await this.fold()
    for (const [teamId, partition] of await this.#teamPartitions()) {
      uploads += await sweepUploads(this.#context, teamId, partition)
      generations += await sweepGenerations(this.#context, partition)
      await sweepSchemas(partition)
      stashes += await sweepStashes(this.#context, partition)
      await sweepRepeats(this.#context, partition)
      this.#context.limits.forget(teamId)
      jobs += await sweepJobs(this.#context, teamId, partition)
    }
    const objects = await this.#sweepObjects()
    await this.#context.kv.reclaim?.()
    return { folds, stashes, generations, uploads, jobs, objects }
  }

  async #teamPartitions(): Promise<(readonly [teamId: string, partition: KvPartition])[]> {
    const { kv } = this.#context
    const teams = await kv.partition('').read(readTeams)
    return teams.map((teamId) => [teamId, kv.partition(teamId)])
  }

  async #sweepObjects(): Promise<number> {
    const { objects, options, kv, activity } = this.#context
    // A store that stopped writing may hold commits whose outcome is unknown: nothing is deleted then.
    await kv.partition('').commit({})
    // An object listed before the mark that no record names is garbage or pending: what is pending is read in between.
    const listed = await listAll(this.#context)
    const { isPending } = await readInUse(this.#context)
    const pending = new Set(listed.filter(isPending))
    // A team is entered before any of its objects stops being pending, so no relevant team is missed.
    const partitions = (await this.#teamPartitions()).map(([, partition]) => partition)
    const { named, bytesHeld } = await markAll(partitions)
    activity.bytesHeld = bytesHeld
    const now = options.clock.now()
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
    await objects.delete(doomed)
    for (const id of doomed) this.#unnamed.delete(id)
    return doomed.length
  }
}

async function listAll({ objects }: StoreContext): Promise<ObjectId[]> {
  const listed: ObjectId[] = []
  let after: ObjectId | undefined
  for (;;) {
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
  const bytesHeld = { rows: 0, stashes: 0, files: 0, uploads: 0 }
  for (const partition of partitions) {
    await partition.read(async (view) => {
      for await (const one of namedObjects(view)) {
        const { size } = named
        if (named.add(objectOf(one)).size === size) continue
        const [kind, bytes] = bytesOfNamed(one)
        bytesHeld[kind] += bytes
      }
    })
  }
  return { named, bytesHeld }
}

/** Deletes expired idempotency records, unless one was replaced meanwhile. */
async function sweepRepeats({ options }: StoreContext, partition: KvPartition): Promise<void> {
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
