// The commit queue of one table on a store that several processes share. On such a store each query and each commit is
// a round trip. So a change reads before its turn, and changes that arrive during a commit join the next one.
//
// Invariants:
// - A plan sees the head and the records after all changes planned here before it. Nobody else sees them.
// - A look before a turn counts only if its head is in the chain that leads to the head of the turn. Then nobody else
//   has changed the table since, and the later writes of this queue are laid over the look.
// - A commit checks the head that its first change was planned on, and all other records that its changes check. So if
//   others have changed the table, the commit is refused, and so is everything planned on top of it.
// - After a refusal nothing is planned until every commit in flight has settled, and earlier looks no longer count.
// - A plan that throws or changes nothing has no commit to be refused. It is decided when all commits of the chain are
//   durable.

import { type Bytes, sameBytes } from '../../base/bytes.js'
import { invariant } from '../../base/invariant.js'
import { byteText } from '../../base/platform.js'
import { isStoreError } from '../../base/store-error.js'
import { tableHeadKey } from '../../format/keys.js'
import { encodeTableHead, type TableHead } from '../../format/records.js'
import type { KvCommitResult } from '../../kv/kv.js'
import { commitUntilAccepted, REFUSED } from './commit-until-accepted.js'
import { JoinedCommit } from './joined-commit.js'
import {
  type AheadOfTurn,
  type LookedAt,
  type TableLook,
  TableLooks,
  withKeys,
} from './table-looks.js'
import { type Change, type HeadSources, nextHead, type Plan, type Planned } from './table-writer.js'

/**
 * The chain keeps durable commits, so that looks that began before them still count, as long as it has at most this
 * many commits, and at most this many bytes of writes.
 */
const CHAIN_MAX = 64
const CHAIN_BYTES_MAX = 4 * 1024 * 1024

const NOTHING_AHEAD: AheadOfTurn = { keys: () => [] }

/** The checks that refused a commit, with the current values. */
export type FailedChecks = Extract<KvCommitResult, { ok: false }>['failed']

export type SharedTableWriterOptions = LookedAt &
  Readonly<{
    sources: HeadSources
    /** Called when a commit is durable. */
    onChanged: () => void
    /** Called with the failed checks of each refused commit. */
    onRefused: (failed: FailedChecks) => void
  }>

/** The outcome of a plan. `missed`: it asked for records that were not read ahead. */
type Tried<T> = Readonly<{ planned: Planned<T> } | { failure: unknown } | 'missed'>

type Step<T> = Readonly<{ result: T; commit?: Promise<boolean> }>

export class SharedTableWriter {
  readonly #options: SharedTableWriterOptions
  readonly #headKey: Bytes
  readonly #looks: TableLooks
  /** The head for the next plan; undefined: it is not known. */
  #head: Readonly<{ bytes: Bytes; head: TableHead }> | undefined
  /**
   * The commits that lead to `#head`, oldest first: the latest durable commits, the commits in flight, and the next
   * commit.
   */
  #chain: JoinedCommit[] = []
  #chainBytes = 0
  /** What the chain writes besides the head, by the texts of keys. */
  readonly #overlay = new Map<string, Readonly<{ value: Bytes | null; by: JoinedCommit }>>()
  /** The commit that takes changes until it is sent. */
  #next: JoinedCommit | undefined
  #inFlight = 0
  /** The number of the next commit, which is the number of commits so far. */
  #commits = 0
  #refused = false
  /** Whether the last commit deletes the table. Then nothing is planned before that commit has settled. */
  #deletes = false
  /** How many times a commit became durable or a chain was dropped. Looks that began earlier may be outdated. */
  #moves = 0
  #turn: Promise<unknown> = Promise.resolve()
  /** Changes that have their turn or wait for it, and have read all that they need. */
  #ready = 0
  /** Changes in progress. */
  #waiting = 0

  constructor(options: SharedTableWriterOptions) {
    this.#options = options
    this.#headKey = tableHeadKey(options.table)
    this.#looks = new TableLooks(options, () => this.#moves)
  }

  /** Reads the head and the records that a change needs. @throws {StoreError} TABLE_NOT_FOUND */
  look(ahead: AheadOfTurn): Promise<TableLook> {
    return this.#looks.warm(ahead)
  }

