// Reports of a store about itself: its status and its sweeps.
import type { StoreErrorCode } from '../../base/store-error.js'

/**
 * The status of a store. `writable`: it accepts changes. If not, `code` is the reason: STORE_CLOSED; DATA_LOSS, which is
 * permanent; STORAGE_UNAVAILABLE or INSUFFICIENT_STORAGE after a failed write, until the database is reopened;
 * INSUFFICIENT_STORAGE also while the disk has less than `freeDiskBytesMin`. Reads may still succeed then.
 */
export type StoreStatus =
  | Readonly<{ writable: true }>
  | Readonly<{ writable: false; code: StoreErrorCode; message: string }>

/** Options of `sweep`. */
export type SweepOptions = Readonly<{
  /**
   * Ends the call with ABORTED before the next step: a commit, a query of 1,000 records at most, a segment that is read
   * or written, 1,000 objects that are deleted. What was done before stays done, and the next sweep does the rest. If
   * another call or the background waits for the same run, the run continues for them. Default: none.
   */
  signal?: AbortSignal | undefined
}>

/** The result of a sweep: the number of folded extents, of compressed segments, and of deleted things of each kind. */
export type SweepReport = Readonly<{
  folds: number
  settled: number
  objects: number
  stashes: number
  generations: number
  files: number
  uploads: number
  jobs: number
}>
