// The port for small control records: ordered keys, consistent views, compare-and-commit.
//
// Every implementation must (see the KvStore suite in `rowstash/testing`):
// - Everything that one `read` sees is of one commit.
// - `commit` is atomic, durable when it resolves (unless the host chose less), and strictly serializable within a partition.
// - Commits of one store that touch the same keys take effect in the order they were asked for.
// - A damaged record is reported as DATA_CORRUPT, never returned and never taken for absent.

import type { Awaitable } from '../base/awaitable.js'
import type { Bytes } from '../base/bytes.js'
import type { StoreError } from '../base/store-error.js'

/** Keys from `start` (included) to `limit` (not included), in byte order. */
export type KeyRange = Readonly<{ start: Bytes; limit: Bytes }>

/** One condition of a commit: the exact bytes of a record, or null if there must be none. */
export type KvCheck = Readonly<{ key: Bytes; equals: Bytes | null }>

/** Checks, puts and deletes that take effect together. */
export type KvCommit = Readonly<{
  /** Conditions, all of which must hold. Default: none. */
  checks?: readonly KvCheck[]
  /** Records that are written. A key may be put or deleted at most once in a commit. Default: none. */
  puts?: readonly (readonly [key: Bytes, value: Bytes])[]
  /** Keys whose records end; a key without a record is no error. Default: none. */
  deletes?: readonly Bytes[]
}>

/** A refused commit changed nothing; `failed` has the current value of each check that failed. */
export type KvCommitResult =
  | Readonly<{ ok: true }>
  | Readonly<{ ok: false; failed: readonly Readonly<{ key: Bytes; value: Bytes | null }>[] }>

/** A request for records of a range, in key order. */
export type KvScan = KeyRange &
  Readonly<{
    /** Entries at most, 1 to 100,000; fewer are returned only at the end of the range, or because of `bytesMax`. */
    count: number
    /**
     * Bytes of values after which the scan may end early, so that few large records are in memory at once. Those that
     * it returns have at least so many then. Default: no limit. Range: 1 to 2^53 - 1. An implementation may ignore it.
     */
    bytesMax?: number | undefined
    /** Largest keys first. Default: false. */
    reverse?: boolean
    /**
     * Only the keys are used: an implementation may return empty values, and need not find out that one is damaged.
     * Default: false. An implementation may ignore it.
     */
    keysOnly?: boolean
  }>

/**
 * A frozen view of one commit. The commit is not older than any that was acknowledged before `read` was called, and it
 * is fixed at the first query, if not earlier: commits before that query may show, later ones do not. Valid only inside
 * the `read` that made it.
 */
export interface KvView {
  /**
   * Returns the value itself if it is in memory. A failure is always a rejected promise.
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
  /** Whether the range is known to be empty, without a look at the database. Optional. */
  isEmpty?(range: KeyRange): boolean
}

/**
 * The unit of sharding: a commit touches one partition, and views are of one partition. Keys are 0 to 1,024 bytes long;
 * a store may accept longer ones, but nothing may depend on it.
 */
export interface KvPartition {
  /**
   * Runs `use` on a view of the latest commit, and closes the view when it settles. Keep it short:
   * while it is open, nothing it sees is reclaimed, and a shared store keeps a connection for it.
   * @throws {StoreError} DATA_CORRUPT, STORAGE_UNAVAILABLE, STORE_CLOSED
   */
  read<T>(use: (view: KvView) => Awaitable<T>): Promise<T>

  /**
   * As `read`, but returns the result itself if `use` does and nothing else must be waited for. A failure is
   * always a rejected promise. Optional: a faster path for records that are in memory.
   */
  readAwaitable?<T>(use: (view: KvView) => Awaitable<T>): Awaitable<T>

  /**
   * An object that stands for the latest commit: while it stays the same, everything that was read still holds, so
   * callers may cache it. A commit of another partition may change it too. undefined while that is unknown. Optional.
   */
  commitStamp?(): object | undefined

  /**
   * Writes everything or nothing. Resolves when it is durable, or with the failed checks. A commit that touches a key
   * of one in flight, of the same store and partition, is judged and written after it: one may be planned on the
   * other. A key is touched if it is checked, put or deleted, and one of the two commits puts or deletes it.
   * @throws {StoreError} STORAGE_UNAVAILABLE or INSUFFICIENT_STORAGE, whose `outcome` says whether
   *   nothing happened (`unchanged`) or the commit may be there after a reopen (`unknown`); STORE_CLOSED.
   */
  commit(commit: KvCommit): Promise<KvCommitResult>

