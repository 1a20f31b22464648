// The only writer of a database. Commits of all partitions wait in one queue, and are written in groups, each as one
// synced batch (group commit).
//
// Invariants:
// - Commits take effect in queue order. A check sees the database plus the effects of earlier commits in its group.
// - No commit is answered before its group's batch is durable. This holds for refused commits too, because a refusal
//   may depend on another commit of the group, which could still fail.
// - Batches are written one at a time, each with its commit record, so commit numbers are dense.
// - The first failed batch ends the queue: LevelDB acknowledges writes after an error and loses them (LEVELDB.md, F7).
//   A queue serves one opening of the database.

import { type Awaitable, isSync } from '../base/awaitable.js'
import type { Bytes } from '../base/bytes.js'
import { NO_BYTES, sameValue } from '../base/bytes.js'
import { monotonicMs } from '../base/clock.js'
import { invariant } from '../base/invariant.js'
import { every, yieldToEventLoop } from '../base/platform.js'
import { isStoreError, StoreError, storeClosed, withOutcome } from '../base/store-error.js'
import { BatchWriter, type BatchWriterOptions } from './batch-writer.js'
import type { CommitLog, CommitLogOptions } from './commit-log.js'
import { addCommitRecord } from './commit-log.js'
import { GroupBatches, type RecordChange } from './group-batch.js'
import type { KvCheck, KvCommit, KvCommitResult, KvGroup } from './kv.js'
import type { LevelDatabase } from './level-database.js'
import { readRecords, storageError } from './level-database.js'
import { type LevelViews, Prefix } from './level-views.js'

/**
 * A group ends before the commit with which it would exceed one of these limits. Checks count too. A single commit
 * may have far more records.
 */
const GROUP_OPERATIONS_MAX = 1_000
const GROUP_BYTES_MAX = 4 * 1_048_576

/**
 * With at least this many commits in flight, a group takes half of them, and the others are planned while it is
 * written (PERFORMANCE.md, P24). With fewer commits, planning is faster than another sync.
 */
const HALVED_MIN = 24

/** The prefix of a commit that changes nothing. */
const NO_PREFIX = new Prefix(NO_BYTES)

type FailedCheck = { key: Bytes; value: Bytes | null }

type CommitSize = Readonly<{ operationCount: number; bytes: number }>

type QueuedCommit = Readonly<{
  /** Prefix of the LevelDB keys of the commit's partition. */
  prefix: Prefix
  commit: KvCommit
  isBarrier: boolean
  size: CommitSize
  resolve: (result: KvCommitResult) => void
  reject: (failure: unknown) => void
}>

type EvaluatedCommit = Readonly<{ queued: QueuedCommit; result: KvCommitResult; writes: boolean }>

/** Records that a group reads and changes, by LevelDB key as text. */
type GroupState = {
  /** Values that were read from the database for checks. */
  found: Map<string, Bytes | null> | undefined
  /** The last change of each record in the group. */
  readonly changes: Map<string, RecordChange>
}

export type CommitQueueOptions = CommitLogOptions &
  BatchWriterOptions &
  Readonly<{
    /** With `interval`: the longest time that a batch may be unsynced, in milliseconds. */
    flushMs: number
    views: LevelViews
    /** Called when a batch was written, before its commits are answered. Throws if they must not be answered. */
    confirm: () => void
    /** Called when all commits up to this one are on disk: before they are answered, except with `interval`. */
    onDurable: (commit: number) => void
    /** Called when a group was written. Must not throw. */
    onGroup: (group: KvGroup) => void
    /** Called when a write has failed and nothing more is written, before any caller gets the failure. */
    onFailed: (failed: StoreError) => void
    /** Whether the database will be reopened automatically. */
    reopens: boolean
  }>

