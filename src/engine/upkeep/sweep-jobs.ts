// Deleting jobs that ended long ago, and putting open ones back on the list of open jobs should they be missing there.
import { decodeJob } from '../../format/job-records.js'
import {
  JOBS_RANGE,
  type JobKey,
  jobKey,
  jobOfKey,
  jobResultsRange,
  openJobKey,
} from '../../format/keys.js'
import { EMPTY_RECORD } from '../../format/records.js'
import type { KvCheck, KvPartition } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import { sweepRange } from '../commit/delete-records.js'
import type { StoreContext } from '../context/store-context.js'

type Found = Readonly<{ over: readonly (KvCheck & { job: JobKey })[]; open: readonly JobKey[] }>

/** @returns how many jobs were deleted. */
export async function sweepJobs(
  context: StoreContext,
  teamId: string,
  partition: KvPartition,
): Promise<number> {
  const { over, open } = await findJobs(context, partition)
  const system = context.kv.partition('')
  for (const job of open) {
    const key = openJobKey(job, teamId)
    const isListed = (await system.read((view) => view.get(key))) !== null
    if (!isListed) await system.commit({ puts: [[key, EMPTY_RECORD]] })
  }
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
  await partition.read(async (view) => {
    for await (const entries of scanBatches(view, JOBS_RANGE)) {
      for (const [key, equals] of entries) {
        const job = jobOfKey(key)
        if (job === null) continue
        const { state } = decodeJob(equals)
        if (state.name === 'running') open.push(job)
        else if (state.endedAt <= oldest) over.push({ job, key, equals })
      }
    }
  })
  return { over, open }
}
