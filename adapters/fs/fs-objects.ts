// An ObjectStore with one file per object, at a path determined by object-path. No name comes from outside.
//
// Invariants:
// - When a put resolves, the bytes and the name of the file are on disk (unless the store never syncs).
// - Bytes in pieces are written and synced as `<id>.tmp`, and renamed. A crash leaves a `.tmp` file, which the next
//   open removes; in a shared directory, only after an hour without writes.
// - Bytes in one piece are written and synced under the final name in one call, while the folder is synced
//   (PERFORMANCE.md, P6). The ID is unknown to others until the put resolves: after a crash, garbage collection deletes
//   the unreferenced object.
import { stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Awaitable, isSync } from '../../src/base/awaitable.js'
import { inBatches } from '../../src/base/batches.js'
import type { Bytes } from '../../src/base/bytes.js'
import { invariant } from '../../src/base/invariant.js'
import { StoreError } from '../../src/base/store-error.js'
import {
  assertObjectId,
  assertRange,
  LIST_COUNT_MAX,
  WHOLE_RANGE,
} from '../../src/objects/object-arguments.js'
import type { ByteRange, ObjectId, ObjectStore } from '../../src/objects/objects.js'
import { OBJECT_ID_PATTERN } from '../../src/objects/objects.js'
import type { DescriptorCache } from './descriptor-cache.js'
import { filePieces } from './file-pieces.js'
import {
  closeFile,
  closeNow,
  exists,
  existsNow,
  freeBytesAt,
  openFile,
  renameFile,
  syncData,
  WRITE_THROUGH,
  writeAll,
} from './fs-calls.js'
import { fileError, systemCode } from './fs-error.js'
import { Folders, sortedNames } from './fs-folders.js'
import { OpenFiles } from './object-files.js'
import { INNER_PATTERN, OUTER_PATTERN, objectPath } from './object-path.js'
import { processDescriptors } from './process-descriptors.js'
import { removeFile, removeTemporaryFiles } from './temporary-files.js'

const DELETES_AT_ONCE = 16

/** How often the folders of one object are created, if another process removes them. */
const CREATES_MAX = 10

export interface FsObjectsOptions {
  /**
   * Whether other processes on this machine also have the directory open, each with this option. All of them then see
   * the same objects, as in S3. Default: false: no other process uses the directory.
   */
  readonly shared?: boolean
  /** Whether a put waits for the disk. If not, any part of the object may be lost in a power cut. Default: true. */
  readonly sync?: boolean
  /** Keeps files open between reads. Default: the cache of the process; tests may pass their own. */
  readonly descriptors?: DescriptorCache
}

/**
 * Opens the objects in an existing directory.
 * @throws {StoreError} STORAGE_UNAVAILABLE
 */
export async function openFsObjects(
  directory: string,
  { shared = false, sync = true, descriptors = processDescriptors() }: FsObjectsOptions = {},
): Promise<ObjectStore> {
  try {
    const found = await stat(directory)
    if (!found.isDirectory()) throw new Error(`${directory} is not a directory`)
    await removeTemporaryFiles(directory, shared)
  } catch (failure) {
    throw fileError(failure, 'The objects cannot be opened')
  }
  return new FsObjects(directory, { shared, sync, descriptors })
}

type ObjectPlace = Readonly<{ outer: string; inner: string; path: string }>

class FsObjects implements ObjectStore {
  readonly #directory: string
  readonly #sync: boolean
  readonly #isShared: boolean
  readonly #folders: Folders
  /** Open files by object ID, which is faster to look up than a path. */
  readonly #files
  readonly #finishing = new Set<Promise<void>>()
  /** IDs of puts in progress. */
  readonly #incoming = new Set<ObjectId>()
  #closed = false

  constructor(directory: string, { shared, sync, descriptors }: Required<FsObjectsOptions>) {
    this.#files = new OpenFiles(descriptors, (id: ObjectId) => this.#path(id))
    this.#directory = directory
    this.#sync = sync
    this.#isShared = shared
    this.#folders = new Folders(sync, shared)
  }

  async put(id: ObjectId, content: Bytes | AsyncIterable<Bytes>): Promise<number> {
    const place = this.#place(id)
    const { outer, inner } = place
    // Checked synchronously: the file of the first of two puts may not exist yet when the second checks.
    invariant(!this.#incoming.has(id), 'an object id is put once')
    this.#incoming.add(id)
    try {
      return await this.#folders.use(outer, () =>
        this.#folders.use(inner, () => this.#write(place, content)),
      )
    } finally {
      this.#incoming.delete(id)
    }
  }

