// The owner records of a directory: empty files, whose names identify who has the store open (FORMAT.md, section 1).
//
// An empty file either exists completely or not at all, even after a power cut, and fits on a full disk.
import { closeSync, existsSync, futimes, openSync, renameSync } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { every } from '../../src/base/platform.js'
import { PRIVATE_FILE } from '../fs/fs-calls.js'
import { systemCode } from '../fs/fs-error.js'
import { withDescriptor } from '../fs/process-descriptors.js'
import type { ProcessLife } from './process-life.js'

/** The process that opened a store, and the directory of the store. */
export type OwnerRecord = ProcessLife &
  Readonly<{
    /** The file system and inode of the directory: a copy has another inode. */
    device: string
    inode: string
    /** 16 random hex digits. */
    nonce: string
  }>

/** The maximum number of characters of a host in a record's name, because a file name has at most 255 bytes. */
const HOST_CHARS_MAX = 100
const NAME_PATTERN =
  /^OWNER\.(\d{1,10})\.(\d{0,20})\.([0-9a-f]{0,32})\.(\d{0,20})\.(\d{1,20})\.(\d{1,20})\.([0-9a-f]{16})@([\w.%-]{0,100})$/

export function ownerName(record: OwnerRecord): string {
  const { pid, start, boot, namespace, device, inode, nonce, host } = record
  return `OWNER.${[pid, start, boot, namespace, device, inode, nonce].join('.')}@${shownHost(host)}`
}

/** A host in a file name: `%` and `/` are encoded. */
export function shownHost(host: string): string {
  return encodeURIComponent(host)
    .replace(/[!'()*~]/g, '_')
    .slice(0, HOST_CHARS_MAX)
}

/** @returns undefined: the name is not the name of an owner record */
export function parseOwnerName(name: string): OwnerRecord | undefined {
  const [, pid, start, boot, namespace, device, inode, nonce, host] = NAME_PATTERN.exec(name) ?? []
  if (pid === undefined || start === undefined || boot === undefined) return undefined
  if (namespace === undefined || device === undefined || inode === undefined) return undefined
  if (nonce === undefined || host === undefined) return undefined
  return { pid: Number(pid), start, boot, namespace, device, inode, nonce, host }
}

/** The names of the owner records in a directory, parsed. */
export async function ownerRecords(
  directory: string,
): Promise<readonly (readonly [string, OwnerRecord])[]> {
  const found: [string, OwnerRecord][] = []
  for (const name of await readdir(directory)) {
    const record = parseOwnerName(name)
    if (record !== undefined) found.push([name, record])
  }
  return found
}

/** Removes files of processes that were killed while they created a record. Only the owner may do so. */
export async function removeUnnamed(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (/^OWNER\.[0-9a-f]{16}\.tmp$/.test(name)) await rm(join(directory, name), { force: true })
  }
}

/** The beat of a record, which changes while its owner is alive; undefined: the record no longer exists. */
export async function beatOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).mtimeMs
  } catch (failure) {
    if (systemCode(failure) === 'ENOENT') return undefined
    throw failure
  }
}

/** The beat of a released record. */
export const RELEASED_BEAT = 0

/** Time between two beats, in milliseconds. */
export const BEAT_MS = 2_500

const setTimes = promisify(futimes)

/** A record of this process, which beats until it is released. */
export class OwnRecord {
  readonly path: string
  readonly nonce: string
  readonly #descriptor: number
  readonly #stop: () => void
  #beats = 0

  private constructor(path: string, nonce: string, descriptor: number) {
    this.path = path
    this.nonce = nonce
    this.#descriptor = descriptor
    this.#stop = every(BEAT_MS, () => {
      this.#beats++
      // A failed beat counts as missed; the next one may succeed.
      setTimes(descriptor, this.#beats, this.#beats).catch((failure: unknown) => failure)
    })
  }

  /**
   * Creates a record. Its file is opened before it gets its name, and stays open, which shows that the creating thread
   * is alive. It is opened synchronously, because a thread that ends while the pool opens a file for it leaves the file
   * open.
   * @returns undefined: the new owner of the directory has removed the file.
   */
  static async create(directory: string, record: OwnerRecord): Promise<OwnRecord | undefined> {
    const path = join(directory, ownerName(record))
    const unnamed = join(directory, `OWNER.${record.nonce}.tmp`)
    const descriptor = await withDescriptor(async () => openSync(unnamed, 'wx', PRIVATE_FILE))
    try {
      renameSync(unnamed, path)
    } catch (failure) {
      closeSync(descriptor)
      if (systemCode(failure) === 'ENOENT') return undefined
      throw failure
    }
    return new OwnRecord(path, record.nonce, descriptor)
  }

  /** Whether the record still exists: no other process has taken the directory over. */
  get isThere(): boolean {
    return existsSync(this.path)
  }

  /** Releases the directory. Never fails: a record that cannot be removed is marked as released. */
  async release(): Promise<void> {
    this.#stop()
    await setTimes(this.#descriptor, RELEASED_BEAT, RELEASED_BEAT).catch(
      (failure: unknown) => failure,
    )
    await rm(this.path, { force: true }).catch((failure: unknown) => failure)
    closeSync(this.#descriptor)
  }
}
