// Ports whose steps wait for a scheduler, which decides whose turn it is.
import type { Scheduler } from 'fast-check'
import type { KvPartition, KvStore, KvView, ObjectStore } from '../../../src/ports.js'

/** Takes a step in its turn. */
export type Turn = <T>(text: string, step: () => Promise<T>) => Promise<T>

export function turnsOf(scheduler: Scheduler): Turn {
  return async (text, step) => {
    await scheduler.schedule(Promise.resolve(), text)
    return step()
  }
}

/** @param checks - false: commits lose their checks. */
export function scheduledKv(kv: KvStore, turn: Turn, checks: boolean): KvStore {
  return {
    shared: true,
    partition: (name) => scheduledPartition(kv.partition(name), turn, checks),
    close: async () => undefined, // The ports outlive each of the two stores.
  }
}

function scheduledPartition(partition: KvPartition, turn: Turn, checks: boolean): KvPartition {
  return {
    read: (use) => turn('read', () => partition.read((view) => use(scheduledView(view, turn)))),
    commit: (commit) =>
      turn('commit', () => partition.commit(checks ? commit : { ...commit, checks: [] })),
    deleteRange: (range, count) =>
      turn('garbageCollection', () => partition.deleteRange(range, count)),
  }
}

function scheduledView(view: KvView, turn: Turn): KvView {
  return {
    get: (key) => turn('get', async () => view.get(key)),
    getMany: (keys) => turn('get many', () => view.getMany(keys)),
    scan: (scan) => turn('scan', () => view.scan(scan)),
  }
}

/** @param onPut - Called with each object before it is put. */
export function scheduledObjects(
  objects: ObjectStore,
  turn: Turn,
  onPut: () => void = () => undefined,
): ObjectStore {
  return {
    put(id, content) {
      onPut()
      return turn('put', () => objects.put(id, content))
    },
    get: (id, range) => turn('get object', async () => objects.get(id, range)),
    stream: (id, range) => turn('stream', () => objects.stream(id, range)),
    delete: (ids) => turn('delete', () => objects.delete(ids)),
    list: (prefix, after) => turn('list', () => objects.list(prefix, after)),
    close: async () => undefined,
  }
}
