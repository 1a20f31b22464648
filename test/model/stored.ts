// The state that two engines have stored, in the numbers of the model.
import { type Bytes, toHex } from '../../src/base/bytes.js'
import { decodeChunkSegments } from '../../src/format/chunk-records.js'
import { decodeExtentPage } from '../../src/format/extent-page.js'
import { decodeIncarnation } from '../../src/format/incarnation-records.js'
import {
  CHUNKS_RANGE,
  extentPagesRange,
  INCARNATIONS_RANGE,
  incarnationOfKey,
  RETIREMENTS_RANGE,
  TABLE_HEADS_RANGE,
  tableOfKey,
  WRITERS_RANGE,
} from '../../src/format/keys.js'
import { decodeRetirement, decodeTableHead, type Generation } from '../../src/format/records.js'
import type { KvPartition, KvView, ObjectStore } from '../../src/ports.js'
import type { ModelState } from './trace.js'

const COUNT = 1_000

/** Digits of an object ID that name its incarnation. */
const INCARNATION_DIGITS = 16

type Entries = readonly (readonly [key: Bytes, value: Bytes])[]

export class Stored {
  readonly #system: KvPartition
  readonly #team: KvPartition
  readonly #objects: ObjectStore
  /** Numbers of the model by object IDs, nonces of generations, and names of incarnations. */
  readonly #numbers = new Map<string, number>()
  readonly #generations = new Map<string, number>()
  readonly #incarnations = new Map<string, number>()

  constructor(system: KvPartition, team: KvPartition, objects: ObjectStore) {
    this.#system = system
    this.#team = team
    this.#objects = objects
  }

  name(object: number, id: string | undefined): void {
    if (id === undefined) throw new Error(`Object ${object} is not put`)
    this.#numbers.set(id, object)
  }

  /** The object of the table that exists before the first step. */
  async nameFirst(): Promise<void> {
    const [id] = await this.#objects.list('')
    this.name(1, id)
  }

  /** @throws {Error} the difference */
  async compare(state: ModelState): Promise<void> {
    const ids = await this.#objects.list('')
    same(
      'stored objects',
      ids.map((id) => this.#numberOf(id)),
      state.stored,
    )
    const system = await this.#system.read((view) => scan(view, INCARNATIONS_RANGE))
    this.#bindIncarnations(system, state)
    await this.#team.read((view) => this.#compareTeam(view, state))
    this.#compareRecords(system, state)
  }

  async #compareTeam(view: KvView, state: ModelState): Promise<void> {
    const current: number[] = []
    for (const [key, bytes] of await scan(view, TABLE_HEADS_RANGE)) {
      const { generation } = decodeTableHead(bytes)
      current.push(...(await this.#objectsOf(view, key, generation)))
    }
    same('objects of the table', current, [state.cur])
    const retired: number[] = []
    for (const [key, bytes] of await scan(view, RETIREMENTS_RANGE)) {
      const { generation } = decodeRetirement(bytes)
      retired.push(...(await this.#objectsOf(view, key, generation)))
    }
    same('objects of overwritten rows', retired, state.retired)
    const chunks = (await scan(view, CHUNKS_RANGE)).flatMap(([, bytes]) =>
      decodeChunkSegments(bytes).segments.map(({ object }) => this.#numberOf(object)),
    )
    same('objects of chunks', chunks, [...state.chunks, ...state.used])
    const writers = (await scan(view, WRITERS_RANGE)).map(([key]) =>
      this.#incarnationOf(incarnationOfKey(key)),
    )
    same('writers', writers, state.writers)
  }

  async #objectsOf(view: KvView, key: Bytes, generation: Generation): Promise<number[]> {
    const { firstExtent, nextExtent, nonce } = generation
    const pages = await scan(view, extentPagesRange(tableOfKey(key), firstExtent, nextExtent))
    const found = pages.flatMap(([, page]) =>
      decodeExtentPage(page).map(({ segment }) => this.#numberOf(segment?.object ?? 'none')),
    )
    for (const object of found) this.#generations.set(toHex(nonce), object)
    return found
  }

  /** A step writes the record of at most one new incarnation. */
  #bindIncarnations(entries: Entries, { records }: ModelState): void {
    const known = new Set(this.#incarnations.values())
    const fresh = records.map(([inc]) => inc).filter((inc) => !known.has(inc))
    const names = entries.map(([key]) => incarnationOfKey(key))
    const unknown = names.filter((name) => !this.#incarnations.has(name))
    const [inc] = fresh
    const [name] = unknown
    if (inc !== undefined && name !== undefined) this.#incarnations.set(name, inc)
  }

  #compareRecords(entries: Entries, { records, owner }: ModelState): void {
    const found = entries.map(([key, bytes]) => {
      const name = incarnationOfKey(key)
      const inc = this.#incarnationOf(name)
      const { hasEnded, holdsObjects, pinned, settled, pending } = decodeIncarnation(bytes)
      const [pin] = pinned.map((nonce) => this.#generations.get(toHex(nonce)))
      const free = [...this.#numbers].flatMap(([id, object]) => {
        if (!id.startsWith(name)) return []
        const counter = Number.parseInt(id.slice(INCARNATION_DIGITS), 16)
        const isFree = !hasEnded && counter < settled && !pending.includes(counter)
        return isFree ? [object] : [] // All objects of an ended incarnation count as pending.
      })
      return JSON.stringify([inc, hasEnded, holdsObjects, pin ?? 0, free.sort(byNumber)])
    })
    const wanted = records.map(([inc, ended, holds, pin, free]) => {
      const isOwn = free.filter((object) => !ended && owner[object] === inc)
      return JSON.stringify([inc, ended, holds, pin, [...isOwn].sort(byNumber)])
    })
    same('records of incarnations', found, wanted)
  }

  #numberOf(id: string): number {
    const number = this.#numbers.get(id)
    if (number === undefined) throw new Error(`The model has no object ${id}`)
    return number
  }

  #incarnationOf(name: string): number {
    return this.#incarnations.get(name) ?? -1
  }
}

async function scan(
  view: KvView,
  range: Readonly<{ start: Bytes; limit: Bytes }>,
): Promise<[Bytes, Bytes][]> {
  return view.scan({ ...range, count: COUNT })
}

function byNumber(left: number, right: number): number {
  return left - right
}

function same<T>(what: string, found: readonly T[], wanted: readonly T[]): void {
  const [is, must] = [[...found].sort().join(), [...wanted].sort().join()]
  if (is !== must) throw new Error(`The ${what} are ${is}, and must be ${must}`)
}
