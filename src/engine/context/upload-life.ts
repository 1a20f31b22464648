import type { UploadRecord } from '../../format/file-records.js'
import type { ResolvedOptions } from '../api/resolve-options.js'

/**
 * When an upload is over, in milliseconds since 1970 UTC. A completed one is kept as long again, so that each
 * repeat of its completion gets its answer.
 */
export function endOfUpload(
  { uploadTtlMs, uploadReceivedTtlMs }: ResolvedOptions,
  upload: UploadRecord,
): number {
  const end = upload.createdAt + uploadTtlMs
  if (upload.state === 'completed') return end + uploadTtlMs
  if (upload.state === 'created' || upload.receivedAt === null) return end
  return Math.min(end, upload.receivedAt + uploadReceivedTtlMs)
}
