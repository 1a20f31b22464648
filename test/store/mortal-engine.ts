// Engines that die at a step of their ports, like a killed process: earlier calls of a port may still take effect,
// later ones do not, and nobody gets an answer. The records and objects remain for the next engine.
import { MemoryLevel } from 'memory-level'
import {
  memoryObjects,
  openLevelKv,
  openStore,
  type Store,
  type StoreOptions,
} from '../../src/index.js'
import type { Awaitable, KvCommit, KvPartition, KvStore, ObjectStore } from '../../src/ports.js'

export type Mortal = Readonly<{
  store: Store
  /** Lets the engine die after a number of further steps. */
  dieAfter(steps: number): void
  /** Before the next commit that puts into a key space. */
  beforePutInto(space: number, act: () => Promise<void>): void
  readonly isDead: boolean
}>

/** Records and objects that outlive the engines on them. */
export class World {
  readonly #kv: KvStore
  readonly #objects: ObjectStore = memoryObjects()
  readonly #shared: boolean
  #engines = 0

  /** @param shared - Several engines may be alive at the same time. */
  static async create(shared: boolean): Promise<World> {
    const level = new MemoryLevel<Uint8Array, Uint8Array>()
    return new World(await openLevelKv(level), shared)
  }

  private constructor(kv: KvStore, shared: boolean) {
    this.#kv = kv
    this.#shared = shared
  }

  /** The records below all engines. */
  get kv(): KvStore {
    return this.#kv
  }

  async open(options: StoreOptions = {}): Promise<Mortal> {
    let left = Number.POSITIVE_INFINITY
    let isDead = false
    const isAfter = this.#engines++ % 2 === 0
    let hook: { space: number; act: () => Promise<void> } | undefined
    const before = async ({ puts = [] }: KvCommit): Promise<void> => {
      const found = hook
      if (found === undefined || !puts.some(([key]) => key[0] === found.space)) return
      hook = undefined
      await found.act()
    }
    const never = new Promise<never>(() => undefined)
    const step = async <T>(call: () => Awaitable<T>): Promise<T> => {
      if (isDead) return never
      if (left-- > 0) return call()
      isDead = true
      // Every second death comes after the effect, before anybody learns of it.
      if (isAfter) await Promise.resolve(call()).catch(() => undefined)
      return never
    }
    const kv: KvStore = {
      shared: this.#shared,
      partition: (name) => mortalPartition(this.#kv.partition(name), step, before),
      close: async () => undefined,
    }
    const objects: ObjectStore = {
      put: (id, bytes) => step(() => this.#objects.put(id, bytes)),
      get: (id, range) => step(() => this.#objects.get(id, range)),
      stream: (id, range) => this.#objects.stream(id, range),
      list: (prefix, after) => step(() => this.#objects.list(prefix, after)),
      delete: (ids) => step(() => this.#objects.delete(ids)),
      close: async () => undefined,
    }
    const quiet = {
      maintenance: {
        garbageCollectionIntervalMs: 0,
        compactionIntervalMs: 0,
        fileCollectionIntervalMs: 0,
      },
    }
    const store = await openStore({ kv, objects, ...quiet, compression: 'none', ...options })
    return {
      store,
      dieAfter(steps) {
        left = steps
      },
      beforePutInto(space, act) {
        hook = { space, act }
      },
      get isDead() {
        return isDead
      },
    }
  }
}

type Step = <T>(call: () => Awaitable<T>) => Promise<T>

function mortalPartition(
  partition: KvPartition,
  step: Step,
  before: (commit: KvCommit) => Promise<void>,
): KvPartition {
  return {
    read: (use) => step(() => partition.read(use)),
    async commit(commit) {
      await before(commit)
      return step(() => partition.commit(commit))
    },
    deleteRange: (range, count) => step(() => partition.deleteRange(range, count)),
  }
}
