import { BufferPool } from '../base/buffer-pool.js'
import { ByteCache } from '../base/byte-cache.js'
import type { Bytes } from '../base/bytes.js'
import { checkFunctionOption, checkOptions } from '../base/options.js'
import { every } from '../base/platform.js'
import type { KvStore } from '../kv/kv.js'
import type { ObjectStore } from '../objects/objects.js'
import { checkPorts } from './api/arguments.js'
import type { BackupOptions } from './api/backup-types.js'
import type { PublicFiles } from './api/file-types.js'
import { resolveStoreOptions } from './api/resolve-options.js'
import type { StoreOptions } from './api/store-options.js'
import type { Store, StoreLimits, SweepReport, Team } from './api/store-types.js'
import type { VerifyOptions, VerifyReport } from './api/verify-types.js'
import { backupStore } from './backup/backup.js'
import { TableHeads } from './commit/table-heads.js'
import { TableWriters } from './commit/table-writer.js'
import { Background } from './context/background.js'
import { ExtentEntries } from './context/extents.js'
import { FileClaims } from './context/file-claims.js'
import { GenerationPins } from './context/generation-pins.js'
import { HotRowCache } from './context/hot-row-cache.js'
import { Lifecycle } from './context/lifecycle.js'
import { ObjectHolds } from './context/object-holds.js'
import { ObjectIds } from './context/object-ids.js'
import { OpenUploads } from './context/open-uploads.js'
import { PointReadCache } from './context/point-read-cache.js'
import { SchemaCache } from './context/schema-cache.js'
import { SegmentCodecs } from './context/segment-codecs.js'
import { SigningKeys } from './context/signing-keys.js'
import type { StoreContext } from './context/store-context.js'
import { TeamAliases } from './context/team-alias.js'
import { TransferLimit } from './context/transfer-limit.js'
import { UploadPuts } from './context/upload-puts.js'
import { StorePublicFiles } from './files/public-files.js'
import { ForwardCache } from './segments/forward-cache.js'
import { SegmentCache } from './segments/segment-cache.js'
import { SegmentReads } from './segments/segment-reads.js'
import { StoreTeam } from './team.js'
import { Sweeper } from './upkeep/sweep.js'
import { verifyStore } from './verify/verify.js'

/** The two ports that a store stands on, and the store's options. */
export type OpenStoreOptions = StoreOptions &
  Readonly<{
    kv: KvStore
    objects: ObjectStore
    /** Called once, when the store and both ports were closed. */
    afterClose?: () => Promise<void>
  }>

/** Buffers for segments that are kept for the next ones. */
const BUFFER_BYTES_MAX = 16 * 1024 * 1024

/** Buffers for pieces of segments that are read: for a few of those who read at the same time. */
const READ_BUFFER_BYTES_MAX = 4 * 1024 * 1024

/** Of the memory for what was read: for single rows. The rest is for frames and footers. */
const CACHED_ROWS_SHARE = 1 / 8

/** Memory for the state of teams, and what one takes, about. A team that was dropped is made anew. */
const TEAMS_BYTES_MAX = 16 * 1024 * 1024
const TEAM_BYTES = 16 * 1024

/**
 * Opens a store on a key-value store and an object store, which it closes when it is closed.
 * @throws {StoreError} OPTION_NOT_ALLOWED; FORMAT_UNKNOWN: its rows are compressed in a way that this runtime
 *   cannot read; STORAGE_UNAVAILABLE. The ports stay open.
 */
