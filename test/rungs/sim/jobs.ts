// Jobs of a history: operations that the next process goes on with when the one that began them has ended.
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

/** Times that a job is looked at: the event loop turns between two of them. */
const LOOKS_MAX = 200

/** Garbage collections delete jobs that ended longer ago than `JOB_TTL_MS`. */
export const JOB_TTL_MS = 30 * 86_400_000

export class SimJobs {
  readonly #now: () => number
  /** Jobs whose start was answered, and when. */
  readonly #acknowledged = new Map<string, number>()
  /** The ends that were seen: a job keeps its end. */
  readonly #ends = new Map<string, string>()

  /** @param now - The time of the stores. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Runs an operation as a job. @throws {StoreError} the failure of the job; of an unknown outcome if it goes on */
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

  /** After an opening: every job that was acknowledged is there, and all jobs end. */
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

  /** All jobs were deleted, or perhaps. */
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

/** @param cause - The end of the job cannot be read. */
function goesOn(cause?: unknown): StoreError {
  return new StoreError('STORAGE_UNAVAILABLE', 'The job goes on', { outcome: 'unknown', cause })
}
