// The options of a store in three groups. At run time they are members of one flat object.
import type { Clock } from '../../base/clock.js'
import type { Random } from '../../base/random.js'
import type { Compression } from '../../format/frame-codec.js'
import type { BackgroundTask } from './background-types.js'
import type { StoreEvent } from './event-types.js'
import type { QuotaRequest } from './file-types.js'
import type { UrlFetcher } from './url-fetcher.js'

/** Limits of rows, pages, stashes, overwritten rows, files and the disk. */
export interface LimitOptions {
  /**
   * Free space that writes must leave on the disk of the store, in bytes. Below it, changes that need space fail with
   * INSUFFICIENT_STORAGE; reads and deletions go on. Only for stores that know their free space, as those of
   * `openDirectory` do; it is measured once a second. 0 is no limit: the disk may then become full.
   * Default: 256 MiB. Range: 0 to 2^53 - 1.
   */
  readonly freeDiskBytesMin?: number
  /** Tables of one team, at most; one more fails with LIMIT_EXCEEDED. Default: 10,000. Range: 0 to 1,000,000. */
  readonly tablesMax?: number
  /**
   * Stashes of one team that have not expired, at most; a chunk of one more fails with LIMIT_EXCEEDED. Chunks that are
   * put at the same time may pass together. Processes that share a store count what the others have put when they have
   * used their shares of the limit, so all together may pass it by a part; so may they the limits of bytes, keys and
   * uploads below. Default: 1,000. Range: 0 to 1,000,000.
   */
  readonly stashesMax?: number
  /**
   * Size of all chunks in the stashes of one team, as they are stored, in bytes, at most. A chunk beyond it fails with
   * LIMIT_EXCEEDED; chunks that are put at the same time may pass together. With a limit, the first put of a team after
   * an open reads the records of all its chunks. Default: 2^53 - 1, which is no limit. Range: 0 to 2^53 - 1.
   */
  readonly stashBytesMax?: number
  /**
   * Size of all rows of one team, as they are stored, in bytes, at most; overwritten rows count until a sweep drops
   * them. Rows beyond it fail with LIMIT_EXCEEDED; operations at the same time may pass together, and updates count
   * after the next sweep. With a limit, the first import of a team after an open or a sweep reads the records of all its
   * tables. Default: 2^53 - 1, which is no limit. Range: 0 to 2^53 - 1.
   */
  readonly teamRowBytesMax?: number
  /**
   * Idempotency keys of one team that are kept, at most; a create or an add with one more fails with LIMIT_EXCEEDED
   * until some have expired and a sweep has run. Default: 100,000. Range: 0 to 10,000,000.
   */
  readonly idempotencyKeysMax?: number
  /** Columns of a table, and of one chunk, at most. Default: 1,000. Range: 1 to 10,000. */
  readonly columnsMax?: number
  /** Text of one row, in bytes, at most; also after an update. Default: 4 MiB. Range: 1 KiB to 64 MiB. */
  readonly rowBytesMax?: number
  /** Rows of one page, at most. Default: 10,000. Range: 1 to 100,000. */
  readonly pageRowsMax?: number
  /** Text of one page, in bytes, at most; a page of a single row may be larger. Default: 16 MiB. Range: 1 KiB to 256 MiB. */
  readonly pageBytesMax?: number
  /**
   * Chunks of one stash, at most; a stash to which several processes added more cannot be used. Default: 20,000. Range: 1
   * to 65,535.
   */
  readonly stashChunksMax?: number
  /** Overwritten row sets of a table that stay readable, at most. Default: 2. Range: 0 to 100. */
  readonly overwrittenRowSetsMax?: number
  /**
   * Size of the segments of all overwritten row sets of a table, in bytes, at most. The sweep drops the
   * oldest first; a row set that a `scan()` reads is dropped after the scan has ended.
   * Default: 8 GiB. Range: 0 to 2^53 - 1.
   */
  readonly overwrittenBytesMax?: number
  /** Size of one file, in bytes, at most. Default: 5 GiB. Range: 1 byte to 1 TiB. */
  readonly fileBytesMax?: number
  /**
   * Size of all files of one team, in bytes, at most; received and incoming bytes of uploads count.
   * Default: 2^53 - 1, which is no limit. Range: 0 to 2^53 - 1.
   */
  readonly teamFileBytesMax?: number
  /** Open uploads of one owner, at most. Default: 50. Range: 1 to 10,000. */
  readonly uploadsOpenMax?: number
  /**
   * Uploads and source URLs that are read at the same time, at most. A team starts one only while it has fewer under
   * way than there are free places, so a single team uses at most half of the places. Further ones wait. Beyond 1,000
   * waiting, or 500 of one team, they fail with RATE_LIMITED. Default: 64. Range: 1 to 10,000.
   */
  readonly filesInFlightMax?: number
  /**
   * Jobs that are worked on at the same time. A team starts one only while it has fewer than there are free places;
   * the others wait. Default: 4. Range: 1 to 1,000.
   */
  readonly jobsInFlightMax?: number
}

