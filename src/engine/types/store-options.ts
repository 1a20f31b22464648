// The options of a store in three groups, which are members of one flat object, and those of its background work.
import type { Clock } from '../../base/clock.js'
import type { Random } from '../../base/random.js'
import type { Compression } from '../../format/frame-codec.js'
import type { StoreEvent } from './event-types.js'
import type { QuotaRequest } from './file-types.js'
import type { UrlFetcher } from './url-fetcher.js'

/** Limits of rows, pages, stashes, overwritten rows, files and the disk. */
export interface LimitOptions {
  /**
   * Free space that writes must leave on the disk of the store, in bytes. Below it, changes that need space fail with
   * INSUFFICIENT_STORAGE; reads and deletions still work. Only for stores that know their free space, such as those of
   * `openDirectory`, which measure it once a second. 0 is no limit: the disk may then become full. Default: 256 MiB.
   * Range: 0 to 2^53 - 1.
   */
  readonly freeDiskBytesMin?: number
  /**
   * Maximum number of tables per team; creating a further one fails with LIMIT_EXCEEDED. Default: 10,000. Range: 0 to
   * 1,000,000.
   */
  readonly tablesMax?: number
  /**
   * Maximum size of the names of all tables of one team, in bytes of UTF-8, because a list of tables reads them all.
   * A name longer than the limit divided by `tablesMax` fails with LIMIT_EXCEEDED if all names together exceed the
   * limit; a shorter one is always accepted. On a shared store, processes may exceed it together. Default: 4 MiB.
   * Range: 0 to 2^53 - 1.
   */
  readonly tableNamesBytesMax?: number
  /**
   * Maximum number of unexpired stashes of one team; a chunk of a further stash fails with LIMIT_EXCEEDED. Concurrent
   * chunks may exceed it together. Processes that share a store each use a share of the limit before they count again,
   * so together they may exceed it somewhat. The same holds for the limits of bytes, keys and uploads below. Default:
   * 1,000. Range: 0 to 1,000,000.
   */
  readonly stashesMax?: number
  /**
   * Maximum stored size of all chunks in the stashes of one team, in bytes. A chunk beyond it fails with
   * LIMIT_EXCEEDED; concurrent chunks may exceed it together. With a limit, the first put of a team after an open
   * reads the records of all its chunks. Default: 2^53 - 1, which is no limit. Range: 0 to 2^53 - 1.
   */
  readonly stashBytesMax?: number
  /**
   * Maximum stored size of all rows of one team, in bytes, with its history, logs and jobs; overwritten rows count
   * until a garbage collection drops them. Rows and jobs beyond it fail with LIMIT_EXCEEDED; concurrent operations may
   * exceed it together, and updates, history and logs count after the next garbage collection. With a limit, the first
   * import of a team after an open or a garbage collection reads the records of all its tables. Default: 2^53 - 1,
   * which is no limit. Range: 0 to 2^53 - 1.
   */
  readonly teamRowBytesMax?: number
  /**
   * Maximum number of idempotency keys kept for one team; an operation with a further one fails with LIMIT_EXCEEDED
   * until some have expired and a garbage collection has run. Over HTTP, an API key that is limited to tables may store
   * a further one only while fewer of its own are kept than the team may still add, so that it cannot use up the room
   * of others. Default: 100,000. Range: 0 to 10,000,000.
   */
  readonly idempotencyKeysMax?: number
  /** Maximum number of columns of a table or a chunk. Default: 1,000. Range: 1 to 10,000. */
  readonly columnsMax?: number
  /** Maximum size of the text of a row, even after an update, in bytes. Default: 4 MiB. Range: 1 KiB to 64 MiB. */
  readonly rowBytesMax?: number
  /** Maximum number of rows of one page. Default: 10,000. Range: 1 to 100,000. */
  readonly pageRowsMax?: number
  /**
   * Maximum size of the text of one page, in bytes; a page of a single row may be larger. Default: 16 MiB. Range: 1 KiB
   * to 256 MiB.
   */
  readonly pageBytesMax?: number
  /**
   * Maximum number of chunks of one stash; a stash that exceeds it, because several processes added chunks
   * concurrently, cannot be used. Default: 20,000. Range: 1 to 65,535.
   */
  readonly stashChunksMax?: number
  /** Maximum number of overwritten row sets of a table that stay readable. Default: 2. Range: 0 to 100. */
  readonly overwrittenRowSetsMax?: number
  /**
   * Maximum size of the segments of all overwritten row sets of a table, in bytes. The garbage collection drops the
   * oldest first; a row set that a `scan()` reads is dropped after the scan has ended. Default: 8 GiB. Range: 0 to 2^53
   * - 1.
   */
  readonly overwrittenBytesMax?: number
  /** Maximum size of one file, in bytes. Default: 5 GiB. Range: 1 byte to 1 TiB. */
  readonly fileBytesMax?: number
  /**
   * Maximum size of all files of one team, in bytes; received and incoming bytes of uploads count.
   * Default: 2^53 - 1, which is no limit. Range: 0 to 2^53 - 1.
   */
  readonly teamFileBytesMax?: number
  /** Maximum number of open uploads of one owner. Default: 50. Range: 1 to 10,000. */
  readonly uploadsOpenMax?: number
  /**
   * Maximum number of uploads and source URLs that are read concurrently. A team starts one only while it has fewer in
   * progress than places are free, so a single team uses at most half of the places. The others wait. If 1,000 are
   * waiting, or 500 of one team, a further one fails with RATE_LIMITED. Default: 64. Range: 1 to 10,000.
   */
  readonly filesInFlightMax?: number
  /**
   * Maximum number of jobs that run concurrently. A team starts one only while it has fewer running jobs than places
   * are free; the others wait. Default: 4. Range: 1 to 1,000.
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
  /** Fetches files from URLs. Default: none; `fromUrl` and imports from URLs then fail. `openDirectory` has one. */
  readonly sources?: UrlFetcher
  /**
   * Called before a file is stored, for one file of a team at a time; it must not change files itself. If it
   * returns false, the file is deleted and the operation fails with PAYMENT_REQUIRED. Default: no quota.
   */
  readonly quota?: (request: QuotaRequest) => boolean | Promise<boolean>
  /**
   * Called with each failure of background work, because no caller awaits that work; it is retried later. A failure
   * that recurs, such as DATA_CORRUPT, needs an operator: run `store.verify()`. Default: one process warning per
   * task, with its first failure.
   */
  readonly onBackgroundFailure?: (failure: unknown, task: BackgroundTask) => void
  /**
   * Called with each event of the store: commits, compactions, garbage collections, jobs. No event contains a value or
   * a key. Default: nothing; `openDirectory` publishes events to `diagnostics_channel`.
   */
  readonly onEvent?: ((event: StoreEvent) => void) | undefined
  /**
   * How long a stash is kept after its last acknowledged chunk, in milliseconds.
   * Default: 48 hours. Range: 1 minute to 30 days.
   */
  readonly stashTtlMs?: number
  /**
   * How long the result of an operation with an `idempotencyKey` is kept for repeats, in milliseconds.
   * Default: 24 hours. Range: 1 minute to 30 days.
   */
  readonly idempotencyTtlMs?: number
  /**
   * How long overwritten rows of a table stay readable for scans and walks through pages that are in progress, in
   * milliseconds. Default: 1 hour. Range: 0 to 30 days.
   */
  readonly overwrittenRowsTtlMs?: number
  /**
   * How long the changes of a table and the earlier forms of its rows are kept for `table.changes`, `table.watch` and
   * `table.at`, in milliseconds. Garbage collection deletes older ones, on a shared store within a day. Overwritten
   * rows stay readable for the same time, up to `overwrittenBytesMax`. Each change of a row also stores the earlier
   * row. 0 records no history, and deletes the existing history. Without the option, no history is recorded, and the
   * existing history of a table stays until the table changes, so a program that only reads does not delete it. All
   * processes of a shared store must have the same value. Default: not set, which records as much as 0. Range: 0 to 30
   * days.
   */
  readonly historyRetentionMs?: number
  /**
   * How long an object must have been unreferenced before garbage collection deletes it, in milliseconds. The delay
   * protects readers that looked the object up earlier. A reader whose process pauses for longer fails with
   * STORAGE_UNAVAILABLE. Default: 10 minutes. Range: 0 to 1 day.
   */
  readonly orphanGraceMs?: number
  /**
   * How long the signed location of an upload is valid, in milliseconds. Default: 15 minutes. Range: 1 second to 1 day.
   */
  readonly uploadUrlTtlMs?: number
  /**
   * How long an upload may take from its creation to its completion, in milliseconds. Default: 24 hours. Range: 1
   * minute to 30 days.
   */
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
   * How long a process may leave its lease, or the lease of a job, unrenewed before other processes consider it ended,
   * in milliseconds. They then take over its jobs, garbage collections and compactions, and delete the objects that it
   * wrote but no record names yet. If the process is still alive, its operations in progress fail with
   * STORAGE_UNAVAILABLE. All processes of a store must have the same value. Only for a key-value store that several
   * processes share. Default: 30 seconds. Range: 100 ms to 10 minutes.
   */
  readonly jobLeaseMs?: number
  /**
   * How much the clock of a process may differ from that of a shared store's database, in milliseconds. The clocks are
   * compared at open, three times per `jobLeaseMs`, and when that of the process was set or its machine was suspended.
   * If they differ more, every operation that begins or ends a lifetime fails with STORAGE_UNAVAILABLE, including
   * garbage collections. Default: 5 minutes. Range: 1 second to 2^53 - 1, which is no limit.
   */
  readonly clockSkewMs?: number
  /** The time source. Default: the clock of the system. */
  readonly clock?: Clock
  /** The source of random IDs and nonces. Default: that of the system, which is fit for secrets. */
  readonly random?: Random
}

