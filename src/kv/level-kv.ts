// A KvStore inside any abstract-level database that has explicit snapshots. Its bytes are described in
// record-envelope, its writing in commit-queue, and how it notices lost commits in commit-log.
import type { Bytes } from '../base/bytes.js'
import { concatBytes } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import { StoreError } from '../base/store-error.js'
import { CommitQueue } from './commit-queue.js'
import { type HighWaterKeeper, startHighWater } from './high-water.js'
import type { KvPartition, KvStore, KvView } from './kv.js'
import type { LevelDatabase } from './level-database.js'
import { compactAll, scanKeys, storageError } from './level-database.js'
import { findHighWater, type LevelSource, openDatabase } from './level-opening.js'
import { type LevelKvOptions, resolveLevelOptions } from './level-options.js'
import { LevelViews, withoutPrefix } from './level-views.js'
import { encodePartitionPrefix } from './record-envelope.js'

/** Deletes of one commit of a sweep, so that it never holds up the queue for long. */
const SWEEP_COMMIT_COUNT = 500

/**
 * Opens a store on a database. The store owns it from here on: nobody else writes to it, and closing the
 * store closes it. When this fails, a database that is open or opening is the caller's again; one that was
 * made by a function is closed.
 *
 * The arrays of a commit are read after `commit` returned: leave them unchanged until it settles.
 * @throws {StoreError} OPTION_NOT_ALLOWED: it has no explicit snapshots; DATA_LOSS: acknowledged
 *   commits are missing; DATA_CORRUPT; STORE_LOCKED; STORAGE_UNAVAILABLE
 */
export async function openLevelKv(
  source: LevelSource,
  options: LevelKvOptions = {},
): Promise<KvStore> {
  const resolved = resolveLevelOptions(options)
  const { highWater: place, written, acceptLoss } = resolved
  // Before LevelDB is called, which begins with changing files.
  const mark = place === undefined ? null : await findHighWater(place, resolved)
  const expected = { written, acceptLoss, atLeast: mark?.commit ?? 0 }
  const { database, log } = await openDatabase(source, expected)
  try {
    const state = { commit: log.last, closed: false, relaxed: false, versionBase: 0 }
    const keeper = place && (await startHighWater(place, state))
    const views = new LevelViews(database, resolved.recordCacheBytes)
    const queue = new CommitQueue(database, log, {
      ...resolved,
      views,
      onDurable: (commit) => keeper?.note(commit),
    })
    return new LevelKv(database, queue, views, keeper)
  } catch (failure) {
    if (typeof source === 'function') await database.close()
    throw failure
  }
}

/**
 * Records written or deleted from which on a compaction is worth it. LevelDB compacts by itself, but only as
 * it grows: after 200,000 small writes and a fold, the 150,000 deleted row records still took 33 MB.
 */
const RECLAIM_OPERATIONS_MIN = 20_000

class LevelKv implements KvStore {
  readonly shared = false
  #operationsAtReclaim = 0
  readonly #database: LevelDatabase
  readonly #queue: CommitQueue
  readonly #views: LevelViews
  readonly #highWater: HighWaterKeeper | undefined
  #closing: Promise<void> | undefined

  constructor(
    database: LevelDatabase,
    queue: CommitQueue,
    views: LevelViews,
    highWater: HighWaterKeeper | undefined,
  ) {
    this.#database = database
    this.#queue = queue
    this.#views = views
    this.#highWater = highWater
  }

  partition(name: string): KvPartition {
    const prefix = encodePartitionPrefix(name)
    const database = this.#database
    const queue = this.#queue
    return {
      read: (use) => this.#read(prefix, use),
      commit: (commit) => queue.commit(prefix, commit),
      async sweep({ start, limit }, count) {
        invariant(Number.isInteger(count) && count >= 1, 'a sweep has a positive count')
        const range = { start: concatBytes([prefix, start]), limit: concatBytes([prefix, limit]) }
        let swept = 0
        while (swept < count) {
          const wanted = Math.min(count - swept, SWEEP_COMMIT_COUNT)
          const keys = await scanKeys(database, { ...range, count: wanted })
          if (keys.length > 0) {
            await queue.commit(prefix, { deletes: keys.map((key) => withoutPrefix(key, prefix)) })
          }
          swept += keys.length
          if (keys.length < wanted) break
        }
        return swept
      },
    }
  }

  async reclaim(): Promise<void> {
    if (this.#closing !== undefined) throw closedError()
    const { operations } = this.#queue
    if (operations - this.#operationsAtReclaim < RECLAIM_OPERATIONS_MIN) return
    this.#operationsAtReclaim = operations
    await compactAll(this.#database)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await this.#queue.close()
    let closed = false
    try {
      await this.#database.close()
      closed = !this.#queue.isPoisoned
    } catch (failure) {
      throw storageError(failure, 'The database cannot be closed')
    } finally {
      await this.#highWater?.close(closed)
    }
  }

  async #read<T>(prefix: Bytes, use: (view: KvView) => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) throw closedError()
    return await this.#views.read(prefix, use)
  }
}

function closedError(): StoreError {
  return new StoreError('STORE_CLOSED', 'The store was closed')
}
