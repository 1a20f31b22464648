import type { ObjectStore } from '../../objects/objects.js'
import type { Pauses } from './pauses.js'

/**
 * The objects, with a check before each put.
 * @param check - Returns undefined if no wait is needed. If the check fails, the put fails.
 * @param pauses - Checked when an object is missing. If the check throws, the read throws this error.
 */
export function withCheckedPuts(
  objects: ObjectStore,
  check: () => Promise<void> | undefined,
  pauses?: Pick<Pauses, 'check'>,
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
      if (found === null) pauses?.check()
      return found
    },
    async stream(id, range) {
      const found = await objects.stream(id, range)
      if (found === null) pauses?.check()
      return found
    },
    ...(presignPut && { presignPut: (id, terms) => presignPut.call(objects, id, terms) }),
    delete: (ids) => objects.delete(ids),
    list: (prefix, after) => objects.list(prefix, after),
    close: () => objects.close(),
  }
}
