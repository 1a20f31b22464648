import { decodeUpload } from '../../format/file-records.js'
import { UPLOADS_RANGE, uploadKey } from '../../format/keys.js'
import type { Hint } from '../../format/work-records.js'
import type { KvCheck } from '../../kv/kv.js'
import { deleteUnchanged } from '../commit/delete-records.js'
import type { StoreContext } from '../context/store-context.js'
import { endOfUpload } from '../limits/upload-life.js'
import { hintedNames, laterHints, scanHintedRecords } from './hinted-records.js'
import type { Visit } from './team-visits.js'

type UploadContext = Pick<StoreContext, 'options' | 'uploads'>

/**
 * Ends the uploads of a team that were not completed in time, and deletes the records of uploads that were completed
 * long ago. Then no record names the bytes that they received, and the garbage collection of objects deletes them.
 */
export async function collectUploads(
  { options, uploads }: UploadContext,
  visit: Visit,
): Promise<number> {
  const keys = hintedNames(visit, 'upload')?.map(uploadKey) ?? null
  if (keys?.length === 0) return 0
  const now = await options.clock.lifetimeMs()
  const over = await visit.partition.read(async (view) => {
    const found: KvCheck[] = []
    for await (const entries of scanHintedRecords(view, UPLOADS_RANGE, keys)) {
      for (const [key, equals] of entries) {
        if (now > endOfUpload(options, decodeUpload(equals))) found.push({ key, equals })
      }
    }
    return found
  })
  const ended = await deleteUnchanged(visit.partition, over)
  if (ended > 0) uploads.forget(visit.teamId)
  return ended
}

/** Hints of the examined uploads whose end is now later than their hint said. */
export function laterUploads({ options }: UploadContext, visit: Visit): Promise<Hint[]> {
  return laterHints(visit, 'upload', uploadKey, (record) => {
    return endOfUpload(options, decodeUpload(record)) + 1
  })
}
