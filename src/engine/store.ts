import { BufferPool } from '../base/buffer-pool.js'
import { ByteCache } from '../base/byte-cache.js'
import type { Bytes } from '../base/bytes.js'
import { type DisposableIterator, disposable } from '../base/disposable.js'
import {
  checkFunctionOption,
  checkOptionNames,
  checkOptions,
  checkSignalOption,
} from '../base/options.js'
import { every } from '../base/platform.js'
import { SliceTurns } from '../base/time-slices.js'
import type { KvStore } from '../kv/kv.js'
import type { ObjectStore } from '../objects/objects.js'
import { checkPorts } from './arguments/arguments.js'
import { LENT_BUFFERS, type LendsBuffers } from './arguments/lent-buffers.js'
import { type ResolvedOptions, resolveStoreOptions } from './arguments/resolve-options.js'
import { backupStore } from './backup/backup.js'
import { bufferSharesOf, cacheSharesOf } from './caches/cache-shares.js'
import { ChunkCounts } from './caches/chunk-counts.js'
import { ExtentEntries } from './caches/extents.js'
import { HotRowCache } from './caches/hot-row-cache.js'
import { KeysOfHeads } from './caches/keys-of-heads.js'
import { PointReadCache } from './caches/point-read-cache.js'
import { SchemaCache } from './caches/schema-cache.js'
import { SortedLists } from './caches/sorted-lists.js'
import { TableCounts } from './caches/table-counts.js'
import { planHistory } from './changes/record-history.js'
import { loggedChange } from './changes/record-log.js'
import { KeyedMutex } from './commit/keyed-mutex.js'
import { TableHeads } from './commit/table-heads.js'
import { TableWakes } from './commit/table-wakes.js'
import { type HistoryOf, type KeyedChangeOf, TableWriters } from './commit/table-writers.js'
import { Activity } from './context/activity.js'
import { StoredApiKeys } from './context/api-keys.js'
import { SegmentCodecs } from './context/segment-codecs.js'
import type { StoreContext, TeamContext } from './context/store-context.js'
import { readTeams } from './context/team-entries.js'
import { StorePublicFiles } from './files/public-files.js'
import { ObjectIds } from './ids/object-ids.js'
import { SigningKeys } from './ids/signing-keys.js'
import { TeamAliases } from './ids/team-alias.js'
import { JobRunner } from './jobs/job-runner.js'
import { keyedChange } from './keys/changed-keys.js'
import { Background } from './leases/background.js'
import { DueTeams } from './leases/due-teams.js'
import { GenerationPins } from './leases/generation-pins.js'
import { Incarnation } from './leases/incarnation.js'
import { Lifecycle } from './leases/lifecycle.js'
import { ObjectHolds } from './leases/object-holds.js'
import { withCheckedPuts } from './limits/checked-puts.js'
import { CountShares } from './limits/count-shares.js'
import { DiskSpace, withDiskSpace } from './limits/disk-space.js'
import { FileClaims } from './limits/file-claims.js'
import { OpenUploads } from './limits/open-uploads.js'
import { Pauses } from './limits/pauses.js'
import { TeamLimits } from './limits/team-limits.js'
import { TransferLimit } from './limits/transfer-limit.js'
import { UploadPuts } from './limits/upload-puts.js'
import { type CollectionDuty, isCollectionDue } from './maintenance/last-collections.js'
import { Maintainer } from './maintenance/maintainer.js'
import { ForwardCache } from './segments/forward-cache.js'
import { SegmentCache } from './segments/segment-cache.js'
import { SegmentReads } from './segments/segment-reads.js'
import { measureActivity, measureMemory } from './store-memory.js'
import { openTeamContext, StoreTeam } from './team.js'
import type { StoreActivity, StoreMemory } from './types/activity-types.js'
import type { BackupOptions } from './types/backup-types.js'
import type { MaintainOptions, MaintenanceReport, StoreStatus } from './types/event-types.js'
import type { PublicFiles } from './types/file-types.js'
import type { ApiKeys } from './types/key-types.js'
import type { StoreOptions } from './types/store-options.js'
import type { Store, StoreLimits, Team } from './types/store-types.js'
import type { VerifyOptions, VerifyReport } from './types/verify-types.js'
import { verifyStore } from './verify/verify.js'

