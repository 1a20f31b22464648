// One disk, and the stores that use it one after another.

import type { Store, StoreOptions, Team } from '../../../src/index.js'
import { isStoreError, openLevelKv, openStore, type StoreError } from '../../../src/index.js'
import type { Durability } from '../../../src/kv/batch-writer.js'
import type { KvStore, LevelDatabase, ObjectStore } from '../../../src/ports.js'
import type { FaultDiskOptions } from '../../conformance/faults/fault-disk.js'
import { FaultDisk } from '../../conformance/faults/fault-disk.js'
import { DiskGone, type Fault, type FaultPlan } from '../../conformance/faults/fault-plan.js'
import { testClock } from '../../conformance/test-clock.js'
import { joinedMaintenance, QUIET } from '../../support/maintenance.js'
import { Mismatch, show } from '../model/operation.js'
import { seededRandom } from '../model/seeded.js'
import type { Outcome } from './oracle.js'
import { beginProcess } from './virtual-time.js'

/** With these options a store compresses every segment at each garbage collection, however small, on each runtime. */
export const SETTLES = {
  compression: 'none',
  recompression: 'deflate',
  maintenance: { recompressionAgeMs: 0, recompressionSavingMin: 0 },
} satisfies StoreOptions

export const TEAM = 'acme'
export const OTHER_TEAM = 'other'

/** In `interval`, the milliseconds after which everything acknowledged is on the disk. */
export const FLUSH_MS = 50

const LAST_TURNS = 1_000

const STORE_NAME = new TextEncoder().encode('the store of sim')

const FIRST_RECORD = [Uint8Array.of(0xfe), new Uint8Array(0)] as const

export type SimOptions = Readonly<{
  disk: FaultDiskOptions
  store: StoreOptions
  kv: Readonly<{
    commitRecordsMin: number
    checkpointBatches: number
    recordCacheBytes: number
    durability: Durability
    /** In `interval`. */
    flushBytes?: number
  }>
  /** Whether the store reopens its database by itself after a failed write. */
  reopens: boolean
}>

/** What excuses failures: faults since the store was opened, or ever. */
export type Excuses = {
  /** A step failed: until the next open. */
  io: boolean
  /** A read returned wrong bytes: until the next open. */
  misread: boolean
  /** The content of the disk is damaged: for ever. */
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
  readonly clock = testClock()
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

  /** The plan's faults apply from here on. */
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

  async open(acceptLoss = false): Promise<void> {
    const { kv, store, reopens } = this.options
    // A database begins with a commit, so that one without any is known to be damaged.
    if (!this.#wasWritten && kv.durability !== 'commit') await this.#create()
    const process = ++this.#processes
    const isAlive = (): boolean => process === this.#processes && !this.disk.isDown
    beginProcess(isAlive)
    const database = this.disk.level()
    const source = reopens ? firstThen(database, () => this.#levelAgain(isAlive)) : database
    const highWater = { file: this.disk.file(), store: STORE_NAME }
    try {
      const given = {
        highWater,
        written: this.#wasWritten,
        acceptLoss,
        flushMs: FLUSH_MS,
      }
      const opened = await openLevelKv(source, { ...kv, ...given })
      if (!this.#wasWritten) await opened.partition('').commit({ puts: [FIRST_RECORD] })
      this.#wasWritten = true
      this.#ports = { kv: opened, objects: this.disk.objects(kv.durability !== 'none') }
      this.#store = await openStore({
        ...store,
        maintenance: joinedMaintenance(QUIET, store.maintenance),
        clock: this.clock,
        random: this.#random,
        ...this.#ports,
      })
    } catch (failure) {
      await database.close().catch(() => this.disk.crash('process'))
      throw failure
    }
  }

  #levelAgain(isAlive: () => boolean): LevelDatabase {
    if (!isAlive()) throw new DiskGone('The process has ended')
    return this.disk.level()
  }

  async #create(): Promise<void> {
    const highWater = { file: this.disk.file(), store: STORE_NAME }
    const kv = await openLevelKv(this.disk.level(), { highWater })
    await kv.partition('').commit({ puts: [FIRST_RECORD] })
    await kv.close()
    this.#wasWritten = true
  }

  /**
   * Ends the process, and perhaps the machine.
   * @param isSudden - Nothing is closed; otherwise it is if possible.
   * @returns whether it was closed properly, and nothing had failed before
   */
  async end(losesPower: boolean, isSudden = false): Promise<boolean> {
    const store = this.#store
    this.#store = undefined
    this.#ports = undefined
    let isClosed = false
    if (store !== undefined && !this.disk.isDown && !isSudden) {
      const outcome = await this.outcomeOf(() => store.close())
      if (outcome.kind !== 'done') this.disk.crash('process')
      isClosed = !this.disk.isDown && !this.excuses.io
    }
    if (losesPower) this.disk.crash('machine')
    else if (!this.disk.isDown) this.disk.crash('process')
    // Everything that the process was doing ends before the next one begins.
    for (let turn = 0; turn < LAST_TURNS; turn++) await undefined
    this.disarm()
    this.excuses.io = false
    this.excuses.misread = false
    return isClosed
  }

  /** @throws {Mismatch} for a failure that nothing excuses, or that is no StoreError */
  async outcomeOf(run: () => Promise<unknown>): Promise<Outcome> {
    try {
      return { kind: 'done', value: await run() }
    } catch (failure) {
      if (!isStoreError(failure)) throw new Mismatch(`It failed with ${show(failure)}`)
      const { io, misread, damaged } = this.excuses
      const isIo = IO_CODES.has(failure.code)
      const isDamage = DAMAGE_CODES.has(failure.code)
      if (this.disk.isDown || failure.outcome === 'unknown') {
        const isMisread = isDamage && (misread || damaged)
        if (!io && !this.disk.isDown && !isMisread) throw this.#unexcused(failure)
        return { kind: 'unknown' }
      }
      if (isIo && !io && !damaged) throw this.#unexcused(failure)
      if (isDamage && !misread && !damaged) throw this.#unexcused(failure)
      return { kind: 'failed', failure: failure as StoreError }
    }
  }

  /** Whether a failure comes from the disk, and says nothing about the stored data. */
  isOfDisk({ code }: StoreError): boolean {
    return IO_CODES.has(code) || DAMAGE_CODES.has(code)
  }

  isOfIo({ code }: StoreError): boolean {
    return IO_CODES.has(code)
  }

  #unexcused(failure: unknown): Mismatch {
    return new Mismatch(`Nothing excuses ${show(failure)}`)
  }

  #excuse({ kind }: Fault): void {
    if (kind === 'flip' || kind === 'misdirect') this.excuses.misread = true
    else if (kind !== 'delay') this.excuses.io = true
  }
}

/** Returns the first one first, so that its maker can close it when the opening fails. */
function firstThen<T>(first: T, next: () => T): () => T {
  let isFirst = true
  return () => {
    if (!isFirst) return next()
    isFirst = false
    return first
  }
}
