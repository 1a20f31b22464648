// Deleting jobs that ended long ago, and putting open ones back on the list of open jobs should they be missing there.
//
// Invariant: the parts of a result come and go after their job, so parts without one are what a sweep left that did not
// come to its end.
import { sameBytes } from '../../base/bytes.js'
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
import type { KvCheck, KvPartition } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import { sweepRange } from '../commit/delete-records.js'
import type { StoreContext } from '../context/store-context.js'

type Found = Readonly<{
  over: readonly (KvCheck & { job: JobKey })[]
  open: readonly JobKey[]
  /** Jobs that are gone, but not all parts of their results. */
  gone: readonly JobKey[]
}>

/** @returns how many jobs were deleted. */
export async function sweepJobs(
  context: StoreContext,
  teamId: string,
  partition: KvPartition,
): Promise<number> {
  const { over, open, gone } = await findJobs(context, partition)
  const system = context.kv.partition('')
  for (const job of open) {
    const key = openJobKey(job, teamId)
    const isListed = (await system.read((view) => view.get(key))) !== null
    if (!isListed) await system.commit({ puts: [[key, EMPTY_RECORD]] })
  }
  for (const job of gone) await sweepRange(partition, jobResultsRange(job))
  let deleted = 0
  for (const { job, key, equals } of over) {
    // The parts of the result mean nothing without the job.
    const { ok } = await partition.commit({ checks: [{ key, equals }], deletes: [jobKey(job)] })
    await sweepRange(partition, jobResultsRange(job))
    if (ok) deleted++
  }
  return deleted
}

async function findJobs({ options }: StoreContext, partition: KvPartition): Promise<Found> {
  const { clock, jobTtlMs } = options
  const oldest = clock.now() - jobTtlMs
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
