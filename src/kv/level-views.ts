// Views of a database that no other process writes; recently read records come from memory.
//
// Invariants:
// - A view shows one commit. Memory agrees with the database; before a batch begins, every open view takes a snapshot,
//   and until the batch ends, cached records that it writes are not used.
// - A record is cached only from a snapshot after which no batch began or ended, and never while a batch that writes
//   it is in flight, because the database may begin to show such a batch at any time.
// - A view without a snapshot reads the database only synchronously and while no batch is in flight: it sees what a
//   snapshot would show.
// - After a failed batch, its records are never cached again.
import type { AbstractSnapshot } from 'abstract-level'
import { type Awaitable, isSync, tryCall } from '../base/awaitable.js'
import { ByteCache } from '../base/byte-cache.js'
import type { Bytes } from '../base/bytes.js'
import { concatBytes } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import { byteText, byteTextUntil } from '../base/platform.js'
import { EmptyRanges } from './empty-ranges.js'
import type { KeyRange, KvScan, KvView } from './kv.js'
import type { LevelDatabase } from './level-database.js'
import { readRecordNow, readRecords, scanRecords, storageError } from './level-database.js'
import { encodePartitionPrefix } from './record-envelope.js'

const SCAN_COUNT_MAX = 100_000

/** The maximum number of bytes of a cached record: a few larger ones would evict all others. */
const CACHED_BYTES_MAX = 64 * 1024

/** Estimated memory of an entry besides its key and value. */
const ENTRY_BYTES = 128

function recordBytes(key: string, value: Bytes | null): number {
  return ENTRY_BYTES + key.length + (value?.length ?? 0)
}

/** The prefix of a partition's LevelDB keys. */
export class Prefix {
  readonly bytes: Bytes
  /** The prefix, with room for a key. */
  readonly #joined: Bytes

  constructor(bytes: Bytes) {
    this.bytes = bytes
    this.#joined = concatBytes([bytes, new Uint8Array(JOINED_BYTES)])
  }

  /** The text of the LevelDB key for a key of the partition, as a flat string, which is quick to look up. */
  textOf(key: Bytes): string {
    if (key.length > JOINED_BYTES) return byteText(concatBytes([this.bytes, key]))
    const joined = this.#joined
    const start = this.bytes.length
    for (let i = 0; i < key.length; i++) joined[start + i] = key[i] ?? 0
    return byteTextUntil(joined, start + key.length)
  }

  /** The LevelDB key for a key of the partition. */
  keyOf(key: Bytes): Bytes {
    return concatBytes([this.bytes, key])
  }
}

/** Room for a joined key: most keys are shorter. */
const JOINED_BYTES = 128

/** The changes of a batch. */
export type BatchWrites = Readonly<{
  /** The changes by LevelDB key as text. `written` is the new payload; null: the record is deleted. */
  changes: ReadonlyMap<string, Readonly<{ written: Bytes | null }>>
  /** Whether the next batch overwrites the memory of the payloads. */
  isReused: boolean
}>

export class LevelViews {
  readonly #database: LevelDatabase
  /** The cached records; null: there is no such record. */
  #records: ByteCache<Bytes | null>
  readonly #empty = new EmptyRanges()
  #cacheBytesMax: number
  /** Open views without a snapshot. */
  readonly #floating = new Set<LevelView>()
  /** Number of beginnings and ends of batches so far. */
  #moment = 0
  /** The stamp of the latest commit: a new object for each commit, so that it is unique across databases. */
  #latest: object = {}
  /** The batch in flight, or a failed one. */
  #writing: BatchWrites | undefined

  /** @param cacheBytesMax - The maximum number of bytes of cached records; 0 caches nothing. */
  constructor(database: LevelDatabase, cacheBytesMax: number) {
    this.#database = database
    this.#cacheBytesMax = cacheBytesMax
    this.#records = new ByteCache(cacheBytesMax, recordBytes)
  }

  /** The approximate size of the cached records, in bytes. */
  get cacheBytes(): number {
    return this.#records.bytes
  }

  get cacheHits(): number {
    return this.#records.hits
  }

  get cacheMisses(): number {
    return this.#records.misses
  }

  /** Sets the greatest size of the cache, in bytes. Drops all records. */
  setCacheBytesMax(cacheBytesMax: number): void {
    this.#cacheBytesMax = cacheBytesMax
    this.#records = new ByteCache(cacheBytesMax, recordBytes)
  }

  /** Runs `use` on a view of the latest commit of a partition. */
  read<T>(prefix: Prefix, use: (view: KvView) => Awaitable<T>): Awaitable<T> {
    const view = new LevelView(this, this.#database, prefix)
    // A read that begins and ends in this turn meets no batch, so it needs no snapshot.
    const result = tryCall(() => use(view))
    if (isSync(result) && !view.hasSnapshot) {
      view.close()
      return result
    }
    return this.#finish(view, result)
  }

  async #finish<T>(view: LevelView, reading: Awaitable<T>): Promise<T> {
    if (!view.hasSnapshot) this.#floating.add(view)
    try {
      return await reading
    } finally {
      this.#floating.delete(view)
      await view.end()
    }
  }

