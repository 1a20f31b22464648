// A KvStore in any abstract-level database. See record-envelope for its bytes, commit-queue for writing, commit-log for
// the detection of lost commits, and emulated-snapshots for databases without snapshots.

import { fromEmitter } from '../base/from-emitter.js'
import { invariant } from '../base/invariant.js'
import { isStoreError, StoreError } from '../base/store-error.js'
import { type HighWater, keepHighWater, startHighWater } from './high-water.js'
import { keyAfter } from './key-range.js'
import type { KvCache, KvCheckItem, KvGroup, KvPartition, KvStore, KvView } from './kv.js'
import { checkDatabase } from './level-check.js'
import { compactAll, scanLevelKeys } from './level-database.js'
import {
  closeAfter,
  findHighWater,
  type LevelSource,
  type OpenedDatabase,
  openDatabase,
} from './level-opening.js'
import {
  type LevelKvOptions,
  type ResolvedLevelOptions,
  resolveLevelOptions,
} from './level-options.js'
import { LevelSessions } from './level-sessions.js'
import { closeSnapshot, openSnapshot, Prefix, withoutPrefix } from './level-views.js'
import { encodePartitionPrefix } from './record-envelope.js'

/** The maximum number of deletes in one commit of a range deletion, so that it never blocks the queue for long. */
const RANGE_COMMIT_COUNT = 500

/**
 * Opens a key-value store on an abstract-level database, or on a function that opens one.
 *
 * The store owns the database: nothing else may write to it, and closing the store closes it. If the call fails, a
 * given database belongs to the caller again; a database opened by the function is closed.
 *
 * After a failed write, a store opened with a function reopens its database and resumes; a store opened with a database
 * refuses all further writes. With `standIn`, a store opened with a function can be read while the disk is full.
 *
 * The arrays of a commit must not change until `commit` settles.
 * @throws {StoreError} OPTION_NOT_ALLOWED, DATA_LOSS (acknowledged commits are missing), DATA_CORRUPT, STORE_LOCKED,
 *   STORAGE_UNAVAILABLE
 * @example
 * import { MemoryLevel } from 'memory-level' // or any other of the abstract-level family
 * import { memoryObjects, openLevelKv, openStore } from 'rowstash'
 *
 * const kv = await openLevelKv(() => new MemoryLevel(), { recordCacheBytes: 1_048_576 })
 * await using store = await openStore({ kv, objects: memoryObjects() })
 * console.log(kv.shared, store.status().writable) // false true
 */
export async function openLevelKv(
  source: LevelSource,
  options: LevelKvOptions = {},
): Promise<KvStore> {
  const resolved = resolveLevelOptions(options)
  const { highWater: place, written, acceptLoss, durability, versionBaseMin } = resolved
  // Before LevelDB is called, since its open begins with changing files.
  const mark = place === undefined ? null : await findHighWater(place, resolved)
  const expected = {
    written,
    acceptLoss,
    durability,
    storeCrc: resolved.storeCrc,
    atLeast: mark?.commit ?? 0,
    versionBaseKnown: mark?.versionBase ?? 0,
    versionBaseMin,
    isUnsure: isUnsure(mark, resolved),
  }
  try {
    return await openSessions(source, resolved, await openDatabase(source, expected))
  } catch (failure) {
    const { standIn } = resolved
    if (standIn === undefined || typeof source !== 'function' || !isFull(failure)) throw failure
    const full = noRoom(failure)
    const database = await standIn(full)
    const opened = await openDatabase(() => database, { ...expected, readOnly: true })
    return openSessions(source, resolved, opened, full)
  }
}

/** @param full - The failure because of which a stand-in was opened; undefined: it is the source's own database. */
async function openSessions(
  source: LevelSource,
  options: ResolvedLevelOptions,
  opened: OpenedDatabase,
  full?: StoreError,
): Promise<KvStore> {
  const { highWater: place, durability } = options
  const { log, versionBase } = opened
  const relaxed = durability !== 'commit'
  const state = { commit: log.last, closed: false, relaxed, versionBase }
  try {
    // A stand-in is only read, so it is not marked as open.
    const start = full === undefined ? startHighWater : keepHighWater
    const keeper = place && (await start(place, state))
    return new LevelKv(new LevelSessions({ ...options, source, keeper }, opened, full))
  } catch (failure) {
    if (typeof source === 'function') await closeAfter(opened.database)
    throw failure
  }
}

