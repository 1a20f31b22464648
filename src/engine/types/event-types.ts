// Events of a store, for traces and metrics of the host, and its reports about itself. No event has a row, a value, a
// key or a secret.
import type { StoreErrorCode } from '../../base/store-error.js'

/** A look for segments to compress ended, and found some. */
export type RecompressionEvent = Readonly<{
  /** Which event it is. */
  name: 'recompression'
  /** How many segments were compressed. */
  segments: number
  /** Their bytes together, as they were. */
  bytesBefore: number
  /** Their bytes together, compressed. */
  bytesAfter: number
  /** How long it took, in milliseconds. */
  ms: number
}>

/**
 * Something that a store did. `ms` is how long it took, in milliseconds, up to the event.
 *
 * - `commit`: a group of commits was written to the key-value store, in one batch with one sync. `commits` is the number
 *   of commits in it, `records` and `bytes` what was put and deleted.
 * - `compaction`: a look for row records to compact ended, and compacted extents.
 * - `recompression`: a look for segments to compress ended, and found some.
 * - `garbageCollection`: a garbage collection ended. It reports what it deleted of each kind; a garbage collection of files reports `files`, the other one
 *   everything else.
 * - `job`: this process stopped working on a job. The job `succeeded`, `failed`, or was `left` to another look or
 *   another process, as at a close.
 */
export type StoreEvent =
  | Readonly<{ name: 'commit'; commits: number; records: number; bytes: number; ms: number }>
  | Readonly<{ name: 'compaction'; compactions: number; ms: number }>
  | RecompressionEvent
  | Readonly<{ name: 'garbageCollection'; collected: Partial<MaintenanceReport>; ms: number }>
  | Readonly<{ name: 'job'; teamId: string; jobId: string; outcome: JobOutcome; ms: number }>

/** How the work of this process on a job ended. */
export type JobOutcome = 'succeeded' | 'failed' | 'left'

/**
 * The status of a store. `writable`: it accepts changes. If not, `code` is the reason: STORE_CLOSED; DATA_LOSS, which is
 * permanent; STORAGE_UNAVAILABLE or INSUFFICIENT_STORAGE after a failed write, until the database is reopened;
 * INSUFFICIENT_STORAGE also while the disk has less than `freeDiskBytesMin`. Reads may still succeed then.
 */
export type StoreStatus =
  | Readonly<{ writable: true }>
  | Readonly<{ writable: false; code: StoreErrorCode; message: string }>

/** Options of `maintain`. */
export type MaintainOptions = Readonly<{
  /**
   * Ends the call with ABORTED before the next step: a commit, a query of 1,000 records at most, a segment that is read
   * or written, 1,000 objects that are deleted. What was done before stays done, and the next garbage collection does
   * the rest. If another call or the background waits for the same run, the run continues for them. Default: none.
   */
  signal?: AbortSignal | undefined
}>

/**
 * The result of a garbage collection: the number of compacted extents, of compressed segments, and of deleted things of
 * each kind.
 */
export type MaintenanceReport = Readonly<{
  compactions: number
  recompressed: number
  objects: number
  stashes: number
  generations: number
  files: number
  uploads: number
  jobs: number
}>