export class CommitQueue {
  readonly #database: LevelDatabase
  readonly #options: CommitQueueOptions
  readonly #writer: BatchWriter
  readonly #batches: GroupBatches
  readonly #stopFlushing: () => void
  #log: CommitLog
  #waiting: QueuedCommit[] = []
  #running: Promise<void> | undefined
  /** The expected number of commits in the next group: those in flight at the last answer, or half of them. */
  #expected = 1
  #gathered: (() => void) | undefined
  #closed = false
  #failed: StoreError | undefined
  #operations = 0

  constructor(database: LevelDatabase, log: CommitLog, options: CommitQueueOptions) {
    this.#database = database
    this.#log = log
    this.#options = options
    this.#writer = new BatchWriter(database, options)
    this.#batches = new GroupBatches(database)
    const flush = (): void => {
      // A failure stops the queue; the callers of its commits receive the error.
      if (this.#writer.isBehind) this.barrier().catch(() => undefined)
    }
    const { durability, flushMs } = options
    this.#stopFlushing = durability === 'interval' ? every(flushMs, flush) : () => undefined
  }

  /** Number of records written or deleted so far. */
  get operations(): number {
    return this.#operations
  }

  /** Number of the last batch whose commits were answered. */
  get last(): number {
    return this.#log.last
  }

  /** The failed write that ended the queue. */
  get failure(): StoreError | undefined {
    return this.#failed
  }

  /** Whether a failed write ended the queue. */
  get isPoisoned(): boolean {
    return this.#failed !== undefined
  }

  /**
   * Adds a commit to the queue. Its arrays must not change until the promise settles, because they are read later.
   * @param isBarrier - Whether to resolve only when this commit and all earlier ones are on disk, unless the store
   *   never syncs.
   */
  commit(prefix: Prefix, commit: KvCommit, isBarrier = false): Promise<KvCommitResult> {
    return new Promise((resolve, reject) => {
      if (this.#closed) {
        throw storeClosed()
      }
      if (this.#failed !== undefined) throw this.#refusal(this.#failed)
      this.#waiting.push({ prefix, commit, isBarrier, size: measure(commit), resolve, reject })
      if (this.#waiting.length >= this.#expected) this.#gathered?.()
      this.#running ??= this.#run()
    })
  }

  /** Refuses further commits, and resolves when the queued ones are settled. */
  async close(): Promise<void> {
    this.#stopFlushing()
    // Any failure ends the queue, which the caller checks.
    const last = this.#closed ? undefined : this.barrier().catch(() => undefined)
    this.#closed = true
    await last
    await this.#running
  }

  /** Ends the queue like a failed write: nothing more can be written at the store's place. */
  stop(failure: unknown): StoreError {
    if (this.#failed === undefined) {
      this.#failed = isStoreError(failure)
        ? withOutcome(failure, 'unknown')
        : storageError(failure, 'A write failed', 'unknown')
      this.#options.onFailed(this.#failed)
    }
    return this.#failed
  }

  /** Resolves when all commits so far are on disk, unless the store never syncs. */
  async barrier(): Promise<void> {
    await this.commit(NO_PREFIX, {}, true)
  }

  /** Runs work during which LevelDB may begin a new log at any moment. */
  async aside(work: () => Promise<void>): Promise<void> {
    const end = this.#writer.syncAll()
    try {
      await this.barrier()
      await work()
    } finally {
      end()
    }
  }

  /** Resolves when all commits of a failed queue are settled. */
  async settled(): Promise<void> {
    this.#stopFlushing()
    await this.#running
  }

  async #run(): Promise<void> {
    await Promise.resolve() // Lets other commits of this turn join the first group.
    while (this.#waiting.length > 0) {
      if (this.#waiting.length < this.#expected) await this.#gather()
      const group = this.#waiting.splice(0, this.#groupLength())
      if (this.#failed === undefined) await this.#settle(group)
      else for (const { reject } of group) reject(this.#refusal(this.#failed))
    }
    this.#running = undefined
  }

  /** Must be called before a group is answered: after the answer, commits that its callers add would count too. */
  #expectAfter(group: readonly QueuedCommit[]): void {
    const underWay = group.length + this.#waiting.length
    this.#expected = underWay < HALVED_MIN ? underWay : Math.ceil(underWay / 2)
  }

  /** Waits for the expected number of commits, or until no caller adds one in this turn. */
  async #gather(): Promise<void> {
    const gathered = new Promise<void>((resolve) => {
      this.#gathered = resolve
    })
    await Promise.race([gathered, yieldToEventLoop()])
  }

  #groupLength(): number {
    const { length } = this.#waiting
    const isHalved = 2 * this.#expected >= HALVED_MIN && length <= 2 * this.#expected
    return commitGroupLength(isHalved ? this.#waiting.slice(0, this.#expected) : this.#waiting)
  }

  async #settle(group: readonly QueuedCommit[]): Promise<void> {
    const state: GroupState = { found: undefined, changes: new Map() }
    const judged: EvaluatedCommit[] = []
    let isBarrier = false
    for (const queued of group) {
      isBarrier ||= queued.isBarrier
      try {
        const verdict = this.#evaluate(queued, state)
        judged.push(isSync(verdict) ? verdict : await verdict)
      } catch (failure) {
        // Only this commit fails: its checks cannot be read. Programming mistakes are passed on unchanged.
        queued.reject(isStoreError(failure) ? withOutcome(failure, 'unchanged') : failure)
      }
    }
    const { changes } = state
    const began = monotonicMs()
    try {
      if (changes.size > 0 || (isBarrier && this.#writer.isBehind)) {
        const batch = this.#batches.next(changes)
        for (const change of changes.values()) {
          batch.add(change)
          if (batch.operations.length % GROUP_OPERATIONS_MAX === 0) await yieldToEventLoop()
        }
        if (this.#failed !== undefined) throw this.#failed // Other work ran meanwhile.
        const log = addCommitRecord(batch, this.#log, changes.size, this.#options)
        this.#options.views.beforeBatch(batch)
        await this.#writer.write(batch.operations, isBarrier) // The commit point of the whole group.
        this.#written(batch.operations.length, log)
      }
    } catch (failure) {
      const failed = this.stop(failure)
      for (const { queued, writes } of judged) {
        queued.reject(writes ? failed : this.#refusal(failed))
      }
      return
    }
    this.#expectAfter(group)
    this.#report(judged, changes.size, began)
    for (const { queued, result } of judged) queued.resolve(result)
  }

  #written(operations: number, log: CommitLog): void {
    const { views, confirm, onDurable } = this.#options
    views.afterBatch()
    confirm()
    this.#log = log
    if (this.#writer.isDurable) onDurable(log.last)
    this.#operations += operations
  }

  #report(judged: readonly EvaluatedCommit[], records: number, began: number): void {
    let commits = 0
    let bytes = 0
    for (const { queued, writes } of judged) {
      if (!writes) continue
      commits++
      bytes += queued.size.bytes
    }
    if (commits === 0) return
    this.#options.onGroup({ commits, records, bytes, ms: monotonicMs() - began })
  }

  /** Decides one commit on the state after earlier commits of the group, and adds its effects. */
  #evaluate(queued: QueuedCommit, state: GroupState): Awaitable<EvaluatedCommit> {
    const { prefix, commit } = queued
    const planned = planChanges(prefix, commit)
    const last = planned.at(-1) // Often the record that is also checked, with the same key object.
    const values: (Bytes | null | undefined)[] = []
    let isKnown = true
    for (const { key } of commit.checks ?? NO_CHECKS) {
      const text = key === last?.key ? last.text : prefix.textOf(key)
      const value = this.#present(state, text)
      values.push(value)
      if (value === undefined) isKnown = false
    }
    if (isKnown) return judge(queued, planned, values, state)
    return this.#readUnknown(queued, values, state).then((all) =>
      judge(queued, planned, all, state),
    )
  }

  /** The value of a record after earlier commits of the group; undefined: not in memory. */
  #present({ changes, found }: GroupState, text: string): Bytes | null | undefined {
    const change = changes.get(text)
    if (change !== undefined) return change.payload
    const value = found?.get(text)
    // Between two batches, memory and database agree.
    return value === undefined ? this.#options.views.recall(text) : value
  }

  async #readUnknown(
    { prefix, commit: { checks = NO_CHECKS } }: QueuedCommit,
    values: readonly (Bytes | null | undefined)[],
    state: GroupState,
  ): Promise<readonly (Bytes | null)[]> {
    const keys = checks.map(({ key }) => key).filter((_, i) => values[i] === undefined)
    const read = await readRecords(
      this.#database,
      keys.map((key) => prefix.keyOf(key)),
    )
    state.found ??= new Map()
    for (const [i, key] of keys.entries()) state.found.set(prefix.textOf(key), read[i] ?? null)
    let next = 0
    return values.map((value) => (value === undefined ? (read[next++] ?? null) : value))
  }

  /** The failure for a commit that was not part of the failed batch. */
  #refusal(failed: StoreError): StoreError {
    if (failed.code === 'DATA_LOSS') return withOutcome(failed, 'unchanged')
    const until = this.#options.reopens
      ? 'the database is reopened, which is being attempted'
      : 'the store is closed and opened again'
    const message = `${failed.message}; nothing is written until ${until}`
    return new StoreError(failed.code, message, { cause: failed, outcome: 'unchanged' })
  }
}