  /**
   * Deletes up to `count` records of a range that no reader needs: repeatable, not atomic. Several processes may delete
   * the same range at once.
   * @returns The number of records that were found; fewer than `count` means that the range is empty. Another deletion may
   *   have deleted some of them.
   * @throws {StoreError} as `commit`
   */
  deleteRange(range: KeyRange, count: number): Promise<number>
}

/** A result of `check`: a partition that contains records, or something damaged. */
export type KvCheckItem =
  | Readonly<{ kind: 'partition'; partition: string }>
  | Readonly<{ kind: 'record' | 'commit-log' | 'unreadable'; message: string }>

/** A group of commits that was written as one batch. */
export type KvGroup = Readonly<{
  /** The number of commits. */
  commits: number
  /** Records that were put or deleted. */
  records: number
  /** Length of their keys and values, in bytes. */
  bytes: number
  /** How long the write took, in milliseconds. */
  ms: number
}>

/** The memory of a cache of records. */
export interface KvCache {
  /** The approximate size of the cache, in bytes. */
  readonly bytes: number
  /** The greatest size of the cache, in bytes. */
  readonly bytesMax: number
  /** Lookups that found a record in memory, and those that did not. Optional. */
  readonly hits?: number
  /** Lookups that did not find a record in memory. Optional, as `hits`. */
  readonly misses?: number
  /** Sets `bytesMax`, unless the host has set it. `openStore` calls it once, with a share of its `cacheBytesMax`. */
  setShare(bytesMax: number): void
}

/** A store of small records in partitions, one per team. */
export interface KvStore {
  /**
   * Whether other processes may write too, and other stores of this process. If not, what was read stays true until
   * this store commits.
   */
  readonly shared: boolean
  /**
   * A number that is added to the versions of all tables and rows. It grows between two openings by more than
   * the changes of a table that may have been lost, of which a commit of a shared store has up to 256, and is constant
   * while the store is open. Default: 0.
   */
  readonly versionBase?: number
  /** Why commits are refused now; undefined: they are accepted. Must be cheap. Optional. */
  readonly refusal?: StoreError | undefined
  /** The cache of records, if it has one. Optional. */
  readonly cache?: KvCache
  /** Calls `onGroup` after each group of commits from now on; it does not throw. `openStore` calls it once. Optional. */
  observe?(onGroup: (group: KvGroup) => void): void
  /** A partition by name: 0 to 256 UTF-16 units of well-formed text. Made by its first commit. */
  partition(name: string): KvPartition
  /**
   * The time of the database, in milliseconds since 1970 UTC, with which processes that share it compare their clocks.
   * Optional.
   * @throws {StoreError} STORAGE_UNAVAILABLE, STORE_CLOSED
   */
  now?(): Promise<number>
  /**
   * Resolves when all earlier commits are on disk. Optional: without it they are when `commit` resolves. A store
   * that never syncs does not wait here either.
   * @throws {StoreError} as `commit`
   */
  flush?(): Promise<void>
  /**
   * Frees the disk space of deleted and replaced records, if the database does not do so by itself. Reads and commits
   * go on meanwhile. Called after each garbage collection, so it must be cheap if little was written since. Optional.
   * @throws {StoreError} STORAGE_UNAVAILABLE, INSUFFICIENT_STORAGE, STORE_CLOSED; nothing is lost
   */
  reclaim?(): Promise<void>
  /**
   * Runs `use` with views of all partitions, all of the latest commit. Optional: absent where partitions have no
   * commit in common.
   * @throws {StoreError} as `KvPartition.read`
   */
  readAll?<T>(use: (viewOf: (partition: string) => KvView) => Promise<T>): Promise<T>
  /**
   * Looks for damage that reads of single records do not show. Optional.
   * @param full - Check every record, not only those that the store keeps for itself.
   * @throws {StoreError} from the iterator: STORE_CLOSED; what else it meets is an item
   */
  check?(full: boolean): AsyncIterable<KvCheckItem>
  /**
   * Waits for commits in flight. Later calls fail with STORE_CLOSED.
   * @throws {StoreError} DATA_LOSS, STORAGE_UNAVAILABLE if the directory of the store was taken away or used by another
   *   process; the store is closed anyway.
   */
  close(): Promise<void>
}

/** Reads a record as a plan must see it. */
export type ReadRecord = (key: Bytes) => Awaitable<Bytes | null>
