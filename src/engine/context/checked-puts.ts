import type { ObjectStore } from '../../objects/objects.js'

/**
 * The objects, each of which is put only after a check.
 * @param check - Returns undefined if nothing has to be waited for; its failure is that of the put.
 */
export function withCheckedPuts(
  objects: ObjectStore,
  check: () => Promise<void> | undefined,
): ObjectStore {
  const { presignPut, requestCostBytes } = objects
  return {
    ...(requestCostBytes !== undefined && { requestCostBytes }),
    async put(id, content) {
      const checked = check()
      if (checked !== undefined) await checked
      return objects.put(id, content)
    },
    get: (id, range, memory) => objects.get(id, range, memory),
    stream: (id, range) => objects.stream(id, range),
    ...(presignPut && { presignPut: (id, terms) => presignPut.call(objects, id, terms) }),
    delete: (ids) => objects.delete(ids),
    list: (prefix, after) => objects.list(prefix, after),
    close: () => objects.close(),
  }
}