/** The two ports of a store, and its options. */
export type OpenStoreOptions = StoreOptions &
  Readonly<{
    /** The key-value store, which has the records. The store closes it. */
    kv: KvStore
    /** The object store, which has segments and files. The store closes it. */
    objects: ObjectStore
    /** Called once, after the store and both ports have closed. Default: none. */
    afterClose?: () => Promise<void>
  }>

/**
 * Estimated memory of the state of a team, in bytes. A team that was dropped from the cache is created again on its
 * next use.
 */
const TEAM_BYTES = 4 * 1024

/**
 * Opens a store on a key-value store and an object store. Closing the store closes both.
 * @throws {StoreError} OPTION_NOT_ALLOWED; FORMAT_UNKNOWN if this runtime lacks a compression that the store's rows use;
 *   STORAGE_UNAVAILABLE. After an error the ports stay open.
 * @example
 * import { MemoryLevel } from 'memory-level' // or any other of the abstract-level family
 * import { memoryObjects, openLevelKv, openStore } from 'rowstash'
 *
 * const kv = await openLevelKv(new MemoryLevel())
 * const store = await openStore({ kv, objects: memoryObjects(), pageRowsMax: 500 })
 * console.log(store.limits.pageRowsMax) // 500
 * await store.close()
 */
export async function openStore(request: OpenStoreOptions): Promise<Store> {
  checkOptions('openStore', request)
  const { kv, objects, afterClose, ...given } = request
  checkPorts(kv, objects)
  checkFunctionOption('afterClose', afterClose)
  const context = openContext(kv, objects, resolveStoreOptions(given, kv.shared))
  await context.codecs.checkReadable()
  await compareClock(context)
  return new OpenedStore(context, afterClose)
}

/** Compares the clock of this process with the clock of a shared database. */
async function compareClock({ kv, options }: StoreContext): Promise<void> {
  const ask = kv.now?.bind(kv)
  if (ask !== undefined) await options.clock.compare(ask)
}

/**
 * Maximum number of concurrent sorts: each sort holds up to about 64 MiB, and a view. A team has only one at a time.
 */
const SORTS_MAX = 2

function openContext(kv: KvStore, given: ObjectStore, options: ResolvedOptions): StoreContext {
  const shares = cacheSharesOf(options.cacheBytesMax)
  const bufferShares = bufferSharesOf(options.bufferBytesMax)
  const disk = new DiskSpace(given, options)
  const lifecycle = new Lifecycle(disk)
  const background = new Background(lifecycle, options)
  const ids = new ObjectIds(options.random)
  const holds = new ObjectHolds()
  const pins = new GenerationPins()
  const incarnation = new Incarnation({ kv, ids, holds, pins, options, background })
  const onDisk = withDiskSpace(given, disk)
  const pauses = new Pauses(options.orphanGraceMs)
  const objects = withCheckedPuts(onDisk, () => incarnation.ready(), pauses)
  const counts = new CountShares(kv)
  const uploads = new OpenUploads(options, counts)
  const readBuffers = new BufferPool(bufferShares.reading)
  const shared = kv.shared ? { onRefused: incarnation.noteRefused } : undefined
  const activity = new Activity(options)
  const sources = openSources(objects, readBuffers, shares)
  const slices = new SliceTurns(options.clock)
  const beside = openBeside({ ...sources, slices }, options, kv, lifecycle)
  kv.cache?.setShare(shares.records)
  kv.observe?.(activity.committed)
  return {
    kv,
    objects,
    options,
    slices,
    ids,
    incarnation,
    holds,
    buffers: new BufferPool(bufferShares.building),
    readBuffers,
    lentBuffers: new BufferPool(bufferShares.lent),
    codecs: new SegmentCodecs(kv, objects, background, options.random),
    ...sources,
    chunkCounts: new ChunkCounts(),
    limits: new TeamLimits({ options, shares: counts }),
    tableCounts: new TableCounts(options),
    hotRows: new HotRowCache(shares.hotRows),
    keysOfHeads: new KeysOfHeads(),
    pointReads: new PointReadCache(shares.pointReads),
    writers: new TableWriters(options, sources.heads, shared, beside),
    ...beside,
    pins,
    pauses,
    dueTeams: new DueTeams({ kv, options, background }),
    disk,
    lifecycle,
    background,
    activity,
    aliases: new TeamAliases(kv, options.random, shares.aliases),
    signingKeys: new SigningKeys(kv, options),
    transferLimit: new TransferLimit(options.filesInFlightMax),
    uploads,
    puts: new UploadPuts(),
    claims: new FileClaims(options, uploads),
    turns: new KeyedMutex(),
  }
}

