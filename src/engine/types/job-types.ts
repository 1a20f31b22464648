// The public interfaces of jobs: operations that run in the background.
import type { ErrorPlace, StoreErrorCode } from '../../base/store-error.js'
import type {
  CreateResult,
  CreateTableRequest,
  ImportTableRequest,
  OverwriteRequest,
} from './row-types.js'

/** The operation of a job: exactly one of `create`, `overwrite` and `import`. */
export type JobRequest = Readonly<{
  /** A create. See `team.createTable`. Default: the job does something else. */
  create?: CreateTableRequest | undefined
  /** An overwrite of the table with this ID. See `table.overwrite`. */
  overwrite?: (OverwriteRequest & Readonly<{ tableId: string }>) | undefined
  /** An import, without a report. See `team.importTable`. */
  import?: Omit<ImportTableRequest, 'onReport'> | undefined
  /** A text that is kept with the job, up to 64 KiB of UTF-8. Default: empty. */
  note?: string | undefined
}>

/** A job in the list of a team. */
export type JobEntry = Readonly<{
  /** Names the job, for `team.job`. */
  id: string
  /** The operation of the job. */
  kind: 'create' | 'overwrite' | 'import'
  /** The table that the job creates or changes. A new table exists once the job has succeeded. */
  tableId: string
  /** The state of the job. */
  status: 'running' | 'succeeded' | 'failed'
  /** When the job was started, in milliseconds since 1970 UTC. */
  createdAt: number
  /** The text of the request. */
  note: string
}>

/** Options of `team.jobs`. A team may have any number of jobs that have ended, each with a note of up to 64 KiB. */
export type JobsOptions = Readonly<{
  /** Maximum number of jobs: a positive integer. If there are more, the newest are listed. Default: all. */
  newest?: number | undefined
  /** IDs of tables: lists only their jobs. Default: the jobs of all tables. */
  tables?: ReadonlySet<string> | undefined
  /** Whether entries have their notes; otherwise each `note` is empty. Default: true. */
  notes?: boolean | undefined
}>

/** Rows and bytes that an import has read so far. 0 for other jobs, whose rows are already in the store. */
export type JobProgress = Readonly<{ rows: number; bytes: number }>

/**
 * The status of a job. `endedAt` is in milliseconds since 1970 UTC. The result has the receipt of the version that the
 * job made, if one was asked for, for as long as the table keeps it.
 */
export type JobStatus =
  | (JobEntry & Readonly<{ status: 'running'; progress: JobProgress }>)
  | (JobEntry & Readonly<{ status: 'succeeded'; endedAt: number; result: CreateResult }>)
  | (JobEntry & Readonly<{ status: 'failed'; endedAt: number; error: JobError }>)

/** The failure of a job: the members of a StoreError. */
export type JobError = Omit<ErrorPlace, 'outcome'> &
  Readonly<{
    /** Absent if a caller cannot act on the failure. */
    code?: StoreErrorCode
    /** For people; it may change. */
    message: string
  }>

/** A job. It survives a crash: the next process that opens the store continues it. */
export interface Job {
  /** Names the job, even after a restart. */
  readonly id: string
  /**
   * The current status of the job.
   * @throws {StoreError} JOB_NOT_FOUND: the team has no such job, or it ended more than `jobTtlMs` ago
   * @example
   * const job = await team.startJob({ create: { name: 'Orders', rows: [{ id: 1 }] } })
   * await job.wait()
   * console.log((await job.status()).status) // succeeded
   */
  status(): Promise<JobStatus>
  /**
   * Waits until the job has ended, but at most for `milliseconds`, and returns its status.
   * @param milliseconds - Default: 60,000. Range: 0 to 2^31 - 1.
   * @throws {StoreError} JOB_NOT_FOUND; REQUEST_VALIDATION_ERROR for a number out of its range
   * @example
   * const job = await team.startJob({ create: { name: 'Orders', rows: [{ id: 'one' }] } })
   * const status = await job.wait(10_000)
   * if (status.status === 'failed') throw new Error(status.error.message)
   * console.log(status.status) // succeeded
   */
  wait(milliseconds?: number): Promise<JobStatus>
}
