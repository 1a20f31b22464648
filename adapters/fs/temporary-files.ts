// Removes temporary files of puts whose process has ended.
import { stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { systemCode } from './fs-error.js'
import { Folders, readNames, sortedNames } from './fs-folders.js'
import { INNER_PATTERN, OUTER_PATTERN } from './object-path.js'

/** The maximum number of folders that are searched: enough for 40 million consecutive objects. */
const CLEANED_FOLDERS_MAX = 10_000

const TEMPORARY_PATTERN = /^[0-9a-f]{32}\.tmp$/

/**
 * Time without writes after which a temporary file is abandoned, in milliseconds: a put with a slower source is
 * cancelled long before.
 */
const TEMPORARY_IDLE_MS_MAX = 3_600_000

/**
 * Removes the temporary files of a directory that is being opened, and folders that become empty.
 * @param isShared - Whether other processes may be writing temporary files.
 */
export async function removeTemporaryFiles(directory: string, isShared: boolean): Promise<void> {
  const folders = new Folders(true)
  let looked = 0
  for (const outer of await sortedNames(directory, OUTER_PATTERN)) {
    for (const inner of await sortedNames(join(directory, outer), INNER_PATTERN)) {
      if (++looked > CLEANED_FOLDERS_MAX) return
      const folder = join(directory, outer, inner)
      const names = await readNames(folder)
      let left = names.length
      for (const name of names) {
        if (!TEMPORARY_PATTERN.test(name)) continue
        const path = join(folder, name)
        if (isShared && !(await isIdle(path))) continue
        await removeFile(path)
        left--
      }
      if (left === 0) await folders.removeIfEmpty(folder)
    }
    await folders.removeIfEmpty(join(directory, outer))
  }
}

/** Whether the process of a temporary file has ended: the last write was long ago. */
async function isIdle(path: string): Promise<boolean> {
  try {
    return Date.now() - (await stat(path)).mtimeMs > TEMPORARY_IDLE_MS_MAX
  } catch (failure) {
    if (systemCode(failure) === 'ENOENT') return false // It was renamed meanwhile.
    throw failure
  }
}

/** Removes a file that may already be gone. */
export async function removeFile(path: string): Promise<void> {
  try {
    await unlink(path)
  } catch (failure) {
    if (systemCode(failure) !== 'ENOENT') throw failure
  }
}
