// The port for small control records: ordered keys, consistent views, conditional commits.
//
// Every implementation must keep these rules, which the KvStore suite in `rowstash/testing` checks:
// - One `read` sees the state of one commit.
// - `commit` is atomic, durable when it resolves (unless the host chose less), and strictly serializable within a
//   partition.
// - Commits of one store that touch the same keys take effect in call order.
// - A damaged record is reported as DATA_CORRUPT, never returned, and never treated as absent.

import type { Awaitable } from '../base/awaitable.js'
import type { Bytes } from '../base/bytes.js'
import type { StoreError } from '../base/store-error.js'

/** Keys from `start` to `limit` (exclusive), in byte order. */
export type KeyRange = Readonly<{ start: Bytes; limit: Bytes }>

/** A condition of a commit: the exact bytes of a record; null: there must be none. */
export type KvCheck = Readonly<{ key: Bytes; equals: Bytes | null }>

/** Puts and deletes that take effect together, if all checks hold. */
export type KvCommit = Readonly<{
  /** Conditions, all of which must hold. Default: none. */
  checks?: readonly KvCheck[]
  /** Records to write. A commit may put or delete a key at most once. Default: none. */
  puts?: readonly (readonly [key: Bytes, value: Bytes])[]
  /** Keys of records to delete; missing records are no error. Default: none. */
  deletes?: readonly Bytes[]
}>

/** A refused commit changed nothing; `failed` has the current value of each check that failed. */
export type KvCommitResult =
  | Readonly<{ ok: true }>
  | Readonly<{ ok: false; failed: readonly Readonly<{ key: Bytes; value: Bytes | null }>[] }>

/** A request for records of a range, in key order. */
export type KvScan = KeyRange &
  Readonly<{
    /**
     * The maximum number of entries, 1 to 100,000; fewer are returned only at the end of the range, or because of
     * `bytesMax`.
     */
    count: number
    /**
     * Bytes of values after which the scan may end early, so that few large records are in memory at once; the result
     * then has at least that many. Default: no limit. Range: 1 to 2^53 - 1. An implementation may ignore it.
     */
    bytesMax?: number | undefined
    /** Whether the largest keys come first. Default: false. */
    reverse?: boolean
    /**
     * Whether only keys are needed: values may be empty, and damaged ones need not be detected. Default: false. An
     * implementation may ignore it.
     */
    keysOnly?: boolean
  }>

/**
 * A frozen view of one commit, valid only inside the `read` that made it. The commit is at least as new as every
 * commit acknowledged before `read` was called. It is fixed at the first query at the latest: commits after that
 * query are not visible.
 */
export interface KvView {
  /**
   * Reads the value of a key; null: there is no such record. Returns a value in memory without a promise. Failures
   * are always rejected promises.
   * @throws {StoreError} DATA_CORRUPT, STORAGE_UNAVAILABLE, STORE_CLOSED
   */
  get(key: Bytes): Awaitable<Bytes | null>
  /**
   * The values of keys, in their order; null where there is no record.
   * @throws {StoreError} as `get`
   */
  getMany(keys: readonly Bytes[]): Promise<(Bytes | null)[]>
  /**
   * Records of a range, in the order of their keys.
   * @throws {StoreError} as `get`
   */
  scan(scan: KvScan): Promise<[key: Bytes, value: Bytes][]>
  /** Whether the range is known to be empty, without reading the database. Optional. */
  isEmpty?(range: KeyRange): boolean
}

/**
 * The unit of sharding: a commit or a view concerns one partition. Keys have 0 to 1,024 bytes; a store may accept
 * longer ones, but nothing may depend on that.
 */
export interface KvPartition {
  /**
   * Runs `use` on a view of the latest commit, and closes the view when `use` settles. `use` should be short: an open
   * view prevents reclaiming what it sees, and occupies a connection of a shared store.
   * @throws {StoreError} DATA_CORRUPT, STORAGE_UNAVAILABLE, STORE_CLOSED
   */
  read<T>(use: (view: KvView) => Awaitable<T>): Promise<T>

  /**
   * As `read`, but without a promise if `use` returns a value and nothing else must be awaited. Failures are always
   * rejected promises. Optional: a faster path for records in memory.
   */
  readAwaitable?<T>(use: (view: KvView) => Awaitable<T>): Awaitable<T>

  /**
   * An object that represents the latest commit: as long as it is the same, all that was read is still valid, so
   * callers may cache it. Commits of other partitions may change it too. undefined: unknown. Optional.
   */
  commitStamp?(): object | undefined

