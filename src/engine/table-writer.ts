// The commit queue of one table: changes are planned one after the other, each on the state that the
// former ones leave, and their commits are on their way together, so that one sync serves many.
//
// Invariants:
// - A plan sees the head and the records after all commits in flight; nobody else does.
// - Each commit checks the head that its plan saw. A head's bytes never come back (commit nonce), so
//   when a commit is refused, all planned on top of it are refused too, and are planned again.
// - After a refusal nothing is planned until every commit in flight has settled.
// - A plan that changes nothing, or throws, has no commit that could be refused: it is decided on a view
//   of durable records alone, after the commits that were in flight.
import type { Bytes } from '../base/bytes.js'
import { byteText } from '../base/platform.js'
import type { Random } from '../base/random.js'
import { after, type Soon } from '../base/soon.js'
import { StoreError } from '../base/store-error.js'
import { type TableKey, tableHeadKey } from '../format/keys.js'
import { encodeTableHead, type Generation, type TableHead } from '../format/records.js'
import type { KvCheck, KvPartition, KvView } from '../kv/kv.js'
import { readSoon } from '../kv/read-soon.js'
import type { TableHeads } from './table-heads.js'

/** Reads a record as a plan must see it. */
export type ReadRecord = (key: Bytes) => Soon<Bytes | null>

/** What a change writes beside the head. `next` is the new generation state; the version grows by one. */
export type Change = Readonly<{
  next: Generation
  checks?: readonly KvCheck[]
  puts: readonly (readonly [key: Bytes, value: Bytes])[]
  deletes?: readonly Bytes[]
}>

/** A plan's decision: the result to hand back, and the change that must be durable before it is. */
export type Planned<T> = Readonly<{ result: T; change?: Change }>

/**
 * Decides a change on the head as it is when its turn comes. May run again; must have no effects.
 * What it throws drops only itself.
 */
export type Plan<T> = (head: TableHead, read: ReadRecord) => Soon<Planned<T>>

/** A head, and the bytes that a commit checks. */
type SeenHead = Readonly<{ bytes: Bytes; head: TableHead }>

type Step<T> = Readonly<{ planned: Planned<T>; commit?: Promise<boolean> }>

/** On a store that others write too, so many refusals in a row end a change. */
const TRIES_MAX = 100

export class TableWriter {
  readonly #partition: KvPartition
  readonly #random: Random
  readonly #heads: TableHeads
  readonly #table: TableKey
  readonly #tableId: string
  readonly #overlay = new Map<string, Bytes | null>()
  /** Overlay keys of commits that are durable, to be dropped before the next plan opens its view. */
  readonly #settled: Map<string, Bytes | null>[] = []
  readonly #inFlight = new Set<Promise<unknown>>()
  #head: SeenHead | undefined
  #refused = false
  #turn: Promise<unknown> = Promise.resolve()
  #waiting = 0

