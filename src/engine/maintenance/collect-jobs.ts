// Deletes jobs that ended long ago, and restores missing entries of the list of open jobs.
//
// Invariant: the parts of a result are written after their job and deleted after it. So parts without a job remain from
// an unfinished garbage collection.
import { sameBytes, toHex } from '../../base/bytes.js'
import { decodeJob } from '../../format/job-records.js'
import {
  JOBS_RANGE,
  type JobKey,
  jobKey,
  jobOfKey,
  jobOfResultKey,
  jobResultsRange,
  openJobKey,
} from '../../format/keys.js'
import { EMPTY_RECORD } from '../../format/records.js'
import type { Hint } from '../../format/work-records.js'
import type { KvCheck, KvPartition } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import { deleteRanges, deleteUnchanged } from '../commit/delete-records.js'
import type { StoreContext } from '../context/store-context.js'
import { hintedNames, laterHints, scanHintedRecords } from './hinted-records.js'
import type { Visit } from './team-visits.js'

type Found = Readonly<{
  over: readonly (KvCheck & { job: JobKey })[]
  open: readonly JobKey[]
  /** Deleted jobs that still have parts of their results. */
  gone: readonly JobKey[]
}>

/** @returns the number of jobs that were deleted. */
export async function collectJobs(context: StoreContext, visit: Visit): Promise<number> {
  const { teamId, partition } = visit
  const jobs = hintedNames(visit, 'job')
  const found = jobs === null ? findJobs(context, partition) : findNamed(context, partition, jobs)
  const { over, open, gone } = await found
  const system = context.kv.partition('')
  for (const job of open) {
    const key = openJobKey(job, teamId)
    const isListed = (await system.read((view) => view.get(key))) !== null
    if (isListed) continue
    await system.commit({ puts: [[key, EMPTY_RECORD]] })
    // If the job was deleted before that, nobody else would soon take it off the list.
    const isThere = (await partition.read((view) => view.get(jobKey(job)))) !== null
    if (!isThere) await system.commit({ deletes: [key] })
  }
  const deleted = await deleteUnchanged(partition, over)
  // The parts of a result are deleted without a check: they mean nothing without the job.
  const ended = [...gone, ...over.map(({ job }) => job)]
  await deleteRanges(partition, ended.map(jobResultsRange))
  return deleted
}

async function findJobs({ options }: StoreContext, partition: KvPartition): Promise<Found> {
  const { clock, jobTtlMs } = options
  const oldest = (await clock.lifetimeMs()) - jobTtlMs
  const over: (KvCheck & { job: JobKey })[] = []
  const open: JobKey[] = []
  const gone: JobKey[] = []
  let last: JobKey | undefined
  await partition.read(async (view) => {
    for await (const entries of scanBatches(view, JOBS_RANGE)) {
      for (const [key, equals] of entries) {
        const job = jobOfKey(key)
        if (job === null) {
          const ofResult = jobOfResultKey(key)
          if (ofResult === null || (last !== undefined && sameBytes(ofResult, last))) continue
          gone.push(ofResult)
          last = ofResult
          continue
        }
        last = job
        const { state } = decodeJob(equals)
        if (state.name === 'running') open.push(job)
        else if (state.endedAt <= oldest) over.push({ job, key, equals })
      }
    }
  })
  return { over, open, gone }
}

/** Like `findJobs`, for the jobs that hints name. Running jobs are already on the list of open jobs. */
async function findNamed(
  { options }: StoreContext,
  partition: KvPartition,
  jobs: readonly JobKey[],
): Promise<Found> {
  if (jobs.length === 0) return { over: [], open: [], gone: [] }
  const oldest = (await options.clock.lifetimeMs()) - options.jobTtlMs
  const over: (KvCheck & { job: JobKey })[] = []
  const gone = new Map(jobs.map((job) => [toHex(job), job]))
  await partition.read(async (view) => {
    for await (const entries of scanHintedRecords(view, JOBS_RANGE, jobs.map(jobKey))) {
      for (const [key, equals] of entries) {
        const job = key.slice(1, 17)
        gone.delete(toHex(job))
        const { state } = decodeJob(equals)
        if (state.name !== 'running' && state.endedAt <= oldest) over.push({ job, key, equals })
      }
    }
  })
  return { over, open: [], gone: [...gone.values()] }
}

/** Hints of the jobs that were examined before they could be deleted. */
export function laterJobs({ options }: StoreContext, visit: Visit): Promise<Hint[]> {
  return laterHints(visit, 'job', jobKey, (record) => {
    const { state } = decodeJob(record)
    const since = state.name === 'running' ? options.clock.now() : state.endedAt
    return since + options.jobTtlMs
  })
}
