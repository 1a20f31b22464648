// Creates and removes folders below one directory, and syncs them to disk.
//
// Invariants:
// - An operation that must survive a power cut is followed by an fsync of the changed folder that begins after it. One
//   fsync serves all callers that requested it before it began.
// - This process does not remove folders in use, nor use folders that it removes. If other processes use the directory,
//   they may remove an empty folder at any time: a caller that misses a folder calls `forget`.
import { mkdir, readdir, rmdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { BoundedMap } from '../../src/base/bounded-map.js'
import { closeFile, openFile, PRIVATE_FOLDER, syncAll } from './fs-calls.js'
import { systemCode } from './fs-error.js'
import { withDescriptor } from './process-descriptors.js'

/** Syncs the entries of a directory (names, not contents) to disk. */
export async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return // Windows cannot open directories, and journals renames itself.
  const descriptor = await openFile(path, 'r')
  try {
    await syncAll(descriptor)
  } finally {
    await closeFile(descriptor)
  }
}

/** Names in a directory; none if it does not exist. */
export async function readNames(path: string): Promise<string[]> {
  try {
    return await withDescriptor(() => readdir(path))
  } catch (failure) {
    if (systemCode(failure) === 'ENOENT') return []
    throw failure
  }
}

export async function sortedNames(path: string, pattern: RegExp): Promise<string[]> {
  const names = await readNames(path)
  return names.filter((name) => pattern.test(name)).sort()
}

/** Merges fsyncs of one directory: a request during an fsync is served by the next one. */
export class SharedSync {
  readonly #run: () => Promise<void>
  #running: Promise<void> | undefined
  #next: Promise<void> | undefined

  constructor(run: () => Promise<void>) {
    this.#run = run
  }

  get idle(): boolean {
    return this.#running === undefined
  }

  sync(): Promise<void> {
    if (this.#running === undefined) return this.#start()
    const start = () => this.#start()
    this.#next ??= this.#running.then(start, start)
    return this.#next
  }

  #start(): Promise<void> {
    this.#next = undefined
    const running = this.#run().finally(() => {
      if (this.#running === running) this.#running = undefined
    })
    this.#running = running
    return running
  }
}

/** The maximum number of folders in `#durable`. New objects go into the newest folders, up to 4,096 into each. */
const DURABLE_MAX = 1_024

export class Folders {
  readonly #doesSync: boolean
  readonly #isShared: boolean
  readonly #syncs = new Map<string, SharedSync>()
  readonly #users = new Map<string, number>()
  readonly #removals = new Map<string, Promise<void>>()
  /** Descriptors of synced folders that are in use, so that concurrent puts open a folder only once. */
  readonly #opened = new Map<string, Promise<number>>()
  /** Folders that exist durably: their entries in their parent folders were synced. */
  readonly #durable = new BoundedMap<string, true>(DURABLE_MAX)

  /**
   * @param doesSync - false: skips every fsync.
   * @param isShared - Whether other processes also use the directory.
   */
  constructor(doesSync: boolean, isShared = false) {
    this.#doesSync = doesSync
    this.#isShared = isShared
  }

  /** Runs an action during which the folder is not removed. The folder need not exist. */
  async use<T>(path: string, action: () => Promise<T>): Promise<T> {
    for (;;) {
      const removal = this.#removals.get(path)
      if (removal === undefined) break
      await removal
    }
    this.#users.set(path, (this.#users.get(path) ?? 0) + 1)
    try {
      return await action()
    } finally {
      const left = (this.#users.get(path) ?? 1) - 1
      if (left > 0) this.#users.set(path, left)
      else {
        this.#users.delete(path)
        await this.#letGo(path)
      }
    }
  }

  /** Creates a folder if it is missing, durably. Its parent exists. */
  async make(path: string): Promise<void> {
    if (this.#durable.get(path)) return
    try {
      await mkdir(path, PRIVATE_FOLDER)
    } catch (failure) {
      if (systemCode(failure) !== 'EEXIST') throw failure
    }
    await this.sync(dirname(path))
    this.#durable.set(path, true)
  }

  /** Must be called when the folder no longer exists. */
  forget(path: string): void {
    this.#durable.delete(path)
  }

  /** Resolves when an fsync that began after this call has ended. */
  async sync(path: string): Promise<void> {
    if (!this.#doesSync) return
    const shared = this.#syncs.get(path) ?? new SharedSync(() => this.#syncOnce(path))
    this.#syncs.set(path, shared)
    try {
      await shared.sync()
    } finally {
      if (shared.idle) this.#syncs.delete(path)
    }
  }

  async #syncOnce(path: string): Promise<void> {
    // If other processes use the directory, a kept descriptor may belong to a folder that was removed and recreated.
    const isKept = this.#users.has(path) && !this.#isShared && process.platform !== 'win32'
    if (!isKept) return await syncDirectory(path)
    const opened = this.#opened.get(path) ?? openFile(path, 'r')
    this.#opened.set(path, opened)
    try {
      await syncAll(await opened)
    } catch (failure) {
      await this.#letGo(path) // The next sync starts over.
      throw failure
    }
  }

  /** Closes a folder without a current fsync, when it is unused or its fsync failed. */
  async #letGo(path: string): Promise<void> {
    const opened = this.#opened.get(path)
    if (opened === undefined) return
    this.#opened.delete(path)
    const descriptor = await opened.catch(() => undefined) // The caller of the fsync got the error.
    if (descriptor !== undefined) await closeFile(descriptor)
  }

  /** Removes a folder unless it is in use or not empty. */
  async removeIfEmpty(path: string): Promise<void> {
    if (this.#users.has(path) || this.#removals.has(path)) return
    this.#durable.delete(path)
    const removal = removeEmpty(path).finally(() => this.#removals.delete(path))
    this.#removals.set(path, removal)
    await removal
  }
}

/** Removes an empty folder. A failure is ignored, because an empty folder costs almost nothing. */
async function removeEmpty(path: string): Promise<void> {
  await rmdir(path).catch((failure: unknown) => systemCode(failure))
}
