// The database of a store, which is closed and opened anew after a failed write.
//
// LevelDB acknowledges writes after an error and loses them (LEVELDB.md, F7), and a failed write may be there after a
// reopen (F8). So:
//
// Invariants:
// - After the first failed write nothing is written until the database was opened again and holds every
//   commit that was acknowledged. If it does not, the store stays refused, with DATA_LOSS.
// - The old database is closed before the new one is opened, and nothing reads from both.
// - Reads go on in the old one until there is room on the disk to open it again: on a full disk it could
//   be closed, but not opened.

import { type Awaitable, isSync, tryCall } from '../base/awaitable.js'
import { waitAtMost } from '../base/platform.js'
import { isStoreError, StoreError, storeClosed } from '../base/store-error.js'
import { CommitQueue } from './commit-queue.js'
import type { HighWaterKeeper } from './high-water.js'
import type { KvCache, KvGroup } from './kv.js'
import type { LevelDatabase } from './level-database.js'
import { storageError } from './level-database.js'
import type { LevelSource, OpenedDatabase } from './level-opening.js'
import { closeAfter, openDatabase } from './level-opening.js'
import type { ResolvedLevelOptions } from './level-options.js'
import { LevelViews } from './level-views.js'

/** Pauses between two attempts to open a database again: each twice the one before. */
const PAUSE_MS_MIN = 50
const PAUSE_MS_MAX = 1_000

/** How long a read waits for the database to be open again. */
const READ_WAIT_MS_MAX = 2_000

/** How long reads under way may take before the database is closed under them. */
const DRAIN_MS_MAX = 500

type Session = {
  readonly database: LevelDatabase
  readonly queue: CommitQueue
  /** Its memory is freed with the session. */
  readonly views: LevelViews
  /** Reads under way. */
  users: number
  /** Called when there are none any more. */
  onIdle: () => void
}

/** The views that reads are served from. */
export type ReadSession = Readonly<Pick<Session, 'database' | 'queue' | 'views'>>

export type SessionsOptions = ResolvedLevelOptions &
  Readonly<{ source: LevelSource; keeper: HighWaterKeeper | undefined }>

export class LevelSessions implements KvCache {
  /** Added to all versions; constant while the store is open. */
  readonly versionBase: number
  /** Called after each group of commits. */
  onGroup: (group: KvGroup) => void = () => undefined
  readonly #options: SessionsOptions
  #session: Session
  /** Whether reads may use the session; else it is being opened again. */
  #isReadable = true
  #reopenings = 0
  #recovery: Promise<void> | undefined
  /** Resolves when it may be worth to look again: the session is readable, lost, or at its end. */
  #ready: Promise<void> = Promise.resolve()
  #signalReady: () => void = () => undefined
  /** Why the last attempt failed. */
  #lastFailure: unknown
  #loss: StoreError | undefined
  #isClosing = false
  #cacheBytesMax: number
  /** Of earlier sessions. */
  #hits = 0
  #misses = 0

