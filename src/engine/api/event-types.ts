// Events of a store, for traces and metrics of the host. No event has a row, a value, a key or a secret.
import type { SweepReport } from './report-types.js'

/** A look for segments to compress ended, and found some. */
export type SettleEvent = Readonly<{
  /** Which event it is. */
  name: 'settle'
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
 * - `fold`: a look for row records to fold ended, and folded extents.
 * - `settle`: a look for segments to compress ended, and found some.
 * - `sweep`: a sweep ended. It reports what it deleted of each kind; a sweep of files reports `files`, the other one
 *   everything else.
 * - `job`: this process stopped working on a job. The job `succeeded`, `failed`, or was `left` to another look or
 *   another process, as at a close.
 */
export type StoreEvent =
  | Readonly<{ name: 'commit'; commits: number; records: number; bytes: number; ms: number }>
  | Readonly<{ name: 'fold'; folds: number; ms: number }>
  | SettleEvent
  | Readonly<{ name: 'sweep'; swept: Partial<SweepReport>; ms: number }>
  | Readonly<{ name: 'job'; teamId: string; jobId: string; outcome: JobOutcome; ms: number }>

/** How the work of this process on a job ended. */
export type JobOutcome = 'succeeded' | 'failed' | 'left'
