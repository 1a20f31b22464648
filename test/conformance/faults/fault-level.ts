// A database in memory for `openLevelKv`, on a disk that may fail.
import type { LevelDatabase, LevelOperation } from '../../../src/kv/level-database.js'
import type { FaultLog } from './fault-log.js'
import { DiskFault, DiskGone, type Fault, type PortStep } from './fault-plan.js'
import {
  applyBatch,
  findRecord,
  lowerBound,
  NO_RECORDS,
  type SortedRecords,
  type StoredRecord,
} from './sorted-records.js'

/** The disk for its two ports. */
export interface DiskAccess {
  readonly log: FaultLog
  /** Takes a step: waits for its delay, ends the process, or returns another fault. */
  step(port: PortStep['port'], operation: PortStep['operation'], life: Life): Promise<Fault | null>
  /** A step of a synchronous operation, which ignores delays. */
  stepNow(port: PortStep['port'], operation: PortStep['operation'], life: Life): Fault | null
  /** Ends the process after a step, if its fault says so. */
  after(fault: Fault | null, life: Life): void
  /** Registers the only user of the database. @returns whether there was none */
  lock(user: object): boolean
  unlock(user: object): void
  below(limit: number): number
}

/** One process on the disk. */
export type Life = { isOver: boolean }

type ReadOptions = Readonly<{ keyEncoding?: unknown; valueEncoding?: unknown; snapshot?: unknown }>
type RangeOptions = ReadOptions &
  Readonly<{
    gte?: unknown
    lt?: unknown
    limit?: number | undefined
    reverse?: boolean | undefined
  }>

/** Records per call of an iterator: few, so that the next call may meet a fault. */
const ITERATOR_RECORDS_MAX = 1_000

/** A database of the abstract-level family on a `FaultDisk`. */
export class FaultLevel implements LevelDatabase {
  readonly supports: Readonly<{ explicitSnapshots: boolean; getSync: boolean }>
  readonly #disk: DiskAccess
  readonly #life: Life
  #status: 'opening' | 'open' | 'closed' = 'opening'
  #records: SortedRecords = NO_RECORDS
  /** After a failed sync, LevelDB refuses all further writes. */
  #refusesWrites = false

  constructor(disk: DiskAccess, life: Life, getSync: boolean) {
    this.#disk = disk
    this.#life = life
    this.supports = { explicitSnapshots: true, getSync }
  }

  get status(): string {
    return this.#status
  }

