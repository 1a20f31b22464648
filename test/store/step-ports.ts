// Ports that count the steps of a store, and report each before it is made.
import { MemoryLevel } from 'memory-level'
import { memoryObjects, openLevelKv } from '../../src/index.js'
import type { KvPartition, KvStore, KvView, ObjectStore } from '../../src/ports.js'

/** The steps of a store: queries and commits of records, and reads and writes of objects. */
export class Steps {
  count = 0
  /** Steps that change something. */
  writes = 0
  /** Called before each step. */
  onStep: () => void = () => undefined

  step(isWrite: boolean): void {
    this.count++
    if (isWrite) this.writes++
    this.onStep()
  }
}

export async function openStepPorts(
  steps: Steps,
): Promise<Readonly<{ kv: KvStore; objects: ObjectStore }>> {
  const kv = await openLevelKv(new MemoryLevel<Uint8Array, Uint8Array>())
  return {
    kv: replaced(kv, { partition: (name) => partitionIn(steps, kv.partition(name)) }),
    objects: objectsIn(steps, memoryObjects()),
  }
}

/** The same object with some members replaced. */
export function replaced<T extends object>(target: T, members: Partial<T>): T {
  return new Proxy(target, {
    get(of, name) {
      if (name in members) return Reflect.get(members, name)
      const member: unknown = Reflect.get(of, name, of)
      return typeof member === 'function' ? member.bind(of) : member
    },
  })
}

function partitionIn(steps: Steps, partition: KvPartition): KvPartition {
  return {
    read: (use) => partition.read((view) => use(viewIn(steps, view))),
    async deleteRange(range, count) {
      steps.step(true)
      return partition.deleteRange(range, count)
    },
    async commit(commit) {
      const { puts = [], deletes = [] } = commit
      steps.step(puts.length + deletes.length > 0)
      return partition.commit(commit)
    },
  }
}

function viewIn(steps: Steps, view: KvView): KvView {
  return {
    get(key) {
      steps.step(false)
      return view.get(key)
    },
    getMany: (keys) => view.getMany(keys),
    async scan(scan) {
      steps.step(false)
      return view.scan(scan)
    },
  }
}

function objectsIn(steps: Steps, objects: ObjectStore): ObjectStore {
  return replaced(objects, {
    async get(...given) {
      steps.step(false)
      return objects.get(...given)
    },
    async put(...given) {
      steps.step(true)
      return objects.put(...given)
    },
    async list(...given) {
      steps.step(false)
      return objects.list(...given)
    },
    async delete(...given) {
      steps.step(true)
      return objects.delete(...given)
    },
  })
}
