// A key-value store that counts the cost of each operation as if its records were on another machine.
import type { KvPartition, KvStore, KvView, ObjectStore } from '../../src/ports.js'

export type Costs = Readonly<{
  /** Queries that wait for a previous one. Simultaneous queries of a view travel together. */
  reads: number
  /** Opened views. */
  views: number
  commits: number
  /** Reads of objects. */
  gets: number
  /** Rounds of these reads: simultaneous ones count once. */
  getRounds: number
  /** Reads of objects that began while a view was open. */
  getsInViews: number
  puts: number
}>

const NOTHING: Costs = {
  reads: 0,
  views: 0,
  commits: 0,
  gets: 0,
  getRounds: 0,
  getsInViews: 0,
  puts: 0,
}

export class Counter {
  #costs: { -readonly [what in keyof Costs]: number } = { ...NOTHING }
  #openViews = 0

  add(what: keyof Costs): void {
    this.#costs[what]++
    if (what === 'gets' && this.#openViews > 0) this.#costs.getsInViews++
  }

  async inView<T>(read: () => Promise<T>): Promise<T> {
    this.#openViews++
    try {
      return await read()
    } finally {
      this.#openViews--
    }
  }

  /** The costs of an operation. No other operation may run. */
  async of(operation: () => Promise<unknown>): Promise<Costs> {
    this.#costs = { ...NOTHING }
    await operation()
    return this.#costs
  }
}

/** @returns the store as a shared one, which answers nothing from memory */
export function countingKv(kv: KvStore, counter: Counter): KvStore {
  return {
    shared: true,
    partition: (name) => countingPartition(kv.partition(name), counter),
    close: () => kv.close(),
  }
}

function countingPartition(partition: KvPartition, counter: Counter): KvPartition {
  return {
    read(use) {
      counter.add('views')
      return counter.inView(() => partition.read((view) => use(countingView(view, counter))))
    },
    commit(commit) {
      counter.add('commits')
      return partition.commit(commit)
    },
    deleteRange(range, count) {
      counter.add('commits')
      return partition.deleteRange(range, count)
    },
  }
}

function countingView(view: KvView, counter: Counter): KvView {
  let underWay = 0
  const query = async <T>(run: () => T | Promise<T>): Promise<T> => {
    if (underWay++ === 0) counter.add('reads')
    try {
      await new Promise((turn) => setImmediate(turn)) // An answer takes a while, so that other queries join it.
      return await run()
    } finally {
      underWay--
    }
  }
  return {
    get: (key) => query(() => view.get(key)),
    getMany: (keys) => query(() => view.getMany(keys)),
    scan: (scan) => query(() => view.scan(scan)),
  }
}

/** @returns the objects as if they were on another machine */
export function countingObjects(
  objects: ObjectStore,
  counter: Counter,
  requestCostBytes: number,
): ObjectStore {
  let underWay = 0
  return {
    requestCostBytes,
    put(id, content) {
      counter.add('puts')
      return objects.put(id, content)
    },
    async get(id, range, memory) {
      counter.add('gets')
      if (underWay++ === 0) counter.add('getRounds')
      try {
        await new Promise((turn) => setImmediate(turn))
        return await objects.get(id, range, memory)
      } finally {
        underWay--
      }
    },
    stream(id, range) {
      counter.add('gets')
      return objects.stream(id, range)
    },
    delete: (ids) => objects.delete(ids),
    list: (prefix, after) => objects.list(prefix, after),
    close: () => objects.close(),
  }
}