function isFull(failure: unknown): boolean {
  return isStoreError(failure) && failure.code === 'INSUFFICIENT_STORAGE'
}

function noRoom(cause: unknown): StoreError {
  const message = 'The disk has no room to open the database for writing'
  return new StoreError('INSUFFICIENT_STORAGE', message, { cause, outcome: 'unchanged' })
}

/** Whether commits may have been lost without a trace: in a power cut, or together with the high-water mark. */
function isUnsure(mark: HighWater | null, { highWater, written }: ResolvedLevelOptions): boolean {
  if (mark === null) return highWater !== undefined && written
  return mark.relaxed && !mark.closed
}

/** Number of writes and deletions after which the database is compacted (PERFORMANCE.md, P31). */
const RECLAIM_OPERATIONS_MIN = 20_000

export class LevelKv implements KvStore {
  readonly shared = false
  readonly #sessions: LevelSessions
  #operationsAtReclaim = 0
  #closing: Promise<void> | undefined

  constructor(sessions: LevelSessions) {
    this.#sessions = sessions
  }

  get versionBase(): number {
    return this.#sessions.versionBase
  }

  get refusal(): StoreError | undefined {
    return this.#sessions.refusal
  }

  get cache(): KvCache {
    return this.#sessions
  }

  observe(onGroup: (group: KvGroup) => void): void {
    this.#sessions.onGroup = onGroup
  }

  /** Number of times the database was reopened after a failed write. Only for tests. */
  get reopenings(): number {
    return this.#sessions.reopenings
  }

  partition(name: string): KvPartition {
    const prefix = new Prefix(encodePartitionPrefix(name))
    const sessions = this.#sessions
    return {
      read: (use) => sessions.use(({ views }) => views.read(prefix, use)),
      readAwaitable: (use) => sessions.useAwaitable(({ views }) => views.read(prefix, use)),
      commitStamp: () => sessions.commitStamp,
      commit(commit) {
        try {
          return sessions.queue.commit(prefix, commit)
        } catch (failure) {
          return Promise.reject(failure)
        }
      },
      async deleteRange({ start, limit }, count) {
        invariant(
          Number.isInteger(count) && count >= 1,
          'a deletion of a range has a positive count',
        )
        let range = { start: prefix.keyOf(start), limit: prefix.keyOf(limit) }
        let deleted = 0
        while (deleted < count) {
          const wanted = Math.min(count - deleted, RANGE_COMMIT_COUNT)
          const keys = await sessions.use(({ database }) => {
            return scanLevelKeys(database, { ...range, count: wanted })
          })
          if (keys.length > 0) {
            const deletes = keys.map((key) => withoutPrefix(key, prefix.bytes))
            await sessions.queue.commit(prefix, { deletes })
          }
          deleted += keys.length
          const last = keys[wanted - 1]
          if (last === undefined) break
          range = { ...range, start: keyAfter(last) } // A scan from the old start would pass every deleted record.
        }
        return deleted
      },
    }
  }

  async flush(): Promise<void> {
    await this.#sessions.queue.barrier()
  }

  async reclaim(): Promise<void> {
    const { operations } = this.#sessions.queue
    // The count of a reopened database begins at 0.
    if (operations < this.#operationsAtReclaim) this.#operationsAtReclaim = 0
    if (operations - this.#operationsAtReclaim < RECLAIM_OPERATIONS_MIN) return
    this.#operationsAtReclaim = operations
    await this.#sessions.use(({ database, queue }) => queue.aside(() => compactAll(database)))
  }

  readAll<T>(use: (viewOf: (partition: string) => KvView) => Promise<T>): Promise<T> {
    return this.#sessions.use(({ views }) => views.readAll(use))
  }

  check(full: boolean): AsyncGenerator<KvCheckItem, void> {
    return fromEmitter((emit) =>
      this.#sessions.use(async ({ database }) => {
        const snapshot = openSnapshot(database)
        try {
          for await (const item of checkDatabase(database, snapshot, full)) await emit(item)
        } finally {
          await closeSnapshot(snapshot)
        }
      }),
    )
  }

  close(): Promise<void> {
    this.#closing ??= this.#sessions.close()
    return this.#closing
  }
}
