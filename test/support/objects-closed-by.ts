import type { ObjectStore } from '../../src/objects/objects.js'

/** The same store of S3, with a close of its own. */
export function objectsClosedBy(objects: ObjectStore, close: () => Promise<void>): ObjectStore {
  return {
    put: (id, content) => objects.put(id, content),
    get: (id, range, memory) => objects.get(id, range, memory),
    stream: (id, range) => objects.stream(id, range),
    presignPut: async (id, terms) => (await objects.presignPut?.(id, terms)) ?? '',
    delete: (ids) => objects.delete(ids),
    list: (prefix, after) => objects.list(prefix, after),
    close,
  }
}
