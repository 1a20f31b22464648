// Restores a backup into a new directory.
//
// Invariants:
// - The store is created under a sibling name, verified in full and renamed into place: the rename is the commit point.
//   A failed restore leaves nothing behind; the next restore removes what a killed one left.
// - Existing data is never replaced: the directory must be missing or empty.
import { createReadStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { hasMethods } from '../../src/base/options.js'
import { checkNotAborted } from '../../src/base/signals.js'
import type { RestoreResult } from '../../src/index.js'
import { openStore, restoreBackup, StoreError } from '../../src/index.js'
import type { RestorePorts, RestoreTarget } from '../../src/ports.js'
import { booleanOption, checkOptionNames, checkSignal, resolvePath } from '../base/arguments.js'
import { fileError, systemCode } from '../fs/fs-error.js'
import { objectPath } from '../fs/object-path.js'
import { type DirectoryPorts, openDirectoryPorts } from './directory.js'
import { makeBeside } from './directory-creation.js'

/** Options of `restoreDirectory`. */
export type RestoreOptions = Readonly<{
  /**
   * For a backup with files by reference: the directory of the original store, or a copy of it. Only its `objects` are
   * read. Default: the files are in the backup.
   */
  filesFrom?: string | URL
  /**
   * Whether stashes stay usable. Only for a move, in which the original store has not changed since the backup.
   * Default: false, because chunks may have been put after the backup.
   */
  keepStashes?: boolean
  /** Aborts the restore, which fails with ABORTED. Default: none. */
  signal?: AbortSignal
}>

const OPTION_NAMES: readonly string[] = ['filesFrom', 'keepStashes', 'signal']

/**
 * Restores a backup into a directory that is missing or empty. All versions begin 2^32 above those of the backup, so
 * that no ETag of the original store denotes other content. On failure nothing is left behind.
 * @param directory - A path, or a `file:` URL.
 * @throws {StoreError} DATA_CORRUPT (the backup is damaged or truncated), FORMAT_UNKNOWN, OPTION_NOT_ALLOWED (the
 *   directory is not empty, or `filesFrom` is missing), FILE_NOT_FOUND, ABORTED, STORAGE_UNAVAILABLE,
 *   INSUFFICIENT_STORAGE
 * @example
 * import { createReadStream } from 'node:fs'
 * import { backupToFile, openDirectory, restoreDirectory } from 'rowstash/node'
 *
 * const store = await openDirectory(`${directory}/store`)
 * await store.team('acme').createTable({ name: 'Orders', rows: [{ id: 1 }] })
 * await backupToFile(store, `${directory}/backup`)
 * await store.close()
 *
 * await restoreDirectory(`${directory}/restored`, createReadStream(`${directory}/backup`))
 * const restored = await openDirectory(`${directory}/restored`)
 * console.log((await restored.team('acme').tables()).map(({ name }) => name)) // ["Orders"]
 * await restored.close()
 */
export async function restoreDirectory(
  directory: string | URL,
  backup: AsyncIterable<Uint8Array>,
  options: RestoreOptions = {},
): Promise<RestoreResult> {
  const path = resolvePath('The directory', directory)
  checkOptionNames('restoreDirectory', options, (name) => OPTION_NAMES.includes(name))
  const { filesFrom, signal } = options
  const keepStashes = booleanOption('keepStashes', options.keepStashes, false)
  checkSignal(signal)
  keepError(backup)
  const files =
    filesFrom === undefined ? {} : { files: objectsIn(resolvePath('filesFrom', filesFrom)) }
  const given = { ...files, keepStashes }
  try {
    await checkFolderFree(path)
    return await makeBeside(path, (temporary) => fillDirectory(temporary, backup, given, signal))
  } catch (failure) {
    throw fileError(failure, `The backup cannot be restored into ${path}`)
  }
}

/** Adds a listener, because an early error without one would end the process. The reader still gets the error. */
function keepError(backup: AsyncIterable<Uint8Array>): void {
  if (hasMethods(backup, ['once'])) (backup as Readable).once('error', () => undefined)
}

async function checkFolderFree(path: string): Promise<void> {
  try {
    if ((await readdir(path)).length === 0) return
  } catch (failure) {
    if (systemCode(failure) === 'ENOENT') return
    if (systemCode(failure) !== 'ENOTDIR') throw failure
  }
  const message = `${path} already exists; a backup can only be restored into a new directory`
  throw new StoreError('OPTION_NOT_ALLOWED', message)
}

async function fillDirectory(
  temporary: string,
  backup: AsyncIterable<Uint8Array>,
  given: Omit<RestoreTarget, 'open'>,
  signal: AbortSignal | undefined,
): Promise<RestoreResult> {
  let opened: DirectoryPorts | undefined
  const open = async (versionBaseMin: number): Promise<DirectoryPorts> => {
    opened = await openDirectoryPorts(temporary, { versionBaseMin })
    return opened
  }
  try {
    const restored = await restoreBackup(signal === undefined ? backup : until(signal, backup), {
      open,
      ...given,
    })
    if (opened !== undefined) await verifyRestored(opened, signal)
    return restored
  } finally {
    await opened?.close()
  }
}

/**
 * Verifies a restored store in full, and closes it and its ports.
 * @throws {StoreError} DATA_CORRUPT if it is damaged; as `verify`
 */
export async function verifyRestored(
  { kv, objects }: RestorePorts,
  signal: AbortSignal | undefined,
): Promise<void> {
  await using store = await openStore({ maintenance: false, kv, objects })
  const { findings } = await store.verify({ full: true, ...(signal !== undefined && { signal }) })
  const damage = findings.find(({ severity }) => severity === 'damage')
  if (damage === undefined) return
  const message = `The backup contains damaged data: ${damage.kind}: ${damage.message}`
  throw new StoreError('DATA_CORRUPT', message)
}

async function* until(
  signal: AbortSignal,
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  for await (const piece of pieces) {
    checkNotAborted('restore', signal)
    yield piece
  }
}

const NOTHING: AsyncIterable<Uint8Array> = { async *[Symbol.asyncIterator]() {} }

/** The objects of an unopened store; only its object files are read. */
function objectsIn(directory: string): NonNullable<RestoreTarget['files']> {
  const objects = join(directory, 'objects')
  return {
    async stream(id, range) {
      const path = objectPath(objects, id)
      try {
        await stat(path)
      } catch (failure) {
        if (systemCode(failure) === 'ENOENT') return null
        throw failure
      }
      const { start, limit } = range ?? { start: 0, limit: Number.POSITIVE_INFINITY }
      return limit > start ? createReadStream(path, { start, end: limit - 1 }) : NOTHING
    },
  }
}