/** Accepted values, lifetimes of data that expires, and hooks into the host. */
export interface BehaviorOptions {
  /**
   * `off`: any string fits the kinds uri, imageURI, audioURI, emailAddress, phoneNumber and emoji.
   * Default: `on`.
   */
  readonly formatChecks?: 'on' | 'off'
  /** Fetches files from URLs. Default: none, and `fromUrl` fails; `openDirectory` has one. */
  readonly sources?: UrlFetcher
  /**
   * Called before a file is stored, for one file of a team at a time; it must not change files itself. If it
   * returns false, the file is deleted and the operation fails with PAYMENT_REQUIRED. Default: no quota.
   */
  readonly quota?: (request: QuotaRequest) => boolean | Promise<boolean>
  /**
   * Called with each failure of background work, because no caller awaits that work; it is retried later. A failure
   * that recurs, such as DATA_CORRUPT, needs an operator: run `store.verify()`. An error thrown by the function is an
   * unhandled rejection. Default: one process warning for each task, with its first failure.
   */
  readonly onBackgroundFailure?: (failure: unknown, task: BackgroundTask) => void
  /**
   * Called with what the store did: commits, folds, sweeps, jobs. No event has a value or a key. An error thrown by the
   * function is an unhandled rejection. Default: nothing; `openDirectory` publishes events to `diagnostics_channel`.
   */
  readonly onEvent?: ((event: StoreEvent) => void) | undefined
  /**
   * How long a stash is kept after its last acknowledged chunk, in milliseconds.
   * Default: 48 hours. Range: 1 minute to 30 days.
   */
  readonly stashTtlMs?: number
  /**
   * How long the result of a create or an add with an `idempotencyKey` is kept for repeats, in
   * milliseconds. Default: 24 hours. Range: 1 minute to 30 days.
   */
  readonly idempotencyTtlMs?: number
  /** How long overwritten rows of a table stay readable for walks under way, in milliseconds. Default: 1 hour. Range: 0 to 30 days. */
  readonly overwrittenRowsTtlMs?: number
  /**
   * How long the changes of a table and its rows as they were are kept for `table.changes`, `table.watch` and `table.at`,
   * in milliseconds. A sweep deletes what is older; on a shared store within a day. Overwritten rows stay readable for
   * them as long, up to `overwrittenBytesMax`. Each change of a row then stores the row as it was, too. 0 keeps no
   * history, and deletes what there is. All processes of a store must have the same value.
   * Default: 0. Range: 0 to 30 days.
   */
  readonly historyRetentionMs?: number
  /**
   * How long an object must have been unreferenced before the sweep deletes it, in milliseconds.
   * The delay protects readers that looked the object up earlier. Default: 10 minutes. Range: 0 to 1 day.
   */
  readonly orphanGraceMs?: number
  /** How long the signed location of an upload is valid, in milliseconds. Default: 15 minutes. Range: 1 second to 1 day. */
  readonly uploadUrlTtlMs?: number
  /** How long an upload may take from its creation to its completion, in milliseconds. Default: 24 hours. Range: 1 minute to 30 days. */
  readonly uploadTtlMs?: number
  /**
   * How long an upload may take from the receipt of its bytes to its completion, in milliseconds; never longer
   * than `uploadTtlMs` in all. Default: 1 hour. Range: 1 minute to 30 days.
   */
  readonly uploadReceivedTtlMs?: number
  /**
   * How long a file that no row refers to is kept after its completion, in milliseconds.
   * Default: 7 days. Range: 24 hours to 29 days.
   */
  readonly fileRetentionMs?: number
  /** How long a job is kept after its end, in milliseconds. Default: 7 days. Range: 1 minute to 30 days. */
  readonly jobTtlMs?: number
  /**
   * How long a process must not have renewed its lease, or that of a job, before another takes it for ended, in
   * milliseconds: others then take over its jobs, sweeps and folds, and delete the objects that it had not linked. If
   * it lives all the same, what it had under way fails with STORAGE_UNAVAILABLE. All processes of a store must have the
   * same value. Only for a key-value store that several processes share. Default: 30 seconds. Range: 100 ms to 10 minutes.
   */
  readonly jobLeaseMs?: number
  /** The time source. Default: the system's. */
  readonly clock?: Clock
  /** The source of IDs and nonces. Default: the system's, fit for secrets. */
  readonly random?: Random
}

