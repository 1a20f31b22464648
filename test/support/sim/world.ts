// One disk, and the stores that live on it one after the other.
import type { KvStore, ObjectStore, Store, StoreOptions, Team } from '../../../src/index.js'
import { isStoreError, openLevelKv, openStore, type StoreError } from '../../../src/index.js'
import type { FaultDiskOptions } from '../../conformance/faults/fault-disk.js'
import { FaultDisk } from '../../conformance/faults/fault-disk.js'
import type { Fault, FaultPlan } from '../../conformance/faults/fault-plan.js'
import { Mismatch, show } from '../model/operation.js'
import { FakeClock, seededRandom } from '../model/seeded.js'
import type { Outcome } from './oracle.js'
import { beginProcess } from './virtual-time.js'

export const TEAM = 'acme'

const STORE_NAME = new TextEncoder().encode('the store of sim')

const FIRST_RECORD = [Uint8Array.of(0xfe), new Uint8Array(0)] as const

export type SimOptions = Readonly<{
  disk: FaultDiskOptions
  store: StoreOptions
  kv: Readonly<{ commitRecordsMin: number; checkpointBatches: number; recordCacheBytes: number }>
  /** Whether the store opens its database again by itself after a failed write. */
  reopens: boolean
}>

/** Why something may fail: what was met since the store was opened, or ever. */
export type Excuses = {
  /** A step failed: until the next open. */
  io: boolean
  /** A read gave wrong bytes: until the next open. */
  misread: boolean
  /** What is on the disk is damaged: for ever. */
  damaged: boolean
}

const IO_CODES: ReadonlySet<string> = new Set([
  'STORAGE_UNAVAILABLE',
  'INSUFFICIENT_STORAGE',
  'STORE_CLOSED',
])
const DAMAGE_CODES: ReadonlySet<string> = new Set(['DATA_CORRUPT', 'DATA_LOSS'])

export class SimWorld {
  readonly disk: FaultDisk
  readonly clock = new FakeClock()
  readonly excuses: Excuses = { io: false, misread: false, damaged: false }
  readonly options: SimOptions
  readonly #random: NonNullable<StoreOptions['random']>
  #store: Store | undefined
  #ports: Readonly<{ kv: KvStore; objects: ObjectStore }> | undefined
  #wasWritten = false
  #processes = 0

  constructor(options: SimOptions, seed: number) {
    this.options = options
    this.disk = new FaultDisk(options.disk)
    this.#random = seededRandom(seed)
  }

  get store(): Store {
    if (this.#store === undefined) throw new Error('The store is open')
    return this.#store
  }

  get team(): Team {
    return this.store.team(TEAM)
  }

  get kv(): KvStore {
    if (this.#ports === undefined) throw new Error('The store is open')
    return this.#ports.kv
  }

  get objects(): ObjectStore {
    if (this.#ports === undefined) throw new Error('The store is open')
    return this.#ports.objects
  }

  /** Steps meet the plan's faults from here on. */
  arm(plan: FaultPlan): void {
    this.disk.faults = (step) => {
      const fault = plan(step)
      if (fault !== null) this.#excuse(fault)
      return fault
    }
  }

  disarm(): void {
    this.disk.faults = () => null
  }

  async open(): Promise<void> {
    const { kv, store, reopens } = this.options
    const process = ++this.#processes
    beginProcess(() => process === this.#processes && !this.disk.isDown)
    const database = this.disk.level()
    const source = reopens ? firstThen(database, () => this.disk.level()) : database
    const highWater = { file: this.disk.file(), store: STORE_NAME }
    try {
      const opened = await openLevelKv(source, { ...kv, highWater, written: this.#wasWritten })
      // A database begins with a commit, so that one without any is known to be damaged.
      if (!this.#wasWritten) await opened.partition('').commit({ puts: [FIRST_RECORD] })
      this.#wasWritten = true
      this.#ports = { kv: opened, objects: this.disk.objects() }
      this.#store = await openStore({
        ...store,
        sweepIntervalMs: 0,
        foldIntervalMs: 0,
        fileSweepIntervalMs: 0,
        clock: this.clock,
        random: this.#random,
        ...this.#ports,
      })
    } catch (failure) {
      await database.close().catch(() => this.disk.crash('process'))
      throw failure
    }
  }

  /** Ends the process, in order if it can be, and then the machine or not. */
  async end(losesPower: boolean): Promise<void> {
    const store = this.#store
    this.#store = undefined
    this.#ports = undefined
    if (store !== undefined && !this.disk.isDown) {
      const outcome = await this.outcomeOf(() => store.close())
      if (outcome.kind !== 'done') this.disk.crash('process')
    }
    if (losesPower) this.disk.crash('machine')
    else if (!this.disk.isDown) this.disk.crash('process')
    this.disarm()
    this.excuses.io = false
    this.excuses.misread = false
  }

  /** @throws {Mismatch} for a failure that nothing excuses, or that is no StoreError. */
  async outcomeOf(run: () => Promise<unknown>): Promise<Outcome> {
    try {
      return { kind: 'done', value: await run() }
    } catch (failure) {
      if (!isStoreError(failure)) throw new Mismatch(`It failed with ${show(failure)}`)
      if (this.disk.isDown || failure.outcome === 'unknown') {
        if (!this.excuses.io && !this.disk.isDown) throw this.#unexcused(failure)
        return { kind: 'unknown' }
      }
      const { io, misread, damaged } = this.excuses
      const isIo = IO_CODES.has(failure.code)
      const isDamage = DAMAGE_CODES.has(failure.code)
      if (isIo && !io && !damaged) throw this.#unexcused(failure)
      if (isDamage && !misread && !damaged) throw this.#unexcused(failure)
      return { kind: 'failed', failure: failure as StoreError }
    }
  }

  /** Whether a failure comes from the disk, and says nothing about what is stored. */
  isOfDisk({ code }: StoreError): boolean {
    return IO_CODES.has(code) || DAMAGE_CODES.has(code)
  }

  #unexcused(failure: unknown): Mismatch {
    return new Mismatch(`Nothing excuses ${show(failure)}`)
  }

  #excuse({ kind }: Fault): void {
    if (kind === 'flip' || kind === 'misdirect') this.excuses.misread = true
    else if (kind !== 'delay') this.excuses.io = true
  }
}

/** Gives the first one first, so that whoever made it can close it when the opening fails. */
function firstThen<T>(first: T, next: () => T): () => T {
  let isFirst = true
  return () => {
    if (!isFirst) return next()
    isFirst = false
    return first
  }
}
