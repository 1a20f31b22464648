// A store in a directory whose changes are gone when it is closed: the directory stays as it is.
import { LIST_COUNT_MAX } from '../../src/objects/object-arguments.js'
import type { ObjectId, ObjectStore } from '../../src/objects/objects.js'
import { openFsObjects } from '../fs/fs-objects.js'
import { type DirectoryPortOptions, type DirectoryPorts, openDirectoryPorts } from './directory.js'
import { scratchKv } from './scratch-kv.js'

/**
 * Opens the store in a directory as `openDirectoryPorts` does. Its new records stay in memory.
 * @param folder - Takes the new objects; its owner removes it.
 * @throws {StoreError} as `openDirectoryPorts`
 */
export async function openScratchPorts(
  path: string,
  folder: string,
  wait: Pick<DirectoryPortOptions, 'waitMs'>,
): Promise<DirectoryPorts> {
  const below = await openDirectoryPorts(path, wait)
  try {
    const own = await openFsObjects(folder, { sync: false })
    const objects = scratchObjects(below.objects, own)
    return { ...below, kv: scratchKv(below.kv), objects }
  } catch (failure) {
    await below.close()
    throw failure
  }
}

/**
 * An ObjectStore over another one, which stays as it is: objects of its own can be deleted, those below cannot.
 * @param own - Takes new objects, and is closed with the store.
 */
export function scratchObjects(below: ObjectStore, own: ObjectStore): ObjectStore {
  const made = new Set<ObjectId>()
  const holderOf = (id: ObjectId): ObjectStore => (made.has(id) ? own : below)
  return {
    async put(id, content) {
      const bytes = await own.put(id, content)
      made.add(id)
      return bytes
    },
    get: (id, range, memory) => holderOf(id).get(id, range, memory),
    stream: (id, range) => holderOf(id).stream(id, range),
    delete: (ids) => own.delete(ids),
    async list(prefix, after) {
      const pages = [await own.list(prefix, after), await below.list(prefix, after)]
      return pages.flat().sort().slice(0, LIST_COUNT_MAX)
    },
    close: () => own.close(),
  }
}
