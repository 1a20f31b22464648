// Reads the jobs of a team from their records, in the form for callers.
import {
  decodeJob,
  decodeResult,
  type JobRecord,
  type ResultRun,
} from '../../format/job-records.js'
import { JOBS_RANGE, type JobKey, jobKey, jobOfKey, jobResultsRange } from '../../format/keys.js'
import { renderTableId } from '../../format/table-id.js'
import type { KvView } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import { toPublicVersion } from '../context/public-versions.js'
import type { TeamContext } from '../context/store-context.js'
import { rowIdsOf } from '../ids/row-ids.js'
import { findReceipt } from '../table/receipts.js'
import type { JobEntry, JobProgress, JobStatus, JobsOptions } from '../types/job-types.js'
import type { Receipt } from '../types/receipt-types.js'

/** The records of a job, in one view. */
export type FoundJob = Readonly<{
  record: JobRecord
  runs: readonly ResultRun[]
  /** The receipt of the version that the job made; null: it was not requested, or is already deleted. */
  receipt: Receipt | null
}>

/** @throws {StoreError} DATA_CORRUPT */
export async function findJob(
  team: TeamContext,
  view: KvView,
  job: JobKey,
): Promise<FoundJob | null> {
  const bytes = await view.get(jobKey(job))
  if (bytes === null) return null
  const record = decodeJob(bytes)
  const runs: ResultRun[] = []
  if (record.state.name !== 'succeeded') return { record, runs, receipt: null }
  for await (const entries of scanBatches(view, jobResultsRange(job))) {
    for (const [, part] of entries) for (const run of decodeResult(part)) runs.push(run)
  }
  const { version } = toPublicVersion(team, record.state)
  const receipt = await findReceipt(team, view, record.table, version)
  return { record, runs, receipt }
}

export function toStatus(
  team: TeamContext,
  job: JobKey,
  { record, runs, receipt }: FoundJob,
  progress: JobProgress,
): JobStatus {
  const { state } = record
  const entry = toEntry(job, record)
  switch (state.name) {
    case 'running':
      return { ...entry, status: 'running', progress }
    case 'failed':
      return {
        ...entry,
        status: 'failed',
        endedAt: state.endedAt,
        error: JSON.parse(state.error),
      }
    case 'succeeded': {
      const made = { tableId: entry.tableId, version: state.version, rowIds: rowIdsOf(runs) }
      const result = { ...toPublicVersion(team, made), ...(receipt && { receipt }) }
      return { ...entry, status: 'succeeded', endedAt: state.endedAt, result }
    }
  }
}

function toEntry(job: JobKey, { kind, table, createdAt, note, state }: JobRecord): JobEntry {
  const [id, tableId] = [renderTableId(job), renderTableId(table)]
  return { id, kind, tableId, status: state.name, createdAt, note }
}

/**
 * The jobs of a team, newest last. Memory is bounded: of the jobs that the caller does not want, only one batch is in
 * memory.
 */
export function listJobs(
  { lifecycle, partition }: TeamContext,
  { newest = Number.POSITIVE_INFINITY, tables, notes = true }: JobsOptions,
): Promise<readonly JobEntry[]> {
  return lifecycle.run(() =>
    partition.read(async (view) => {
      let jobs: JobEntry[] = []
      for await (const entries of scanBatches(view, JOBS_RANGE)) {
        for (const [key, bytes] of entries) {
          const job = jobOfKey(key)
          if (job === null) continue
          const entry = toEntry(job, decodeJob(bytes))
          if (tables?.has(entry.tableId) === false) continue
          jobs.push(notes ? entry : { ...entry, note: '' })
        }
        jobs.sort((left, right) => left.createdAt - right.createdAt)
        if (jobs.length > newest) jobs = jobs.slice(-newest)
      }
      return jobs
    }),
  )
}
