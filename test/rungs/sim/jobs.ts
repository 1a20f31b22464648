// Jobs of a history: operations that the next process continues when the process that began them has ended.
import { jobFailure } from '../../../src/engine/jobs/job-failure.js'
import {
  type CreateResult,
  isStoreError,
  type Job,
  type JobRequest,
  type JobStatus,
  StoreError,
  type Team,
} from '../../../src/index.js'
import { Mismatch, show } from '../model/operation.js'

/** How often a job is read, with turns of the event loop between. */
const LOOKS_MAX = 200

/** Garbage collections delete jobs that ended longer ago than `JOB_TTL_MS`. */
export const JOB_TTL_MS = 30 * 86_400_000

export class SimJobs {
  readonly #now: () => number
  /** Jobs whose start was acknowledged, and when. */
  readonly #acknowledged = new Map<string, number>()
  /** Ends of jobs as they were read: they never change. */
  readonly #ends = new Map<string, string>()

  /** @param now - The time of the stores. */
  constructor(now: () => number) {
    this.#now = now
  }

  /**
   * Runs an operation as a job. @throws {StoreError} the failure of the job; with an unknown outcome if it continues
   */
  async run(team: Team, request: JobRequest): Promise<CreateResult> {
    const job = await team.startJob(request)
    this.#acknowledged.set(job.id, this.#now())
    const status = await this.#endOf(job).catch((failure: unknown) => {
      throw isStoreError(failure) ? goesOn(failure) : failure
    })
    if (status.status === 'failed') throw jobFailure(status.error)
    if (status.status === 'succeeded') return status.result
    throw goesOn()
  }

  /** After an opening: every acknowledged job exists, and all jobs end. */
  async endAll(team: Team): Promise<void> {
    const listed = await team.jobs()
    const ids = new Set(listed.map(({ id }) => id))
    for (const [id, at] of this.#acknowledged) {
      if (ids.has(id) || this.#now() - at >= JOB_TTL_MS) continue
      throw new Mismatch(`The job ${id} was acknowledged, and is gone`)
    }
    for (const { id } of listed) {
      const { status } = await this.#endOf(team.job(id))
      if (status === 'running') throw goesOn()
    }
  }

  /** All jobs were deleted, or may have been. */
  forget(): void {
    this.#acknowledged.clear()
  }

  async #endOf(job: Job): Promise<JobStatus> {
    for (let look = 0; ; look++) {
      const status = await job.status()
      if (status.status !== 'running') this.#noteEnd(job.id, show(status))
      if (status.status !== 'running' || look === LOOKS_MAX) return status
      // The timers of `Job.wait` never fire in a process that has ended.
      await new Promise<void>((done) => setImmediate(done))
    }
  }

  #noteEnd(id: string, end: string): void {
    const before = this.#ends.get(id) ?? end
    this.#ends.set(id, end)
    if (before !== end) throw new Mismatch(`A job had ended as\n  ${before}\nand has now\n  ${end}`)
  }
}

/** @param cause - The reason why the end of the job cannot be read. */
function goesOn(cause?: unknown): StoreError {
  return new StoreError('STORAGE_UNAVAILABLE', 'The job goes on', { outcome: 'unknown', cause })
}
