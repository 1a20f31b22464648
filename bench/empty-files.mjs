import { readdir, truncate } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Empties all files of a folder, if it exists, without deleting them. ext4 does not reuse the place of a deleted file
 * for minutes, and searches all such places to create a file: the next run would pay for every file of earlier runs.
 */
export async function emptyFiles(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(
    (failure) => {
      if (failure.code === 'ENOENT') return []
      throw failure
    },
  )
  for (const entry of entries) {
    if (entry.isFile()) await truncate(join(entry.parentPath, entry.name))
  }
}
