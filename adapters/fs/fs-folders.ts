// Folders that come and go under one directory, and their way to the disk.
//
// Invariants:
// - A file system operation that must survive a power cut is followed by an fsync of the changed folder that began
//   after it. One fsync serves all callers that asked before it began.
// - A folder in use is not removed by this process, and a folder that it removes is not used. Where other processes use
//   the directory, one of them may remove an empty folder at any time: whoever misses it calls `forget`.
import { mkdir, readdir, rmdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { BoundedMap } from '../../src/base/bounded-map.js'
import { closeFile, openFile, PRIVATE_FOLDER, syncAll } from './fs-calls.js'
import { systemCode } from './fs-error.js'
import { withDescriptor } from './process-descriptors.js'

/** Flushes the entries of a directory (names, not contents) to the disk. */
export async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return // Windows opens no directory, and logs renames by itself.
  const descriptor = await openFile(path, 'r')
  try {
    await syncAll(descriptor)
  } finally {
    await closeFile(descriptor)
  }
}

/** Names in a directory; none when it is not there any more. */
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

/** Merges fsyncs of one directory: who asks while one is running gets the one after it. */
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

/** Folders that need not be made and synced again. Objects go into the newest ones, 4,096 into each. */
const DURABLE_MAX = 1_024

export class Folders {
  readonly #doesSync: boolean
  readonly #isShared: boolean
  readonly #syncs = new Map<string, SharedSync>()
  readonly #users = new Map<string, number>()
  readonly #removals = new Map<string, Promise<void>>()
  /** Descriptors of folders in use that were flushed: puts at the same time open theirs once. */
  readonly #opened = new Map<string, Promise<number>>()
  /** Folders whose names are known to be on the disk. */
  readonly #durable = new BoundedMap<string, true>(DURABLE_MAX)

  /**
   * @param doesSync - If not, every fsync is left out.
   * @param isShared - Whether other processes use the directory, too.
   */
  constructor(doesSync: boolean, isShared = false) {
    this.#doesSync = doesSync
    this.#isShared = isShared
  }

  /** Runs an action during which the folder is not removed. It need not exist yet. */
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

  /** Makes a folder if there is none, and its name durable. Its parent is there. */
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

  /** The folder is not there any more. */
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
    // A kept descriptor may be that of a folder that another process has removed and somebody has made again.
    const isKept = this.#users.has(path) && !this.#isShared && process.platform !== 'win32'
    if (!isKept) return await syncDirectory(path)
    const opened = this.#opened.get(path) ?? openFile(path, 'r')
    this.#opened.set(path, opened)
    try {
      await syncAll(await opened)
    } catch (failure) {
      await this.#letGo(path) // The next one begins anew.
      throw failure
    }
  }

  /** Closes a folder whose fsync is not running: nobody uses it any more, or it failed. */
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

/** An empty folder that stays costs next to nothing, so a failure to remove it is none of a caller's. */
async function removeEmpty(path: string): Promise<void> {
  await rmdir(path).catch((failure: unknown) => systemCode(failure))
}
