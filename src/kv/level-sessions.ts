// The database of a store, which is closed and reopened after a failed write.
//
// LevelDB acknowledges writes after an error and loses them (LEVELDB.md, F7), and a failed write may still appear after
// a reopen (F8).
//
// Invariants:
// - After the first failed write, nothing is written until the database was reopened and contains every acknowledged
//   commit. If it does not, the store fails for good, with DATA_LOSS.
// - The old database is closed before the new one is opened, and no read uses both.
// - Reads continue in the old database until the disk has room to reopen it: on a full disk the database could be
//   closed, but not opened again.

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

/** The shortest and the longest pause between attempts to reopen a database. Each pause is twice the previous one. */
const PAUSE_MS_MIN = 50
const PAUSE_MS_MAX = 1_000

/** How long a read waits for a reopen, in milliseconds. */
const READ_WAIT_MS_MAX = 2_000

/** How long current reads may take before the database is closed, in milliseconds. */
const DRAIN_MS_MAX = 500

type Session = {
  readonly database: LevelDatabase
  readonly queue: CommitQueue
  /** The views. Their memory is freed with the session. */
  readonly views: LevelViews
  /** Number of current reads. */
  users: number
  /** Called when there are no more reads. */
  onIdle: () => void
}

/** The parts of a session that serve reads. */
export type ReadSession = Readonly<Pick<Session, 'database' | 'queue' | 'views'>>

export type SessionsOptions = ResolvedLevelOptions &
  Readonly<{ source: LevelSource; keeper: HighWaterKeeper | undefined }>

export class LevelSessions implements KvCache {
  /** The offset of all versions; constant while the store is open. */
  readonly versionBase: number
  /** Called after each group of commits. */
  onGroup: (group: KvGroup) => void = () => undefined
  readonly #options: SessionsOptions
  #session: Session
  /** Whether reads may use the session; otherwise it is being reopened. */
  #isReadable = true
  #reopenings = 0
  #recovery: Promise<void> | undefined
  /** Resolves when the state may have changed: readable, lost, or closed. */
  #ready: Promise<void> = Promise.resolve()
  #signalReady: () => void = () => undefined
  /** The failure of the last attempt to reopen. */
  #lastFailure: unknown
  #loss: StoreError | undefined
  #isClosing = false
  #cacheBytesMax: number
  /** Number of cache hits, and of misses, in earlier sessions. */
  #hits = 0
  #misses = 0

  /** @param full - The lack of disk space because of which a stand-in was opened; undefined: it is the source's own. */
  constructor(options: SessionsOptions, opened: OpenedDatabase, full?: StoreError) {
    this.#options = options
    this.#cacheBytesMax = options.recordCacheBytes
    this.versionBase = opened.versionBase
    this.#session = this.#newSession(opened)
    options.keeper?.onFailure((failure) => this.#session.queue.stop(failure))
    if (full !== undefined) this.#session.queue.stop(full)
  }

  /** Number of reopenings. */
  get reopenings(): number {
    return this.#reopenings
  }

  /** Why commits are refused now. */
  get refusal(): StoreError | undefined {
    return this.#isClosing ? storeClosed() : (this.#loss ?? this.#session.queue.failure)
  }

  // The cache of records; each session has a new one.
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
   * The queue for commits.
   * @throws {StoreError} STORE_CLOSED, DATA_LOSS
   */
  get queue(): CommitQueue {
    this.#assertUsable()
    return this.#session.queue
  }

  /**
   * Reads from the database. If it is open, the read begins in this turn.
   * @throws {StoreError} STORE_CLOSED, DATA_LOSS, STORAGE_UNAVAILABLE: it was not reopened in time.
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

  /** The stamp of the views, see `LevelViews`; undefined also while reads must wait. */
  get commitStamp(): object | undefined {
    if (this.#isClosing || this.#loss !== undefined || !this.#isReadable) return undefined
    return this.#session.views.latest
  }

  /** Reads like `use`; a result that `read` returns without a promise is returned without one. */
  useAwaitable<T>(read: (session: ReadSession) => Awaitable<T>): Awaitable<T> {
    if (this.#isClosing || this.#loss !== undefined || !this.#isReadable) return this.use(read)
    const session = this.#session
    const result = tryCall(() => read(session))
    return isSync(result) ? result : this.#finish(session, result)
  }

  /** Waits for a read from a session, which stays open until then. */
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

  /** Closes the database. First writes the last high-water mark, while no other process can open the database. */
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

  /** Reopens the database, retrying until it succeeds. */
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

  /**
   * Closes the database for good after a loss. Another process may use the files, so LevelDB must not even compact
   * them.
   */
  async #giveUp(loss: StoreError): Promise<void> {
    this.#loss = loss
    await this.#endSession().catch(() => undefined) // Callers get the error of the loss instead.
  }

  /** Closes the broken database, once current reads have ended or timed out. */
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
      isUnsure: false, // This process knows what it has acknowledged.
    })
    try {
      // The restart also proves that the disk accepts writes, and replaces a mark of any other process.
      await keeper?.restart(opened.log.last)
      return opened
    } catch (failure) {
      await closeAfter(opened.database)
      throw failure
    }
  }
}

/** The failure of a read whose database was closed meanwhile: the caller may repeat the read. */
function interrupted(failure: unknown): unknown {
  if (!isStoreError(failure) || failure.code !== 'STORE_CLOSED') return failure
  const message = 'The database was closed during the read, because a write failed'
  return new StoreError('STORAGE_UNAVAILABLE', message, { cause: failure, outcome: 'unchanged' })
}
