// Lists the stored files and the open uploads of a team.
import { shown } from '../../base/options.js'
import { StoreError } from '../../base/store-error.js'
import { parseFileId, renderUploadId } from '../../format/file-id.js'
import { decodeFile, decodeUpload } from '../../format/file-records.js'
import { FILES_RANGE, fileKey, fileOfKey, UPLOADS_RANGE } from '../../format/keys.js'
import { keyAfter } from '../../kv/key-range.js'
import type { KeyRange } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import { checkArguments } from '../arguments/arguments.js'
import type { TeamContext } from '../context/store-context.js'
import { endOfUpload } from '../limits/upload-life.js'
import type { FilesPage, FilesPageRequest, UploadEntry } from '../types/file-types.js'
import { storedFile } from './stored-file.js'

/** Number of files of a page: the default, and the maximum. */
const PAGE_FILES = 100
export const PAGE_FILES_MAX = 1_000

/** Maximum number of uploads in a list. */
const UPLOADS_MAX = 1_000

/** Lists files, ordered by ID. */
export async function listFiles(team: TeamContext, request: FilesPageRequest): Promise<FilesPage> {
  checkArguments('list', request, ['limit', 'continuation'])
  const limit = checkLimit(request.limit)
  const range = rangeAfter(request.continuation)
  const alias = await team.aliases.find(team.teamId)
  if (alias === null) return { files: [] }
  const entries = await team.partition.read((view) => view.scan({ ...range, count: limit + 1 }))
  const { fileRetentionMs } = team.options
  const files = entries.slice(0, limit).map(([key, record]) => {
    const file = storedFile({ alias, key: fileOfKey(key) }, decodeFile(record))
    return { ...file, keptUntil: file.completedAt + fileRetentionMs }
  })
  const last = files.at(-1)
  const isMore = entries.length > limit && last !== undefined
  return { files, ...(isMore && { continuation: last.id }) }
}

function checkLimit(given: unknown = PAGE_FILES): number {
  if (Number.isSafeInteger(given) && Number(given) >= 1)
    return Math.min(Number(given), PAGE_FILES_MAX)
  throw new StoreError(
    'REQUEST_VALIDATION_ERROR',
    `limit must be a positive integer, not ${shown(given)}`,
  )
}

/** A continuation is the ID of the last file of the previous page. */
function rangeAfter(continuation: string | undefined): KeyRange {
  if (continuation === undefined) return FILES_RANGE
  const name = typeof continuation === 'string' ? parseFileId(continuation) : null
  if (name !== null) return { ...FILES_RANGE, start: keyAfter(fileKey(name.key)) }
  throw new StoreError(
    'CONTINUATION_INVALID',
    'Invalid continuation: it does not belong to a list of files',
  )
}

/** The uploads that wait for their bytes or their completion, newest first. */
export async function listOpenUploads(team: TeamContext): Promise<readonly UploadEntry[]> {
  const alias = await team.aliases.find(team.teamId)
  if (alias === null) return []
  const found: UploadEntry[] = []
  const now = await team.options.clock.lifetimeMs()
  await team.partition.read(async (view) => {
    for await (const entries of scanBatches(view, UPLOADS_RANGE)) {
      for (const [key, record] of entries) {
        const upload = decodeUpload(record)
        const endsAt = endOfUpload(team.options, upload)
        if (upload.state === 'completed' || endsAt <= now) continue
        const { app, fileName, contentType, createdAt } = upload
        const bytes = upload.state === 'created' ? null : upload.received.bytes
        const id = renderUploadId({ alias, key: fileOfKey(key) })
        found.push({ id, appId: app, fileName, contentType, bytes, createdAt, endsAt })
        if (found.length === UPLOADS_MAX) return
      }
    }
  })
  return found.sort((one, other) => other.createdAt - one.createdAt)
}