  /**
   * Plans a change in its turn, commits it, and resolves with the plan's result when it is durable.
   * @param look - What was read ahead; undefined: nothing yet.
   * @throws {StoreError} TABLE_NOT_FOUND, what the plan throws, and what a commit throws.
   */
  async change<T>(plan: Plan<T>, ahead = NOTHING_AHEAD, look?: TableLook): Promise<T> {
    this.#waiting++
    let seen = look
    try {
      return await commitUntilAccepted(
        'The table is too busy',
        this.#options.sources.random,
        async () => {
          const first = seen ?? (await this.#looks.warm(ahead))
          seen = undefined
          const { result, commit } = await this.#inTurn(() => this.#planNext(plan, ahead, first))
          return commit === undefined || (await commit) ? result : REFUSED
        },
      )
    } finally {
      this.#waiting--
      if (this.#waiting === 0 && this.#isSettled) this.#dropChain()
    }
  }

  /** See `TableWriter.alone`. */
  async alone<T>(step: () => Promise<T>): Promise<T> {
    this.#waiting++
    try {
      return await this.#inTurn(async () => {
        await this.#untilSettled()
        try {
          return await step()
        } finally {
          await this.#forget()
        }
      })
    } finally {
      this.#waiting--
    }
  }

  #inTurn<T>(step: () => Promise<T>): Promise<T> {
    this.#ready++
    const result = this.#turn.then(step).finally(() => {
      this.#ready--
      if (this.#ready === 0) this.#sendNext()
    })
    this.#turn = result.catch(() => undefined) // The caller gets the failure; the queue continues.
    return result
  }

  async #planNext<T>(plan: Plan<T>, ahead: AheadOfTurn, first: TableLook): Promise<Step<T>> {
    let look: TableLook | undefined = first
    const missed: Bytes[] = []
    for (;;) {
      if (this.#refused || this.#deletes) {
        await this.#forget()
        look = undefined
      }
      const isFresh = look === undefined
      look ??= await this.#lookInTurn(withKeys(ahead, missed))
      const from = this.#firstAfter(look)
      if (from === undefined) {
        if (isFresh) await this.#untilSettled() // Others have changed the table: commits in flight will be refused.
        look = undefined
        continue
      }
      const wasSettled = this.#isSettled
      const tried = await this.#tryPlan(plan, look, missed, from)
      if (tried !== 'missed') {
        if ('planned' in tried && tried.planned.change !== undefined) {
          return { result: tried.planned.result, commit: this.#join(tried.planned.change) }
        }
        if (!wasSettled && isBusy(tried)) {
          await this.#untilSettled() // The conflicting change may now be durable.
          look = undefined
          continue
        }
        if (this.#isSettled && !this.#refused) {
          if ('failure' in tried) throw tried.failure
          return { result: tried.planned.result }
        }
        await this.#untilSettled()
      }
      look = undefined
    }
  }

  #lookInTurn(ahead: AheadOfTurn): Promise<TableLook> {
    this.#sendNext() // The commit does not wait for this look.
    return this.#looks.now([ahead])
  }

  /**
   * The number of the first commit that a look does not contain. The next plan sees the look with this commit and the
   * later ones laid over it. undefined: the look does not count.
   */
  #firstAfter({ headBytes, head, begun }: TableLook): number | undefined {
    const last = this.#head
    if (last !== undefined && sameBytes(last.bytes, headBytes)) return this.#commits
    const next = this.#chain.find(({ before }) => sameBytes(before, headBytes))
    if (next !== undefined) return next.number
    if (!this.#isSettled || begun < this.#moves) return undefined
    this.#dropChain() // Others have changed the table since the last commit here.
    this.#head = { bytes: headBytes, head }
    return this.#commits
  }

  /** @param from - The number of the first commit laid over the look. */
  async #tryPlan<T>(
    plan: Plan<T>,
    look: TableLook,
    missed: Bytes[],
    from: number,
  ): Promise<Tried<T>> {
    const known = missed.length
    const laidOver = (text: string): Bytes | null | undefined => {
      const laid = this.#overlay.get(text)
      return laid === undefined || laid.by.number < from ? undefined : laid.value
    }
    let tried: Tried<T>
    try {
      const { head } = this.#head ?? look
      tried = { planned: await plan(head, look.reader(missed, laidOver)) }
    } catch (failure) {
      tried = { failure }
    }
    return missed.length > known ? 'missed' : tried
  }

  /** Adds a change to the next commit. Resolves to whether the commit is accepted. */
  #join(change: Change): Promise<boolean> {
    if (this.#refused) return Promise.resolve(false)
    const before = this.#head
    invariant(before !== undefined, 'a change is planned on a head')
    const { next } = change
    if (next === null) {
      const last = this.#commitWith(change, before.bytes, null)
      this.#send() // This commit takes no more changes.
      this.#deletes = true
      return last.outcome
    }
    const head = nextHead(before.head, next, this.#options.sources)
    const bytes = encodeTableHead(head)
    const commit = this.#commitWith(change, before.bytes, bytes)
    this.#head = { bytes, head }
    return commit.outcome
  }

  /** @param head - The head that the change makes; null: it deletes the table. */
  #commitWith(change: Change, before: Bytes, head: Bytes | null): JoinedCommit {
    const open = this.#next
    const bytes = open?.bytes ?? 0
    let commit = open
    if (commit === undefined || !commit.add(change, head)) {
      this.#send() // The commit is full.
      commit = new JoinedCommit(this.#commits++, this.#headKey, before)
      commit.add(change, head)
      this.#next = commit
      this.#chain.push(commit)
    }
    this.#chainBytes += commit === open ? commit.bytes - bytes : commit.bytes
    for (const [key, value] of change.puts) {
      this.#overlay.set(byteText(key), { value, by: commit })
    }
    for (const key of change.deletes ?? []) {
      this.#overlay.set(byteText(key), { value: null, by: commit })
    }
    this.#shortenChain()
    return commit
  }

  /** Sends the next commit. While one is in flight, the next commit takes changes instead. */
  #sendNext(): void {
    if (this.#inFlight === 0) this.#send()
  }

  #send(): void {
    const commit = this.#next
    if (commit === undefined) return
    this.#next = undefined
    this.#inFlight++
    this.#commit(commit).then(
      ({ ok }) => {
        if (ok) {
          this.#moves++
          this.#options.onChanged()
        }
        if (ok) commit.accept()
        else commit.refuse()
        this.#settle(ok)
      },
      (failure: unknown) => {
        commit.fail(failure)
        this.#settle(false) // Unknown or unchanged: later changes must be planned again.
      },
    )
  }

  async #commit(commit: JoinedCommit): Promise<KvCommitResult> {
    const result = await this.#options.partition.commit(commit.commit())
    if (!result.ok) this.#options.onRefused(result.failed)
    return result
  }

  #settle(ok: boolean): void {
    this.#inFlight--
    if (!ok) this.#refused = true
    if (this.#refused) {
      this.#next?.refuse()
      this.#next = undefined
    } else this.#sendNext()
  }

  /** Whether no commit is in flight, and none is about to be. */
  get #isSettled(): boolean {
    return this.#inFlight === 0 && this.#next === undefined
  }

  async #untilSettled(): Promise<void> {
    while (!this.#isSettled) {
      this.#sendNext()
      await Promise.allSettled(this.#chain.map(({ outcome }) => outcome))
    }
  }

  /** Drops everything that was planned on top of a refused commit or of a deletion. */
  async #forget(): Promise<void> {
    await this.#untilSettled()
    this.#dropChain()
    this.#head = undefined
    this.#moves++
    this.#refused = false
    this.#deletes = false
  }

  #dropChain(): void {
    this.#chain = []
    this.#chainBytes = 0
    this.#overlay.clear()
  }

  /**
   * Drops the oldest durable commits from the chain while they are too many. Looks that began before them no longer
   * count.
   */
  #shortenChain(): void {
    for (;;) {
      const [oldest] = this.#chain
      const isTooLong = this.#chain.length > CHAIN_MAX || this.#chainBytes > CHAIN_BYTES_MAX
      if (oldest === undefined || !isTooLong || !oldest.isDurable) return
      this.#chain.shift()
      this.#chainBytes -= oldest.bytes
      for (const text of oldest.sideWrites.keys()) {
        if (this.#overlay.get(text)?.by === oldest) this.#overlay.delete(text)
      }
    }
  }
}

/** Whether a plan failed with STORAGE_UNAVAILABLE, so that it may succeed later. */
function isBusy(tried: Readonly<{ planned: unknown } | { failure: unknown }>): boolean {
  if (!('failure' in tried)) return false
  return isStoreError(tried.failure) && tried.failure.code === 'STORAGE_UNAVAILABLE'
}