const NO_CHECKS: readonly KvCheck[] = Object.freeze([])
const DONE: KvCommitResult = Object.freeze({ ok: true })

/** @param values - The values of the checked records. */
function judge(
  queued: QueuedCommit,
  planned: readonly RecordChange[],
  values: readonly (Bytes | null | undefined)[],
  { changes }: GroupState,
): EvaluatedCommit {
  let failed: FailedCheck[] | undefined
  const { checks = NO_CHECKS } = queued.commit
  for (let i = 0; i < checks.length; i++) {
    const check = checks[i]
    const value = values[i] ?? null
    if (check === undefined || sameValue(value, check.equals)) continue
    failed ??= []
    failed.push({ key: check.key, value })
  }
  if (failed !== undefined) return { queued, result: { ok: false, failed }, writes: false }
  for (const change of planned) changes.set(change.text, change)
  return { queued, result: DONE, writes: planned.length > 0 }
}

function measure({ checks = [], puts = [], deletes = [] }: KvCommit): CommitSize {
  let bytes = 0
  for (const [key, value] of puts) bytes += key.length + value.length
  for (const key of deletes) bytes += key.length
  return { operationCount: checks.length + puts.length + deletes.length, bytes }
}

/** The number of commits in the next group: at least one. */
function commitGroupLength(waiting: readonly QueuedCommit[]): number {
  let operationCount = 0
  let bytes = 0
  let length = 0
  for (const { size } of waiting) {
    operationCount += size.operationCount
    bytes += size.bytes
    if (length > 0 && (operationCount > GROUP_OPERATIONS_MAX || bytes > GROUP_BYTES_MAX)) break
    length++
  }
  return length
}

function planChanges(prefix: Prefix, { puts = [], deletes = [] }: KvCommit): RecordChange[] {
  const changes: RecordChange[] = []
  for (const [key, payload] of puts) {
    changes.push({ text: prefix.textOf(key), prefix, key, payload, written: null })
  }
  for (const key of deletes) {
    changes.push({ text: prefix.textOf(key), prefix, key, payload: null, written: null })
  }
  invariant(areDistinct(changes), 'a commit puts or deletes a key at most once')
  return changes
}

/** The maximum number of changes compared with each other. More are put into a set, which costs more for a few. */
const COMPARED_MAX = 4

function areDistinct(changes: readonly RecordChange[]): boolean {
  const { length } = changes
  if (length > COMPARED_MAX) return new Set(changes.map(({ text }) => text)).size === length
  for (let i = 1; i < length; i++) {
    for (let j = 0; j < i; j++) if (changes[i]?.text === changes[j]?.text) return false
  }
  return true
}
