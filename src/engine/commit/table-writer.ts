// The commit queue of one table. Changes are planned one after the other, each on the state after the previous changes.
// Their commits are in flight together, so that one sync of the storage serves many.
//
// Invariants:
// - A plan sees the head and the records after all commits in flight. Nobody else sees them.
// - Each commit checks the head that its plan saw. The bytes of a head are never reused (commit nonce). So when a
//   commit is refused, all commits planned on top of it are refused too, and their changes are planned again.
// - After a refusal nothing is planned until every commit in flight has settled.
// - A plan that throws or changes nothing has no commit to be refused. It runs again on a view of durable records
//   alone, after the commits in flight, and this result counts.

import { type Awaitable, chain, isSync, tryCall } from '../../base/awaitable.js'
import { type Bytes, sameBytes } from '../../base/bytes.js'
import type { Clock } from '../../base/clock.js'
import { byteText } from '../../base/platform.js'
import type { Random } from '../../base/random.js'
import { StoreError } from '../../base/store-error.js'
import { KEY_SPACE, type TableKey, tableHeadKey } from '../../format/keys.js'
import type { LogOperation, ReceiptDetail, RowCounts } from '../../format/log-records.js'
import { encodeTableHead, type Generation, type TableHead } from '../../format/records.js'
import type { KvCheck, KvCommitResult, KvPartition, KvView, ReadRecord } from '../../kv/kv.js'
import { readAwaitable } from '../../kv/read-awaitable.js'
import { commitUntilAccepted, REFUSED } from './commit-until-accepted.js'
import type { TableHeads } from './table-heads.js'

/** The writes of a change besides the head. The version grows by one. */
export type Change = Readonly<{
  /** The new state of the generation; null: the table is deleted. */
  next: Generation | null
  checks?: readonly KvCheck[]
  puts: readonly (readonly [key: Bytes, value: Bytes])[]
  deletes?: readonly Bytes[]
  /** What the change does, for the log of the table. */
  operation: LogOperation
  /**
   * How many rows the change adds, changes and removes. Default: they are counted by the records that it puts, which
   * do not tell which rows of a rewritten extent have changed.
   */
  counts?: RowCounts
  /** null: no receipt was requested. Default: null. */
  receipt?: ReceiptDetail | null
}>

/** The decision of a plan: its result, and the change that must be durable before the result is returned. */
export type Planned<T> = Readonly<{ result: T; change?: Change }>

/**
 * Decides a change on the current head, in its turn. It may run several times, so it must have no side effects. If a
 * plan fails, only its own change is dropped.
 */
export type Plan<T> = (head: TableHead, read: ReadRecord) => Awaitable<Planned<T>>

/** A head, and the bytes that a commit checks. */
type SeenHead = Readonly<{ bytes: Bytes; head: TableHead }>

type Step<T> = Readonly<{ planned: Planned<T>; commit?: Promise<boolean> }>

/** Records that a commit writes besides the head, by the texts of their keys. */
type Written = readonly (readonly [text: string, value: Bytes | null])[]

/** The sources of the nonce and the times of a new head. */
export type HeadSources = Readonly<{ random: Random; clock: Clock }>

export type TableWriterOptions = Readonly<{
  sources: HeadSources
  heads: TableHeads
  /** Called when a commit is durable. */
  onChanged: () => void
  /** Called when a change has ended and no other is in progress. */
  onIdle: (writer: TableWriter) => void
}>

export class TableWriter {
  readonly #partition: KvPartition
  readonly #sources: HeadSources
  readonly #heads: TableHeads
  readonly #onChanged: () => void
  readonly #onIdle: (writer: TableWriter) => void
  readonly #headKey: Bytes
  readonly #tableId: string
  readonly #overlay = new Map<string, Bytes | null>()
  /** Writes of durable commits. They are dropped from the overlay before the next plan opens its view. */
  readonly #settled: Written[] = []
  readonly #inFlight = new Set<Promise<unknown>>()
  /** The head that the last commit wrote. */
  #head: SeenHead | undefined
  #refused = false
  /** Whether the last commit deletes the table. Then nothing is planned before that commit has settled. */
  #deletes = false
  /** The last plan that runs or waits for its turn; undefined: the next one may begin at once. */
  #turn: Promise<unknown> | undefined
  #waiting = 0

