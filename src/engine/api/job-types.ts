// The public interfaces of jobs: operations that go on when nobody waits for them.
import type { StoreErrorCode } from '../../base/store-error.js'
import type {
  CreateResult,
  CreateTableRequest,
  ImportTableRequest,
  OverwriteRequest,
} from './row-types.js'

/** What a job does: exactly one of three operations. */
export type JobRequest = Readonly<{
  create?: CreateTableRequest | undefined
  overwrite?: (OverwriteRequest & Readonly<{ tableId: string }>) | undefined
  import?: ImportTableRequest | undefined
  /** A text that is kept with the job, up to 64 KiB of UTF-8. Default: empty. */
  note?: string | undefined
}>

/** A job in the list of a team. */
export type JobEntry = Readonly<{
  id: string
  kind: 'create' | 'overwrite' | 'import'
  /** The table that the job makes or changes. One that it makes is there when the job has succeeded. */
  tableId: string
  status: 'running' | 'succeeded' | 'failed'
  /** Milliseconds since 1970 UTC. */
  createdAt: number
  note: string
}>

/** What an import has read so far; 0 for other jobs, whose rows are in the store already. */
export type JobProgress = Readonly<{ rows: number; bytes: number }>

/** How a job stands. */
export type JobStatus =
  | (JobEntry & Readonly<{ status: 'running'; progress: JobProgress }>)
  | (JobEntry & Readonly<{ status: 'succeeded'; endedAt: number; result: CreateResult }>)
  | (JobEntry & Readonly<{ status: 'failed'; endedAt: number; error: JobError }>)

/** Why a job failed: a StoreError as data. */
export type JobError = Readonly<{
  /** Absent if the failure is none that a caller may act on. */
  code?: StoreErrorCode
  message: string
  row?: number
  column?: string
  value?: string
  rule?: string
  chunk?: string
  line?: number
}>

/** A job. It survives a crash: whoever opens the store next goes on with it. */
export interface Job {
  readonly id: string
  /** @throws {StoreError} JOB_NOT_FOUND: the team has no such job, or it ended more than `jobTtlMs` ago. */
  status(): Promise<JobStatus>
  /**
   * The status when the job has ended, or after so many milliseconds.
   * @param milliseconds - Default: 60,000. Range: 0 to 2^31 - 1.
   */
  wait(milliseconds?: number): Promise<JobStatus>
}