export async function openStore(request: OpenStoreOptions): Promise<Store> {
  checkOptions('openStore', request)
  const { kv, objects, afterClose, ...given } = request
  checkPorts(kv, objects)
  checkFunctionOption('afterClose', afterClose)
  const options = resolveStoreOptions(given)
  const lifecycle = new Lifecycle()
  const background = new Background(lifecycle, options)
  const heads = new TableHeads()
  const uploads = new OpenUploads(options)
  const rowBytesMax = options.cacheBytesMax * CACHED_ROWS_SHARE
  const reads = new SegmentReads(objects, new BufferPool(READ_BUFFER_BYTES_MAX))
  const context: StoreContext = {
    kv,
    objects,
    options,
    ids: new ObjectIds(options.random),
    holds: new ObjectHolds(),
    buffers: new BufferPool(BUFFER_BYTES_MAX),
    segments: new SegmentCache(reads, options.cacheBytesMax - rowBytesMax),
    codecs: new SegmentCodecs(kv, objects, background),
    forwards: new ForwardCache(objects, options.cacheBytesMax),
    schemas: new SchemaCache(),
    heads,
    extents: new ExtentEntries(),
    hotRows: new HotRowCache(rowBytesMax),
    pointReads: new PointReadCache(),
    writers: new TableWriters(options.random, heads),
    pins: new GenerationPins(),
    lifecycle,
    background,
    aliases: new TeamAliases(kv, options.random),
    signingKeys: new SigningKeys(kv, options),
    transferLimit: new TransferLimit(options.filesInFlightMax),
    uploads,
    puts: new UploadPuts(),
    claims: new FileClaims(options, uploads),
  }
  await context.codecs.checkReadable()
  return new OpenedStore(context, afterClose)
}

class OpenedStore implements Store {
  readonly limits: StoreLimits
  readonly files: PublicFiles
  readonly #context: StoreContext
  readonly #afterClose: OpenStoreOptions['afterClose']
  readonly #sweeper: Sweeper
  readonly #teams = new ByteCache<StoreTeam>(TEAMS_BYTES_MAX, () => TEAM_BYTES)
  readonly #stopBackground: () => void

  constructor(context: StoreContext, afterClose: OpenStoreOptions['afterClose']) {
    this.#context = context
    this.#afterClose = afterClose
    this.#sweeper = new Sweeper(context)
    this.files = new StorePublicFiles(context)
    const { pageRowsMax, pageBytesMax } = context.options
    const { fileBytesMax } = context.options
    this.limits = { pageRowsMax, pageBytesMax, fileBytesMax }
    const { sweepIntervalMs, foldIntervalMs, fileSweepIntervalMs } = context.options
    const { background } = context // What fails is repeated by the next turn.
    const sweep = () => background.run('sweep', () => this.#sweeper.sweepTables())
    const sweepFiles = () => background.run('fileSweep', () => this.#sweeper.sweepFiles())
    const fold = () => background.run('fold', () => this.#sweeper.fold())
    const stops = [
      sweepIntervalMs > 0 ? every(sweepIntervalMs, sweep) : () => undefined,
      foldIntervalMs > 0 ? every(foldIntervalMs, fold) : () => undefined,
      fileSweepIntervalMs > 0 ? every(fileSweepIntervalMs, sweepFiles) : () => undefined,
    ]
    this.#stopBackground = () => stops.forEach((stop) => void stop())
    if (sweepIntervalMs > 0) sweep()
    if (fileSweepIntervalMs > 0) sweepFiles() // A process that never lives for an interval sweeps too.
  }

  team(teamId: string): Team {
    let team = this.#teams.get(teamId)
    if (team === undefined) {
      team = new StoreTeam(this.#context, teamId)
      this.#teams.set(teamId, team)
    }
    return team
  }

  sweep(): Promise<SweepReport> {
    return this.#context.lifecycle.run(() => this.#sweeper.sweep())
  }

  verify(options: VerifyOptions = {}): Promise<VerifyReport> {
    return this.#context.lifecycle.run(() => verifyStore(this.#context, options))
  }

  backup(options: BackupOptions = {}): AsyncIterableIterator<Bytes> {
    return backupStore(this.#context, options)
  }

  close(): Promise<void> {
    const { lifecycle, kv, objects } = this.#context
    this.#stopBackground()
    return lifecycle.close(async () => {
      try {
        await kv.close()
      } finally {
        await objects.close().finally(() => this.#afterClose?.())
      }
    })
  }
}
