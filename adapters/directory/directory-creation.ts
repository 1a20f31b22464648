// Makes an empty store under a sibling name and renames it into place.
//
// Invariants:
// - The rename is the commit point. Before it, all files and folders of the store are on disk: a database cannot be
//   opened after a power cut during its creation (LEVELDB.md, F12).
// - If several processes create the same store, one of them wins. The others remove their own stores and use the
//   winner's.
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { NO_BYTES, toHex } from '../../src/base/bytes.js'
import { openSystemRandom } from '../../src/base/random.js'
import { StoreError } from '../../src/base/store-error.js'
import { STORE_BYTES } from '../../src/kv/high-water.js'
import { openLevelKv } from '../../src/kv/level-kv.js'
import { PRIVATE_FILE, PRIVATE_FOLDER } from '../fs/fs-calls.js'
import { systemCode } from '../fs/fs-error.js'
import { syncDirectory } from '../fs/fs-folders.js'
import { ClassicLevel } from '../leveldb/classic-level.js'
import { FORMAT_FILE, renderFormatFile } from './directory-format.js'
import { makeHighWaterPlace } from './high-water-file.js'
import { beginStore, endStore, removeUnfinishedStores, temporaryPath } from './leftovers.js'

/** Errors of a rename onto a nonempty directory: another process has created the store. */
const LOST_RACE_CODES: ReadonlySet<unknown> = new Set(['ENOTEMPTY', 'EEXIST'])

/** Errors of a rename onto a mount point: its sibling is on another file system. */
const MOUNT_POINT_CODES: ReadonlySet<unknown> = new Set(['EBUSY', 'EXDEV'])

/** Creates a store at an absolute path that is missing or an empty directory. */
export async function createDirectory(path: string): Promise<void> {
  try {
    await makeBeside(path, async () => undefined)
  } catch (failure) {
    const code = systemCode(failure)
    if (LOST_RACE_CODES.has(code)) return
    if (!MOUNT_POINT_CODES.has(code)) throw failure
    const message = `${path} is a mount point; name a directory inside it, which need not exist`
    throw new StoreError('STORAGE_UNAVAILABLE', message, { cause: failure, outcome: 'unchanged' })
  }
}

/**
 * Creates a store beside a path and renames it into place.
 * @param fill - Receives the directory, fills the store in it, and closes the store.
 */
export async function makeBeside<T>(
  path: string,
  fill: (temporary: string) => Promise<T>,
): Promise<T> {
  const parent = dirname(path)
  await makeDurable(parent)
  await removeUnfinishedStores(path)
  const temporary = temporaryPath(path)
  try {
    await beginStore(temporary)
    await writeStore(temporary)
    const filled = await fill(temporary)
    await rename(temporary, path) // The commit point.
    await endStore(path)
    await syncDirectory(parent)
    return filled
  } catch (failure) {
    await rm(temporary, { recursive: true, force: true })
    throw failure
  }
}

/** Creates a directory and its missing parents, and syncs each entry to disk. */
async function makeDurable(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true })
  if (first === undefined) return
  for (let made = path; made.length >= first.length; made = dirname(made)) {
    await syncDirectory(dirname(made))
  }
}

async function writeStore(directory: string): Promise<void> {
  await mkdir(join(directory, 'objects'), PRIVATE_FOLDER)
  await mkdir(join(directory, 'kv'), PRIVATE_FOLDER) // LevelDB's own files follow the umask.

  const store = toHex(openSystemRandom().bytes(STORE_BYTES))
  const openDatabase = () =>
    new ClassicLevel<Uint8Array, Uint8Array>(join(directory, 'kv'), { errorIfExists: true })
  const kv = await openLevelKv(openDatabase, { highWater: makeHighWaterPlace(directory, store) })
  try {
    // The first commit writes only its number, so an empty database counts as damaged from now on.
    await kv.partition('').commit({ deletes: [NO_BYTES] })
  } finally {
    await kv.close()
  }

  const format = await open(join(directory, FORMAT_FILE), 'wx', PRIVATE_FILE)
  try {
    await format.writeFile(renderFormatFile(store))
    await format.sync()
  } finally {
    await format.close()
  }
  await syncFiles(join(directory, 'kv'))
  await syncDirectory(join(directory, 'objects'))
  await syncDirectory(directory)
}

/** Syncs the files of a new database, because LevelDB does not sync its first manifest. */
async function syncFiles(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    const file = await open(join(directory, name), 'r+')
    try {
      await file.sync()
    } finally {
      await file.close()
    }
  }
  await syncDirectory(directory)
}
