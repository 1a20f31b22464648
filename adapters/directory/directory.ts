// The embedded default: a store in one directory, with classic-level for the control records and one
// file per object.
//
//     <directory>/FORMAT     what this directory is; written once
//     <directory>/HIGHWATER  how far the store has got
//     <directory>/kv         the LevelDB database
//     <directory>/objects    the objects
//
// Invariants:
// - A directory that holds a FORMAT file is a whole store: it was made under a sibling name and renamed.
// - Nothing but an empty directory is ever turned into a store, and a store is never made anew:
//   LevelDB deletes the files of a database whose CURRENT it misses (LEVELDB.md, F5).
// - A directory is open at most once in this process, whatever path names it. LevelDB opens one twice by
//   two spellings of its path, and gives up its lock when a second open fails (LEVELDB.md, F9, F10).
import { readdir, realpath, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { crc32 } from '../../src/base/platform.js'
import { isStoreError, StoreError } from '../../src/base/store-error.js'
import { readHighWater } from '../../src/kv/high-water.js'
import type { KvStore } from '../../src/kv/kv.js'
import { openLevelKv } from '../../src/kv/level-kv.js'
import type { ObjectStore } from '../../src/objects/objects.js'
import { fileError, systemCode } from '../fs/fs-error.js'
import { syncDirectory } from '../fs/fs-folders.js'
import { openFsObjects } from '../fs/fs-objects.js'
import { processDescriptors } from '../fs/process-descriptors.js'
import { DirectoryLevel, isLocked } from '../leveldb/directory-level.js'
import { checkDatabase } from '../leveldb/leveldb-check.js'
import { openStandIn } from '../leveldb/stand-in-level.js'
import { createDirectory } from './directory-creation.js'
import { FORMAT_FILE, readFormatFile } from './directory-format.js'
import { highWaterOf } from './high-water-file.js'

export type DirectoryPorts = Readonly<{
  kv: KvStore
  objects: ObjectStore
  /** The directory, without symbolic links. */
  path: string
  /** Closes both ports, and lets others open the directory. */
  close(): Promise<void>
}>

/** Options of the ports of a directory. */
export interface DirectoryPortOptions {
  /**
   * Opens a store even if acknowledged commits are missing, or may be missing, with the ones that are left.
   * Default: false; such a store fails with DATA_LOSS or DATA_CORRUPT, and the message says what is missing.
   */
  readonly acceptLoss?: boolean | undefined
  /**
   * When a change is acknowledged. `commit`: when it is on disk, so that a power cut loses nothing. `interval`:
   * earlier; a power cut may lose the changes of the last `flushMs`, the newest first, and nothing else. `none`:
   * earlier, and nothing is ever synced; a power cut may lose any of the latest changes, and the store may refuse to
   * open: for data that can be made again. If only the process ends, no mode loses anything.
   * Default: `commit`.
   */
  readonly durability?: 'commit' | 'interval' | 'none' | undefined
  /** In `interval`, the time after which a change is on the disk, in milliseconds. Default: 1,000. Range: 10 to 60,000. */
  readonly flushMs?: number | undefined
}

type PortOptions = DirectoryPortOptions &
  Readonly<{
    /** See `LevelKvOptions`; set when a backup is restored. */
    versionBaseMin?: number
  }>

/**
 * Opens the store in a directory, or makes one in a directory that is missing or empty.
 * @throws {StoreError} FORMAT_UNKNOWN (the path is something else, and was not touched), STORE_LOCKED (this
 *   or another process has it open), DATA_LOSS, DATA_CORRUPT (the store is damaged), STORAGE_UNAVAILABLE,
 *   INSUFFICIENT_STORAGE
 */
export async function openDirectoryPorts(
  path: string,
  options: PortOptions = {},
): Promise<DirectoryPorts> {
  const absolute = resolve(path)
  try {
    if ((await findDirectory(absolute)) !== 'store') {
      await createDirectory(absolute)
      await findDirectory(absolute) // After a lost race of creation this finds the winner's store.
    }
    const real = await realpath(absolute)
    const { dev, ino, mode } = await stat(real, { bigint: true })
    const ports = await openRegistered(real, `${dev}:${ino}`, options)
    warnOfOthers(real, Number(mode))
    return ports
  } catch (failure) {
    throw fileError(failure, `The directory ${absolute} cannot be opened`)
  }
}

/** Group and others; Windows has no such bits. */
const OTHERS = process.platform === 'win32' ? 0 : 0o077

/** A directory that an earlier version made, or that was copied, may be open to other users. */
function warnOfOthers(path: string, mode: number): void {
  if ((mode & OTHERS) === 0) return
  const bits = (mode & 0o777).toString(8)
  process.emitWarning(
    `Other users may enter ${path} (mode ${bits}), and the store in it holds secrets; run: chmod 700 ${path}`,
    { code: 'ROWSTASH_DIRECTORY_MODE' },
  )
}

function warnOfFull(path: string): void {
  process.emitWarning(
    `The disk of ${path} is full: until there is room, the store can only be read`,
    {
      code: 'ROWSTASH_DISK_FULL',
    },
  )
}

/**
 * Whether a path is missing, an empty directory, or a store.
 * @throws {StoreError} FORMAT_UNKNOWN
 */
async function findDirectory(path: string): Promise<'missing' | 'empty' | 'store'> {
  let names: string[]
  try {
    names = await readdir(path)
  } catch (failure) {
    const code = systemCode(failure)
    if (code === 'ENOENT') return 'missing'
    if (code !== 'ENOTDIR') throw failure
    throw new StoreError('FORMAT_UNKNOWN', `${path} is not a directory`)
  }
  if (names.includes(FORMAT_FILE)) return 'store'
  if (names.length === 0) return 'empty'
  throw new StoreError('FORMAT_UNKNOWN', `The directory ${path} is neither empty nor a store`)
}

/** Paths of open directories by device and inode; shared by all copies of this package. */
function openDirectories(): Map<string, string> {
  const holder = globalThis as { [REGISTRY]?: Map<string, string> }
  holder[REGISTRY] ??= new Map()
  return holder[REGISTRY]
}

const REGISTRY = Symbol.for('rowstash.openDirectories')

/** From the first call of classic-level on, nobody else in this process may open the directory. */
async function openRegistered(
  path: string,
  identity: string,
  options: PortOptions,
): Promise<DirectoryPorts> {
  const registry = openDirectories()
  if (registry.has(identity)) {
    throw new StoreError('STORE_LOCKED', `This process has the directory ${path} open already`)
  }
  registry.set(identity, path)
  try {
    const store = await checkParts(path)
    await checkFiles(path, store, options)
    const { kv, isClosed } = await openKv(path, store, options)
    const objects = await openObjects(path, kv, options)
    let closing: Promise<void> | undefined
    const close = async (): Promise<void> => {
      await objects.close()
      try {
        await kv.close()
      } finally {
        if (isClosed()) registry.delete(identity)
      }
    }
    return {
      kv,
      objects,
      path,
      close() {
        closing ??= close()
        return closing
      },
    }
  } catch (failure) {
    registry.delete(identity)
    throw failure
  }
}

/**
 * Looks, without touching anything, whether all is there that a whole store has.
 * @returns the name of the store.
 */
async function checkParts(path: string): Promise<string> {
  const store = await readFormatFile(path)
  // LevelDB itself would begin with changing files before it refuses.
  for (const part of ['kv/CURRENT', 'objects']) {
    try {
      await stat(join(path, part))
    } catch (failure) {
      if (systemCode(failure) !== 'ENOENT' && systemCode(failure) !== 'ENOTDIR') throw failure
      const message = `The store in ${path} has lost its ${part}; restore it from a backup`
      throw new StoreError('DATA_LOSS', message, { cause: failure })
    }
  }
  return store
}

/** Looks at all files of the database, as LevelDB does not. */
async function checkFiles(path: string, store: string, { acceptLoss }: PortOptions): Promise<void> {
  const folder = join(path, 'kv')
  const place = highWaterOf(path, store)
  const storeCrc = crc32(place.store)
  const check = async (): Promise<void> => {
    const mark = acceptLoss ? null : await readHighWater(place, true)
    await checkDatabase(folder, { atLeast: mark?.commit ?? null, storeCrc })
  }
  try {
    await check()
  } catch (failure) {
    // While somebody writes, files come and go between two looks. Who has just ended has left them whole.
    if (await isLocked(folder)) throw lockedElsewhere(path, failure)
    await check()
  }
}

function lockedElsewhere(path: string, cause: unknown): StoreError {
  const message = `Another process has the directory ${path} open`
  return new StoreError('STORE_LOCKED', message, { cause })
}

/** Bytes that LevelDB collects in memory and in its log before it writes a table: its own default. */
const BUFFER_BYTES = 4 * 1_048_576

/** All that is not on the disk must fit in one log, and each flush costs a table. */
const WIDE_BUFFER_BYTES = 32 * 1_048_576

type DirectoryKv = Readonly<{
  kv: KvStore
  /** Whether LevelDB has given the directory back. */
  isClosed(): boolean
}>

async function openKv(path: string, store: string, options: PortOptions): Promise<DirectoryKv> {
  let database: DirectoryLevel | undefined
  const openDatabase = () => {
    // It is opened again after a write failed, perhaps for want of a descriptor, which LevelDB does not distinguish.
    if (database !== undefined) processDescriptors().release()
    database = newDatabase(join(path, 'kv'), options)
    return database
  }
  try {
    const kv = await openLevelKv(openDatabase, {
      ...options,
      written: true,
      flushBytes: WIDE_BUFFER_BYTES / 2,
      highWater: highWaterOf(path, store),
      async standIn(full) {
        database = await openStandIn(join(path, 'kv'), full)
        warnOfFull(path)
        return database
      },
    })
    return { kv, isClosed: () => database?.status === 'closed' }
  } catch (failure) {
    if (!isStoreError(failure) || failure.code !== 'STORE_LOCKED') throw failure
    throw lockedElsewhere(path, failure)
  }
}

function newDatabase(folder: string, { durability }: PortOptions): DirectoryLevel {
  const database = new DirectoryLevel(folder, {
    keyEncoding: 'view',
    valueEncoding: 'view',
    createIfMissing: false,
    writeBufferSize: durability === 'interval' ? WIDE_BUFFER_BYTES : BUFFER_BYTES,
  })
  // Else a power cut may undo the rename of CURRENT, and bring back the log of before without its last,
  // unsynced commit, beside the new log with the commits after it (LEVELDB.md, F13).
  database.hooks.postopen.add(() => syncDirectory(folder))
  return database
}

async function openObjects(
  path: string,
  kv: KvStore,
  { durability }: PortOptions,
): Promise<ObjectStore> {
  try {
    // In `interval` too an object is on the disk before a commit names it: that may be there at any time.
    return await openFsObjects(join(path, 'objects'), { sync: durability !== 'none' })
  } catch (failure) {
    await kv.close()
    throw failure
  }
}