/** Opens the caches and readers that look up rows. */
function openSources(
  objects: ObjectStore,
  readBuffers: BufferPool,
  shares: ReturnType<typeof cacheSharesOf>,
): Pick<
  StoreContext,
  'segments' | 'forwards' | 'schemas' | 'heads' | 'extents' | 'sortedLists' | 'sorts'
> {
  return {
    segments: new SegmentCache(new SegmentReads(objects, readBuffers), shares.segments),
    forwards: new ForwardCache(objects, shares.forwards),
    schemas: new SchemaCache(shares.schemas),
    heads: new TableHeads(shares.heads),
    extents: new ExtentEntries(shares.extents),
    sortedLists: new SortedLists(shares.sorted),
    sorts: new TransferLimit(SORTS_MAX, 'sorts'),
  }
}

/** What accompanies every change of a table. */
function openBeside(
  sources: ReturnType<typeof openSources> & Pick<StoreContext, 'slices'>,
  options: ResolvedOptions,
  kv: KvStore,
  lifecycle: Lifecycle,
): Pick<StoreContext, 'wakes' | 'history' | 'keyed' | 'logged'> {
  const context = { ...sources, options }
  const keyed: KeyedChangeOf = (...of) => keyedChange(context, ...of)
  const history: HistoryOf = (...of) => planHistory(context, ...of)
  return {
    keyed,
    logged: (...of) => loggedChange({ kv, options }, ...of),
    wakes: new TableWakes(kv.shared ? (look) => lifecycle.run(look) : undefined),
    history: options.historyRetentionMs === 0 ? undefined : history,
  }
}

type OpenTeam = Readonly<{ context: TeamContext; team: StoreTeam }>

/**
 * Starts the background work of a store. Work that fails is tried again when it is next due.
 * @returns a function that stops it.
 */
function startBackground(
  context: StoreContext,
  maintainer: Maintainer,
  jobs: JobRunner,
): () => void {
  const { background, options } = context
  const collect = () => background.run('garbageCollection', () => maintainer.collectTables())
  const collectFiles = () => background.run('fileCollection', () => maintainer.collectFiles())
  const compact = () => background.run('compaction', () => maintainer.compact())
  const recompress = () => background.run('recompression', () => maintainer.recompress())
  const lookForJobs = () => background.run('jobs', () => jobs.look())
  const compare = () => background.run('lease', () => compareClock(context))
  const recompressions = options.recompression !== 'none'
  const repeat = (intervalMs: number, work: () => void) => {
    return intervalMs > 0 ? every(intervalMs, work) : () => undefined
  }
  const stops = [
    context.dueTeams.begin(),
    context.pauses.begin(),
    repeat(context.kv.now === undefined ? 0 : Math.ceil(options.jobLeaseMs / 3), compare),
    repeat(options.jobIntervalMs, lookForJobs),
    repeat(options.garbageCollectionIntervalMs, collect),
    repeat(options.compactionIntervalMs, compact),
    repeat(recompressions ? options.recompressionIntervalMs : 0, recompress),
    repeat(options.fileCollectionIntervalMs, collectFiles),
  ]
  if (options.jobIntervalMs > 0) lookForJobs()
  // A process that lives for less than an interval would never collect garbage, so it does so when the store is opened.
  const collectIfDue = async (duty: CollectionDuty, intervalMs: number, work: () => void) => {
    if (intervalMs > 0 && (await isCollectionDue(context, duty, intervalMs))) work()
  }
  background.run('garbageCollection', () =>
    collectIfDue('garbageCollection', options.garbageCollectionIntervalMs, collect),
  )
  background.run('fileCollection', () =>
    collectIfDue('files', options.fileCollectionIntervalMs, collectFiles),
  )
  return () => stops.forEach((stop) => void stop())
}

