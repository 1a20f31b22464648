// A backup as a file.
//
// Invariant: a file under the requested name is a complete backup on disk, because a backup is written and synced under
// a sibling name, and then renamed.

import { lstat, open, rename, rm } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { invalidArgument } from '../../src/base/store-error.js'
import type { BackupOptions, Store } from '../../src/index.js'
import { StoreError } from '../../src/index.js'
import { resolvePath, typeName } from '../base/arguments.js'
import { PRIVATE_FILE } from '../fs/fs-calls.js'
import { fileError } from '../fs/fs-error.js'
import { syncDirectory } from '../fs/fs-folders.js'
import { removeUnfinishedBackups, temporaryPath } from './leftovers.js'

/**
 * Backs up a store, which may be in use, into a new file. On failure there is no file.
 * @param path - A path, or a `file:` URL.
 * @returns The size of the file in bytes.
 * @throws {StoreError} OPTION_NOT_ALLOWED (the file exists, or as `store.backup`), ABORTED, STORE_CLOSED, DATA_CORRUPT,
 *   STORAGE_UNAVAILABLE, INSUFFICIENT_STORAGE
 * @example
 * import { backupToFile } from 'rowstash/node'
 *
 * const bytes = await backupToFile(store, `${directory}/rows.backup`)
 * console.log(bytes > 0) // true
 */
export async function backupToFile(
  store: Store,
  path: string | URL,
  options: BackupOptions = {},
): Promise<number> {
  if (typeof store?.backup !== 'function') {
    throw invalidArgument(`backupToFile takes a store, not ${typeName(store)}`)
  }
  return saveBackup(resolvePath('The backup', path), () => store.backup(options))
}

/** Writes the bytes of a backup to a new file. Errors are as of `backupToFile`. */
export async function saveBackup(
  path: string,
  backup: () => AsyncIterable<Uint8Array>,
): Promise<number> {
  const target = resolve(path)
  await checkNameFree(target)
  const temporary = temporaryPath(target)
  try {
    await removeUnfinishedBackups(dirname(target))
    const bytes = await writeFile(temporary, backup())
    await checkNameFree(target) // Checked again, because the file may have been created meanwhile.
    await rename(temporary, target)
    await syncDirectory(dirname(target))
    return bytes
  } catch (failure) {
    await rm(temporary, { force: true })
    throw fileError(failure, `The backup cannot be written to ${target}`)
  }
}

/** @throws {StoreError} if the name exists, even as a broken link */
async function checkNameFree(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined)
  if (found === undefined) return
  throw new StoreError('OPTION_NOT_ALLOWED', `${path} already exists; name a new file`)
}

async function writeFile(path: string, pieces: AsyncIterable<Uint8Array>): Promise<number> {
  const handle = await open(path, 'wx', PRIVATE_FILE) // A backup contains secrets.
  try {
    let bytes = 0
    for await (const piece of pieces) {
      for (let at = 0; at < piece.length; ) {
        const { bytesWritten } = await handle.write(piece, at)
        at += bytesWritten
      }
      bytes += piece.length
    }
    await handle.sync()
    return bytes
  } finally {
    await handle.close()
  }
}
