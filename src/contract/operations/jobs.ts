// CONTRACT.md, section 8.

import { jobFailure } from '../../engine/jobs/job-failure.js'
import { type JobNote, jobNoteOf } from '../../engine/jobs/job-note.js'
import type { JobRequest, JobStatus } from '../../engine/types/job-types.js'
import { jsonResponse } from '../answers/render.js'
import { succeededResponse, tableResponse } from '../answers/table-response.js'
import { maySee, shownFailure } from '../auth/without-read.js'
import type { Call } from '../calls/call.js'
import { shownError } from '../http/error-response.js'
import type { ContractResponse } from '../http/message.js'

/** If a job ends within this time, in milliseconds, its result is the answer. */
const AT_ONCE_MS = 1_000

/** Maximum number of jobs in a list. */
const LISTED_MAX = 1_000

/** GET /jobs */
export async function answerListJobs(call: Call): Promise<ContractResponse> {
  const jobs = await call.team.jobs({ newest: LISTED_MAX, notes: false })
  const data = jobs.toReversed().map(({ id, kind, tableId, status, createdAt }) => {
    return { id, kind, tableID: tableId, status, createdAt }
  })
  return jsonResponse(200, JSON.stringify({ data }))
}

/** GET /jobs/{jobID} */
export async function readJob(call: Call, jobId: string): Promise<ContractResponse> {
  const job = await call.team.job(jobId).status()
  switch (job.status) {
    case 'running': {
      const { status, progress } = job
      return jsonResponse(200, JSON.stringify({ data: { status, progress } }))
    }
    case 'failed': {
      const isOwn = jobNoteOf(job).key === call.caller.keyId
      const { message } = shownError(shownFailure(call.caller, jobFailure(job.error), isOwn))
      return jsonResponse(200, JSON.stringify({ data: { status: 'failed', error: { message } } }))
    }
    case 'succeeded': {
      const { key, linked } = jobNoteOf(job)
      const isShown = key === call.caller.keyId || maySee(call.caller)
      return succeededResponse(call.caller, job.kind, job.result, linked, isShown)
    }
  }
}

/**
 * Runs an operation as a job.
 * @param linked - The linked apps, which are kept with the job because its result names them.
 */
export async function answerAsJob(
  call: Call,
  request: Omit<JobRequest, 'note'>,
  linked: readonly string[] | undefined,
): Promise<ContractResponse> {
  const { keyId: key, tables } = call.caller
  const note = JSON.stringify({ key, isLimited: tables !== undefined, linked } satisfies JobNote)
  const job = await call.team.startJob({ ...request, note })
  const status = await job.wait(AT_ONCE_MS)
  switch (status.status) {
    case 'running':
      call.effect.tableId = status.tableId
      return accepted(status)
    case 'failed':
      throw jobFailure(status.error)
    case 'succeeded':
      return tableResponse(call, status.kind, status.result, linked)
  }
}

/** The answer to an accepted job. That to an overwrite has no `tableID`, as published: the client has sent it. */
function accepted({ id, kind, tableId }: JobStatus): ContractResponse {
  const data = kind === 'overwrite' ? { jobID: id } : { tableID: tableId, jobID: id }
  return jsonResponse(202, JSON.stringify({ data }))
}
