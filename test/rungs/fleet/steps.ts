// Ports that report each step: calls of the key-value store, by the kinds of their records, and calls of the object
// store.
import { KEY_SPACE } from '../../../src/format/keys.js'
import type { KvPartition, KvStore, KvView, ObjectStore } from '../../../src/ports.js'

/** Called at each step. The process may be stopped in the call. */
export type Steps = Readonly<{
  /** Called before and during a commit. */
  pass(at: string): void
  /** Called at other steps, which may be delayed. */
  wait(at: string): Promise<void> | undefined
}>

type Bytes = Parameters<KvView['get']>[0]

const SPACES = new Map<number, string>(
  Object.entries(KEY_SPACE).map(([name, space]) => [space, name]),
)

function kindsOf(keys: readonly Bytes[]): string {
  return [...new Set(keys.map(([space = 0]) => SPACES.get(space) ?? 'other'))].sort().join(', ')
}

/** The same object, with some members replaced. */
export function overlaid<T extends object>(target: T, own: Partial<T>): T {
  return new Proxy(target, {
    get(_, name) {
      if (Object.hasOwn(own, name)) return Reflect.get(own, name)
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

export function steppedKv(kv: KvStore, steps: Steps): KvStore {
  return overlaid(kv, {
    partition: (name) => steppedPartition(kv.partition(name), name === '', steps),
    ...(kv.readAll && {
      readAll: (use) =>
        kv.readAll?.((viewOf) => use((name) => steppedView(viewOf(name), steps))) ??
        Promise.reject(),
    }),
  })
}

function steppedPartition(partition: KvPartition, isSystem: boolean, steps: Steps): KvPartition {
  const read: KvPartition['read'] = (use) => partition.read((view) => use(steppedView(view, steps)))
  return overlaid(partition, {
    read,
    readAwaitable: read,
    async commit(commit) {
      const { puts = [], deletes = [] } = commit
      const kinds = kindsOf([...puts.map(([key]) => key), ...deletes])
      const at = `commit of ${isSystem ? 'the system, ' : ''}${kinds}`
      steps.pass(`before a ${at}`) // Commits keep their order: one may be planned on the previous one.
      const committing = partition.commit(commit)
      steps.pass(`within a ${at}`)
      const result = await committing
      await steps.wait(`after a ${at}`)
      return result
    },
    async deleteRange(range, count) {
      await steps.wait(`before a deletion of ${kindsOf([range.start])}`)
      return partition.deleteRange(range, count)
    },
  })
}

function steppedView(view: KvView, steps: Steps): KvView {
  return overlaid(view, {
    async get(key) {
      const found = await view.get(key)
      await steps.wait(`a read of ${kindsOf([key])}`)
      return found
    },
    async getMany(keys) {
      const found = await view.getMany(keys)
      await steps.wait(`a read of ${kindsOf(keys)}`)
      return found
    },
    async scan(scan) {
      const found = await view.scan(scan)
      await steps.wait(`a scan of ${kindsOf([scan.start])}`)
      return found
    },
  })
}

export function steppedObjects(objects: ObjectStore, steps: Steps): ObjectStore {
  return overlaid(objects, {
    async put(id, content) {
      await steps.wait('before a put')
      const bytes = await objects.put(id, content)
      await steps.wait('after a put')
      return bytes
    },
    async get(id, range, memory) {
      await steps.wait('before a get')
      return objects.get(id, range, memory)
    },
    async stream(id, range) {
      await steps.wait('before a stream')
      return objects.stream(id, range)
    },
    async delete(ids) {
      await steps.wait('before a deletion of objects')
      await objects.delete(ids)
      await steps.wait('after a deletion of objects')
    },
    async list(prefix, after) {
      const ids = await objects.list(prefix, after)
      await steps.wait('after a listing')
      return ids
    },
  })
}
