// The only writer of a database: commits of all partitions wait in one queue, and a group of them is
// written as one synced batch (group commit).
//
// Invariants:
// - Commits take effect in the order in which they were queued. A check sees the database plus what
//   earlier commits of its group put or delete.
// - No commit is answered before the batch of its group is as durable as the store was opened for; a refused commit
//   neither, because its refusal may rest on another commit of the group that could still fail.
// - One batch is written at a time, each with its commit record, so commit numbers are dense.
// - The first failed batch ends the queue: LevelDB acknowledges writes after an error and loses them (LEVELDB.md, F7).
//   A queue serves one opening of the database.

import { type Awaitable, chain, isSync } from '../base/awaitable.js'
import type { Bytes } from '../base/bytes.js'
import { NO_BYTES, sameValue } from '../base/bytes.js'
import { monotonicMs } from '../base/clock.js'
import { invariant } from '../base/invariant.js'
import { every, yieldToEventLoop } from '../base/platform.js'
import { isStoreError, StoreError, storeClosed, withOutcome } from '../base/store-error.js'
import { BatchWriter, type BatchWriterOptions } from './batch-writer.js'
import type { CommitLog, CommitLogOptions } from './commit-log.js'
import { planCommitRecord } from './commit-log.js'
import type { KvCommit, KvCommitResult, KvGroup } from './kv.js'
import type { LevelDatabase, LevelOperation } from './level-database.js'
import { readRecords, storageError } from './level-database.js'
import { type LevelViews, Prefix } from './level-views.js'
import { payloadOf, sealValue } from './record-envelope.js'

/**
 * A group ends before the commit with which it would exceed one of these. Checks count as well. One commit may have far
 * more records: after so many others may run.
 */
const GROUP_OPERATIONS_MAX = 1_000
const GROUP_BYTES_MAX = 4 * 1_048_576

/**
 * With at least this many commits in flight, a group takes half of them, and the others are planned while it is
 * written (PERFORMANCE.md, P24). With fewer, planning takes less time than another sync.
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

/** The effect of a commit on a record. */
type PlannedChange = Readonly<{ prefix: Prefix; key: Bytes; payload: Bytes | null }>

/** Records that a group reads and changes, by the text of the LevelDB key. */
type GroupState = Readonly<{
  /** Values in the database, as far as checks asked for them. */
  found: Map<string, Bytes | null>
  /** The last effect on each record that the group changes. */
  changes: Map<string, PlannedChange>
}>

export type CommitQueueOptions = CommitLogOptions &
  BatchWriterOptions &
  Readonly<{
    /** In `interval`, how long a batch may stay behind. */
    flushMs: number
    views: LevelViews
    /** Called when a batch was written, before its commits are answered; throws if they cannot be. */
    confirm: () => void
    /** Called when all commits up to this one are on the disk; without `interval`, before they are answered. */
    onDurable: (commit: number) => void
    /** Called when a group was written; must not throw. */
    onGroup: (group: KvGroup) => void
    /** Called when a write failed and nothing more is written, before any caller is refused for it. */
    onFailed: (failed: StoreError) => void
    /** Whether the database will be opened again by itself. */
    reopens: boolean
  }>

export class CommitQueue {
  readonly #database: LevelDatabase
  readonly #options: CommitQueueOptions
  readonly #writer: BatchWriter
  readonly #stopFlushing: () => void
  #log: CommitLog
  #waiting: QueuedCommit[] = []
  #running: Promise<void> | undefined
  /** How many commits the next group should have, by how many were under way with the last one. */
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
    const flush = (): void => {
      // A failure stops the queue; the callers of its commits receive the error.
      if (this.#writer.isBehind) this.barrier().catch(() => undefined)
    }
    const { durability, flushMs } = options
    this.#stopFlushing = durability === 'interval' ? every(flushMs, flush) : () => undefined
  }

  /** Records written or deleted so far. */
  get operations(): number {
    return this.#operations
  }

  /** Number of the last batch that was written, and whose commits were answered. */
  get last(): number {
    return this.#log.last
  }

  /** The failed write after which nothing is written any more. */
  get failure(): StoreError | undefined {
    return this.#failed
  }

  /** Whether a write failed, after which nothing is written any more. */
  get isPoisoned(): boolean {
    return this.#failed !== undefined
  }

