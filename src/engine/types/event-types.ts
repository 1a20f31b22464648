// Events of a store, for traces and metrics of the host, and its reports about itself. No event contains a row, a
// value, a key or a secret.
import type { StoreErrorCode } from '../../base/store-error.js'

/** A search for segments to compress ended, and has compressed at least one. */
export type RecompressionEvent = Readonly<{
  /** The kind of the event. */
  name: 'recompression'
  /** How many segments were compressed. */
  segments: number
  /** Total size of these segments before the compression, in bytes. */
  bytesBefore: number
  /** Total size of these segments after the compression, in bytes. */
  bytesAfter: number
  /** Duration, in milliseconds. */
  ms: number
}>

/**
 * An action of a store. `ms` is its duration up to the event, in milliseconds.
 *
 * - `commit`: a group of commits was written to the key-value store, in one batch with one sync. `commits` is the
 *   number of its commits; `records` is the number of records that it put or deleted, and `bytes` their size.
 * - `compaction`: a search for row records to compact ended, and has compacted at least one extent.
 * - `recompression`: a search for segments to compress ended, and has compressed at least one.
 * - `garbageCollection`: a garbage collection ended. `collected` has the numbers of deleted things by kind: after a
 *   garbage collection of files only `files`, otherwise all the others.
 * - `job`: this process stopped working on a job. The job `succeeded`, `failed`, or was `left` unfinished, for example
 *   because the store was closed: a later search for jobs, or another process, continues it.
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
 * The status of a store. `writable`: it accepts changes. If not, `code` is the reason: STORE_CLOSED; DATA_LOSS, which
 * is permanent; STORAGE_UNAVAILABLE or INSUFFICIENT_STORAGE after a failed write, until the database is reopened;
 * INSUFFICIENT_STORAGE also while the disk has less than `freeDiskBytesMin`. Reads may still succeed then.
 */
export type StoreStatus =
  | Readonly<{ writable: true }>
  | Readonly<{ writable: false; code: StoreErrorCode; message: string }>

/** Options of `maintain`. */
export type MaintainOptions = Readonly<{
  /**
   * Ends the call with ABORTED before the next step: a commit, a query of at most 1,000 records, the read or write of a
   * segment, the deletion of 1,000 objects. Completed work stays done, and the next garbage collection continues. If
   * another call or the background waits for the same run, the run continues for them. Default: none.
   */
  signal?: AbortSignal | undefined
}>

/** The result of a garbage collection: how many extents it compacted, segments it compressed, and things it deleted. */
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
