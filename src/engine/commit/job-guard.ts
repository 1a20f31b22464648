// Ties the effect of a job to its record: the commit with the effect checks that this engine still has the lease,
// ends the job, and keeps the result.
//
// Invariants:
// - The bytes of a lease never come back, so a check of them is a check that nobody has taken the job over since.
// - A job ends in the commit of its effect, and has no effect without it: a job that is done again has none so far.
import type { StoreClock } from '../../base/clock.js'
import {
  decodeLease,
  encodeJob,
  encodeResult,
  type JobRecord,
  RESULT_RUNS_MAX,
  type ResultRun,
} from '../../format/job-records.js'
import { type JobKey, jobKey, jobLeaseKey, jobResultKey, type TableKey } from '../../format/keys.js'
import type { KvCheck, KvCommit, ReadRecord } from '../../kv/kv.js'
import { type Holder, isHeld, LeaseLost } from './lease.js'

/** A job as the engine that works on it holds it. */
export type JobGuard = Readonly<{
  job: JobKey
  record: Pick<JobRecord, 'kind' | 'createdAt' | 'note' | 'table'>
  lease: Holder
  clock: StoreClock
}>

export type JobResult = Readonly<{ table: TableKey; version: number; runs: readonly ResultRun[] }>

/** The part of a commit that is the job's. */
export type JobCommit = Readonly<{
  checks: readonly KvCheck[]
  /** With it the job succeeds. */
  succeed: (result: JobResult) => Required<Pick<KvCommit, 'puts' | 'deletes'>>
  /** With it the job fails. */
  fail: (error: string) => Required<Pick<KvCommit, 'puts' | 'deletes'>>
}>

/** The additions to the commit of an operation without a job: none. */
const NO_JOB: JobCommit = Object.freeze({
  checks: [],
  succeed: () => ({ puts: [], deletes: [] }),
  fail: () => ({ puts: [], deletes: [] }),
})

/** @throws {LeaseLost} */
export async function readJobGuard(
  guard: JobGuard | undefined,
  read: ReadRecord,
): Promise<JobCommit> {
  if (guard === undefined) return NO_JOB
  const { job, record, clock } = guard
  const key = jobLeaseKey(job)
  const bytes = await read(key)
  if (bytes === null || !isHeld(guard.lease, decodeLease(bytes))) throw new LeaseLost()
  const deletes = [key]
  return {
    checks: [{ key, equals: bytes }],
    succeed({ table, version, runs }) {
      const parts = Math.ceil(runs.length / RESULT_RUNS_MAX)
      const state = { name: 'succeeded', endedAt: clock.stampMs(), version, parts } as const
      const results = Array.from({ length: parts }, (_, i) => {
        const part = runs.slice(i * RESULT_RUNS_MAX, (i + 1) * RESULT_RUNS_MAX)
        return [jobResultKey(job, i), encodeResult(part)] as const
      })
      return { puts: [[jobKey(job), encodeJob({ ...record, table, state })], ...results], deletes }
    },
    fail(error) {
      const state = { name: 'failed', endedAt: clock.stampMs(), error } as const
      return { puts: [[jobKey(job), encodeJob({ ...record, state })]], deletes }
    },
  }
}
