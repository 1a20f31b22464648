// Stores and backups are made under temporary names, and renamed. This finds the remains of killed processes.
//
// Invariants:
// - Nothing is removed that a living process works on. The maker of a store leaves a file that names its process:
//   on the same system that shows whether it lives; elsewhere, as when containers share a disk, age decides.
// - Remains that cannot be removed do no harm: the next run tries again.
import { randomBytes } from 'node:crypto'
import { lstat, mkdir, open, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { PRIVATE_FILE, PRIVATE_FOLDER } from '../fs/fs-calls.js'
import { systemCode } from '../fs/fs-error.js'

/** A process that has done nothing for a day is considered dead. */
const LEFTOVER_AGE_MS = 24 * 3_600_000

/** So that cleaning up never takes long; the rest is left to the next one. */
const LEFTOVERS_REMOVED_MAX = 100

/** `<system> <process ID> <its start>` (FORMAT.md, section 1). */
const MAKER_FILE = 'MAKER'
const MAKER_PATTERN = /^(\S{1,300}) (\d{1,10}) (\d{0,20})\n$/
const MAKER_BYTES_MAX = 512

/** Earlier versions restored under the second name. */
const STORE_ENDING = /^\.(?:tmp|restoring)-[0-9a-f]{16}$/
const BACKUP_ENDING = /\.tmp-[0-9a-f]{16}$/

/** The first bytes of every backup (FORMAT.md, section 9). */
const BACKUP_MAGIC = Buffer.from('RSBK')

/** A new name beside a path, under which that is made. */
export function temporaryPath(path: string): string {
  return `${path}.tmp-${randomBytes(8).toString('hex')}`
}

/** Makes a directory for a store that this process makes. */
export async function beginStore(temporary: string): Promise<void> {
  await mkdir(temporary, PRIVATE_FOLDER)
  const maker = `${await thisSystem()} ${process.pid} ${await ownStart()}\n`
  await writeFile(join(temporary, MAKER_FILE), maker, { mode: PRIVATE_FILE, flag: 'wx' })
}

/** The store has its name. Until here it says who makes it; afterwards that means nothing. */
export async function endStore(path: string): Promise<void> {
  await rm(join(path, MAKER_FILE), { force: true })
}

/** Removes what killed processes left that were making or restoring the store at a path. */
export async function removeUnfinishedStores(path: string): Promise<void> {
  const start = basename(path)
  const isOurs = (name: string): boolean =>
    name.startsWith(start) && STORE_ENDING.test(name.slice(start.length))
  await removeAll(dirname(path), isOurs, isAbandonedStore)
}

/** Removes what killed processes left that were writing backups into a folder, whatever their names. */
export async function removeUnfinishedBackups(folder: string): Promise<void> {
  await removeAll(folder, (name) => BACKUP_ENDING.test(name), isAbandonedBackup)
}

async function removeAll(
  folder: string,
  isOurs: (name: string) => boolean,
  isAbandoned: (path: string) => Promise<boolean>,
): Promise<void> {
  let removed = 0
  for (const name of (await namesIn(folder)).filter(isOurs)) {
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

/** None of a folder that may be written to but not listed. */
async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (failure) {
    if (systemCode(failure) === undefined) throw failure
    return []
  }
}

async function isAbandonedStore(path: string): Promise<boolean> {
  if (!(await lstat(path)).isDirectory()) return false
  const start = (await readStart(join(path, MAKER_FILE), MAKER_BYTES_MAX)).toString('latin1')
  const [, system, pid = '', started] = MAKER_PATTERN.exec(start) ?? []
  if (system === (await thisSystem())) return !(await isRunning(Number(pid), started ?? ''))
  // These change while it is filled.
  const parts = ['.', 'HIGHWATER', 'kv', 'objects'].map((name) => isOld(join(path, name)))
  return (await Promise.all(parts)).every((old) => old)
}

async function isAbandonedBackup(path: string): Promise<boolean> {
  if (!(await lstat(path)).isFile() || !(await isOld(path))) return false
  const start = await readStart(path, BACKUP_MAGIC.length)
  return start.length === 0 || start.equals(BACKUP_MAGIC)
}

/** A file that is gone counts as old. */
async function isOld(path: string): Promise<boolean> {
  const found = await lstat(path).catch((failure: unknown) => systemCode(failure))
  return typeof found !== 'object' || Date.now() - found.mtimeMs >= LEFTOVER_AGE_MS
}

/** The first bytes of a file; none if it is not there. */
async function readStart(path: string, bytesMax: number): Promise<Buffer> {
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

/** Where process IDs mean the same processes: one start of a machine, and one namespace of it. */
async function thisSystem(): Promise<string> {
  try {
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'latin1')
    return `${boot.trim()}/${await readlink('/proc/self/ns/pid')}`
  } catch (failure) {
    if (systemCode(failure) === undefined) throw failure
    return encodeURIComponent(hostname())
  }
}

async function isRunning(pid: number, started: string): Promise<boolean> {
  try {
    process.kill(pid, 0) // Sends nothing.
  } catch (failure) {
    if (systemCode(failure) === 'ESRCH') return false
  }
  const fields = await fieldsOf(pid)
  if (fields === undefined) return true
  return startIn(fields) === started && !isDead(fields) // Else the ID is another process's by now.
}

/** When this process started, in ticks since the start of the machine; '' where the system does not say. */
async function ownStart(): Promise<string> {
  const fields = await fieldsOf('self')
  return fields === undefined ? '' : startIn(fields)
}

function startIn(fields: readonly string[]): string {
  return fields[19] ?? ''
}

/** A process that was killed keeps its ID until its parent asks how it ended, which some never do. */
function isDead([state = '']: readonly string[]): boolean {
  return state === 'Z' || state === 'X'
}

/** The system's status of a process, from its state on; undefined where there is none. */
async function fieldsOf(pid: number | 'self'): Promise<readonly string[] | undefined> {
  try {
    const text = await readFile(`/proc/${pid}/stat`, 'latin1')
    return text.slice(text.lastIndexOf(')') + 2).split(' ') // The name before may hold anything.
  } catch (failure) {
    if (systemCode(failure) === undefined) throw failure
    return undefined
  }
}
