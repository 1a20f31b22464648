import { BufferPool } from '../base/buffer-pool.js'
import { ByteCache } from '../base/byte-cache.js'
import type { Bytes } from '../base/bytes.js'
import { type DisposableIterator, disposable } from '../base/disposable.js'
import {
  checkFunctionOption,
  checkOptionNames,
  checkOptions,
  checkSignal,
} from '../base/options.js'
import { every } from '../base/platform.js'
import { SliceTurns } from '../base/time-slices.js'
import type { KvStore } from '../kv/kv.js'
import type { ObjectStore } from '../objects/objects.js'
import type { StoreActivity } from './api/activity-types.js'
import { checkPorts } from './api/arguments.js'
import type { BackupOptions } from './api/backup-types.js'
import type { PublicFiles } from './api/file-types.js'
import type { ApiKeys } from './api/key-types.js'
import { LENT_BUFFERS, type LendsBuffers } from './api/lent-buffers.js'
import type { StoreMemory } from './api/memory-types.js'
import type { StoreStatus, SweepOptions, SweepReport } from './api/report-types.js'
import { type ResolvedOptions, resolveStoreOptions } from './api/resolve-options.js'
import type { StoreOptions } from './api/store-options.js'
import type { Store, StoreLimits, Team } from './api/store-types.js'
import type { VerifyOptions, VerifyReport } from './api/verify-types.js'
import { backupStore } from './backup/backup.js'
import { KeyedMutex } from './commit/keyed-mutex.js'
import { TableHeads } from './commit/table-heads.js'
import { TableWakes } from './commit/table-wakes.js'
import { type HistoryOf, type KeyedChangeOf, TableWriters } from './commit/table-writers.js'
import { Activity } from './context/activity.js'
import { StoredApiKeys } from './context/api-keys.js'
import { Background } from './context/background.js'
import { bufferSharesOf, cacheSharesOf } from './context/cache-shares.js'
import { withCheckedPuts } from './context/checked-puts.js'
import { ChunkCounts } from './context/chunk-counts.js'
import { CountShares } from './context/count-shares.js'
import { DiskSpace, withDiskSpace } from './context/disk-space.js'
import { DueTeams } from './context/due-teams.js'
import { ExtentEntries } from './context/extents.js'
import { FileClaims } from './context/file-claims.js'
import { GenerationPins } from './context/generation-pins.js'
import { HotRowCache } from './context/hot-row-cache.js'
import { Incarnation } from './context/incarnation.js'
import { KeysOfHeads } from './context/keys-of-heads.js'
import { Lifecycle } from './context/lifecycle.js'
import { ObjectHolds } from './context/object-holds.js'
import { ObjectIds } from './context/object-ids.js'
import { OpenUploads } from './context/open-uploads.js'
import { Pauses } from './context/pauses.js'
import { PointReadCache } from './context/point-read-cache.js'
import { SchemaCache } from './context/schema-cache.js'
import { SegmentCodecs } from './context/segment-codecs.js'
import { SigningKeys } from './context/signing-keys.js'
import type { StoreContext, TeamContext } from './context/store-context.js'
import { TableCounts } from './context/table-counts.js'
import { TeamAliases } from './context/team-alias.js'
import { readTeams } from './context/team-entries.js'
import { TeamLimits } from './context/team-limits.js'
import { TransferLimit } from './context/transfer-limit.js'
import { UploadPuts } from './context/upload-puts.js'
import { StorePublicFiles } from './files/public-files.js'
import { historyOf } from './history/record-history.js'
import { loggedChange } from './history/record-log.js'
import { JobRunner } from './jobs/job-runner.js'
import { ForwardCache } from './segments/forward-cache.js'
import { SegmentCache } from './segments/segment-cache.js'
import { SegmentReads } from './segments/segment-reads.js'
import { activityOf, memoryOf } from './store-memory.js'
import { openTeamContext, StoreTeam } from './team.js'
import { keyedChange } from './unique/changed-keys.js'
import { isSweepDue, type SweepDuty } from './upkeep/last-sweeps.js'
import { Sweeper } from './upkeep/sweep.js'
import { verifyStore } from './verify/verify.js'

/** The two ports of a store, and its options. */
export type OpenStoreOptions = StoreOptions &
  Readonly<{
    /** Where the records are. The store closes it. */
    kv: KvStore
    /** Where segments and files are. The store closes it. */
    objects: ObjectStore
    /** Called once, after the store and both ports have closed. Default: none. */
    afterClose?: () => Promise<void>
  }>

/** Estimated memory of the state of a team, in bytes. An evicted team is created again on its next use. */
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

/** Compares the clock of this process with that of a database that it shares. */
async function compareClock({ kv, options }: StoreContext): Promise<void> {
  const ask = kv.now?.bind(kv)
  if (ask !== undefined) await options.clock.compare(ask)
}

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
  const beside = openBeside({ ...sources, slices }, options, kv)
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

