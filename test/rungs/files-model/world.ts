// The stores of a run on ports that outlive each of them.
import { MemoryLevel } from 'memory-level'
import type { Store, StoreOptions, Team } from '../../../src/index.js'
import { memoryObjects, openLevelKv, openStore, StoreError } from '../../../src/index.js'
import type { FetchedSource, KvStore, ObjectStore } from '../../../src/ports.js'
import { testClock } from '../../conformance/test-clock.js'
import { joinedMaintenance } from '../../support/maintenance.js'
import { seededRandom } from '../model/seeded.js'
import type { Limits } from './oracle.js'
import { Incarnation, kvOf, objectsOf } from './ports.js'

export const TEAM = 'acme'

/** Larger files are refused. */
export const FILE_BYTES_MAX = 64

/** The quota refuses files of exactly this size, in bytes. */
export const UNWELCOME_BYTES = 13

export type Profile = Readonly<{
  /** Stores on the same ports, each as if in another process. */
  instances: 1 | 2
  options: StoreOptions & Limits & Readonly<{ orphanGraceMs: number }>
}>

type Opened = Readonly<{ store: Store; incarnation: Incarnation }>

export class World {
  readonly clock = testClock()
  readonly profile: Profile
  readonly kv: KvStore
  readonly objects: ObjectStore
  readonly #random: StoreOptions['random']
  #opened: Opened[] = []

  private constructor(profile: Profile, seed: number, kv: KvStore) {
    this.profile = profile
    this.kv = kv
    this.objects = memoryObjects()
    this.#random = seededRandom(seed)
  }

  static async open(profile: Profile, seed: number): Promise<World> {
    const database = new MemoryLevel<Uint8Array, Uint8Array>()
    const world = new World(profile, seed, await openLevelKv(database))
    for (let i = 0; i < profile.instances; i++) world.#opened.push(await world.#openOne())
    return world
  }

  get instances(): number {
    return this.#opened.length
  }

  at(instance: number): Opened {
    const opened = this.#opened[instance % this.#opened.length]
    if (opened === undefined) throw new Error('the stores are open')
    return opened
  }

  store(instance: number): Store {
    return this.at(instance).store
  }

  team(instance: number): Team {
    return this.store(instance).team(TEAM)
  }

  incarnations(): readonly Incarnation[] {
    return this.#opened.map(({ incarnation }) => incarnation)
  }

  /** Ends a store, by a close or, if its process has ended, without; and opens it again. */
  async reopen(instance: number): Promise<void> {
    const { store, incarnation } = this.at(instance)
    if (!incarnation.isGone) await store.close()
    this.#opened[instance % this.#opened.length] = await this.#openOne()
  }

  /** From here on there is one store, which collects the leftovers of all others. */
  async reopenAsOne(): Promise<void> {
    for (const { store } of this.#opened) await store.close()
    this.#opened = [await this.#openOne(1)]
  }

  async close(): Promise<void> {
    for (const { incarnation } of this.#opened) incarnation.crash()
    await this.kv.close()
  }

  async #openOne(instances: number = this.profile.instances): Promise<Opened> {
    const incarnation = new Incarnation()
    const store = await openStore({
      ...this.profile.options,
      maintenance: joinedMaintenance(this.profile.options.maintenance, {
        garbageCollectionIntervalMs: 0,
        compactionIntervalMs: 0,
        jobIntervalMs: 0,
        fileCollectionIntervalMs: 0,
      }),
      onBackgroundFailure: () => undefined, // A process that has ended cannot renew its lease.
      fileBytesMax: FILE_BYTES_MAX,
      quota: ({ bytes }) => bytes !== UNWELCOME_BYTES,
      sources: { fetch: async (url) => sourceAt(url) },
      clock: this.clock,
      ...(this.#random && { random: this.#random }),
      kv: kvOf(this.kv, incarnation, instances > 1),
      objects: objectsOf(this.objects, incarnation),
    })
    return { store, incarnation }
  }
}

export const SOURCE_HOST = 'https://source.example'

/** Sources that do not exist: the path says what they do and send. */
function sourceAt(url: string): FetchedSource {
  const [what = '', content = ''] = url.slice(SOURCE_HOST.length + 1).split('/')
  if (what === 'blocked') throw new StoreError('SOURCE_URL_NOT_ALLOWED', 'The URL is not allowed')
  const broken = new StoreError('SOURCE_URL_FAILED', 'The source broke off')
  return {
    contentType: 'text/plain',
    fileName: undefined,
    url,
    body: piecesOf(content, what === 'broken' ? broken : undefined),
    close: () => undefined,
  }
}

/** A text in two pieces; with a failure it ends after the first. */
export async function* piecesOf(text: string, failure?: Error): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text)
  const middle = Math.ceil(bytes.length / 2)
  yield bytes.subarray(0, middle)
  if (failure !== undefined) throw failure
  yield bytes.subarray(middle)
}