  /**
   * The caller leaves the commit's arrays as they are until this settles: they are read later.
   * @param isBarrier - Resolve when it is on the disk, with all before it, unless the store never syncs.
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

  /** Refuses further commits, and resolves when those that wait are settled. */
  async close(): Promise<void> {
    this.#stopFlushing()
    // Whatever fails puts the queue out of use, which is what the caller looks at.
    const last = this.#closed ? undefined : this.barrier().catch(() => undefined)
    this.#closed = true
    await last
    await this.#running
  }

  /** Ends writing as a failed write does: where the store is, nothing can be written any more. */
  stop(failure: unknown): StoreError {
    if (this.#failed === undefined) {
      this.#failed = isStoreError(failure)
        ? withOutcome(failure, 'unknown')
        : storageError(failure, 'A write failed', 'unknown')
      this.#options.onFailed(this.#failed)
    }
    return this.#failed
  }

  /** Resolves when all that was committed until now is on the disk, unless the store never syncs. */
  async barrier(): Promise<void> {
    await this.commit(NO_PREFIX, {}, true)
  }

  /** Runs what may make LevelDB begin a new log at any moment. */
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
    await Promise.resolve() // Commits of the same turn join the first group.
    while (this.#waiting.length > 0) {
      if (this.#waiting.length < this.#expected) await this.#gather()
      const group = this.#waiting.splice(0, this.#groupLength())
      if (this.#failed === undefined) await this.#settle(group)
      else for (const { reject } of group) reject(this.#refusal(this.#failed))
    }
    this.#running = undefined
  }

  /** Must be called before a group is answered: who commits again at once is not two of those under way. */
  #expectAfter(group: readonly QueuedCommit[]): void {
    const underWay = group.length + this.#waiting.length
    this.#expected = underWay < HALVED_MIN ? underWay : Math.ceil(underWay / 2)
  }

  /** Waits for as many commits as are expected, or until nobody has one to give in this turn. */
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
    const state: GroupState = { found: new Map(), changes: new Map() }
    const judged: EvaluatedCommit[] = []
    for (const queued of group) {
      try {
        const verdict = this.#evaluate(queued, state)
        judged.push(isSync(verdict) ? verdict : await verdict)
      } catch (failure) {
        // Its checks cannot be read; the others are not concerned. A programming mistake stays as it is.
        queued.reject(isStoreError(failure) ? withOutcome(failure, 'unchanged') : failure)
      }
    }
    const began = monotonicMs()
    try {
      const isBarrier = group.some((queued) => queued.isBarrier)
      await this.#write(state, isBarrier)
    } catch (failure) {
      const failed = this.stop(failure)
      for (const { queued, writes } of judged) {
        queued.reject(writes ? failed : this.#refusal(failed))
      }
      return
    }
    this.#expectAfter(group)
    this.#report(judged, state, began)
    for (const { queued, result } of judged) queued.resolve(result)
  }

  #report(judged: readonly EvaluatedCommit[], { changes }: GroupState, began: number): void {
    let commits = 0
    let bytes = 0
    for (const { queued, writes } of judged) {
      if (!writes) continue
      commits++
      bytes += queued.size.bytes
    }
    if (commits === 0) return
    this.#options.onGroup({ commits, records: changes.size, bytes, ms: monotonicMs() - began })
  }

