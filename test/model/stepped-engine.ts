// Engines whose calls of their ports wait until a test continues them, one after another. Each call belongs to a
// thread: the operation, the garbage collection or the lease renewal that makes it.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Bytes } from '../../src/base/bytes.js'
import { openStore, type Store, StoreError, type StoreOptions } from '../../src/index.js'
import type {
  Awaitable,
  KvCommit,
  KvPartition,
  KvStore,
  KvView,
  ObjectStore,
} from '../../src/ports.js'

/** A call of a port. `space`: the key space of the first query of a view. */
export type Call = Readonly<{
  port: 'view' | 'commit' | 'clear' | 'put' | 'get' | 'list' | 'delete'
  partition?: string
  space?: number
  commit?: KvCommit
  ids?: readonly string[]
}>

/**
 * `answered`: the true outcome is returned. The others leave it unknown: it happened, it may happen later, it never
 * happens.
 */
export type Fate = 'answered' | 'happened' | 'later' | 'never'

type Parked = Readonly<{ call: Call; go: (fate: Fate) => void }>

const running = new AsyncLocalStorage<Thread>()

/** Most turns of the event loop before a thread reaches its next call or its end. */
const TURNS_MAX = 2_000

const NEVER = new Promise<never>(() => undefined)

export class Thread {
  readonly engine: SteppedEngine
  readonly #parked: Parked[] = []
  #busy = 0
  #isOver = false
  #failure: unknown
  /** The result of the last call. */
  last: unknown

  constructor(engine: SteppedEngine, work: () => Promise<unknown>) {
    this.engine = engine
    running.run(this, work).then(
      () => {
        this.#isOver = true
      },
      (failure: unknown) => {
        this.#isOver = true
        this.#failure = failure
      },
    )
  }

  get failure(): unknown {
    return this.#failure
  }

  async step<T>(call: Call, perform: () => Awaitable<T>): Promise<T> {
    if (this.engine.isDead) return NEVER
    const fate = await new Promise<Fate>((go) => {
      this.#parked.push({ call, go })
    })
    this.#busy++
    try {
      if (fate === 'later') this.engine.late = async () => void (await perform())
      const result = fate === 'answered' || fate === 'happened' ? await perform() : undefined
      this.last = result
      if (fate === 'answered') return result as T
      const message = 'The connection broke'
      throw new StoreError('STORAGE_UNAVAILABLE', message, { outcome: 'unknown' })
    } finally {
      this.#busy--
    }
  }

  /** The call with which the thread waits; null: it has ended. */
  async waiting(): Promise<Call | null> {
    for (let turn = 0; turn < TURNS_MAX; turn++) {
      await new Promise((done) => setImmediate(done))
      if (this.#busy > 0) continue
      const [first] = this.#parked
      if (first !== undefined) return first.call
      if (this.#isOver) return null
    }
    throw new Error('A thread neither calls a port nor ends')
  }

  /** Continues the call with which the thread waits. */
  async go(fate: Fate = 'answered'): Promise<void> {
    this.#parked.shift()?.go(fate)
    await this.waiting()
  }
}

export class SteppedEngine {
  isDead = false
  /** Timers that renew the record of the engine. */
  readonly renewals: (() => void)[] = []
  /** A commit that may still happen. */
  late: (() => Promise<void>) | undefined
  #store: Store | undefined

  static async open(
    kv: KvStore,
    objects: ObjectStore,
    options: StoreOptions,
  ): Promise<SteppedEngine> {
    const engine = new SteppedEngine()
    const ports = { kv: kvOf(kv), objects: objectsOf(objects) }
    engine.#store = await openStore({ ...options, ...ports })
    return engine
  }

  get store(): Store {
    if (this.#store === undefined) throw new Error('The engine is open')
    return this.#store
  }

  start(work: (store: Store) => Promise<unknown>): Thread {
    return new Thread(this, () => work(this.store))
  }
}

/** Replaces timers of engines, which the test calls. Other timers stay as they were. */
export function timersOfEngines(original: typeof setInterval): typeof setInterval {
  const set = (call: () => void, ...rest: [number]): unknown => {
    const thread = running.getStore()
    if (thread === undefined) return original(call, ...rest)
    thread.engine.renewals.push(call)
    return undefined
  }
  return set as typeof setInterval
}

/** Outside a thread a call is not stopped. */
function step<T>(call: Call, perform: () => Awaitable<T>): Promise<T> {
  const thread = running.getStore()
  return thread === undefined ? Promise.resolve(perform()) : thread.step(call, perform)
}

function kvOf(kv: KvStore): KvStore {
  return {
    shared: true,
    partition: (name) => partitionOf(kv.partition(name), name),
    close: async () => undefined, // The records outlive the engine.
  }
}

function partitionOf(kv: KvPartition, partition: string): KvPartition {
  return {
    async read(use) {
      const view = new LateView(kv, partition)
      try {
        return await use(view)
      } finally {
        view.end()
      }
    },
    commit: (commit) => step({ port: 'commit', partition, commit }, () => kv.commit(commit)),
    deleteRange: (range, count) => {
      const space = range.start[0] ?? 0
      return step({ port: 'clear', partition, space }, () => kv.deleteRange(range, count))
    },
  }
}

/** A view that opens at its first query, in one call with it. */
class LateView implements KvView {
  readonly #kv: KvPartition
  readonly #partition: string
  #opened: Promise<KvView> | undefined
  #end: () => void = () => undefined

  constructor(kv: KvPartition, partition: string) {
    this.#kv = kv
    this.#partition = partition
  }

  async get(key: Bytes): Promise<Bytes | null> {
    return (await this.#open(key)).get(key)
  }

  async getMany(keys: readonly Bytes[]): Promise<(Bytes | null)[]> {
    return (await this.#open(keys[0])).getMany(keys)
  }

  async scan(scan: Parameters<KvView['scan']>[0]): Promise<[Bytes, Bytes][]> {
    return (await this.#open(scan.start)).scan(scan)
  }

  end(): void {
    this.#end()
  }

  #open(key: Bytes | undefined): Promise<KvView> {
    const call: Call = { port: 'view', partition: this.#partition, space: key?.[0] ?? 0 }
    this.#opened ??= step(call, () => this.#fix())
    return this.#opened
  }

  #fix(): Promise<KvView> {
    const ended = new Promise<void>((end) => {
      this.#end = end
    })
    return new Promise((resolve, reject) => {
      const read = this.#kv.read((view) => {
        resolve(view)
        return ended
      })
      read.catch(reject)
    })
  }
}

function objectsOf(objects: ObjectStore): ObjectStore {
  return {
    put: (id, content) => step({ port: 'put', ids: [id] }, () => objects.put(id, content)),
    get: (id, range) => step({ port: 'get', ids: [id] }, () => objects.get(id, range)),
    stream: (id, range) => step({ port: 'get', ids: [id] }, () => objects.stream(id, range)),
    list: (prefix, after) => step({ port: 'list' }, () => objects.list(prefix, after)),
    delete: (ids) => step({ port: 'delete', ids }, () => objects.delete(ids)),
    close: async () => undefined,
  }
}
