import { decodeUpload } from '../../format/file-records.js'
import { UPLOADS_RANGE } from '../../format/keys.js'
import type { KvCheck, KvPartition } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import { deleteUnchanged } from '../commit/delete-records.js'
import type { StoreContext } from '../context/store-context.js'
import { endOfUpload } from '../context/upload-life.js'

/**
 * Ends the uploads of a team that were not completed in time, and forgets those that were completed long ago. The
 * sweep of objects deletes the bytes that they received, which no record names then.
 */
export async function sweepUploads(
  { options, uploads }: Pick<StoreContext, 'options' | 'uploads'>,
  teamId: string,
  partition: KvPartition,
): Promise<number> {
  const now = options.clock.now()
  const over = await partition.read(async (view) => {
    const found: KvCheck[] = []
    for await (const entries of scanBatches(view, UPLOADS_RANGE)) {
      for (const [key, equals] of entries) {
        if (now > endOfUpload(options, decodeUpload(equals))) found.push({ key, equals })
      }
    }
    return found
  })
  const ended = await deleteUnchanged(partition, over)
  if (ended > 0) uploads.forget(teamId)
  return ended
}
