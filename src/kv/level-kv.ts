// A KvStore inside any abstract-level database that has explicit snapshots. Its bytes are described in
// record-envelope, its writing in commit-queue, and how it notices lost commits in commit-log.
import type { AbstractSnapshot } from 'abstract-level'
import type { Bytes } from '../base/bytes.js'
import { concatBytes } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import { StoreError } from '../base/store-error.js'
import { CommitQueue } from './commit-queue.js'
import { type HighWaterKeeper, startHighWater } from './high-water.js'
import type { KvPartition, KvStore, KvView } from './kv.js'
import type { LevelDatabase } from './level-database.js'
import { compactAll, readRecords, scanKeys, scanRecords, storageError } from './level-database.js'
import { findHighWater, type LevelSource, openDatabase } from './level-opening.js'
import { type LevelKvOptions, resolveLevelOptions } from './level-options.js'
import { encodePartitionPrefix } from './record-envelope.js'

const SCAN_COUNT_MAX = 100_000

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
    const queue = new CommitQueue(database, log, {
      ...resolved,
      onDurable: (commit) => keeper?.note(commit),
    })
    return new LevelKv(database, queue, keeper)
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
  readonly #highWater: HighWaterKeeper | undefined
  #closing: Promise<void> | undefined

  constructor(database: LevelDatabase, queue: CommitQueue, highWater: HighWaterKeeper | undefined) {
    this.#database = database
    this.#queue = queue
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
    const snapshot = openSnapshot(this.#database)
    const view = new LevelView(this.#database, snapshot, prefix)
    try {
      return await use(view)
    } finally {
      view.end()
      await closeSnapshot(snapshot)
    }
  }
}

class LevelView implements KvView {
  readonly #database: LevelDatabase
  readonly #snapshot: AbstractSnapshot
  readonly #prefix: Bytes
  #ended = false

  constructor(database: LevelDatabase, snapshot: AbstractSnapshot, prefix: Bytes) {
    this.#database = database
    this.#snapshot = snapshot
    this.#prefix = prefix
  }

  async get(key: Bytes): Promise<Bytes | null> {
    const [value = null] = await this.getMany([key])
    return value
  }

  async getMany(keys: readonly Bytes[]): Promise<(Bytes | null)[]> {
    this.#assertValid()
    const levelKeys = keys.map((key) => concatBytes([this.#prefix, key]))
    return await readRecords(this.#database, levelKeys, this.#snapshot)
  }

  async scan({ start, limit, count, reverse = false }: Parameters<KvView['scan']>[0]) {
    this.#assertValid()
    const countable = Number.isInteger(count) && count >= 1 && count <= SCAN_COUNT_MAX
    invariant(countable, `a scan counts 1 to ${SCAN_COUNT_MAX} entries`)
    const levelScan = {
      start: concatBytes([this.#prefix, start]),
      limit: concatBytes([this.#prefix, limit]),
      count,
      reverse,
    }
    const records = await scanRecords(this.#database, levelScan, this.#snapshot)
    return records.map(([key, value]): [Bytes, Bytes] => [withoutPrefix(key, this.#prefix), value])
  }

  end(): void {
    this.#ended = true
  }

  #assertValid(): void {
    invariant(!this.#ended, 'a view is used only inside the read that made it')
  }
}

/** The key as its partition knows it: a plain Uint8Array, whatever the database gave. */
function withoutPrefix(key: Bytes, prefix: Bytes): Bytes {
  return new Uint8Array(key.buffer, key.byteOffset + prefix.length, key.length - prefix.length)
}

function openSnapshot(database: LevelDatabase): AbstractSnapshot {
  try {
    return database.snapshot()
  } catch (failure) {
    throw storageError(failure, 'The database cannot be read')
  }
}

async function closeSnapshot(snapshot: AbstractSnapshot): Promise<void> {
  try {
    await snapshot.close()
  } catch (failure) {
    throw storageError(failure, 'A view cannot be closed')
  }
}

function closedError(): StoreError {
  return new StoreError('STORE_CLOSED', 'The store was closed')
}