  async open(): Promise<void> {
    if (this.#status === 'open') return
    const fault = await this.#disk.step('level', 'open', this.#life)
    if (this.#life.isOver) throw new DiskGone('The process has ended')
    if (fault !== null && fault.kind !== 'crash') throw notOpen(failureOf(fault))
    if (!this.#disk.lock(this)) throw notOpen(codedError('LEVEL_LOCKED', 'The lock is held'))
    this.#records = this.#disk.log.recover()
    this.#status = 'open'
    this.#disk.after(fault, this.#life)
  }

  async close(): Promise<void> {
    if (this.#status === 'closed') return
    const fault = await this.#disk.step('level', 'close', this.#life)
    this.#status = 'closed'
    this.#disk.unlock(this)
    // Like a file: the failure is reported, and it is closed all the same.
    if (fault !== null && fault.kind !== 'crash') throw failureOf(fault)
    this.#disk.after(fault, this.#life)
  }

  snapshot(): FaultSnapshot {
    this.#assertOpen()
    return new FaultSnapshot(this.#records)
  }

  getSync<K, V>(key: K, options: ReadOptions): V | undefined {
    const fault = this.#disk.stepNow('level', 'read', this.#life)
    const found = this.#read(fault, key, () => this.#valueOf(key, options))
    this.#disk.after(fault, this.#life)
    return found as V | undefined
  }

  async getMany<K, V>(keys: K[], options: ReadOptions): Promise<(V | undefined)[]> {
    const records = this.#recordsOf(options) // LevelDB creates its snapshot in the call.
    const fault = await this.#disk.step('level', 'read', this.#life)
    const found = keys.map((key) => this.#read(fault, key, () => valueIn(records, key)))
    this.#disk.after(fault, this.#life)
    return found as (V | undefined)[]
  }

  async batch<K, V>(operations: LevelOperation<K, V>[], options: Readonly<object>): Promise<void> {
    this.#assertOpen()
    const changes = operations.map((operation) => {
      const key = bytesOf(operation.key)
      if (operation.type === 'del') return { type: 'del', key } as const
      return { type: 'put', key, value: bytesOf(operation.value) } as const
    })
    const isSynced = 'sync' in options && options.sync === true
    const fault = await this.#disk.step('level', 'write', this.#life)
    this.#assertOpen()
    if (this.#refusesWrites) throw new DiskFault('EIO')
    if (fault?.kind === 'full') {
      this.#disk.log.tear()
      throw new DiskFault('ENOSPC')
    }
    if (fault?.kind === 'zombie') {
      this.#refusesWrites = true
      this.#disk.log.append(changes, false)
      throw new DiskFault('EIO')
    }
    if (fault !== null && fault.kind !== 'crash') throw failureOf(fault)
    this.#disk.log.append(changes, isSynced)
    this.#records = applyBatch(this.#records, changes)
    this.#disk.after(fault, this.#life)
  }

  iterator<K, V>(options: RangeOptions): Iterator<[K, V]> {
    return new Iterator(this.#range(options), this.#iteratorStep, ({ key, value }) => [
      key as K,
      value as V,
    ])
  }

  keys<K>(options: RangeOptions): Iterator<K> {
    return new Iterator(this.#range(options), this.#iteratorStep, ({ key }) => key as K)
  }

  async compactRange(): Promise<void> {
    this.#assertOpen()
    const fault = await this.#disk.step('level', 'compact', this.#life)
    this.#assertOpen()
    if (fault !== null && fault.kind !== 'crash') throw failureOf(fault)
    this.#disk.log.flush()
    this.#disk.after(fault, this.#life)
  }

  #iteratorStep = async (take: () => readonly StoredRecord[]): Promise<readonly StoredRecord[]> => {
    this.#assertOpen()
    const fault = await this.#disk.step('level', 'iterate', this.#life)
    this.#assertOpen()
    if (fault !== null && !isOfValue(fault) && fault.kind !== 'crash') throw failureOf(fault)
    const taken = [...take()]
    if (fault !== null && isOfValue(fault) && taken.length > 0) {
      const at = this.#disk.below(taken.length)
      const record = taken[at]
      if (record !== undefined) {
        taken[at] = { ...record, value: this.#damaged(fault, record.key, record.value) }
      }
    }
    this.#disk.after(fault, this.#life)
    return taken
  }

  #valueOf(key: unknown, options: ReadOptions): Uint8Array | undefined {
    return valueIn(this.#recordsOf(options), key)
  }

  #read(
    fault: Fault | null,
    key: unknown,
    find: () => Uint8Array | undefined,
  ): Uint8Array | undefined {
    this.#assertOpen()
    if (fault === null || fault.kind === 'crash') return find()
    if (!isOfValue(fault)) throw failureOf(fault)
    const value = find()
    return value === undefined ? undefined : this.#damaged(fault, bytesOf(key), value)
  }

  #damaged(fault: Fault, key: Uint8Array, value: Uint8Array): Uint8Array {
    if (fault.kind === 'flip') return flipBit(value, this.#disk.below(value.length * 8))
    // A misdirected read usually returns the neighbouring record.
    const at = lowerBound(this.#records, key)
    const other = this.#records[at + 1] ?? this.#records[at - 1]
    return other?.value ?? value
  }

  #range({ gte, lt, limit, reverse = false, ...options }: RangeOptions): StoredRecord[] {
    const records = this.#recordsOf(options)
    const from = gte === undefined ? 0 : lowerBound(records, bytesOf(gte))
    const to = lt === undefined ? records.length : lowerBound(records, bytesOf(lt))
    const count = limit === undefined || limit < 0 ? to - from : Math.min(limit, to - from)
    if (count <= 0) return []
    return reverse ? records.slice(to - count, to).reverse() : records.slice(from, from + count)
  }

  #recordsOf({ snapshot }: ReadOptions): SortedRecords {
    this.#assertOpen()
    if (snapshot === undefined) return this.#records
    if (snapshot instanceof FaultSnapshot) return snapshot.records
    throw new TypeError('A snapshot of another database')
  }

  #assertOpen(): void {
    if (this.#life.isOver) throw new DiskGone('The process has ended')
    if (this.#status !== 'open') {
      throw codedError('LEVEL_DATABASE_NOT_OPEN', 'Database is not open')
    }
  }
}

/** A frozen state of the database. */
export class FaultSnapshot {
  readonly #records: SortedRecords
  #isClosed = false

  constructor(records: SortedRecords) {
    this.#records = records
  }

  get records(): SortedRecords {
    if (this.#isClosed) throw codedError('LEVEL_SNAPSHOT_NOT_OPEN', 'Snapshot is not open')
    return this.#records
  }

  /** A snapshot holds nothing that closing would free. */
  ref(): void {}
  unref(): void {}

  async close(): Promise<void> {
    this.#isClosed = true
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

type Step = (take: () => readonly StoredRecord[]) => Promise<readonly StoredRecord[]>

class Iterator<T> {
  readonly #records: StoredRecord[]
  readonly #step: Step
  readonly #show: (record: StoredRecord) => T

  constructor(records: StoredRecord[], step: Step, show: (record: StoredRecord) => T) {
    this.#records = records
    this.#step = step
    this.#show = show
  }

  async nextv(count: number): Promise<T[]> {
    if (count < 1) return []
    const most = Math.min(count, ITERATOR_RECORDS_MAX)
    const taken = await this.#step(() => this.#records.splice(0, most))
    return taken.map(this.#show)
  }

  async all(): Promise<T[]> {
    const taken = await this.#step(() => this.#records.splice(0))
    return taken.map(this.#show)
  }

  async close(): Promise<void> {
    this.#records.length = 0
  }
}

function valueIn(records: SortedRecords, key: unknown): Uint8Array | undefined {
  return findRecord(records, bytesOf(key))?.value
}

function isOfValue({ kind }: Fault): boolean {
  return kind === 'flip' || kind === 'misdirect'
}

export function flipBit(value: Uint8Array, bit: number): Uint8Array {
  const flipped = Uint8Array.from(value)
  const at = bit >>> 3
  const byte = flipped[at]
  if (byte !== undefined) flipped[at] = byte ^ (1 << (bit & 7))
  return flipped
}

function failureOf({ kind }: Fault): DiskFault {
  return new DiskFault(kind === 'full' ? 'ENOSPC' : 'EIO')
}

/** The error of abstract-level for a database that is not open, with its cause. */
function notOpen(cause: Error): Error {
  return Object.assign(new Error('Database failed to open', { cause }), {
    code: 'LEVEL_DATABASE_NOT_OPEN',
  })
}

function codedError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}

function bytesOf(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value
  throw new TypeError('Keys and values are bytes here: the encoding is `view`')
}
