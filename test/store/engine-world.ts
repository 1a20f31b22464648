// Engines on the same records and objects, each as if in a separate process, which a test can pause or end at any step.
// Time passes only on the test's command. The engines' clocks are ten minutes apart.

import { MemoryLevel } from 'memory-level'
import { onTestFinished, vi } from 'vitest'
import {
  memoryObjects,
  openLevelKv,
  openStore,
  type Store,
  type StoreOptions,
} from '../../src/index.js'
import type {
  Awaitable,
  KvCommit,
  KvCommitResult,
  KvPartition,
  KvStore,
  KvView,
  ObjectStore,
} from '../../src/ports.js'
import { joinedMaintenance, QUIET } from '../support/maintenance.js'

export const MINUTE_MS = 60_000
export const LEASE_MS = 30_000

/** The longest time between renewals of a lease. */
const STEP_MS = LEASE_MS / 3

/** Turns of the event loop within which everything that a timer began has ended. */
const TURNS = 20

/** A call of an engine's port. `partition`: of a commit, or of a query of a view. */
export type PortCall = Readonly<{ port: string; partition?: string; commit?: KvCommit }>

export class Engine {
  readonly #world: EngineWorld
  #store: Store | undefined
  #stopped: Promise<void> | undefined
  #goOn: () => void = () => undefined
  #stop: { fits(call: PortCall): boolean; reach(): void } | undefined
  #isDead = false

  constructor(world: EngineWorld) {
    this.#world = world
  }

  static async open(world: EngineWorld, options: StoreOptions, shared: boolean): Promise<Engine> {
    const engine = new Engine(world)
    const skew = 10 * MINUTE_MS * (world.engines - 1)
    engine.#store = await openStore({
      compression: 'none',
      inlineRowsMax: 0,
      jobLeaseMs: LEASE_MS,
      clock: { now: () => world.now + skew },
      ...options,
      maintenance: joinedMaintenance(
        { ...QUIET, recompressionIntervalMs: 60_000 },
        options.maintenance,
      ),
      kv: kvOf(world.kv, engine, shared),
      objects: objectsOf(world.objects, engine),
    })
    return engine
  }

  get store(): Store {
    if (this.#store === undefined) throw new Error('The engine is open')
    return this.#store
  }

  get isDead(): boolean {
    return this.#isDead
  }

  get isStopped(): boolean {
    return this.#stopped !== undefined
  }

  /** Pauses all steps, as for a process without CPU time. */
  stop(): void {
    this.#stopped ??= new Promise((go) => {
      this.#goOn = go
    })
  }

  goOn(): void {
    this.#stopped = undefined
    this.#goOn()
  }

  kill(): void {
    this.#isDead = true
  }

  /** Stops the engine before a step of its ports. Resolves when it is reached. */
  stopBefore(fits: (call: PortCall) => boolean): Promise<void> {
    return new Promise((reach) => {
      this.#stop = { fits, reach }
    })
  }

  /** A step of a port. In a dead engine it never ends. */
  async step<T>(call: PortCall, perform: () => Awaitable<T>): Promise<T> {
    const stop = this.#stop
    if (stop?.fits(call)) {
      this.#stop = undefined
      this.stop()
      stop.reach()
    }
    await this.#pass()
    this.#world.onCall(call, this)
    if (call.commit !== undefined) this.#world.onCommit(call.commit, this)
    const result = await perform()
    await this.#pass()
    return result
  }

  async commit(name: string, partition: KvPartition, commit: KvCommit): Promise<KvCommitResult> {
    const call = { port: 'commit', partition: name, commit }
    const result = await this.step(call, () => partition.commit(commit))
    this.#world.onResult(commit, result.ok, this)
    return result
  }

  async #pass(): Promise<void> {
    while (this.#stopped !== undefined && !this.#isDead) await this.#stopped
    if (this.#isDead) await new Promise(() => undefined)
  }
}

export class EngineWorld {
  readonly kv: KvStore
  readonly objects: ObjectStore = memoryObjects()
  now = 1_800_000_000_000
  engines = 0
  /** Called with each commit of an engine before it happens. */
  onCommit: (commit: KvCommit, engine: Engine) => void = () => undefined
  /** Called with the result of a commit: whether it was accepted. */
  onResult: (commit: KvCommit, ok: boolean, engine: Engine) => void = () => undefined
  /** Called with every step of an engine before it happens. */
  onCall: (call: PortCall, engine: Engine) => void = () => undefined

  /** Timers belong to the world until the end of the test. */
  static async create(): Promise<EngineWorld> {
    vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const level = new MemoryLevel<Uint8Array, Uint8Array>()
    return new EngineWorld(await openLevelKv(level))
  }

  private constructor(kv: KvStore) {
    this.kv = kv
  }

  open(options: StoreOptions = {}, shared = true): Promise<Engine> {
    this.engines++
    return Engine.open(this, options, shared)
  }

  /** Lets time pass, and leases be renewed. */
  async pass(milliseconds: number): Promise<void> {
    for (let left = milliseconds; left > 0; left -= STEP_MS) {
      const step = Math.min(left, STEP_MS)
      this.now += step
      vi.advanceTimersByTime(step)
      await turns()
    }
  }

  /** The keys of a partition in a key space. */
  async keys(partition: string, space: number): Promise<Uint8Array[]> {
    const range = { start: Uint8Array.of(space), limit: Uint8Array.of(space + 1), count: 1_000 }
    const entries = await this.kv.partition(partition).read((view) => view.scan(range))
    return entries.map(([key]) => key)
  }

  listed(): Promise<string[]> {
    return this.objects.list('')
  }
}

/** Waits until everything that has begun has ended. */
export async function turns(): Promise<void> {
  for (let i = 0; i < TURNS; i++) await new Promise((done) => setImmediate(done))
}

function kvOf(kv: KvStore, engine: Engine, shared: boolean): KvStore {
  return {
    shared,
    partition: (name) => partitionOf(name, kv.partition(name), engine),
    close: async () => undefined, // The records outlive the engine.
  }
}

function partitionOf(name: string, partition: KvPartition, engine: Engine): KvPartition {
  return {
    read: (use) =>
      engine.step({ port: 'read' }, () =>
        partition.read((view) => use(viewOf(name, view, engine))),
      ),
    commit: (commit) => engine.commit(name, partition, commit),
    deleteRange: (range, count) =>
      engine.step({ port: 'garbageCollection' }, () => partition.deleteRange(range, count)),
  }
}

function viewOf(partition: string, view: KvView, engine: Engine): KvView {
  return {
    get: (key) => engine.step({ port: 'get', partition }, () => view.get(key)),
    getMany: (keys) => engine.step({ port: 'getMany', partition }, () => view.getMany(keys)),
    scan: (scan) => engine.step({ port: 'scan', partition }, () => view.scan(scan)),
  }
}

function objectsOf(objects: ObjectStore, engine: Engine): ObjectStore {
  return {
    put: (id, content) => engine.step({ port: 'put' }, () => objects.put(id, content)),
    get: (id, range) => engine.step({ port: 'getObject' }, () => objects.get(id, range)),
    stream: (id, range) => engine.step({ port: 'stream' }, () => objects.stream(id, range)),
    list: (prefix, after) => engine.step({ port: 'list' }, () => objects.list(prefix, after)),
    delete: (ids) => engine.step({ port: 'delete' }, () => objects.delete(ids)),
    close: async () => undefined,
  }
}
