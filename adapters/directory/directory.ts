// The embedded default: a store in one directory, with classic-level for the control records and one file per object.
//
//     <directory>/FORMAT     identifies the directory; written once
//     <directory>/HIGHWATER  the high-water mark of the store
//     <directory>/OWNER.*    who has the store open
//     <directory>/kv         the LevelDB database
//     <directory>/objects    the objects
//
// Invariants:
// - A directory with a FORMAT file is a complete store: it was created under a sibling name and renamed.
// - Only an empty directory becomes a store, and a store is never recreated in place: LevelDB deletes the files of a
//   database without CURRENT (LEVELDB.md, F5).
// - LevelDB is called only while this opening has the directory's lock (directory-lock): LevelDB loses its own lock
//   when a second open fails, and opens a directory twice under two spellings of its path (LEVELDB.md, F9, F10, F19).
import { readdir, realpath, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { retry } from '../../src/base/backoff.js'
import { monotonicMs } from '../../src/base/clock.js'
import { crc32 } from '../../src/base/platform.js'
import { isStoreError, StoreError } from '../../src/base/store-error.js'
import { type HighWaterPlace, readHighWater } from '../../src/kv/high-water.js'
import type { KvStore } from '../../src/kv/kv.js'
import { openLevelKv } from '../../src/kv/level-kv.js'
import { resolveLevelOptions } from '../../src/kv/level-options.js'
import type { ObjectStore } from '../../src/objects/objects.js'
import { integerOption } from '../base/arguments.js'
import { fileError, systemCode } from '../fs/fs-error.js'
import { syncDirectory } from '../fs/fs-folders.js'
import { openFsObjects } from '../fs/fs-objects.js'
import { processDescriptors } from '../fs/process-descriptors.js'
import { DirectoryLevel, isLocked } from '../leveldb/directory-level.js'
import { checkDatabaseFiles } from '../leveldb/leveldb-check.js'
import { openStandIn } from '../leveldb/stand-in-level.js'
import { createDirectory } from './directory-creation.js'
import { addFeatures, FORMAT_FILE, readFormatFile } from './directory-format.js'
import { lockDirectory } from './directory-lock.js'
import { makeHighWaterPlace } from './high-water-file.js'
import type { OwnRecord } from './owner-record.js'

export type DirectoryPorts = Readonly<{
  kv: KvStore
  objects: ObjectStore
  /** The directory, without symbolic links. */
  path: string
  /** Closes both ports and releases the directory. */
  close(): Promise<void>
}>

/** Options of the ports of a directory. */
export interface DirectoryPortOptions {
  /**
   * Whether to open a store with the remaining commits if acknowledged ones are missing, or may be. Default: false: it
   * fails with DATA_LOSS or DATA_CORRUPT, and the message names the missing part.
   */
  readonly acceptLoss?: boolean | undefined
  /**
   * When a change is acknowledged. `commit`: after it is on disk, so a power cut loses nothing. `interval`: before
   * that; a power cut may lose the changes of the last `flushMs`, the newest first, and nothing else. `none`: before
   * that, and nothing is synced; a power cut may lose any of the latest changes, and the store may not open. Use it for
   * data that can be recreated. No mode loses anything if only the process ends. Default: `commit`.
   */
  readonly durability?: 'commit' | 'interval' | 'none' | undefined
  /** With `interval`: the time after which a change is on disk, in milliseconds. Default: 1,000. Range: 10 to 60,000. */
  readonly flushMs?: number | undefined
  /**
   * How long to wait while another process, worker thread or store has the directory open, in milliseconds. An owner in
   * another container or PID namespace is considered gone after 7.5 seconds without a sign of life, in any case.
   * Default: 0. Range: 0 to 3,600,000.
   */
  readonly waitMs?: number | undefined
}

const WAIT_RANGE = { default: 0, min: 0, max: 3_600_000 } as const

type WaitOption = Pick<DirectoryPortOptions, 'waitMs'>

type PortOptions = Omit<DirectoryPortOptions, 'waitMs'> &
  Readonly<{
    /** See `LevelKvOptions`; set by a restore. */
    versionBaseMin?: number
  }>

/**
 * Opens the store in a directory. Creates a store if the directory is missing or empty.
 * @throws {StoreError} FORMAT_UNKNOWN (the path is something else, and was not changed), STORE_LOCKED (this or another
 *   process has it open), DATA_LOSS, DATA_CORRUPT (the store is damaged), STORAGE_UNAVAILABLE, INSUFFICIENT_STORAGE
 */
export async function openDirectoryPorts(
  path: string,
  given: PortOptions & WaitOption = {},
): Promise<DirectoryPorts> {
  const absolute = resolve(path)
  const { waitMs: givenWait, ...options } = given
  const waitMs = integerOption('waitMs', givenWait, WAIT_RANGE)
  resolveLevelOptions(options)
  try {
    if ((await findDirectory(absolute)) !== 'store') {
      await createDirectory(absolute)
      await findDirectory(absolute) // If creation lost a race, this finds the winner's store.
    }
    const real = await realpath(absolute)
    const { mode } = await stat(real)
    const ports = await openLocked(real, waitMs, options)
    warnOfOthers(real, mode)
    return ports
  } catch (failure) {
    throw fileError(failure, `The directory ${absolute} cannot be opened`)
  }
}

/** Mode bits of group and others; none on Windows. */
const OTHERS = process.platform === 'win32' ? 0 : 0o077

/** Warns if other users can access a directory, such as a copy, or a directory created by an earlier version. */
function warnOfOthers(path: string, mode: number): void {
  if ((mode & OTHERS) === 0) return
  const bits = (mode & 0o777).toString(8)
  process.emitWarning(
    `Other users can access ${path} (mode ${bits}), and the store in it holds secrets; run: chmod 700 ${path}`,
    { code: 'ROWSTASH_DIRECTORY_MODE' },
  )
}

function warnOfFull(path: string): void {
  process.emitWarning(`The disk of ${path} is full: the store is read-only until space is freed`, {
    code: 'ROWSTASH_DISK_FULL',
  })
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

/** How long LevelDB's lock may outlast a killed process, which may still be ending, in milliseconds. */
const ENDING_MS_MAX = 1_000
const ENDING_PAUSE_MS = 20

async function openLocked(
  path: string,
  waitMs: number,
  options: PortOptions,
): Promise<DirectoryPorts> {
  const store = await checkParts(path)
  const lock = await lockDirectory(path, waitMs)
  try {
    const deadlineMs = monotonicMs() + Math.max(waitMs, ENDING_MS_MAX)
    const bounds = { backoff: () => ENDING_PAUSE_MS, deadlineMs }
    const open = (): Promise<DirectoryPorts> => openParts(path, store, lock, options)
    return await retry(open, bounds, (failure) => {
      return isStoreError(failure) && failure.code === 'STORE_LOCKED' ? 0 : null
    })
  } catch (failure) {
    await lock.release()
    throw failure
  }
}

async function openParts(
  path: string,
  store: string,
  lock: OwnRecord,
  options: PortOptions,
): Promise<DirectoryPorts> {
  await checkKvFiles(path, store, options)
  const { kv, isClosed } = await openKv(path, makeHighWaterPlace(path, store, lock.path), options)
  const objects = await openObjects(path, kv, options)
  await requireFeatures(path, { kv, objects })
  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    await objects.close()
    try {
      await kv.close()
    } finally {
      if (isClosed()) await lock.release()
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
}

/**
 * Marks the store for earlier versions, which cannot read what this one writes. On a full disk, the store is still
 * opened for reading, and the next opening tries again.
 */
async function requireFeatures(
  path: string,
  { kv, objects }: Pick<DirectoryPorts, 'kv' | 'objects'>,
): Promise<void> {
  try {
    await addFeatures(path)
  } catch (failure) {
    if (FULL_CODES.has(systemCode(failure))) return
    await objects.close()
    await kv.close()
    throw failure
  }
}

/** Errors of a disk that accepts no writes. */
const FULL_CODES: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EROFS'])

/**
 * Checks that a directory has all parts of a store. Changes nothing.
 * @returns the store's name.
 */
async function checkParts(path: string): Promise<string> {
  const store = await readFormatFile(path)
  // Checked here, because LevelDB changes files before it fails.
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

/** Checks all files of the database, since LevelDB does not. */
async function checkKvFiles(
  path: string,
  store: string,
  { acceptLoss }: PortOptions,
): Promise<void> {
  const folder = join(path, 'kv')
  const place = makeHighWaterPlace(path, store)
  const storeCrc = crc32(place.store)
  const check = async (): Promise<void> => {
    const mark = acceptLoss ? null : await readHighWater(place, true)
    await checkDatabaseFiles(folder, { atLeast: mark?.commit ?? null, storeCrc })
  }
  try {
    await check()
  } catch (failure) {
    // Files change while another process writes. A process that has just ended has left them complete.
    if (await isLocked(folder)) throw lockedElsewhere(path, failure)
    await check()
  }
}

function lockedElsewhere(path: string, cause: unknown): StoreError {
  const message = `Another process has the database of the directory ${path} open`
  return new StoreError('STORE_LOCKED', message, { cause })
}

/** Bytes that LevelDB collects in memory and in its log before it writes a table: LevelDB's default. */
const BUFFER_BYTES = 4 * 1_048_576

/** The buffer with `interval`, in bytes: all data not on disk must fit in one log, and each flush writes a table. */
const WIDE_BUFFER_BYTES = 32 * 1_048_576

type DirectoryKv = Readonly<{
  kv: KvStore
  /** Whether LevelDB has released the directory. */
  isClosed(): boolean
}>

async function openKv(
  path: string,
  highWater: HighWaterPlace,
  options: PortOptions,
): Promise<DirectoryKv> {
  let database: DirectoryLevel | undefined
  const openDatabase = () => {
    // A lack of descriptors may have caused the failed write before this reopening: LevelDB does not distinguish it.
    if (database !== undefined) processDescriptors().release()
    database = newDatabase(join(path, 'kv'), options)
    return database
  }
  try {
    const kv = await openLevelKv(openDatabase, {
      ...options,
      written: true,
      flushBytes: WIDE_BUFFER_BYTES / 2,
      highWater,
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
  // Otherwise a power cut may undo the rename of CURRENT. That would bring back the previous log, without its last
  // unsynced commit, beside the new log with later commits (LEVELDB.md, F13).
  database.hooks.postopen.add(() => syncDirectory(folder))
  return database
}

async function openObjects(
  path: string,
  kv: KvStore,
  { durability }: PortOptions,
): Promise<ObjectStore> {
  try {
    // With `interval` too, an object is on disk before a commit names it, because the commit may reach the disk at any
    // time.
    return await openFsObjects(join(path, 'objects'), { sync: durability !== 'none' })
  } catch (failure) {
    await kv.close()
    throw failure
  }
}
