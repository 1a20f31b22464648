// Ports of one opening of a store. A run can hold the store at any step, or make it crash there.

import { KEY_SPACE } from '../../../src/format/keys.js'
import type { KvCommit, KvPartition, KvStore, KvView, ObjectStore } from '../../../src/ports.js'
import { Pace } from '../model/paced-ports.js'

/** A step of a store on its ports, counted among the steps of its kind. */
export type StopAt = Readonly<{
  /** A part of the step's text, such as `scan 06` or `-0d`; empty: any step. */
  step: string
  skip: number
  side: 'before' | 'after'
}>

export type Hold = Readonly<{
  reached: Promise<'reached'>
  /** Continues the step. If it was not reached, it is no longer held. */
  release(): void
}>

/** The failure of every step of a store whose process has ended. */
export class Crashed extends Error {
  override readonly name = 'Crashed'
}

type Stop = { readonly at: StopAt; left: number; readonly holds: boolean; act(): Promise<void> }

/**
 * Steps on the record of the opening itself, for which everything else of it waits: a hold there would also hold what
 * is to happen meanwhile. Crashes are possible there.
 */
const AWAITED_BY_ALL = [KEY_SPACE.incarnation, KEY_SPACE.writer]
  .map((number) => number.toString(16).padStart(2, '0'))
  .flatMap((space) => [`get ${space}`, `+${space}`])

/** One opening of a store. After its crash nothing that it does has an effect. */
export class Incarnation {
  readonly pace = new Pace()
  #isGone = false
  #stop: Stop | null = null

  crash(): void {
    this.#isGone = true
  }

  get isGone(): boolean {
    return this.#isGone
  }

  crashAt(at: StopAt): void {
    this.#stop = { at, left: at.skip, holds: false, act: async () => this.crash() }
  }

  hold(at: StopAt): Hold {
    let reach: (value: 'reached') => void = () => undefined
    let free: () => void = () => undefined
    const reached = new Promise<'reached'>((done) => {
      reach = done
    })
    const freed = new Promise<void>((done) => {
      free = done
    })
    const act = (): Promise<void> => {
      reach('reached')
      return freed
    }
    this.#stop = { at, left: at.skip, holds: true, act }
    const release = (): void => {
      this.#stop = null
      free()
    }
    return { reached, release }
  }

  noStop(): void {
    this.#stop = null
  }

  async step<T>(text: string, perform: () => Promise<T>): Promise<T> {
    this.assertAlive()
    await this.pace.step()
    const stop = this.#stopAt(text)
    if (stop?.at.side === 'before') await stop.act()
    this.assertAlive()
    const result = await perform()
    if (stop?.at.side === 'after') await stop.act()
    this.assertAlive()
    return result
  }

  assertAlive(): void {
    if (this.#isGone) throw new Crashed('The process has ended')
  }

  #stopAt(text: string): Stop | null {
    const stop = this.#stop
    if (stop === null || !text.includes(stop.at.step)) return null
    if (stop.holds && AWAITED_BY_ALL.some((part) => text.includes(part))) return null
    if (stop.left-- > 0) return null
    this.#stop = null
    return stop
  }
}

/** @param shared - Whether another store works on the same ports. */
export function kvOf(kv: KvStore, incarnation: Incarnation, shared: boolean): KvStore {
  return {
    shared,
    partition: (name) => partitionOf(kv.partition(name), incarnation),
    close: async () => undefined, // The ports outlive the store.
  }
}

function partitionOf(partition: KvPartition, incarnation: Incarnation): KvPartition {
  return {
    async read(use) {
      incarnation.assertAlive()
      return partition.read((view) => use(viewOf(view, incarnation)))
    },
    commit: (commit) => incarnation.step(textOf(commit), () => partition.commit(commit)),
    deleteRange: (range, count) =>
      incarnation.step(`garbage collection ${space(range.start)}`, () =>
        partition.deleteRange(range, count),
      ),
  }
}

function viewOf(view: KvView, incarnation: Incarnation): KvView {
  return {
    get: (key) => incarnation.step(`get ${space(key)}`, async () => view.get(key)),
    getMany: (keys) => incarnation.step('get many', () => view.getMany(keys)),
    scan: (scan) => incarnation.step(`scan ${space(scan.start)}`, () => view.scan(scan)),
  }
}

function textOf({ puts = [], deletes = [] }: KvCommit): string {
  const put = new Set(puts.map(([key]) => `+${space(key)}`))
  const deleted = new Set(deletes.map((key) => `-${space(key)}`))
  return ['commit', ...put, ...deleted].join(' ')
}

/** The key space of a key in hex. */
function space(key: Uint8Array): string {
  return (key[0] ?? 0).toString(16).padStart(2, '0')
}

export function objectsOf(objects: ObjectStore, incarnation: Incarnation): ObjectStore {
  return {
    put: (id, content) => incarnation.step('object put', () => objects.put(id, content)),
    get: (id, range) => incarnation.step('object get', async () => objects.get(id, range)),
    stream: (id, range) => incarnation.step('object stream', () => objects.stream(id, range)),
    delete: (ids) => incarnation.step('object delete', () => objects.delete(ids)),
    list: (prefix, after) => incarnation.step('object list', () => objects.list(prefix, after)),
    close: async () => undefined,
  }
}