/** Where rows are looked up. */
function openSources(
  objects: ObjectStore,
  readBuffers: BufferPool,
  shares: ReturnType<typeof cacheSharesOf>,
): Pick<StoreContext, 'segments' | 'forwards' | 'schemas' | 'heads' | 'extents'> {
  return {
    segments: new SegmentCache(new SegmentReads(objects, readBuffers), shares.segments),
    forwards: new ForwardCache(objects, shares.forwards),
    schemas: new SchemaCache(shares.schemas),
    heads: new TableHeads(shares.heads),
    extents: new ExtentEntries(shares.extents),
  }
}

/** What goes on beside the changes of tables. */
function openBeside(
  sources: ReturnType<typeof openSources> & Pick<StoreContext, 'slices'>,
  options: ResolvedOptions,
  kv: KvStore,
): Pick<StoreContext, 'wakes' | 'history' | 'keyed' | 'logged'> {
  const context = { ...sources, options }
  const keyed: KeyedChangeOf = (...of) => keyedChange(context, ...of)
  const history: HistoryOf = (...of) => historyOf(context, ...of)
  return {
    keyed,
    logged: (...of) => loggedChange({ kv, options }, ...of),
    wakes: new TableWakes(),
    history: options.historyRetentionMs === 0 ? undefined : history,
  }
}

type OpenTeam = Readonly<{ context: TeamContext; team: StoreTeam }>

/**
 * Starts the background work of a store. Work that fails is repeated at its next turn.
 * @returns a function that stops it.
 */
function startBackground(context: StoreContext, sweeper: Sweeper, jobs: JobRunner): () => void {
  const { background, options } = context
  const sweep = () => background.run('sweep', () => sweeper.sweepTables())
  const sweepFiles = () => background.run('fileSweep', () => sweeper.sweepFiles())
  const fold = () => background.run('fold', () => sweeper.fold())
  const settle = () => background.run('settle', () => sweeper.settle())
  const lookForJobs = () => background.run('jobs', () => jobs.look())
  const compare = () => background.run('lease', () => compareClock(context))
  const settles = options.settledCompression !== 'none'
  const repeat = (intervalMs: number, work: () => void) => {
    return intervalMs > 0 ? every(intervalMs, work) : () => undefined
  }
  const stops = [
    context.dueTeams.begin(),
    context.pauses.begin(),
    repeat(context.kv.now === undefined ? 0 : Math.ceil(options.jobLeaseMs / 3), compare),
    repeat(options.jobIntervalMs, lookForJobs),
    repeat(options.sweepIntervalMs, sweep),
    repeat(options.foldIntervalMs, fold),
    repeat(settles ? options.settleIntervalMs : 0, settle),
    repeat(options.fileSweepIntervalMs, sweepFiles),
  ]
  if (options.jobIntervalMs > 0) lookForJobs()
  // A process that never lives for an interval sweeps too.
  const sweepIfDue = async (duty: SweepDuty, intervalMs: number, work: () => void) => {
    if (intervalMs > 0 && (await isSweepDue(context, duty, intervalMs))) work()
  }
  background.run('sweep', () => sweepIfDue('sweep', options.sweepIntervalMs, sweep))
  background.run('fileSweep', () => sweepIfDue('files', options.fileSweepIntervalMs, sweepFiles))
  return () => stops.forEach((stop) => void stop())
}

class OpenedStore implements Store, LendsBuffers {
  readonly limits: StoreLimits
  readonly files: PublicFiles
  readonly keys: ApiKeys
  readonly [LENT_BUFFERS]: BufferPool
  readonly #context: StoreContext
  readonly #afterClose: OpenStoreOptions['afterClose']
  readonly #sweeper: Sweeper
  readonly #jobs: JobRunner
  readonly #teams: ByteCache<OpenTeam>
  readonly #stopBackground: () => void

  constructor(context: StoreContext, afterClose: OpenStoreOptions['afterClose']) {
    this.#context = context
    this.#afterClose = afterClose
    this.#sweeper = new Sweeper(context)
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
    this.#stopBackground = startBackground(context, this.#sweeper, this.#jobs)
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

  sweep(options: SweepOptions = {}): Promise<SweepReport> {
    return this.#context.lifecycle.run(() => {
      checkOptionNames('sweep', options, (name) => name === 'signal')
      checkSignal(options.signal)
      return this.#sweeper.sweep(options.signal)
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
    return memoryOf(this.#context, this.#teams)
  }

  activity(): StoreActivity {
    return activityOf(this.#context, this.#teams, this.#jobs.running)
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
        await dueTeams.write().catch(() => undefined) // The daily scan finds what is not noted.
        await incarnation.end().catch(() => undefined) // Others find out when the lease is over.
        await kv.close()
      } finally {
        await objects.close().finally(() => this.#afterClose?.())
      }
    })
  }
}
