import type { ObjectStore } from '../../objects/objects.js'

/**
 * The objects, each of which is put only after a check.
 * @param check - Returns undefined if nothing has to be waited for; its failure is that of the put.
 * @param onMissing - Called when an object is missing; its failure is that of the read.
 */
export function withCheckedPuts(
  objects: ObjectStore,
  check: () => Promise<void> | undefined,
  onMissing: () => void = () => undefined,
): ObjectStore {
  const { presignPut, requestCostBytes } = objects
  return {
    ...(requestCostBytes !== undefined && { requestCostBytes }),
    async put(id, content) {
      const checked = check()
      if (checked !== undefined) await checked
      return objects.put(id, content)
    },
    async get(id, range, memory) {
      const found = await objects.get(id, range, memory)
      if (found === null) onMissing()
      return found
    },
    async stream(id, range) {
      const found = await objects.stream(id, range)
      if (found === null) onMissing()
      return found
    },
    ...(presignPut && { presignPut: (id, terms) => presignPut.call(objects, id, terms) }),
    delete: (ids) => objects.delete(ids),
    list: (prefix, after) => objects.list(prefix, after),
    close: () => objects.close(),
  }
}