  get(id: ObjectId, range: ByteRange = WHOLE_RANGE, memory?: Bytes): Awaitable<Bytes | null> {
    try {
      assertRange(range)
      this.#assertOpen()
      return this.#read(id, range, memory)
    } catch (failure) {
      return Promise.reject(failure)
    }
  }

  #read(id: ObjectId, range: ByteRange, memory: Bytes | undefined): Awaitable<Bytes | null> {
    try {
      const reading = this.#files.read(id, range, memory)
      return isSync(reading) ? reading : reading.catch(readFailed)
    } catch (failure) {
      return readFailed(failure)
    }
  }

  async stream(id: ObjectId, range: ByteRange = WHOLE_RANGE): Promise<AsyncIterable<Bytes> | null> {
    const { path } = this.#place(id)
    assertRange(range)
    try {
      // Opened only when pieces are requested: an unread stream holds no file open.
      if (!(await exists(path))) return null
    } catch (failure) {
      throw fileError(failure, 'An object cannot be read')
    }
    return { [Symbol.asyncIterator]: () => filePieces(path, range) }
  }

  async delete(ids: readonly ObjectId[]): Promise<void> {
    const places = ids.map((id) => this.#place(id))
    for (const id of ids) this.#files.drop(id)
    try {
      for (const some of inBatches(places, DELETES_AT_ONCE)) {
        await Promise.all(some.map(({ path }) => removeFile(path)))
      }
    } catch (failure) {
      throw fileError(failure, 'An object cannot be deleted')
    }
    for (const inner of new Set(places.map((place) => place.inner))) {
      await this.#folders.removeIfEmpty(inner)
    }
    for (const outer of new Set(places.map((place) => place.outer))) {
      await this.#folders.removeIfEmpty(outer)
    }
  }

  async list(prefix: string, after = ''): Promise<ObjectId[]> {
    this.#assertOpen()
    const wanted = (part: string) => mayBeListed(part, { prefix, after })
    const listed: ObjectId[] = []
    try {
      for (const outer of await sortedNames(this.#directory, OUTER_PATTERN)) {
        if (!wanted(outer)) continue
        const outerPath = join(this.#directory, outer)
        for (const inner of await sortedNames(outerPath, INNER_PATTERN)) {
          if (!wanted(outer + inner)) continue
          for (const id of await sortedNames(join(outerPath, inner), OBJECT_ID_PATTERN)) {
            if (!id.startsWith(outer + inner) || !id.startsWith(prefix) || id <= after) continue
            listed.push(id)
            if (listed.length === LIST_COUNT_MAX) return listed
          }
        }
      }
    } catch (failure) {
      throw fileError(failure, 'The objects cannot be listed')
    }
    return listed
  }

  async freeBytes(): Promise<number> {
    try {
      return await freeBytesAt(this.#directory)
    } catch (failure) {
      throw fileError(failure, 'The free space of the disk cannot be determined')
    }
  }

  /** Waits for puts that have all their bytes; puts that still wait for bytes fail. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.allSettled(this.#finishing)
    this.#files.close()
  }

  #place(id: ObjectId): ObjectPlace {
    const path = this.#path(id)
    const inner = dirname(path)
    return { outer: dirname(inner), inner, path }
  }

  #path(id: ObjectId): string {
    assertObjectId(id)
    this.#assertOpen()
    return objectPath(this.#directory, id)
  }

  #assertOpen(): void {
    if (this.#closed) throw new StoreError('STORE_CLOSED', 'The store was closed')
  }

  async #write(place: ObjectPlace, content: Bytes | AsyncIterable<Bytes>): Promise<number> {
    return this.#sync && WRITE_THROUGH !== undefined && isWholeContent(content)
      ? await this.#writeWhole(place, content, WRITE_THROUGH)
      : await this.#writePieces(place, content)
  }

  /** Creates the folders of an object, and opens a new file in them. */
  async #create(
    { outer, inner }: ObjectPlace,
    path: string,
    flags: 'wx' | number,
  ): Promise<number> {
    for (let tries = 1; ; tries++) {
      try {
        await this.#folders.make(outer)
        await this.#folders.make(inner)
        return await openNew(path, flags)
      } catch (failure) {
        const isRemoved = this.#isShared && systemCode(failure) === 'ENOENT'
        if (!isRemoved || tries === CREATES_MAX) throw failure
        for (const folder of [outer, inner]) this.#folders.forget(folder)
      }
    }
  }

  /** Creates a file and writes its bytes while its name is synced: mostly, one disk operation does both. */
  async #writeWhole(place: ObjectPlace, bytes: Bytes, flags: number): Promise<number> {
    const { inner, path } = place
    const descriptor = await writing(() => this.#create(place, path, flags))
    const finished = allDone([
      writing(() => this.#writeAll(descriptor, bytes)),
      writing(() => this.#folders.sync(inner)),
    ]).finally(() => this.#finishing.delete(finished))
    this.#finishing.add(finished)
    try {
      await finished
    } catch (failure) {
      await unlinkRemains(path)
      throw failure
    }
    return bytes.length
  }

  /** Writes all bytes through to disk, and closes the file. */
  async #writeAll(descriptor: number, bytes: Bytes): Promise<void> {
    try {
      this.#assertOpen()
      await writeAll(descriptor, bytes)
    } finally {
      closeNow(descriptor)
    }
  }

  async #writePieces(place: ObjectPlace, content: Bytes | AsyncIterable<Bytes>): Promise<number> {
    const { path } = place
    const temporary = `${path}.tmp`
    const descriptor = await writing(async () => {
      invariant(!existsNow(path), 'an object id is put once')
      return await this.#create(place, temporary, 'wx')
    })
    try {
      let bytes = 0
      try {
        if (content instanceof Uint8Array) bytes = await this.#append(descriptor, content)
        else for await (const piece of content) bytes += await this.#append(descriptor, piece)
        if (this.#sync) await writing(() => syncData(descriptor))
      } finally {
        await writing(() => this.#close(descriptor))
      }
      this.#assertOpen()
      const finished = this.#finish(temporary, place).finally(() =>
        this.#finishing.delete(finished),
      )
      this.#finishing.add(finished)
      await finished
      return bytes
    } catch (failure) {
      await unlinkRemains(temporary)
      throw failure
    }
  }

  async #close(descriptor: number): Promise<void> {
    if (this.#sync) closeNow(descriptor)
    else await closeFile(descriptor)
  }

  async #append(descriptor: number, piece: Bytes): Promise<number> {
    this.#assertOpen()
    await writing(() => writeAll(descriptor, piece))
    return piece.length
  }

  async #finish(temporary: string, { inner, path }: ObjectPlace): Promise<void> {
    try {
      await writing(() => renameFile(temporary, path))
      await writing(() => this.#folders.sync(inner)) // From here on, the object survives a power cut.
    } catch (failure) {
      await unlinkRemains(path)
      throw failure
    }
  }
}

/** Runs a step of a put. The source of its bytes may fail with any error, the file system only with a StoreError. */
async function writing<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (failure) {
    if (systemCode(failure) === undefined) throw failure
    throw fileError(failure, 'An object cannot be written', 'unchanged')
  }
}

/** Removes a file after a failure, which the caller reports. The next open removes what is left. */
async function unlinkRemains(path: string): Promise<void> {
  await unlink(path).catch((failure: unknown) => systemCode(failure))
}

/** Waits for all steps, even if one of them fails, and then rejects with its failure. */
async function allDone(steps: readonly Promise<void>[]): Promise<void> {
  for (const step of await Promise.allSettled(steps)) {
    if (step.status === 'rejected') throw step.reason
  }
}

/** Whether a single write stores the content. Empty content has no byte to sync. */
function isWholeContent(content: Bytes | AsyncIterable<Bytes>): content is Bytes {
  return content instanceof Uint8Array && content.length > 0
}

async function openNew(path: string, flags: 'wx' | number): Promise<number> {
  try {
    return await openFile(path, flags)
  } catch (failure) {
    invariant(systemCode(failure) !== 'EEXIST', 'an object id is put once')
    throw failure
  }
}

function readFailed(failure: unknown): never {
  throw fileError(failure, 'An object cannot be read')
}

/** Whether IDs that begin with `part` may begin with `prefix` and sort after `after`. */
function mayBeListed(part: string, { prefix, after }: { prefix: string; after: string }): boolean {
  const shared = Math.min(part.length, prefix.length)
  return part.slice(0, shared) === prefix.slice(0, shared) && part >= after.slice(0, part.length)
}