  constructor(
    partition: KvPartition,
    { random, heads }: Readonly<{ random: Random; heads: TableHeads }>,
    table: TableKey,
    tableId: string,
  ) {
    this.#partition = partition
    this.#random = random
    this.#heads = heads
    this.#table = table
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
      for (let tries = 0; tries < TRIES_MAX; tries++) {
        const { planned, commit } = await this.#inTurn(() => this.#planNext(plan))
        if (commit === undefined || (await commit)) return planned.result
      }
    } finally {
      this.#waiting--
    }
    throw new StoreError('STORAGE_UNAVAILABLE', 'The table is too busy; try again', {
      outcome: 'unchanged',
    })
  }

  async #inTurn<T>(step: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(step, step)
    this.#turn = turn.catch(() => undefined) // The failure is the caller's; the queue goes on.
    return turn
  }

  async #planNext<T>(plan: Plan<T>): Promise<Step<T>> {
    for (;;) {
      if (this.#refused) await this.#forgetAll()
      this.#dropSettled()
      const inFlight = [...this.#inFlight]
      // Chosen before the view opens: what is in flight may settle before the plan gets to see it.
      const ahead = inFlight.length > 0 ? this.#head : undefined
      try {
        // In this turn, if all that the plan reads is at hand.
        const step: Step<T> = await readSoon(this.#partition, (view) =>
          after(ahead ?? this.#readHead(view), (before) => {
            const planning = plan(before.head, (key) => this.#readRecord(view, key))
            return after(planning, (planned): Step<T> => {
              if (planned.change === undefined) return { planned }
              return { planned, commit: this.#commit(before, planned.change) }
            })
          }),
        )
        if (step.commit !== undefined || inFlight.length === 0) return step
      } catch (failure) {
        if (inFlight.length === 0) throw failure
      }
      await Promise.allSettled(inFlight)
    }
  }

  /** After a refusal: what was planned on top of the refused commit is worth nothing. */
  async #forgetAll(): Promise<void> {
    await Promise.allSettled(this.#inFlight)
    this.#overlay.clear()
    this.#settled.length = 0
    this.#head = undefined
    this.#refused = false
  }

  #readHead(view: KvView): Soon<SeenHead> {
    return after(view.get(tableHeadKey(this.#table)), (bytes) => {
      if (bytes === null) throw tableNotFound(this.#tableId)
      return { bytes, head: this.#heads.decode(bytes) }
    })
  }

  #readRecord(view: KvView, key: Bytes): Soon<Bytes | null> {
    const planned = this.#overlay.get(byteText(key))
    return planned === undefined ? view.get(key) : planned
  }

  #commit(before: SeenHead, change: Change): Promise<boolean> {
    const key = tableHeadKey(this.#table)
    const head: TableHead = {
      ...before.head,
      version: before.head.version + 1,
      commitNonce: this.#random.bytes(8),
      generation: change.next,
    }
    const bytes = encodeTableHead(head)
    const written = new Map<string, Bytes | null>()
    for (const [put, value] of change.puts) written.set(byteText(put), value)
    for (const gone of change.deletes ?? []) written.set(byteText(gone), null)
    for (const [record, value] of written) this.#overlay.set(record, value)
    this.#head = { bytes, head }
    const commit = this.#partition.commit({
      checks: [{ key, equals: before.bytes }, ...(change.checks ?? [])],
      puts: [...change.puts, [key, bytes]],
      deletes: change.deletes ?? [],
    })
    return this.#track(commit, written)
  }

  #track(commit: Promise<{ ok: boolean }>, written: Map<string, Bytes | null>): Promise<boolean> {
    const outcome = commit.then(
      ({ ok }) => {
        if (ok) this.#settled.push(written)
        else this.#refused = true
        return ok
      },
      (failure: unknown) => {
        this.#refused = true // Unknown or unchanged: what was planned on top must be planned again.
        throw failure
      },
    )
    this.#inFlight.add(outcome)
    const done = (): void => {
      this.#inFlight.delete(outcome)
    }
    outcome.then(done, done)
    return outcome
  }

  /** What is durable is in the next view; unless a later commit in flight has written the key again. */
  #dropSettled(): void {
    for (const written of this.#settled.splice(0)) {
      for (const [record, value] of written) {
        if (this.#overlay.get(record) === value) this.#overlay.delete(record)
      }
    }
  }
}

/** The table writers of a store: one for each table that has changes under way. */
export class TableWriters {
  readonly #writers = new Map<string, TableWriter>()
  readonly #shared: Readonly<{ random: Random; heads: TableHeads }>

  constructor(random: Random, heads: TableHeads) {
    this.#shared = { random, heads }
  }

  /** Changes a table in its turn; see TableWriter.change. */
  async change<T>(
    place: Readonly<{ teamId: string; partition: KvPartition; table: TableKey; tableId: string }>,
    plan: Plan<T>,
  ): Promise<T> {
    const key = JSON.stringify([place.teamId, place.tableId])
    const writer =
      this.#writers.get(key) ??
      new TableWriter(place.partition, this.#shared, place.table, place.tableId)
    this.#writers.set(key, writer)
    try {
      return await writer.change(plan)
    } finally {
      if (writer.isIdle) this.#writers.delete(key)
    }
  }
}

export function tableNotFound(tableId: string): StoreError {
  return new StoreError('TABLE_NOT_FOUND', `Table with ID '${tableId}' not found`)
}