  /**
   * Writes everything or nothing. Resolves when it is durable, or with the failed checks. Two commits of one store and
   * partition conflict if both check, put or delete a key, and at least one of the two puts or deletes it. A commit
   * that conflicts with one in flight is checked and written after that one, so it may be planned on the effects of
   * the commit in flight.
   * @throws {StoreError} STORAGE_UNAVAILABLE or INSUFFICIENT_STORAGE, whose `outcome` says whether nothing happened
   *   (`unchanged`) or the commit may be there after a reopen (`unknown`); STORE_CLOSED.
   */
  commit(commit: KvCommit): Promise<KvCommitResult>

  /**
   * Deletes up to `count` records of a range that no reader needs. Repeatable, not atomic. Several processes may delete
   * the same range concurrently.
   * @returns The number of records found; another deletion may have deleted some of them. If it is less than `count`,
   *   the range is now empty.
   * @throws {StoreError} as `commit`
   */
  deleteRange(range: KeyRange, count: number): Promise<number>
}

/** A result of `check`: a partition with records, or damage. */
export type KvCheckItem =
  | Readonly<{ kind: 'partition'; partition: string }>
  | Readonly<{ kind: 'record' | 'commit-log' | 'unreadable'; message: string }>

/** A group of commits written as one batch. */
export type KvGroup = Readonly<{
  /** The number of commits. */
  commits: number
  /** Number of records put or deleted. */
  records: number
  /** Length of the keys and values, in bytes. */
  bytes: number
  /** Duration of the write, in milliseconds. */
  ms: number
}>

/** The memory of a cache of records. */
export interface KvCache {
  /** The approximate size of the cache, in bytes. */
  readonly bytes: number
  /** The greatest size of the cache, in bytes. */
  readonly bytesMax: number
  /** Number of lookups that found a record in memory. Optional. */
  readonly hits?: number
  /** Number of lookups that did not find a record in memory. Optional. */
  readonly misses?: number
  /** Sets `bytesMax`, unless the host has set it. `openStore` calls it once, with a share of its `cacheBytesMax`. */
  setShare(bytesMax: number): void
}

/** A store of small records in partitions, one per team. */
export interface KvStore {
  /**
   * Whether other processes, or other stores of this process, may write too. If not, data that was read stays valid
   * until this store commits.
   */
  readonly shared: boolean
  /**
   * The offset of the versions of all tables and rows, constant while the store is open. Between two openings it grows
   * by more than the number of changes of a table that may have been lost (a commit of a shared store has up to 256).
   * Default: 0.
   */
  readonly versionBase?: number
  /** Why commits are refused now; undefined: they are accepted. Must be fast. Optional. */
  readonly refusal?: StoreError | undefined
  /** The cache of records. Optional. */
  readonly cache?: KvCache
  /**
   * From now on, calls `onGroup` after each group of commits; `onGroup` does not throw. `openStore` calls it once.
   * Optional.
   */
  observe?(onGroup: (group: KvGroup) => void): void
  /** A partition by name: 0 to 256 UTF-16 units of well-formed text. The first commit creates it. */
  partition(name: string): KvPartition
  /**
   * The database's time, in milliseconds since 1970 UTC. Processes that share it compare their clocks with it.
   * Optional.
   * @throws {StoreError} STORAGE_UNAVAILABLE, STORE_CLOSED
   */
  now?(): Promise<number>
  /**
   * Resolves when all earlier commits are on disk. A store that never syncs does not wait. Optional: without it,
   * commits are on disk when `commit` resolves.
   * @throws {StoreError} as `commit`
   */
  flush?(): Promise<void>
  /**
   * Frees the disk space of deleted and replaced records, if the database does not do so itself. Reads and commits
   * continue meanwhile. Called after each garbage collection, so it must be fast if little was written since. Optional.
   * @throws {StoreError} STORAGE_UNAVAILABLE, INSUFFICIENT_STORAGE, STORE_CLOSED; nothing is lost
   */
  reclaim?(): Promise<void>
  /**
   * Runs `use` with views of all partitions at the latest commit. Optional: absent if partitions share no commits.
   * @throws {StoreError} as `KvPartition.read`
   */
  readAll?<T>(use: (viewOf: (partition: string) => KvView) => Promise<T>): Promise<T>
  /**
   * Checks for damage that reads of single records do not reveal. Optional.
   * @param full - Whether to check every record, not only the store's internal ones.
   * @throws {StoreError} from the iterator: STORE_CLOSED; other problems are items
   */
  check?(full: boolean): AsyncIterable<KvCheckItem>
  /**
   * Waits for commits in flight, and closes. Later calls fail with STORE_CLOSED.
   * @throws {StoreError} DATA_LOSS, STORAGE_UNAVAILABLE if the store's directory was removed or used by another
   *   process; the store is closed anyway.
   */
  close(): Promise<void>
}

/** Reads a record for a plan. */
export type ReadRecord = (key: Bytes) => Awaitable<Bytes | null>
