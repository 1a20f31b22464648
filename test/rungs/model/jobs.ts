// Operations that run as jobs: started, finished here or after the next opening, with the operation's own answer.
import { jobFailure } from '../../../src/engine/jobs/job-failure.js'
import type { CreateResult, JobRequest, JobStatus } from '../../../src/index.js'
import { Mismatch, show } from './operation.js'
import type { World } from './world.js'

/** How an operation runs: directly, as a job, or as a job that a restart interrupts. */
export const JOB_USES = ['none', 'job', 'restart'] as const
export type JobUse = (typeof JOB_USES)[number]

/** Turns of the event loop within which a job must end: it is found, its few rows are processed and then deleted. */
const TURNS_MAX = 100_000

/** Runs an operation as a job. @throws {StoreError} the failure of the job */
export async function runJob(
  world: World,
  instance: number,
  request: JobRequest,
  use: JobUse,
): Promise<CreateResult> {
  const { id } = await world.team(instance).startJob(request)
  if (use === 'restart') await world.reopen()
  const status = await endOf(world, instance, id)
  if (status.status === 'failed') throw jobFailure(status.error)
  if (status.status === 'running') throw new Mismatch(`the job does not end: ${show(status)}`)
  return status.result
}

/**
 * Waits until a job has ended, and until its rows are deleted: otherwise a garbage collection would count their stash
 * when it expires.
 */
async function endOf(world: World, instance: number, id: string): Promise<JobStatus> {
  const job = world.team(instance).job(id)
  for (let turn = 0; ; turn++) {
    const status = await job.status()
    const isDone = status.status !== 'running' && world.store(instance).activity().jobsRunning === 0
    if (isDone || turn === TURNS_MAX) return status
    await new Promise((done) => setImmediate(done))
  }
}