  /** Decides one commit on the state that the earlier ones of the group leave, and lays it over that. */
  #evaluate(queued: QueuedCommit, state: GroupState): Awaitable<EvaluatedCommit> {
    const { prefix, commit } = queued
    const { checks = [] } = commit
    const planned = planChanges(prefix, commit)
    const last = planned.changes.at(-1) // Often the record that is checked, by the same key.
    const texts = checks.map(({ key }) =>
      key === last?.key ? (planned.texts.at(-1) ?? '') : prefix.textOf(key),
    )
    return chain(this.#findChecked(state, queued, texts), () => {
      const failed: FailedCheck[] = []
      for (const [index, { key, equals }] of checks.entries()) {
        const value = presentValue(state, texts[index] ?? '')
        if (!sameValue(value, equals)) failed.push({ key, value })
      }
      if (failed.length > 0) return { queued, result: { ok: false, failed }, writes: false }

      for (const [index, change] of planned.changes.entries()) {
        state.changes.set(planned.texts[index] ?? '', change)
      }
      return { queued, result: { ok: true }, writes: planned.changes.length > 0 }
    })
  }

  /** Between two batches, what is in memory is what the database holds. */
  #findChecked(
    { found, changes }: GroupState,
    { prefix, commit: { checks = [] } }: QueuedCommit,
    texts: readonly string[],
  ): Awaitable<void> {
    const unread: Bytes[] = []
    const unreadTexts: string[] = []
    for (const [index, { key }] of checks.entries()) {
      const text = texts[index] ?? ''
      if (changes.has(text) || found.has(text)) continue
      const recalled = this.#options.views.recall(text)
      if (recalled !== undefined) found.set(text, recalled)
      else {
        unread.push(prefix.keyOf(key))
        unreadTexts.push(text)
      }
    }
    if (unread.length === 0) return
    return chain(readRecords(this.#database, unread), (values) => {
      for (const [index, text] of unreadTexts.entries()) found.set(text, values[index] ?? null)
    })
  }

  async #write({ changes }: GroupState, isBarrier: boolean): Promise<void> {
    if (changes.size === 0 && !(isBarrier && this.#writer.isBehind)) return
    const operations: LevelOperation[] = []
    const writes = new Map<string, Bytes | null>()
    for (const [text, change] of changes) {
      const key = change.prefix.keyOf(change.key)
      const value = change.payload === null ? null : sealValue(key, change.payload)
      if (value === null) operations.push({ type: 'del', key })
      else operations.push({ type: 'put', key, value })
      writes.set(text, value && payloadOf(value))
      if (operations.length % GROUP_OPERATIONS_MAX === 0) await yieldToEventLoop()
    }
    if (this.#failed !== undefined) throw this.#failed // While others ran.
    const record = planCommitRecord(this.#log, changes.size, this.#options)
    for (const operation of record.operations) operations.push(operation)
    const { views, confirm, onDurable } = this.#options
    views.beforeBatch(writes)
    const isDurable = await this.#writer.write(operations, isBarrier) // The commit point of the whole group.
    views.afterBatch()
    confirm()
    this.#log = record.log
    if (isDurable) onDurable(record.log.last)
    this.#operations += operations.length
  }

  /** Why nothing is written any more; of a commit that was not part of the failed batch. */
  #refusal(failed: StoreError): StoreError {
    if (failed.code === 'DATA_LOSS') return withOutcome(failed, 'unchanged')
    const until = this.#options.reopens
      ? 'the database is reopened, which is being attempted'
      : 'the store is closed and opened again'
    const message = `${failed.message}; nothing is written until ${until}`
    return new StoreError(failed.code, message, { cause: failed, outcome: 'unchanged' })
  }
}

function measure({ checks = [], puts = [], deletes = [] }: KvCommit): CommitSize {
  let bytes = 0
  for (const [key, value] of puts) bytes += key.length + value.length
  for (const key of deletes) bytes += key.length
  return { operationCount: checks.length + puts.length + deletes.length, bytes }
}

/** How many commits from the front of the queue make the next group: at least one. */
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

function planChanges(
  prefix: Prefix,
  { puts = [], deletes = [] }: KvCommit,
): Readonly<{ texts: readonly string[]; changes: readonly PlannedChange[] }> {
  const texts: string[] = []
  const changes: PlannedChange[] = []
  const plan = (key: Bytes, payload: Bytes | null): void => {
    texts.push(prefix.textOf(key))
    changes.push({ prefix, key, payload })
  }
  for (const [key, value] of puts) plan(key, value)
  for (const key of deletes) plan(key, null)
  invariant(areDistinct(texts), 'a commit puts or deletes a key at most once')
  return { texts, changes }
}

function areDistinct(texts: readonly string[]): boolean {
  if (texts.length <= 2) return texts.length < 2 || texts[0] !== texts[1]
  return new Set(texts).size === texts.length
}

/** The value of a record after the earlier commits of the group. */
function presentValue({ found, changes }: GroupState, text: string): Bytes | null {
  const change = changes.get(text)
  return change === undefined ? (found.get(text) ?? null) : change.payload
}
