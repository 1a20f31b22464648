// Ports that let a test act at an exact moment of an operation: once, at the first step that fits.
import type {
  KvCommit,
  KvPartition,
  KvScan,
  KvStore,
  KvView,
  ObjectStore,
} from '../../src/ports.js'

type Act = () => Promise<void>

export class Hooks {
  #commit: { fits(commit: KvCommit): boolean; act: Act } | undefined
  #scan: { space: number; act: Act } | undefined
  #get: Act | undefined
  /** How many of the acts have run. */
  ran = 0

  /** Before a commit that deletes from a key space. */
  beforeDeleteFrom(space: number, act: Act): void {
    this.beforeCommit(({ deletes = [] }) => deletes.some((key) => key[0] === space), act)
  }

  /** Before a commit that puts into a key space. */
  beforePutInto(space: number, act: Act): void {
    this.beforeCommit(({ puts = [] }) => puts.some(([key]) => key[0] === space), act)
  }

  beforeCommit(fits: (commit: KvCommit) => boolean, act: Act): void {
    this.#commit = { fits, act }
  }

  /** Within a view, before a scan that begins in a key space. */
  beforeScanOf(space: number, act: Act): void {
    this.#scan = { space, act }
  }

  /** Before an object, or a range of one, is read. */
  beforeGet(act: Act): void {
    this.#get = act
  }

  async onCommit(commit: KvCommit): Promise<void> {
    const hook = this.#commit
    if (hook === undefined || !hook.fits(commit)) return
    this.#commit = undefined
    await this.#run(hook.act)
  }

  async onScan({ start }: KvScan): Promise<void> {
    const hook = this.#scan
    if (hook === undefined || start[0] !== hook.space) return
    this.#scan = undefined
    await this.#run(hook.act)
  }

  async onGet(): Promise<void> {
    const act = this.#get
    this.#get = undefined
    if (act !== undefined) await this.#run(act)
  }

  async #run(act: Act): Promise<void> {
    await act()
    this.ran++
  }
}

/** A key-value store with hooks. Closing it leaves the store below open, so that another can work on it. */
export function hookedKv(kv: KvStore, hooks: Hooks, shared: boolean): KvStore {
  return {
    shared,
    partition: (name) => hookedPartition(kv.partition(name), hooks),
    close: async () => undefined,
  }
}

function hookedPartition(partition: KvPartition, hooks: Hooks): KvPartition {
  return {
    read: (use) => partition.read((view) => use(hookedView(view, hooks))),
    async commit(commit) {
      await hooks.onCommit(commit)
      return partition.commit(commit)
    },
    deleteRange: (range, count) => partition.deleteRange(range, count),
  }
}

function hookedView(view: KvView, hooks: Hooks): KvView {
  return {
    get: (key) => view.get(key),
    getMany: (keys) => view.getMany(keys),
    async scan(scan) {
      await hooks.onScan(scan)
      return view.scan(scan)
    },
  }
}

export function hookedObjects(objects: ObjectStore, hooks: Hooks): ObjectStore {
  return {
    put: (id, content) => objects.put(id, content),
    async get(id, range) {
      await hooks.onGet()
      return objects.get(id, range)
    },
    stream: (id, range) => objects.stream(id, range),
    delete: (ids) => objects.delete(ids),
    list: (prefix, after) => objects.list(prefix, after),
    close: async () => undefined,
  }
}