class OpenedStore implements Store, LendsBuffers {
  readonly limits: StoreLimits
  readonly files: PublicFiles
  readonly keys: ApiKeys
  readonly [LENT_BUFFERS]: BufferPool
  readonly #context: StoreContext
  readonly #afterClose: OpenStoreOptions['afterClose']
  readonly #maintainer: Maintainer
  readonly #jobs: JobRunner
  readonly #teams: ByteCache<OpenTeam>
  readonly #stopBackground: () => void

  constructor(context: StoreContext, afterClose: OpenStoreOptions['afterClose']) {
    this.#context = context
    this.#afterClose = afterClose
    this.#maintainer = new Maintainer(context)
    this.#teams = new ByteCache(
      cacheSharesOf(context.options.cacheBytesMax).teams,
      () => TEAM_BYTES,
    )
    this[LENT_BUFFERS] = context.lentBuffers
    this.#jobs = new JobRunner(context, (teamId) => this.#openTeam(teamId).context)
    this.files = new StorePublicFiles(context)
    this.keys = new StoredApiKeys(context.kv, context.options, context.lifecycle)
    const { pageRowsMax, pageBytesMax } = context.options
    const { fileBytesMax } = context.options
    this.limits = { pageRowsMax, pageBytesMax, fileBytesMax }
    this.#stopBackground = startBackground(context, this.#maintainer, this.#jobs)
  }

  team(teamId: string): Team {
    return this.#openTeam(teamId).team
  }

  teams(): Promise<readonly string[]> {
    const { kv, lifecycle } = this.#context
    return lifecycle.run(() => kv.partition('').read(readTeams))
  }

  #openTeam(teamId: string): OpenTeam {
    let open = this.#teams.get(teamId)
    if (open === undefined) {
      const context = openTeamContext(this.#context, teamId)
      open = { context, team: new StoreTeam(context, this.#jobs) }
      this.#teams.set(teamId, open)
    }
    return open
  }

  maintain(options: MaintainOptions = {}): Promise<MaintenanceReport> {
    return this.#context.lifecycle.run(() => {
      checkOptionNames('garbageCollection', options, (name) => name === 'signal')
      checkSignalOption(options.signal)
      return this.#maintainer.maintain(options.signal)
    })
  }

  verify(options: VerifyOptions = {}): Promise<VerifyReport> {
    return this.#context.lifecycle.run(() => verifyStore(this.#context, options))
  }

  backup(options: BackupOptions = {}): DisposableIterator<Bytes> {
    return disposable(backupStore(this.#context, options))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  memory(): StoreMemory {
    return measureMemory(this.#context, this.#teams)
  }

  activity(): StoreActivity {
    return measureActivity(this.#context, this.#teams, this.#jobs.runningCount)
  }

  status(): StoreStatus {
    const { lifecycle, kv, disk } = this.#context
    if (lifecycle.isClosing) {
      return { writable: false, code: 'STORE_CLOSED', message: 'The store is closed' }
    }
    const { refusal } = kv
    if (refusal === undefined && disk.isLow) {
      return { writable: false, code: 'INSUFFICIENT_STORAGE', message: 'The disk is almost full' }
    }
    if (refusal === undefined) return { writable: true }
    return { writable: false, code: refusal.code, message: refusal.message }
  }

  close(): Promise<void> {
    const { lifecycle, kv, objects, incarnation, dueTeams } = this.#context
    this.#stopBackground()
    return lifecycle.close(async () => {
      try {
        await dueTeams.write().catch(() => undefined) // After a failure, the daily scan finds the work.
        // After a failure, other processes notice the end when the lease expires.
        await incarnation.end().catch(() => undefined)
        await kv.close()
      } finally {
        await objects.close().finally(() => this.#afterClose?.())
      }
    })
  }
}
