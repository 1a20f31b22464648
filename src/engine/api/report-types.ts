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
