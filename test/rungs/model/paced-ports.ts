// Ports whose steps may take some turns of the event loop, so that concurrent operations interleave differently each
// time. They keep the promises of the ports.
import type { KvCommit, KvPartition, KvStore, KvView, ObjectStore } from '../../../src/ports.js'
import { seededNumbers } from './seeded.js'

/** A step that waits until it is released. If it is released before it is reached, it does not wait. */
export type Hold = Readonly<{
  reached: Promise<void>
  isReached(): boolean
  release(): void
}>

/** Waits before each step, once started. */
export class Pace {
  #next: (() => number) | null = null
  #hold: { readonly at: number | 'list' | 'put'; wait(): Promise<void> } | null = null

  /** From here on steps take random turns: mostly few, sometimes enough for others to end. */
  start(seed: number): void {
    this.#next = seededNumbers(seed)
  }

  /** Makes the next commit that puts into a key space wait for its release. */
  hold(space: number): Hold {
    return this.#holdAt(space)
  }

  /** Makes the next listing of objects wait. */
  holdList(): Hold {
    return this.#holdAt('list')
  }

  /** Makes the next put of an object wait. */
  holdPut(): Hold {
    return this.#holdAt('put')
  }

  #holdAt(at: number | 'list' | 'put'): Hold {
    let isReached = false
    let reach: () => void = () => undefined
    let free: () => void = () => undefined
    const reached = new Promise<void>((done) => {
      reach = done
    })
    const freed = new Promise<void>((done) => {
      free = done
    })
    const hold = {
      at,
      wait: (): Promise<void> => {
        this.#hold = null
        isReached = true
        reach()
        return freed
      },
    }
    this.#hold = hold
    const release = (): void => {
      if (this.#hold === hold) this.#hold = null
      free()
    }
    return { reached, isReached: () => isReached, release }
  }

  async commitStep({ puts = [] }: KvCommit): Promise<void> {
    await this.step()
    const hold = this.#hold
    if (hold !== null && puts.some(([key]) => key[0] === hold.at)) await hold.wait()
  }

  async listStep(): Promise<void> {
    await this.step()
    const hold = this.#hold
    if (hold?.at === 'list') await hold.wait()
  }

  async putStep(): Promise<void> {
    await this.step()
    const hold = this.#hold
    if (hold?.at === 'put') await hold.wait()
  }

  stop(): void {
    this.#next = null
    this.#hold = null
  }

  get isStarted(): boolean {
    return this.#next !== null
  }

  #turnsOf(chance: number, more: number): number {
    if (chance < 0.03) return 500
    if (chance < 0.5) return 0
    return chance < 0.9 ? 1 + Math.floor(more * 4) : 25
  }

  async step(): Promise<void> {
    if (this.#next === null) return
    const chance = this.#next()
    const turns = this.#turnsOf(chance, this.#next())
    for (let turn = 0; turn < turns; turn++) await new Promise((done) => setImmediate(done))
  }
}

/** @param shared - Whether another store works on the same ports. */
export function pacedKv(kv: KvStore, pace: Pace, shared: boolean): KvStore {
  return {
    shared,
    partition: (name) => pacedPartition(kv.partition(name), pace),
    close: () => kv.close(),
  }
}

function pacedPartition(partition: KvPartition, pace: Pace): KvPartition {
  return {
    async read(use) {
      if (!pace.isStarted) return partition.read(use)
      await pace.step()
      return partition.read(async (view) => {
        await pace.step() // The view is older than commits made meanwhile.
        return use(pacedView(view, pace))
      })
    },
    async commit(commit) {
      if (!pace.isStarted) return partition.commit(commit)
      await pace.commitStep(commit)
      const result = await partition.commit(commit)
      await pace.step()
      return result
    },
    async deleteRange(range, count) {
      await pace.step()
      return partition.deleteRange(range, count)
    },
  }
}

function pacedView(view: KvView, pace: Pace): KvView {
  return {
    async get(key) {
      await pace.step()
      return view.get(key)
    },
    async getMany(keys) {
      await pace.step()
      return view.getMany(keys)
    },
    async scan(scan) {
      await pace.step()
      return view.scan(scan)
    },
  }
}

export function pacedObjects(objects: ObjectStore, pace: Pace): ObjectStore {
  return {
    async put(id, content) {
      await pace.putStep()
      return objects.put(id, content)
    },
    async get(id, range) {
      await pace.step()
      return objects.get(id, range)
    },
    stream: (id, range) => objects.stream(id, range),
    async delete(ids) {
      await pace.step()
      return objects.delete(ids)
    },
    async list(prefix, after) {
      await pace.listStep()
      return objects.list(prefix, after)
    },
    close: () => objects.close(),
  }
}
