// Opens the database of a directory on a full disk for reading. LevelDB cannot open a database without writing: it
// replaces the log and the manifest. So it opens a folder on another disk, with links to the tables, which never
// change, and copies of the files that it replaces.
//
// Invariants:
// - No file of the store is written or removed.
// - The lock is the store's own: the stand-in has a link to it, and LevelDB locks the link's target.
import { copyFile, mkdtemp, readdir, rm, stat, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StoreError } from '../../src/base/store-error.js'
import { storageError } from '../../src/kv/level-database.js'
import { systemCode } from '../fs/fs-error.js'
import { DirectoryLevel } from './directory-level.js'
import { readManifest } from './leveldb-manifest.js'

const TABLE_PATTERN = /^(\d+)\.(?:ldb|sst)$/
const COPIED_PATTERN = /^(?:CURRENT|MANIFEST-\d+|\d+\.log)$/
const LOCK_FILE = 'LOCK'

/** Places that may have room: the system's folder for temporary files, and on Linux the folder in memory. */
function places(): ReadonlySet<string> {
  return new Set([tmpdir(), '/dev/shm'])
}

class StandInLevel extends DirectoryLevel {
  override async close(): Promise<void> {
    await super.close()
    await rm(this.location, { recursive: true, force: true })
  }
}

/**
 * Opens a stand-in with the content of the database in `folder`.
 * @param full - The failure to open that database.
 * @throws {StoreError} INSUFFICIENT_STORAGE: there is no room for the stand-in either; STORE_LOCKED, DATA_CORRUPT,
 *   DATA_LOSS
 */
export async function openStandIn(folder: string, full: StoreError): Promise<DirectoryLevel> {
  if (process.platform === 'win32') throw noRoomInFolder(folder, full) // On Windows, few users may create links.
  for (const place of places()) {
    try {
      return await openIn(place, folder)
    } catch (failure) {
      const error = storageError(failure, 'The database cannot be opened')
      // The same failure again means that this place has no room, or does not exist.
      if (error === failure || error.code === 'STORE_LOCKED') throw error
    }
  }
  throw noRoomInFolder(folder, full)
}

async function openIn(place: string, folder: string): Promise<DirectoryLevel> {
  const { dev, ino } = await stat(folder)
  const start = `rowstash-read-${dev}-${ino}-`
  const made = await mkdtemp(join(place, start))
  let database: StandInLevel | undefined
  try {
    await fillStandIn(made, folder)
    database = new StandInLevel(made, { keyEncoding: 'view', valueEncoding: 'view' })
    await database.open({ createIfMissing: false })
    await removeOthers(place, start, made)
    return database
  } catch (failure) {
    await database?.close()
    await rm(made, { recursive: true, force: true })
    throw failure
  }
}

/** Fills the stand-in. Tables outside the manifest are left out: LevelDB might write through their links. */
async function fillStandIn(made: string, folder: string): Promise<void> {
  const { tables } = await readManifest(folder)
  const numbers = new Set(tables.map(({ number }) => number))
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    const [, digits] = TABLE_PATTERN.exec(name) ?? []
    if (COPIED_PATTERN.test(name)) await copyFile(path, join(made, name))
    else if (name === LOCK_FILE || numbers.has(Number(digits))) {
      await symlink(path, join(made, name))
    }
  }
}

/** Removes the stand-ins of killed processes: only the holder of the lock has a live one. */
async function removeOthers(place: string, start: string, made: string): Promise<void> {
  for (const name of await readdir(place)) {
    const path = join(place, name)
    if (!name.startsWith(start) || path === made) continue
    await rm(path, { recursive: true, force: true }).catch((failure: unknown) =>
      systemCode(failure),
    )
  }
}

function noRoomInFolder(folder: string, full: StoreError): StoreError {
  const message = `The disk of ${folder} is full, so its database cannot be opened: free space there, or in ${[...places()].join(' or ')} to read the store`
  return new StoreError('INSUFFICIENT_STORAGE', message, { cause: full, outcome: 'unchanged' })
}
