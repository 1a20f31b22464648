// Jobs: one that has not ended has a lease, one that has succeeded has its whole result.
import { toHex } from '../../base/bytes.js'
import { decodeJob, decodeLease, decodeResult } from '../../format/job-records.js'
import { JOBS_RANGE, type JobKey, jobLeaseKey, jobOfKey, jobResultKey } from '../../format/keys.js'
import type { KvPartition, KvView } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import type { Findings } from './verify-findings.js'

export async function verifyJobs(
  findings: Findings,
  partition: KvPartition,
  team: string,
): Promise<void> {
  await partition.read(async (view) => {
    for await (const entries of scanBatches(view, JOBS_RANGE)) {
      findings.checkGoesOn()
      for (const [key, bytes] of entries) {
        const job = jobOfKey(key)
        const missing = job === null ? null : await missingPart(view, job, bytes)
        if (job === null || missing === null) continue
        const message = `Job ${toHex(job)} is missing ${missing}`
        findings.add({ kind: 'record-missing', message }, { team })
      }
    }
  })
}

/** @throws {StoreError} DATA_CORRUPT */
async function missingPart(view: KvView, job: JobKey, bytes: Uint8Array): Promise<string | null> {
  const { state } = decodeJob(bytes)
  if (state.name === 'running') {
    const lease = await view.get(jobLeaseKey(job))
    if (lease !== null) decodeLease(lease)
    return lease === null ? 'its lease' : null
  }
  if (state.name === 'failed') return null
  for (let i = 0; i < state.parts; i++) {
    const part = await view.get(jobResultKey(job, i))
    if (part === null) return `part ${i} of its result`
    decodeResult(part)
  }
  return null
}
