// Work in many steps. It ends between two steps when its caller no longer wants it.
import type { KvPartition, KvView } from '../../kv/kv.js'

/** Called before each step. @throws the reason to end the work */
export type CheckGoesOn = () => void

/**
 * The same partition, for work that may end between two steps. Steps are commits, views, and scans and deletions of
 * ranges. A commit that has begun is awaited, so the work always knows what it has changed.
 */
export function stepwise(partition: KvPartition, checkGoesOn: CheckGoesOn): KvPartition {
  return {
    async read(use) {
      checkGoesOn()
      return partition.read((view) => use(viewStepwise(view, checkGoesOn)))
    },
    async deleteRange(range, count) {
      checkGoesOn()
      return partition.deleteRange(range, count)
    },
    async commit(commit) {
      checkGoesOn()
      return partition.commit(commit)
    },
  }
}

function viewStepwise(view: KvView, checkGoesOn: CheckGoesOn): KvView {
  return {
    get: (key) => view.get(key),
    getMany: (keys) => view.getMany(keys),
    async scan(scan) {
      checkGoesOn()
      return view.scan(scan)
    },
    ...(view.isEmpty && { isEmpty: (range) => view.isEmpty?.(range) ?? false }),
  }
}