/** Memory, the form of new segments, and background work. They change speed and space. */
export interface PerformanceOptions {
  /**
   * Estimated memory of all caches of the store together, in bytes, at most. Each cache has a share, which
   * `store.memory()` reports. A quarter is for frames, footers and rows of point reads. 0 caches nothing.
   * Default: 80 MiB. Range: 0 to 16 GiB.
   */
  readonly cacheBytesMax?: number
  /**
   * Memory of the idle buffers that are kept for the next segment, read or request body, in bytes, at most. Buffers in
   * use do not count. 0 keeps none. Default: 28 MiB. Range: 0 to 1 GiB.
   */
  readonly bufferBytesMax?: number
  /**
   * Compression of new segments; existing ones stay as they are and are still read. `zstd` takes about a
   * quarter of the space and needs Node 22.15 or newer, also for reading. `deflate` takes as much space, is
   * slower, and can be read everywhere. `none` is the fastest to write and to read. Compression runs on other threads.
   * Default: `auto`, which is `none`; but segments of rows of fewer than 128 bytes on average are written with
   * `settledCompression` at once, as they would take more space than in a database, and so are all segments of a store
   * that several processes share, as they go over a network.
   */
  readonly compression?: 'auto' | Compression
  /**
   * Compression of the segments of tables that have reached the age of `settleAfterMs`: a background task rewrites those
   * that are not compressed, with the same rows, row IDs and versions. `none` rewrites none.
   * Default: `auto`, which is `zstd` if `compression` is `auto` and the runtime has zstd, else `none`.
   */
  readonly settledCompression?: 'auto' | Compression
  /**
   * How old a segment is when it is compressed, in milliseconds, at least. The age of a segment that an earlier opening
   * of the store wrote counts from the present opening. Default: 10 minutes. Range: 0 to 30 days.
   */
  readonly settleAfterMs?: number
  /**
   * How much smaller a segment must get to be compressed, in percent; one that saves less stays as it is. With 0 all are
   * rewritten. Default: 10. Range: 0 to 99.
   */
  readonly settleSavingMin?: number
  /** Time between two looks for segments to compress, in milliseconds; 0 switches them off. Default: 1 minute. Range: 0 to 1 day. */
  readonly settleIntervalMs?: number
  /**
   * Bytes of segments that the background task reads a second to compress them, at most, by each process of the store.
   * `store.sweep()` does not keep to it. Default: 16 MiB. Range: 64 KiB to 16 GiB.
   */
  readonly settleBytesPerSecond?: number
  /**
   * Whether new segments note the least and the greatest value of their columns, and a filter of the values, so that
   * reads with a condition leave out segments without a row that matches. They take up to 256 KiB of a segment, and a
   * third to half of the time that it takes to write rows without them. A column with a text of more than 128 bytes has
   * no filter. Segments that have them are read by stores without the option too. Default: false.
   */
  readonly valueFilters?: boolean
  /** Rows of one segment, at most. Default: 65,536. Range: 1 to 65,536. */
  readonly segmentRowsMax?: number
  /** Text of one segment, in bytes, at most; a segment of a single row may be larger. Default: 4 MiB. Range: 1 KiB to 64 MiB. */
  readonly segmentBytesMax?: number
  /**
   * An add of at most this many rows and bytes of text becomes row records instead of a segment.
   * Defaults: 1,000 rows, 256 KiB. Ranges: 0 to 1,000 rows, 0 to 1 MiB.
   */
  readonly inlineRowsMax?: number
  /** See `inlineRowsMax`. Default: 256 KiB. Range: 0 to 1 MiB. */
  readonly inlineBytesMax?: number
  /**
   * Memory of a merge for the keys of its rows, in bytes, at most: 48 for each row. A merge of more rows reads both sides
   * once for each part of the keys. Merges at the same time take as much each. Default: 128 MiB. Range: 1 MiB to 16 GiB.
   */
  readonly mergeBytesMax?: number
  /** Time between two background sweeps, in milliseconds; 0 switches them off. Default: 5 minutes. Range: 0 to 1 day. */
  readonly sweepIntervalMs?: number
  /**
   * Time between two background sweeps of files, in milliseconds; with 0 only `store.sweep()` sweeps them.
   * Default: 1 hour. Range: 0 to 1 day.
   */
  readonly fileSweepIntervalMs?: number
  /** Time between two background folds, in milliseconds; 0 switches them off. Default: 30 seconds. Range: 0 to 1 day. */
  readonly foldIntervalMs?: number
  /**
   * Time between two looks for jobs that nobody works on, in milliseconds; 0 switches them off, and then no job is
   * continued that another opening began. The first look is at open. Default: 5 seconds. Range: 0 to 1 day.
   */
  readonly jobIntervalMs?: number
  /**
   * A fold rewrites a segment that has at least this many row records over it. Fewer cost readers less than
   * the rewrite does. Default: 64. Range: 1 to 65,536.
   */
  readonly foldRecordsMin?: number
}

/** Options of a store. Each has a default; an unknown name is OPTION_NOT_ALLOWED. */
export interface StoreOptions extends LimitOptions, BehaviorOptions, PerformanceOptions {}