/** Memory, the form of new segments, and background work. These options change only speed and space. */
export interface PerformanceOptions {
  /**
   * Maximum estimated memory of all caches of the store together, in bytes. Each cache has a share, which
   * `store.memory()` reports. A fifth is for frames, footers and rows of point reads; a sixth is for orders of sorted
   * rows, which take 8 bytes per row. 0 caches nothing. Default: 96 MiB. Range: 0 to 16 GiB.
   */
  readonly cacheBytesMax?: number
  /**
   * Maximum memory of the idle buffers that are kept for the next segment, read or request body, in bytes. Buffers in
   * use do not count. 0 keeps none. Default: 28 MiB. Range: 0 to 1 GiB.
   */
  readonly bufferBytesMax?: number
  /**
   * Compression of new segments; existing ones stay as they are and remain readable. `zstd` takes about a quarter of
   * the space and needs Node 22.15 or later, even for reading. `deflate` takes equal space, is slower, and can be
   * read everywhere. `none` is the fastest to write and to read. Compression runs on other threads. Default: `auto`,
   * which is `none`, with two exceptions that are compressed at once, as `recompression` says: segments whose rows have
   * fewer than 128 bytes on average, which uncompressed take more space than in a database, and all segments of a
   * shared store, which go over a network.
   */
  readonly compression?: 'auto' | Compression
  /**
   * Compression of the segments of tables that have reached the age of `recompressionAgeMs`: a background task rewrites
   * those that are not compressed, with the same rows, row IDs and versions. `none` rewrites no segment. Default:
   * `auto`, which is `zstd` if `compression` is `auto` and the runtime has zstd, otherwise `none`.
   */
  readonly recompression?: 'auto' | Compression
  /**
   * Whether new segments store the least and the greatest value of their columns, and a filter of the values, so that
   * reads with a condition skip segments without a matching row. These data take up to 256 KiB of a segment. `true` is
   * for all columns: writing rows then takes 1.7 to 1.8 times the CPU time. A list of 1 to 32 IDs is for the columns
   * with these IDs, in any table: with one ID, writing takes 1.1 to 1.2 times the CPU time. A column with a text of
   * more than 128 bytes has no filter. Stores without the option can read such segments too. Default: false.
   */
  readonly valueFilters?: boolean | readonly string[]
  /** Maximum number of rows of one segment. Default: 65,536. Range: 1 to 65,536. */
  readonly segmentRowsMax?: number
  /**
   * Maximum size of the text of one segment, in bytes; a segment of a single row may be larger. Default: 4 MiB. Range:
   * 1 KiB to 64 MiB.
   */
  readonly segmentBytesMax?: number
  /**
   * An add of at most this many rows, whose text has at most `inlineBytesMax` bytes, writes row records instead of a
   * segment. Default: 1,000. Range: 0 to 1,000.
   */
  readonly inlineRowsMax?: number
  /** Maximum size of the text of such an add, in bytes. See `inlineRowsMax`. Default: 256 KiB. Range: 0 to 1 MiB. */
  readonly inlineBytesMax?: number
  /**
   * Maximum memory of a merge for the keys of its rows, in bytes: 31 per row. A merge of more rows divides the keys
   * into parts, and reads the table and the input once per part. Each concurrent merge may use that much. Default: 128
   * MiB. Range: 1 MiB to 16 GiB.
   */
  readonly mergeBytesMax?: number
  /**
   * Background work: garbage collection, compaction, recompression and jobs. `false`: there is none, and jobs that an
   * earlier opening started are not continued; `store.maintain()` still works. Default: the defaults of its members.
   */
  readonly maintenance?: false | MaintenanceOptions
}

