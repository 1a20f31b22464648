import type { ObjectStore } from '../../src/objects/objects.js'

/** The same objects, with another `close`. */
export function objectsClosedBy(objects: ObjectStore, close: () => Promise<void>): ObjectStore {
  const presignPut = objects.presignPut?.bind(objects)
  return {
    put: (id, content) => objects.put(id, content),
    get: (id, range, memory) => objects.get(id, range, memory),
    stream: (id, range) => objects.stream(id, range),
    ...(presignPut && { presignPut }),
    delete: (ids) => objects.delete(ids),
    list: (prefix, after) => objects.list(prefix, after),
    close,
  }
}
