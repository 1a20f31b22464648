// Snapshots for a database that has none, such as IndexedDB (browser-level). We are its only writer, so before a
// batch is written, the values that it will replace are saved in each open snapshot.
//
// Invariants:
// - A value is saved before the write of its batch begins, and reads look for saved values after reading the database.
//   So a read that finds a newer value also finds the saved one.
// - A snapshot taken during a batch shows the state after it: its reads wait for the batch.
// - Batches are written one at a time (kv/commit-queue).

import type {
  AbstractBatchOptions,
  AbstractGetManyOptions,
  AbstractIteratorOptions,
  AbstractSnapshot,
} from 'abstract-level'
import { type Bytes, compareBytes, toHex } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import { StoreError } from '../base/store-error.js'
import type { LevelDatabase, LevelOperation } from './level-database.js'

/** The maximum number of bytes saved in one snapshot. Beyond that the snapshot fails, so that memory is bounded. */
const NOTED_BYTES_MAX = 64 * 1024 * 1024

const VIEWS = { keyEncoding: 'view', valueEncoding: 'view' } as const

/** The database itself, with emulated snapshots if it has none. */
export function withSnapshots(database: LevelDatabase): LevelDatabase {
  if (database.supports.explicitSnapshots) return database
  return new EmulatedSnapshots(database) as unknown as LevelDatabase
}

type Entry = [key: Bytes, value: Bytes]
type Note = Readonly<{ key: Bytes; value: Bytes | undefined }>

class EmulatedSnapshots {
  readonly supports = { explicitSnapshots: true, getSync: false } as const
  readonly #database: LevelDatabase
  readonly #open = new Set<EmulatedSnapshot>()
  #batch: Promise<void> | undefined
  #unlock: () => void = () => undefined

  constructor(database: LevelDatabase) {
    this.#database = database
  }

  get status(): string {
    return this.#database.status
  }

  open(): Promise<void> {
    return this.#database.open()
  }

  async lock(): Promise<void> {
    const { location } = this.#database as { location?: unknown }
    if (typeof location === 'string') this.#unlock = await takeWebLock(location)
  }

  unlock(): void {
    this.#unlock()
  }

  async close(): Promise<void> {
    await this.#database.close()
    this.#unlock()
  }