/** When the background work of a store runs, and how much it does. */
export interface MaintenanceOptions {
  /**
   * Time between two background garbage collections, in milliseconds; 0 disables them. A store also collects garbage
   * when it is opened, if the last garbage collection ended that long ago. Default: 5 minutes. Range: 0 to 1 day.
   */
  readonly garbageCollectionIntervalMs?: number
  /**
   * Time between two background garbage collections of files, in milliseconds; with 0 only `store.maintain()` collects
   * them. A store also collects files when it is opened, under the condition of `garbageCollectionIntervalMs`. Default:
   * 1 hour. Range: 0 to 1 day.
   */
  readonly fileCollectionIntervalMs?: number
  /**
   * Time between two background compactions, in milliseconds; 0 disables them. Default: 30 seconds. Range: 0 to 1 day.
   */
  readonly compactionIntervalMs?: number
  /**
   * A compaction rewrites a segment if at least this many row records replace or delete rows of it. Fewer records cost
   * readers less than the rewrite costs. Default: 64. Range: 1 to 65,536.
   */
  readonly compactionRecordsMin?: number
  /**
   * Time between two searches for segments to compress, in milliseconds; 0 disables them. Default: 1 minute. Range: 0
   * to 1 day.
   */
  readonly recompressionIntervalMs?: number
  /**
   * Minimum age of a segment before it is compressed, in milliseconds. The age of a segment that an earlier opening
   * of the store wrote counts from the present opening. Default: 10 minutes. Range: 0 to 30 days.
   */
  readonly recompressionAgeMs?: number
  /**
   * How much smaller a segment must get to be compressed, in percent; a segment that would get smaller by less stays as
   * it is. With 0, all segments are rewritten. Default: 10. Range: 0 to 99.
   */
  readonly recompressionSavingMin?: number
  /**
   * Maximum number of bytes of segments that the background task of each process reads per second to compress them.
   * `store.maintain()` ignores it. Default: 16 MiB. Range: 64 KiB to 16 GiB.
   */
  readonly recompressionBytesPerSecond?: number
  /**
   * Time between two searches for jobs that no process runs, in milliseconds; 0 disables them, and then jobs that an
   * earlier opening started are not continued. The first search is at open. Default: 5 seconds. Range: 0 to 1 day.
   */
  readonly jobIntervalMs?: number
}

/** Options of a store. Each has a default; an unknown name is OPTION_NOT_ALLOWED. */
export interface StoreOptions extends LimitOptions, BehaviorOptions, PerformanceOptions {}

/**
 * A background task of a store. `garbageCollection` deletes unreferenced and expired data, `fileCollection` deletes
 * files that no row names, `compaction` rewrites segments with their row records, `recompression` compresses segments
 * of the age of `recompressionAgeMs`, `codecs` records at open which compressions the segments use, `jobs` runs jobs
 * and takes over those that another process left, and `lease` renews the lease of this process on a shared store.
 */
export type BackgroundTask =
  | 'garbageCollection'
  | 'fileCollection'
  | 'compaction'
  | 'recompression'
  | 'codecs'
  | 'jobs'
  | 'lease'
