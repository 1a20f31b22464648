// The port for small control records: ordered keys, consistent views, compare-and-commit.
//
// What every implementation owes (proved by the KvStore suite in `rowstash/testing`):
// - All that one `read` sees is one and the same commit.
// - `commit` is atomic, durable when it resolves (unless the host chose less), and strictly serializable within a partition.
// - A damaged record is reported as DATA_CORRUPT, never returned and never taken for absent.

import type { Awaitable } from '../base/awaitable.js'
import type { Bytes } from '../base/bytes.js'

/** Keys from `start` (included) to `limit` (not included), in byte order. */
export type KeyRange = Readonly<{ start: Bytes; limit: Bytes }>

/** One condition of a commit: the record's exact bytes, or null for "there is none". */
export type KvCheck = Readonly<{ key: Bytes; equals: Bytes | null }>

export type KvCommit = Readonly<{
  checks?: readonly KvCheck[]
  /** A key may be put or deleted at most once in a commit. */
  puts?: readonly (readonly [key: Bytes, value: Bytes])[]
  deletes?: readonly Bytes[]
}>

/** A refused commit changed nothing; `failed` has the present value of each check that did not hold. */
export type KvCommitResult =
  | Readonly<{ ok: true }>
  | Readonly<{ ok: false; failed: readonly Readonly<{ key: Bytes; value: Bytes | null }>[] }>

export type KvScan = KeyRange &
  Readonly<{
    /** At most so many entries; fewer only when the range is done. 1 to 100,000. */
    count: number
    /** Largest keys first. Default: false. */
    reverse?: boolean
  }>

/** A frozen view: no later commit shows in it. Valid only inside the `read` that made it. */
export interface KvView {
  /** At once, if it is known without waiting; a failure is always a rejected promise. */
  get(key: Bytes): Awaitable<Bytes | null>
  getMany(keys: readonly Bytes[]): Promise<(Bytes | null)[]>
  scan(scan: KvScan): Promise<[key: Bytes, value: Bytes][]>
  /** Whether it is known, without looking, that there are no records in a range; absent: it never is. */
  isEmpty?(range: KeyRange): boolean
}

/** The unit of sharding: a commit touches one partition, and views are of one partition. */
export interface KvPartition {
  /**
   * Runs `use` on a view of the latest commit, and closes the view when it settles. Keep it short:
   * while it is open, nothing it sees is reclaimed.
   * @throws {StoreError} DATA_CORRUPT, STORE_CLOSED
   */
  read<T>(use: (view: KvView) => Awaitable<T>): Promise<T>

  /**
   * As `read`, for readers whose records are mostly in memory: what `use` returns at once is returned at
   * once, if nothing else has to be waited for. A failure is always a rejected promise.
   */
  readAwaitable?<T>(use: (view: KvView) => Awaitable<T>): Awaitable<T>

  /**
   * Stands for the latest commit: while it is the same object, all that was read between two calls is as it was. So
   * who remembers what it read need not read it again. undefined: it cannot be told now; absent: never.
   */
  commitStamp?(): object | undefined

  /**
   * Writes all of it or nothing. Resolves when it is durable, or with the failed checks.
   * @throws {StoreError} STORAGE_UNAVAILABLE or INSUFFICIENT_STORAGE, whose `outcome` says whether
   *   nothing happened (`unchanged`) or the commit may be there after a reopen (`unknown`); STORE_CLOSED.
   */
  commit(commit: KvCommit): Promise<KvCommitResult>

  /**
   * Deletes up to `count` records of a range that no reader needs: repeatable, not atomic.
   * @returns how many it deleted; fewer than `count` means that the range is empty.
   */
  sweep(range: KeyRange, count: number): Promise<number>
}

/** What a check of a whole store tells: a partition that holds records, or something that is damaged. */
export type KvCheckItem =
  | Readonly<{ kind: 'partition'; partition: string }>
  | Readonly<{ kind: 'record' | 'commit-log' | 'unreadable'; message: string }>

export interface KvStore {
  /** Whether another process may write too. If not, what was read stays true until this one commits. */
  readonly shared: boolean
  /**
   * What is added to the versions of all tables and rows; undefined: 0. It grows between two openings, by more
   * than the commits that may have been lost meanwhile, and stays while the store is open.
   */
  readonly versionBase?: number
  /**
   * How often the store opened its database again after a failed write; undefined: it never does. Nothing is
   * read while this grows. What was read before may not be true any more although nobody committed: a commit
   * whose outcome was `unknown` may be there now.
   */
  readonly reopenings?: number
  /** A partition by name: 0 to 256 UTF-16 units of well-formed text. Made by its first commit. */
  partition(name: string): KvPartition
  /**
   * Resolves when all that was committed until now is on the disk; absent: it is when a commit resolves. A store
   * opened to never sync does not wait for it either.
   * @throws {StoreError} as a commit does.
   */
  flush?(): Promise<void>
  /**
   * Gives the disk space of deleted and replaced records back, where the database does not do it by
   * itself soon; reads and commits go on meanwhile. Called after each sweep, so it must be cheap when
   * little was written since.
   * @throws {StoreError} STORAGE_UNAVAILABLE, INSUFFICIENT_STORAGE, STORE_CLOSED: nothing is lost.
   */
  reclaim?(): Promise<void>
  /**
   * Reads all partitions in one view of the latest commit; absent where they have no moment in common. What
   * it is given makes the view of a partition by its name.
   */
  readAll?<T>(use: (viewOf: (partition: string) => KvView) => Promise<T>): Promise<T>
  /**
   * Looks for damage that reading records by their keys does not show, on a view of the latest commit.
   * @param full - Look at every record, not only at what the store keeps for itself.
   */
  check?(full: boolean): AsyncIterable<KvCheckItem>
  /**
   * Waits for commits in flight. Later calls fail with STORE_CLOSED.
   * @throws {StoreError} DATA_LOSS, STORAGE_UNAVAILABLE: what the store is kept in was taken away, or used by somebody
   *   else; the store is closed all the same.
   */
  close(): Promise<void>
}

/** Reads a record as a plan must see it. */
export type ReadRecord = (key: Bytes) => Awaitable<Bytes | null>
