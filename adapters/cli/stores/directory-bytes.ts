// The bytes of all files below a folder.
import { opendir, stat } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * The total size of all files below a folder, in bytes. A file that is deleted meanwhile counts as empty, and links are
 * not followed.
 *
 * It opens each folder itself, because `opendir` with `recursive` skips most files in Node 20. It holds a few entries
 * per level of folders, whatever the number of files.
 */
export async function bytesBelow(folder: string): Promise<number> {
  let bytes = 0
  for await (const entry of await opendir(folder)) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) bytes += await unlessGone(bytesBelow(path))
    else if (entry.isFile()) bytes += await unlessGone(bytesOfFile(path))
  }
  return bytes
}

async function bytesOfFile(path: string): Promise<number> {
  return (await stat(path)).size
}

async function unlessGone(bytes: Promise<number>): Promise<number> {
  try {
    return await bytes
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code === 'ENOENT') return 0
    throw failure
  }
}