  constructor(
    partition: KvPartition,
    { sources, heads, onChanged, onIdle }: TableWriterOptions,
    table: TableKey,
    tableId: string,
  ) {
    this.#partition = partition
    this.#sources = sources
    this.#heads = heads
    this.#onChanged = onChanged
    this.#onIdle = onIdle
    this.#headKey = tableHeadKey(table)
    this.#tableId = tableId
  }

  get isIdle(): boolean {
    return this.#waiting === 0 && this.#inFlight.size === 0
  }

  /**
   * Plans a change in its turn, commits it, and resolves with the plan's result when it is durable.
   * @throws {StoreError} TABLE_NOT_FOUND, what the plan throws, and what a commit throws.
   */
  async change<T>(plan: Plan<T>): Promise<T> {
    this.#waiting++
    try {
      const first = this.#try(plan) // Usually the only attempt.
      const result = isSync(first) ? first : await first
      if (result !== REFUSED) return result
      const again = () => Promise.resolve(this.#try(plan))
      return await commitUntilAccepted('The table is too busy', this.#sources.random, again)
    } finally {
      this.#endWait()
    }
  }

  /** Plans and commits once. @returns `REFUSED` if the commit was refused */
  #try<T>(plan: Plan<T>): Awaitable<T | typeof REFUSED> {
    return chain(
      this.#inTurn(() => this.#planNext(plan)),
      ({ planned: { result }, commit }) => {
        return commit === undefined ? result : commit.then((done) => (done ? result : REFUSED))
      },
    )
  }

  /** Runs a step in its turn, with no commit of the queue in flight. The step may change the table by itself. */
  async alone<T>(step: () => Promise<T>): Promise<T> {
    this.#waiting++
    try {
      return await this.#inTurn(async () => {
        await this.#forgetAll() // The next plan reads what the step commits.
        return step()
      })
    } finally {
      this.#endWait()
    }
  }

  #endWait(): void {
    this.#waiting--
    if (!this.isIdle) return
    this.#dropSettled()
    this.#onIdle(this)
  }

  /** Runs a step at once if nothing is ahead of it, otherwise in its turn. */
  #inTurn<T>(step: () => Awaitable<T>): Awaitable<T> {
    const result = this.#turn === undefined ? tryCall(step) : this.#turn.then(step, step)
    if (isSync(result)) return result
    const end = (): void => {
      if (this.#turn === turn) this.#turn = undefined
    }
    const turn = result.then(end, end) // The caller gets the failure; the queue continues.
    this.#turn = turn
    return result
  }

  #planNext<T>(plan: Plan<T>): Awaitable<Step<T>> {
    if (this.#refused) return this.#forgetAll().then(() => this.#planNext(plan))
    this.#dropSettled()
    // This is checked before the view opens: commits in flight may settle before the plan sees the view.
    if (this.#inFlight.size === 0) {
      this.#deletes = false
      return this.#planOn(undefined, plan)
    }
    const inFlight = [...this.#inFlight]
    const again = (): Promise<Step<T>> =>
      Promise.allSettled(inFlight).then(() => this.#planNext(plan))
    if (this.#deletes) return again()
    const step = tryCall(() => this.#planOn(this.#head, plan))
    if (isSync(step)) return step.commit === undefined ? again() : step
    return step.then((late) => (late.commit === undefined ? again() : late), again)
  }

  /** Plans on the given head, or on the head of a view. Synchronous if the plan reads only what is in memory. */
  #planOn<T>(inFlight: SeenHead | undefined, plan: Plan<T>): Awaitable<Step<T>> {
    let before: SeenHead | undefined
    const planning = readAwaitable(this.#partition, (view) =>
      chain(inFlight ?? this.#readHead(view), (seen) => {
        before = seen
        return plan(seen.head, (key) => this.#readRecord(view, key))
      }),
    )
    // The view closes before the commit begins: at that time, an open view would take a snapshot.
    return chain(planning, (planned): Step<T> => {
      if (planned.change === undefined || before === undefined) return { planned }
      return { planned, commit: this.#commit(before, planned.change) }
    })
  }

  /** Drops all that was planned on top of a refused commit. */
  async #forgetAll(): Promise<void> {
    await Promise.allSettled(this.#inFlight)
    this.#overlay.clear()
    this.#settled.length = 0
    this.#head = undefined
    this.#refused = false
  }

  #readHead(view: KvView): Awaitable<SeenHead> {
    return chain(view.get(this.#headKey), (bytes) => {
      if (bytes === null) throw tableNotFound(this.#tableId)
      const last = this.#head
      if (last !== undefined && sameBytes(bytes, last.bytes)) return last
      return { bytes, head: this.#heads.decode(bytes) }
    })
  }

  #readRecord(view: KvView, key: Bytes): Awaitable<Bytes | null> {
    if (this.#overlay.size === 0) return view.get(key)
    const planned = this.#overlay.get(byteText(key))
    return planned === undefined ? view.get(key) : planned
  }

  #commit(before: SeenHead, change: Change): Promise<boolean> {
    const key = this.#headKey
    const { next, puts, checks = [], deletes = [] } = change
    const after = next === null ? undefined : nextSeen(before.head, next, this.#sources)
    const written: [string, Bytes | null][] = []
    for (const [put, value] of puts) if (isRead(put)) written.push([byteText(put), value])
    for (const gone of deletes) if (isRead(gone)) written.push([byteText(gone), null])
    for (const [record, value] of written) this.#overlay.set(record, value)
    this.#head = after
    this.#deletes = after === undefined
    const commit = this.#partition.commit({
      checks: [{ key, equals: before.bytes }, ...checks],
      puts: after === undefined ? puts : [...puts, [key, after.bytes]],
      deletes: after === undefined ? [...deletes, key] : deletes,
    })
    return this.#track(commit, written)
  }

  #track(commit: Promise<KvCommitResult>, written: Written): Promise<boolean> {
    const outcome = commit.then(
      (result) => {
        this.#inFlight.delete(outcome)
        if (result.ok) {
          this.#settled.push(written)
          this.#onChanged()
        } else this.#refused = true
        return result.ok
      },
      (failure: unknown) => {
        this.#inFlight.delete(outcome)
        this.#refused = true // Unknown or unchanged: later changes must be planned again.
        throw failure
      },
    )
    this.#inFlight.add(outcome)
    return outcome
  }

  /**
   * Drops the records of durable commits from the overlay, because the next view has them. Records that a commit in
   * flight also writes stay in the overlay.
   */
  #dropSettled(): void {
    if (this.#settled.length === 0) return
    for (const written of this.#settled.splice(0)) {
      for (const [record, value] of written) {
        if (this.#overlay.get(record) === value) this.#overlay.delete(record)
      }
    }
  }
}

/** Whether plans read a record with this key. Plans do not read the log. */
function isRead(key: Bytes): boolean {
  return key[0] !== KEY_SPACE.log
}

/** The head that a change makes. @param next - The new state of the generation. */
export function nextHead(
  { version, order, times }: TableHead,
  next: Generation,
  { random, clock }: HeadSources,
): TableHead {
  const updatedAt = Math.max(times?.updatedAt ?? 0, clock.now())
  return {
    version: version + 1,
    commitNonce: random.bytes(8),
    order,
    generation: next,
    times: { createdAt: times?.createdAt ?? 0, updatedAt },
  }
}

function nextSeen(before: TableHead, next: Generation, sources: HeadSources): SeenHead {
  const head = nextHead(before, next, sources)
  return { bytes: encodeTableHead(head), head }
}

export function tableNotFound(tableId: string): StoreError {
  return new StoreError('TABLE_NOT_FOUND', `Table with ID '${tableId}' not found`)
}
