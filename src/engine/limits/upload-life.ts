import type { UploadRecord } from '../../format/file-records.js'
import type { ResolvedOptions } from '../arguments/resolve-options.js'

/**
 * The time when an upload ends, in milliseconds since 1970 UTC. A completed upload is kept for a second `uploadTtlMs`,
 * so that a repeated completion gets the same result.
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
