// The stores of a run: one to three on the same data, which remains when they are closed.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MemoryLevel } from 'memory-level'
import { openDirectoryPorts } from '../../../adapters/directory/directory.js'
import type { Store, StoreOptions, Team } from '../../../src/index.js'
import { memoryObjects, openLevelKv, openStore } from '../../../src/index.js'
import type { KvStore, ObjectStore } from '../../../src/ports.js'
import { testClock } from '../../conformance/test-clock.js'
import { joinedMaintenance } from '../../support/maintenance.js'
import type { SeenRows } from '../../support/replay-changes.js'
import type { Limits } from './oracle.js'
import { Pace, pacedKv, pacedObjects } from './paced-ports.js'
import { seededRandom } from './seeded.js'

const DAY_MS = 86_400_000

export const TEAM = 'acme'
export const OTHER_TEAM = 'other'

type Ports = Readonly<{
  kv: KvStore
  /** The handles of the second and third store, as in other processes. Default: all stores use `kv`. */
  otherKvs?: readonly KvStore[]
  objects: ObjectStore
  close(): Promise<void>
}>

/** The place of the data. It opens ports for some stores, repeatedly; `remove` deletes it. */
export type Medium = Readonly<{ open(instances: number): Promise<Ports>; remove(): Promise<void> }>

export function memoryMedium(): Medium {
  const database = new MemoryLevel<Uint8Array, Uint8Array>()
  const objects = memoryObjects()
  return {
    async open() {
      await database.open() // Its records outlive a close.
      const kv = await openLevelKv(database)
      return { kv, objects: unclosed(objects), close: () => kv.close() }
    },
    remove: async () => undefined,
  }
}

/** Objects that stay open when a store closes its ports. */
function unclosed(objects: ObjectStore): ObjectStore {
  return {
    put: (id, content) => objects.put(id, content),
    get: (id, range) => objects.get(id, range),
    stream: (id, range) => objects.stream(id, range),
    delete: (ids) => objects.delete(ids),
    list: (prefix, after) => objects.list(prefix, after),
    close: async () => undefined,
  }
}

export async function directoryMedium(): Promise<Medium> {
  const directory = await mkdtemp(join(tmpdir(), 'rowstash-model-'))
  return {
    open: () => openDirectoryPorts(join(directory, 'store')),
    remove: () => rm(directory, { recursive: true, force: true }),
  }
}

export type Instances = 1 | 2 | 3

export type Profile = Readonly<{
  /** Stores on the same data, each as if in another process. */
  instances: Instances
  options: StoreOptions & Limits
  /** Whether tables have keys, where their rows allow it. */
  keyed: boolean
}>

export class World {
  readonly clock = testClock()
  readonly pace = new Pace()
  readonly profile: Profile
  readonly #medium: Medium
  readonly #random: StoreOptions['random']
  #ports: Ports | undefined
  #stores: readonly Store[] = []
  /** Every row ID that finished operations have given out. */
  readonly rowIds = new Set<string>()
  /** Row IDs of the running operation or race. */
  readonly newRowIds: string[] = []
  /** The rows of tables when their changes were last followed. */
  readonly seen = new Map<string, SeenRows & Readonly<{ at: number }>>()
  /** Running scans, with those of the oracle. */
  scans: AsyncIterableIterator<Readonly<Record<string, unknown>>>[] = []

  private constructor(medium: Medium, profile: Profile, seed: number) {
    this.#medium = medium
    this.profile = profile
    this.#random = seededRandom(seed)
  }

  static async open(medium: Medium, profile: Profile, seed: number): Promise<World> {
    const world = new World(medium, profile, seed)
    await world.#open(profile.instances)
    return world
  }

  store(instance: number): Store {
    const store = this.#stores[instance % this.#stores.length]
    if (store === undefined) throw new Error('the stores are open')
    return store
  }

  team(instance: number): Team {
    return this.store(instance).team(TEAM)
  }

  get ports(): Ports {
    if (this.#ports === undefined) throw new Error('the ports are open')
    return this.#ports
  }

  /** An operation or race has ended: from here on, a row ID that appears again was kept. */
  noteEnd(): void {
    for (const id of this.newRowIds.splice(0)) this.rowIds.add(id)
  }

  /** As if all processes ended properly and restarted. */
  async reopen(instances: number = this.profile.instances): Promise<void> {
    await this.close()
    await this.#open(instances)
  }

  async close(): Promise<void> {
    this.scans = []
    for (const store of this.#stores) await store.close()
    this.#stores = []
    await this.#ports?.close()
    this.#ports = undefined
  }

  async remove(): Promise<void> {
    await this.close()
    await this.#medium.remove()
  }

  async #open(instances: number): Promise<void> {
    const ports = await this.#medium.open(instances)
    this.#ports = ports
    const { kv: first, otherKvs = [] } = ports
    const stores: Store[] = []
    for (let instance = 0; instance < instances; instance++) {
      const kv = unclosedKv(otherKvs[instance - 1] ?? first)
      stores.push(
        await openStore({
          ...this.profile.options,
          valueFilters: this.profile.options.segmentRowsMax === 4,
          maintenance: joinedMaintenance(this.profile.options.maintenance, {
            garbageCollectionIntervalMs: 0,
            compactionIntervalMs: 0,
            recompressionIntervalMs: 0,
            jobIntervalMs: DAY_MS,
          }), // Each opening looks for jobs once.
          clock: this.clock,
          ...(this.#random && { random: this.#random }),
          kv: pacedKv(kv, this.pace, kv.shared || instances > 1),
          objects: pacedObjects(unclosed(ports.objects), this.pace),
        }),
      )
    }
    this.#stores = stores
  }
}

/** The ports outlive each of several stores. */
function unclosedKv(kv: KvStore): KvStore {
  return {
    shared: kv.shared,
    partition: (name) => kv.partition(name),
    close: async () => undefined,
  }
}