  /** @param full - The database is only a stand-in, as there is no room to open that of the source: this is why. */
  constructor(options: SessionsOptions, opened: OpenedDatabase, full?: StoreError) {
    this.#options = options
    this.#cacheBytesMax = options.recordCacheBytes
    this.versionBase = opened.versionBase
    this.#session = this.#newSession(opened)
    options.keeper?.onFailure((failure) => this.#session.queue.stop(failure))
    if (full !== undefined) this.#session.queue.stop(full)
  }

  /** How often the database was opened again. */
  get reopenings(): number {
    return this.#reopenings
  }

  /** Why commits are refused now. */
  get refusal(): StoreError | undefined {
    return this.#isClosing ? storeClosed() : (this.#loss ?? this.#session.queue.failure)
  }

  // As the cache of records, which each session has anew.
  get bytes(): number {
    return this.#session.views.cacheBytes
  }

  get bytesMax(): number {
    return this.#cacheBytesMax
  }

  get hits(): number {
    return this.#hits + this.#session.views.cacheHits
  }

  get misses(): number {
    return this.#misses + this.#session.views.cacheMisses
  }

  setShare(bytesMax: number): void {
    if (this.#options.isRecordCacheFixed) return
    this.#cacheBytesMax = bytesMax
    this.#session.views.setCacheBytesMax(bytesMax)
  }

  /**
   * Where commits go.
   * @throws {StoreError} STORE_CLOSED, DATA_LOSS
   */
  get queue(): CommitQueue {
    this.#assertUsable()
    return this.#session.queue
  }

  /**
   * Reads from the database, in this turn if it is open.
   * @throws {StoreError} STORE_CLOSED, DATA_LOSS, STORAGE_UNAVAILABLE: it was not open again in time.
   */
  async use<T>(read: (session: ReadSession) => Awaitable<T>): Promise<T> {
    this.#assertUsable()
    if (!this.#isReadable) await this.#waitUntilReadable()
    const session = this.#session
    return this.#finish(
      session,
      tryCall(() => read(session)),
    )
  }

  /** The stamp of the views, see `LevelViews`; undefined also while reads are not served at once. */
  get commitStamp(): object | undefined {
    if (this.#isClosing || this.#loss !== undefined || !this.#isReadable) return undefined
    return this.#session.views.latest
  }

  /** As `use`; what `read` returns at once is returned at once. */
  useAwaitable<T>(read: (session: ReadSession) => Awaitable<T>): Awaitable<T> {
    if (this.#isClosing || this.#loss !== undefined || !this.#isReadable) return this.use(read)
    const session = this.#session
    const result = tryCall(() => read(session))
    return isSync(result) ? result : this.#finish(session, result)
  }

  /** Waits for what reads from a session, which stays open until then. */
  async #finish<T>(session: Session, reading: Awaitable<T>): Promise<T> {
    session.users++
    try {
      return await reading
    } catch (failure) {
      throw this.#isClosing || session === this.#readable() ? failure : interrupted(failure)
    } finally {
      session.users--
      if (session.users === 0) session.onIdle()
    }
  }

  /** Writes the last mark while nobody else can open the database. */
  async close(): Promise<void> {
    this.#isClosing = true
    this.#signalReady()
    await this.#recovery
    const { queue, database } = this.#session
    const { keeper, durability } = this.#options
    await queue.close()
    try {
      await keeper?.close(!queue.isPoisoned && durability !== 'none')
    } finally {
      await database.close().catch((failure: unknown) => {
        throw storageError(failure, 'The database cannot be closed')
      })
    }
  }

  #assertUsable(): void {
    if (this.#isClosing) throw storeClosed()
    if (this.#loss === undefined) return
    const { code, message } = this.#loss
    throw new StoreError(code, message, { cause: this.#loss, outcome: 'unchanged' })
  }

  #readable(): Session | undefined {
    return this.#isReadable ? this.#session : undefined
  }

  async #waitUntilReadable(): Promise<void> {
    await waitAtMost(this.#ready, READ_WAIT_MS_MAX)
    this.#assertUsable()
    if (this.#isReadable) return
    throw storageError(
      this.#lastFailure,
      'The database has not been reopened yet after a failed write',
      'unchanged',
    )
  }

  #newSession({ database, log }: OpenedDatabase): Session {
    const { source, keeper } = this.#options
    const reopens = typeof source === 'function'
    const views = new LevelViews(database, this.#cacheBytesMax)
    const queue = new CommitQueue(database, log, {
      ...this.#options,
      views,
      reopens,
      confirm: () => keeper?.confirm(),
      onDurable: (commit) => keeper?.note(commit),
      onGroup: (group) => this.onGroup(group),
      onFailed: (failed) => {
        if (failed.code === 'DATA_LOSS') this.#recovery = this.#giveUp(failed)
        else if (reopens) this.#recovery = this.#recover()
      },
    })
    return { database, queue, views, users: 0, onIdle: () => undefined }
  }

  /** Opens the database again, as often as it takes. */
  async #recover(): Promise<void> {
    this.#ready = new Promise((resolve) => {
      this.#signalReady = resolve
    })
    let pauseMs = PAUSE_MS_MIN
    while (!this.#isClosing) {
      try {
        await this.#options.highWater?.file.probe()
        await this.#endSession()
        const opened = await this.#openAgain()
        const { hits, misses } = this
        this.#session = this.#newSession(opened)
        this.#hits = hits
        this.#misses = misses
        this.#reopenings++
        this.#isReadable = true
        break
      } catch (failure) {
        this.#lastFailure = failure
        if (isStoreError(failure) && failure.code === 'DATA_LOSS') {
          await this.#giveUp(failure)
          break
        }
      }
      await waitAtMost(this.#ready, pauseMs, 'unref')
      pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX)
    }
    this.#signalReady()
  }

  /** Somebody else may use the files: LevelDB must not even compact them any more. */
  async #giveUp(loss: StoreError): Promise<void> {
    this.#loss = loss
    await this.#endSession().catch(() => undefined) // Everybody gets the error of the loss.
  }

  /** Closes the broken database, when reads under way have ended or had their time. */
  async #endSession(): Promise<void> {
    const session = this.#session
    await session.queue.settled()
    this.#isReadable = false
    if (session.users > 0) {
      const idle = new Promise<void>((resolve) => {
        session.onIdle = resolve
      })
      await waitAtMost(idle, DRAIN_MS_MAX)
    }
    await session.database.close()
  }

  async #openAgain(): Promise<OpenedDatabase> {
    const { source, keeper, written, durability, storeCrc } = this.#options
    const atLeast = this.#session.queue.last
    const opened = await openDatabase(source, {
      written: written || atLeast > 0,
      acceptLoss: false,
      durability,
      storeCrc,
      atLeast,
      versionBaseKnown: this.versionBase,
      versionBaseMin: 0,
      isUnsure: false, // What this process has acknowledged, it knows.
    })
    try {
      // Also proves that the disk takes writes, and puts our mark in the place of anybody else's.
      await keeper?.restart(opened.log.last)
      return opened
    } catch (failure) {
      await closeAfter(opened.database)
      throw failure
    }
  }
}

/** A read whose database was closed under it may be repeated. */
function interrupted(failure: unknown): unknown {
  if (!isStoreError(failure) || failure.code !== 'STORE_CLOSED') return failure
  const message = 'The database was closed during the read, because a write failed'
  return new StoreError('STORAGE_UNAVAILABLE', message, { cause: failure, outcome: 'unchanged' })
}