  /** Reads all partitions in one snapshot, taken now. */
  async readAll<T>(use: (viewOf: (partition: string) => KvView) => Promise<T>): Promise<T> {
    const snapshot = openSnapshot(this.#database)
    try {
      return await use((name) => new SnapshotView(this.#database, snapshot, name))
    } finally {
      await closeSnapshot(snapshot)
    }
  }

  /** Must be called before a batch begins, with its changes. Batches must not overlap. */
  beforeBatch(writes: BatchWrites): void {
    for (const view of this.#floating) view.pin()
    this.#moment++
    this.#latest = {}
    this.#writing = writes
    if (this.#empty.hasNone) return
    for (const [key, { written }] of writes.changes) if (written !== null) this.#empty.fill(key)
  }

  /** Must be called when a batch has become durable; never after a failed one. */
  afterBatch(): void {
    this.#moment++
    const writes = this.#writing
    this.#writing = undefined
    if (writes === undefined) return
    const keep = writes.isReused ? copied : kept
    for (const [key, { written }] of writes.changes) {
      // Only cached records are updated: new records that were never read, such as log entries, would evict others.
      if ((written?.length ?? 0) <= CACHED_BYTES_MAX) this.#records.replace(key, written, keep)
      else this.#records.delete(key)
    }
  }

  /** The present moment: see `#moment`. undefined: a batch is in flight or has failed. */
  get stillMoment(): number | undefined {
    return this.#writing === undefined ? this.#moment : undefined
  }

  /**
   * Represents the latest commit; undefined while a batch is in flight, because it may become visible at any time,
   * and after a batch has failed.
   */
  get latest(): object | undefined {
    return this.#writing === undefined ? this.#latest : undefined
  }

  /** Whether no batch has begun or ended since this moment. */
  isStill(moment: number): boolean {
    return moment === this.#moment
  }

  /** A cached record, for an open view; null: there is certainly no such record; undefined: unknown. */
  recall(key: string): Bytes | null | undefined {
    // Records of the batch are skipped here, not deleted before it: a Map with deletions is rebuilt often.
    if (this.#writing?.changes.has(key)) return undefined
    const known = this.#records.get(key)
    return known === undefined && this.#empty.has(key) ? null : known
  }

  /** Whether there are certainly no records from `start` to `limit` (exclusive). */
  isEmpty(start: string, limit: string): boolean {
    return this.#empty.covers(start, limit)
  }

  /** Remembers a range that a view found empty; see `remember` for `moment`. */
  rememberEmpty(start: string, limit: string, moment: number): void {
    if (this.#cacheBytesMax === 0) return
    if (moment === this.#moment && this.#writing === undefined) this.#empty.add(start, limit)
  }

  /** Called when a view takes its snapshot. @returns the moment, which `remember` needs. */
  takeSnapshot(view: LevelView): number {
    this.#floating.delete(view)
    return this.#moment
  }

  /** Caches a record that a view has read from the snapshot taken at this moment. */
  remember(key: string, value: Bytes | null, moment: number): void {
    if (moment !== this.#moment || this.#writing?.changes.has(key)) return
    if ((value?.length ?? 0) <= CACHED_BYTES_MAX) this.#records.set(key, value)
    else this.#records.delete(key)
  }
}

function kept(payload: Bytes | null): Bytes | null {
  return payload
}

function copied(payload: Bytes | null): Bytes | null {
  return payload === null ? null : payload.slice()
}

class LevelView implements KvView {
  readonly #views: LevelViews
  readonly #database: LevelDatabase
  readonly #prefix: Prefix
  #snapshot: AbstractSnapshot | undefined
  #moment = 0
  #ended = false

  constructor(views: LevelViews, database: LevelDatabase, prefix: Prefix) {
    this.#views = views
    this.#database = database
    this.#prefix = prefix
  }

  get(key: Bytes): Awaitable<Bytes | null> {
    this.#assertUsable()
    const text = this.#prefix.textOf(key)
    const known = this.#recall(text)
    return known === undefined ? this.#read(this.#levelKey(key), text) : known
  }

  #read(levelKey: Bytes, text: string): Awaitable<Bytes | null> {
    const still = this.#snapshot === undefined ? this.#views.stillMoment : undefined
    try {
      if (still !== undefined && this.#database.supports.getSync) {
        const value = readRecordNow(this.#database, levelKey, undefined)
        this.#views.remember(text, value, still)
        return value
      }
      const snapshot = this.pin()
      if (this.#database.supports.getSync) {
        const value = readRecordNow(this.#database, levelKey, snapshot)
        this.#views.remember(text, value, this.#moment)
        return value
      }
      return this.#readLater(levelKey, text, snapshot)
    } catch (failure) {
      return Promise.reject(failure)
    }
  }

  async #readLater(
    levelKey: Bytes,
    text: string,
    snapshot: AbstractSnapshot,
  ): Promise<Bytes | null> {
    const [value = null] = await readRecords(this.#database, [levelKey], snapshot)
    this.#views.remember(text, value, this.#moment)
    return value
  }

  async getMany(keys: readonly Bytes[]): Promise<(Bytes | null)[]> {
    const levelKeys = keys.map((key) => this.#levelKey(key))
    const texts = levelKeys.map(byteText)
    const known = texts.map((text) => this.#recall(text))
    const missing = levelKeys.filter((_, i) => known[i] === undefined)
    if (missing.length === 0) return known.map((value) => value ?? null)
    const read = await readRecords(this.#database, missing, this.pin())
    let next = 0
    return known.map((value, i) => {
      if (value !== undefined) return value
      const found = read[next++] ?? null
      this.#views.remember(texts[i] ?? '', found, this.#moment)
      return found
    })
  }

  async scan({ start, limit, ...options }: KvScan): Promise<[Bytes, Bytes][]> {
    const { count } = options
    const countable = Number.isInteger(count) && count >= 1 && count <= SCAN_COUNT_MAX
    invariant(countable, `a scan counts 1 to ${SCAN_COUNT_MAX} entries`)
    const [first, end] = [this.#levelKey(start), this.#levelKey(limit)]
    const levelScan = { ...options, start: first, limit: end }
    const [from, to] = [byteText(first), byteText(end)]
    if (this.#knowsAll && this.#views.isEmpty(from, to)) return []
    const records = await scanRecords(this.#database, levelScan, this.pin())
    if (records.length === 0) this.#views.rememberEmpty(from, to, this.#moment)
    const { bytes } = this.#prefix
    return records.map(([key, value]): [Bytes, Bytes] => [withoutPrefix(key, bytes), value])
  }

  isEmpty({ start, limit }: KeyRange): boolean {
    if (!this.#knowsAll) return false
    return this.#views.isEmpty(this.#prefix.textOf(start), this.#prefix.textOf(limit))
  }

  /** Takes the snapshot, unless the view already has one. */
  pin(): AbstractSnapshot {
    if (this.#snapshot === undefined) {
      this.#moment = this.#views.takeSnapshot(this)
      this.#snapshot = openSnapshot(this.#database)
    }
    return this.#snapshot
  }

  get hasSnapshot(): boolean {
    return this.#snapshot !== undefined
  }

  /** Closes a view without a snapshot. */
  close(): void {
    this.#ended = true
  }

  async end(): Promise<void> {
    this.#ended = true
    if (this.#snapshot !== undefined) await closeSnapshot(this.#snapshot)
  }

  /** Whether the cache agrees with the view. With a snapshot, it agrees only until a batch begins or ends. */
  get #knowsAll(): boolean {
    return this.#snapshot === undefined || this.#views.isStill(this.#moment)
  }

  #recall(key: string): Bytes | null | undefined {
    return this.#knowsAll ? this.#views.recall(key) : undefined
  }

  #levelKey(key: Bytes): Bytes {
    this.#assertUsable()
    return this.#prefix.keyOf(key)
  }

  #assertUsable(): void {
    invariant(!this.#ended, 'a view is used only inside the read that made it')
  }
}

/** A view on a shared snapshot, for reading large parts of a store. It uses no cache, because nothing is read twice. */
class SnapshotView implements KvView {
  readonly #database: LevelDatabase
  readonly #snapshot: AbstractSnapshot
  readonly #prefix: Bytes

  constructor(database: LevelDatabase, snapshot: AbstractSnapshot, partition: string) {
    this.#database = database
    this.#snapshot = snapshot
    this.#prefix = encodePartitionPrefix(partition)
  }

  async get(key: Bytes): Promise<Bytes | null> {
    const [value = null] = await this.getMany([key])
    return value
  }

  getMany(keys: readonly Bytes[]): Promise<(Bytes | null)[]> {
    const levelKeys = keys.map((key) => concatBytes([this.#prefix, key]))
    return readRecords(this.#database, levelKeys, this.#snapshot)
  }

  async scan({ start, limit, ...scan }: KvScan): Promise<[Bytes, Bytes][]> {
    const range = {
      start: concatBytes([this.#prefix, start]),
      limit: concatBytes([this.#prefix, limit]),
    }
    const records = await scanRecords(this.#database, { ...range, ...scan }, this.#snapshot)
    return records.map(([key, value]): [Bytes, Bytes] => [withoutPrefix(key, this.#prefix), value])
  }
}

/** The key in its partition, as a plain Uint8Array. */
export function withoutPrefix(key: Bytes, prefix: Bytes): Bytes {
  return new Uint8Array(key.buffer, key.byteOffset + prefix.length, key.length - prefix.length)
}

export function openSnapshot(database: LevelDatabase): AbstractSnapshot {
  try {
    return database.snapshot()
  } catch (failure) {
    throw storageError(failure, 'The database cannot be read')
  }
}

export async function closeSnapshot(snapshot: AbstractSnapshot): Promise<void> {
  try {
    await snapshot.close()
  } catch (failure) {
    throw storageError(failure, 'A view cannot be closed')
  }
}
