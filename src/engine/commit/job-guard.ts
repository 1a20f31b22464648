// Ties the effect of a job to its record: the commit of the effect checks the lease of this engine, ends the job, and
// stores the result.
//
// Invariants:
// - The bytes of a lease are never reused, so a commit that checks them is refused if anybody has taken the job over.
// - A job ends in the commit of its effect, and has no effect before. So a job that is run again has had no effect yet.
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

/** A job, as the engine that holds its lease sees it. */
export type JobGuard = Readonly<{
  job: JobKey
  record: Pick<JobRecord, 'kind' | 'createdAt' | 'note' | 'table'>
  lease: Holder
  clock: StoreClock
}>

export type JobResult = Readonly<{ table: TableKey; version: number; runs: readonly ResultRun[] }>

/** The job's part of a commit. */
export type JobCommit = Readonly<{
  checks: readonly KvCheck[]
  /** Makes the commit end the job as succeeded. */
  succeed: (result: JobResult) => Required<Pick<KvCommit, 'puts' | 'deletes'>>
  /** Makes the commit end the job as failed. */
  fail: (error: string) => Required<Pick<KvCommit, 'puts' | 'deletes'>>
}>

/** The part of a commit without a job: nothing. */
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
  const endedAt = await clock.stampMs()
  return {
    checks: [{ key, equals: bytes }],
    succeed({ table, version, runs }) {
      const parts = Math.ceil(runs.length / RESULT_RUNS_MAX)
      const state = { name: 'succeeded', endedAt, version, parts } as const
      const results = Array.from({ length: parts }, (_, i) => {
        const part = runs.slice(i * RESULT_RUNS_MAX, (i + 1) * RESULT_RUNS_MAX)
        return [jobResultKey(job, i), encodeResult(part)] as const
      })
      return { puts: [[jobKey(job), encodeJob({ ...record, table, state })], ...results], deletes }
    },
    fail(error) {
      const state = { name: 'failed', endedAt, error } as const
      return { puts: [[jobKey(job), encodeJob({ ...record, state })]], deletes }
    },
  }
}
