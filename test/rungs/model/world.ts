// The stores of a run: one to three on the same data, which survive that the stores are closed.
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
  /** The handles of the second store and the third, as other processes have them. Default: all stores have `kv`. */
  otherKvs?: readonly KvStore[]
  objects: ObjectStore
  close(): Promise<void>
}>

/** The place of the data: opens the ports of some stores, again and again; `remove` deletes it. */
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

/** A store that is closed closes its ports; these stay open. */
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
  /** Stores on the same data, each as if it were in another process. */
  instances: Instances
  options: StoreOptions & Limits
  /** Whether tables have keys, as far as their rows let them. */
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
  /** Every row ID that was given out by the operations that have ended. */
  readonly rowIds = new Set<string>()
  /** Those of the operation, or the race, that is under way. */
  readonly newRowIds: string[] = []
  /** Tables as they were when their changes were followed last. */
  readonly seen = new Map<string, SeenRows & Readonly<{ at: number }>>()
  /** Scans under way, beside the oracle's. */
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

  /** An operation, or a race, has ended: what comes again from here on must be a row ID that was kept. */
  noteEnd(): void {
    for (const id of this.newRowIds.splice(0)) this.rowIds.add(id)
  }

  /** As if the processes ended in order and were started again. */
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
          }), // Each opening looks for jobs, and never again.
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

/** The ports outlive one store of several. */
function unclosedKv(kv: KvStore): KvStore {
  return {
    shared: kv.shared,
    partition: (name) => kv.partition(name),
    close: async () => undefined,
  }
}
