// What a store reports about itself.
import type { StoreErrorCode } from '../../base/store-error.js'

/**
 * Whether a store accepts changes. If not, `code` says why: STORE_CLOSED; DATA_LOSS, for good; STORAGE_UNAVAILABLE or
 * INSUFFICIENT_STORAGE after a failed write, until the database was reopened. Reads may still be served then.
 */
export type StoreStatus =
  | Readonly<{ writable: true }>
  | Readonly<{ writable: false; code: StoreErrorCode; message: string }>

/** The result of a sweep: the number of folded extents, and of deleted things of each kind. */
export type SweepReport = Readonly<{
  folds: number
  objects: number
  stashes: number
  generations: number
  files: number
  uploads: number
  jobs: number
}>