  snapshot(): AbstractSnapshot {
    const snapshot = new EmulatedSnapshot(this.#batch, () => this.#open.delete(snapshot))
    this.#open.add(snapshot)
    return snapshot as unknown as AbstractSnapshot
  }

  async getMany(
    keys: Bytes[],
    { snapshot }: AbstractGetManyOptions<Bytes, Bytes>,
  ): Promise<(Bytes | undefined)[]> {
    const emulated = emulatedOf(snapshot)
    await emulated?.ready
    const values = await this.#database.getMany<Bytes, Bytes>(keys, VIEWS)
    if (emulated === undefined) return values
    return values.map((value, index) => {
      const note = emulated.noteOf(keys[index])
      return note === undefined ? value : note.value
    })
  }

  async batch(
    operations: LevelOperation[],
    options: AbstractBatchOptions<Bytes, Bytes>,
  ): Promise<void> {
    invariant(this.#batch === undefined, 'batches come one at a time')
    const waiting = [...this.#open].filter((snapshot) => snapshot.isReady)
    const writing = this.#write(operations, options, waiting)
    this.#batch = writing.then(undefined, () => undefined)
    try {
      await writing
    } finally {
      this.#batch = undefined
      for (const snapshot of this.#open) snapshot.isReady = true // Before the next batch can begin.
    }
  }

  async #write(
    operations: LevelOperation[],
    options: AbstractBatchOptions<Bytes, Bytes>,
    snapshots: readonly EmulatedSnapshot[],
  ): Promise<void> {
    if (snapshots.length > 0) {
      const keys = operations.map(({ key }) => key)
      const values = await this.#database.getMany<Bytes, Bytes>(keys, VIEWS)
      for (const snapshot of snapshots) snapshot.note(keys, values)
    }
    await this.#database.batch<Bytes, Bytes>(operations, options)
  }

  iterator({ snapshot, ...range }: AbstractIteratorOptions<Bytes, Bytes>): object {
    const emulated = emulatedOf(snapshot)
    if (emulated === undefined) return this.#database.iterator<Bytes, Bytes>({ ...range, ...VIEWS })
    return new EmulatedIterator(this.#database, emulated, range)
  }

  keys(options: Parameters<LevelDatabase['keys']>[0]): object {
    return this.#database.keys(options)
  }
}

function emulatedOf(snapshot: AbstractSnapshot | undefined): EmulatedSnapshot | undefined {
  return snapshot as unknown as EmulatedSnapshot | undefined
}

class EmulatedSnapshot {
  /** Settles when the batch ends that was in flight at the beginning of the snapshot; undefined: there was none. */
  readonly ready: Promise<void> | undefined
  /** Whether the batch that was in flight at the beginning has ended, or there was none. */
  isReady: boolean
  readonly #close: () => void
  readonly #notes = new Map<string, Note>()
  #bytes = 0

  constructor(batch: Promise<void> | undefined, close: () => void) {
    this.#close = close
    this.isReady = batch === undefined
    this.ready = batch
  }

  /** Saves the values of keys in this snapshot. Only the first value per key counts. */
  note(keys: readonly Bytes[], values: readonly (Bytes | undefined)[]): void {
    keys.forEach((key, index) => {
      const name = toHex(key)
      if (this.#notes.has(name)) return
      const value = values[index]
      this.#bytes += key.length + (value?.length ?? 0)
      this.#notes.set(name, { key, value })
    })
  }

  /** @throws {StoreError} STORAGE_UNAVAILABLE if too much was changed while the snapshot was open. */
  noteOf(key: Bytes | undefined): Note | undefined {
    this.#check()
    return key === undefined ? undefined : this.#notes.get(toHex(key))
  }

  /** Saved values of keys in a range. */
  notesIn(isInside: (key: Bytes) => boolean): Note[] {
    this.#check()
    return [...this.#notes.values()].filter(({ key }) => isInside(key))
  }

  #check(): void {
    if (this.#bytes <= NOTED_BYTES_MAX) return
    throw new StoreError('STORAGE_UNAVAILABLE', 'Too much was changed while a view was open')
  }

  async close(): Promise<void> {
    this.#notes.clear()
    this.#close()
  }
}

type Range = Pick<AbstractIteratorOptions<Bytes, Bytes>, 'gte' | 'lt' | 'reverse'>

/** Reads a range in pieces, in the state of the snapshot. */
class EmulatedIterator {
  readonly #database: LevelDatabase
  readonly #snapshot: EmulatedSnapshot
  readonly #reverse: boolean
  /** The beginning of the rest of the range. */
  #start: Bytes | undefined
  #limit: Bytes | undefined
  #isDone = false
  /** Entries that were read but not yet taken: saved values may make a piece longer than requested. */
  #read: Entry[] = []

  constructor(database: LevelDatabase, snapshot: EmulatedSnapshot, range: Range) {
    this.#database = database
    this.#snapshot = snapshot
    this.#reverse = range.reverse ?? false
    this.#start = range.gte
    this.#limit = range.lt
  }

  /** The next entries: at least one, unless the range has ended. */
  async nextv(count: number): Promise<Entry[]> {
    await this.#snapshot.ready
    while (this.#read.length === 0 && !this.#isDone) this.#read = await this.#readPiece(count)
    return this.#read.splice(0, count)
  }

  async close(): Promise<void> {}

  async #readPiece(count: number): Promise<Entry[]> {
    const piece = { ...this.#left(), limit: count, reverse: this.#reverse }
    const iterator = this.#database.iterator<Bytes, Bytes>({ ...VIEWS, ...piece })
    let stored: Entry[]
    try {
      stored = await iterator.nextv(count)
    } finally {
      await iterator.close()
    }
    const last = stored.at(-1)?.[0]
    const entries = this.#asNoted(stored, this.#covered(last))
    if (last === undefined) this.#isDone = true
    else if (this.#reverse) this.#limit = last
    else this.#start = Uint8Array.of(...last, 0)
    return entries
  }

  #left(): { gte?: Bytes; lt?: Bytes } {
    return {
      ...(this.#start !== undefined && { gte: this.#start }),
      ...(this.#limit !== undefined && { lt: this.#limit }),
    }
  }

  /** Whether a key is in the part of the range that was read: up to the last key, or to the end. */
  #covered(last: Bytes | undefined): (key: Bytes) => boolean {
    const [start, limit, reverse] = [this.#start, this.#limit, this.#reverse]
    return (key) => {
      if (start !== undefined && compareBytes(key, start) < 0) return false
      if (limit !== undefined && compareBytes(key, limit) >= 0) return false
      if (last === undefined) return true
      return reverse ? compareBytes(key, last) >= 0 : compareBytes(key, last) <= 0
    }
  }

  #asNoted(stored: readonly Entry[], isCovered: (key: Bytes) => boolean): Entry[] {
    const notes = this.#snapshot.notesIn(isCovered)
    if (notes.length === 0) return [...stored]
    const entries = stored.filter(([key]) => this.#snapshot.noteOf(key) === undefined)
    for (const { key, value } of notes) if (value !== undefined) entries.push([key, value])
    const sign = this.#reverse ? -1 : 1
    return entries.sort(([left], [right]) => sign * compareBytes(left, right))
  }
}

type LockOptions = Readonly<{ ifAvailable: true }>

/** The used part of the Web Locks API. */
type WebLocks = Readonly<{
  request(
    name: string,
    options: LockOptions,
    use: (lock: object | null) => Promise<void>,
  ): Promise<unknown>
}>

/**
 * Locks a database, if the runtime has Web Locks. IndexedDB lets every tab write, so this lock reserves it for one tab,
 * like LevelDB's lock file.
 * @returns a function that releases the lock.
 * @throws {StoreError} STORE_LOCKED if another tab has the lock
 */
export function takeWebLock(location: string): Promise<() => void> {
  const { navigator, isSecureContext } = globalThis as {
    navigator?: { locks?: WebLocks }
    isSecureContext?: boolean
  }
  const { locks } = navigator ?? {}
  if (locks === undefined && isSecureContext === false) {
    const problem = `The database ${location} cannot be locked, so another tab could write it too`
    const remedy = 'browsers have locks only in pages from HTTPS or localhost'
    return Promise.reject(new StoreError('STORE_LOCKED', `${problem}: ${remedy}`))
  }
  if (locks === undefined) return Promise.resolve(() => undefined)
  return new Promise((resolve, reject) => {
    const use = (lock: object | null): Promise<void> => {
      if (lock !== null) return new Promise((release) => resolve(release))
      const problem = `The database ${location} is open in another tab or worker`
      reject(new StoreError('STORE_LOCKED', problem))
      return Promise.resolve()
    }
    locks.request(`rowstash ${location}`, { ifAvailable: true }, use).catch(reject)
  })
}
