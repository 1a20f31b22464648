// Removes the remains of killed processes: stores and backups are made under temporary names, and then renamed.
//
// Invariants:
// - Files of a live process are not removed. An unfinished store contains a file that identifies its process: on the
//   same system the process can be looked up. On another system, as when containers share a disk, age decides.
// - A failure to remove leftovers is harmless: the next run retries.
import { randomBytes } from 'node:crypto'
import { lstat, mkdir, open, readdir, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { PRIVATE_FILE, PRIVATE_FOLDER } from '../fs/fs-calls.js'
import { systemCode } from '../fs/fs-error.js'
import { isRunning, ownStart, thisSystem } from './process-life.js'

/** Idle time after which a process is considered dead, in milliseconds. */
const LEFTOVER_AGE_MS = 24 * 3_600_000

/** The maximum number of leftovers removed in one run, so that no run takes long. The next run continues. */
const LEFTOVERS_REMOVED_MAX = 100

/** The file that identifies the process: `<system> <process ID> <its start>` (FORMAT.md, section 1). */
const MAKER_FILE = 'MAKER'
const MAKER_PATTERN = /^(\S{1,300}) (\d{1,10}) (\d{0,20})\n$/
const MAKER_BYTES_MAX = 512

/** The ending of the temporary name of a store. Earlier versions used `restoring` for restores. */
const STORE_ENDING = /^\.(?:tmp|restoring)-[0-9a-f]{16}$/
const BACKUP_ENDING = /\.tmp-[0-9a-f]{16}$/

/** The first bytes of every backup (FORMAT.md, section 9). */
const BACKUP_MAGIC = Buffer.from('RSBK')

/** A new temporary name beside a path. */
export function temporaryPath(path: string): string {
  return `${path}.tmp-${randomBytes(8).toString('hex')}`
}

/** Creates the directory of a new store, marked as the work of this process. */
export async function beginStore(temporary: string): Promise<void> {
  await mkdir(temporary, PRIVATE_FOLDER)
  const maker = `${await thisSystem()} ${process.pid} ${await ownStart()}\n`
  await writeFile(join(temporary, MAKER_FILE), maker, { mode: PRIVATE_FILE, flag: 'wx' })
}

/** Removes the mark of the maker, which is meaningless once the store has its name. */
export async function endStore(path: string): Promise<void> {
  await rm(join(path, MAKER_FILE), { force: true })
}

/** Removes unfinished stores of killed processes that were creating or restoring a store at this path. */
export async function removeUnfinishedStores(path: string): Promise<void> {
  const start = basename(path)
  const isOurs = (name: string): boolean =>
    name.startsWith(start) && STORE_ENDING.test(name.slice(start.length))
  await removeAll(dirname(path), isOurs, isAbandonedStore)
}

/** Removes unfinished backups of killed processes from a folder, whatever their names. */
export async function removeUnfinishedBackups(folder: string): Promise<void> {
  await removeAll(folder, (name) => BACKUP_ENDING.test(name), isAbandonedBackup)
}

async function removeAll(
  folder: string,
  isOurs: (name: string) => boolean,
  isAbandoned: (path: string) => Promise<boolean>,
): Promise<void> {
  let removed = 0
  for (const name of (await namesInFolder(folder)).filter(isOurs)) {
    const path = join(folder, name)
    try {
      if (!(await isAbandoned(path))) continue
      await rm(path, { recursive: true, force: true })
    } catch (failure) {
      if (systemCode(failure) === undefined) throw failure
    }
    if (++removed === LEFTOVERS_REMOVED_MAX) return
  }
}

/** The names in a folder; none if it is writable but not readable. */
async function namesInFolder(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (failure) {
    if (systemCode(failure) === undefined) throw failure
    return []
  }
}

async function isAbandonedStore(path: string): Promise<boolean> {
  if (!(await lstat(path)).isDirectory()) return false
  const start = (await readFirstBytes(join(path, MAKER_FILE), MAKER_BYTES_MAX)).toString('latin1')
  const [, system, pid = '', started = ''] = MAKER_PATTERN.exec(start) ?? []
  if (system === (await thisSystem()))
    return !(await isRunning({ pid: Number(pid), start: started }))
  // These files and folders change while the store is filled.
  const parts = ['.', 'HIGHWATER', 'kv', 'objects'].map((name) => isOld(join(path, name)))
  return (await Promise.all(parts)).every((old) => old)
}

async function isAbandonedBackup(path: string): Promise<boolean> {
  if (!(await lstat(path)).isFile() || !(await isOld(path))) return false
  const start = await readFirstBytes(path, BACKUP_MAGIC.length)
  return start.length === 0 || start.equals(BACKUP_MAGIC)
}

/** Whether a file is old. A missing file counts as old. */
async function isOld(path: string): Promise<boolean> {
  const found = await lstat(path).catch((failure: unknown) => systemCode(failure))
  return typeof found !== 'object' || Date.now() - found.mtimeMs >= LEFTOVER_AGE_MS
}

/** The first bytes of a file; none if it does not exist. */
async function readFirstBytes(path: string, bytesMax: number): Promise<Buffer> {
  try {
    const handle = await open(path, 'r')
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(bytesMax))
      return buffer.subarray(0, bytesRead)
    } finally {
      await handle.close()
    }
  } catch (failure) {
    if (systemCode(failure) !== 'ENOENT') throw failure
    return Buffer.alloc(0)
  }
}
