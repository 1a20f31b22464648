// A disk in memory that fails on a test's command: one database, the objects and a file.
//
//     const disk = new FaultDisk({ seed: 1 })
//     disk.faults = nthStep(7, { kind: 'crash', side: 'before', of: 'machine' })
//     const kv = await openLevelKv(disk.level())
//     const store = await openStore({ kv, objects: disk.objects() })
//
// After a crash, `level()` and `objects()` of the same disk are those of the next process.

import { booleanOption, choiceOption, integerOptions } from '../../../src/base/options.js'
import type { HighWaterFile, LevelDatabase, ObjectStore } from '../../../src/ports.js'
import { CRASHES, checkWord } from '../argument-checks.js'
import { FaultFile, FileBytes } from './fault-file.js'
import { type DiskAccess, FaultLevel, flipBit, type Life } from './fault-level.js'
import { FaultLog, type LossModel } from './fault-log.js'
import { FaultObjects, ObjectFiles } from './fault-objects.js'
import { DiskGone, type Fault, type FaultPlan, NO_FAULTS, type PortStep } from './fault-plan.js'
import type { SortedRecords } from './sorted-records.js'

/** Options of a `FaultDisk`. Unknown names are rejected. */
export type FaultDiskOptions = Readonly<{
  /** Seed that decides what a crash leaves, and which bit a fault flips. Default: 0. Range: 0 to 2^32 - 1. */
  seed?: number
  /**
   * The bytes that a sync covers. `leveldb`: the current log, so that a synced batch may survive an earlier batch that
   * was not synced. `prefix`: everything before it. Default: `leveldb`.
   */
  model?: LossModel
  /** Bytes of a log before the next one begins. Default: 4 MiB, as in LevelDB. Range: 1 to 2^53 - 1. */
  logBytesMax?: number
  /** Whether a second opening is refused while one is open. Default: true. */
  locks?: boolean
  /** Whether the database offers synchronous point reads. Otherwise every read can be delayed. Default: true. */
  getSync?: boolean
}>

/** Damage at rest: to a record, to the log (one batch, or its end), or to an object. */
export type Damage =
  | 'flipRecord'
  | 'swapRecords'
  | 'dropRecord'
  | 'dropBatch'
  | 'cutLog'
  | 'flipObject'
  | 'cutObject'
  | 'loseObject'
  | 'swapObjects'

/** All kinds. */
export const DAMAGES: readonly Damage[] = [
  'flipRecord',
  'swapRecords',
  'dropRecord',
  'dropBatch',
  'cutLog',
  'flipObject',
  'cutObject',
  'loseObject',
  'swapObjects',
]

const RANGES = {
  seed: { default: 0, min: 0, max: 2 ** 32 - 1 },
  logBytesMax: { default: 4 * 1024 * 1024, min: 1, max: Number.MAX_SAFE_INTEGER },
}

/**
 * A disk in memory that fails on a test's command: a database, objects and a file, which survive a crash as on a real
 * disk.
 * @example
 * import { openLevelKv, openStore } from 'rowstash'
 * import { FaultDisk } from 'rowstash/testing'
 *
 * const disk = new FaultDisk({ seed: 7 })
 * const store = await openStore({ kv: await openLevelKv(disk.level()), objects: disk.objects() })
 * const { tableId } = await store.team('acme').createTable({ name: 'Orders', rows: [{ id: 1 }] })
 * disk.crash('machine') // a power cut: what was not synced is lost, or not
 * await using again = await openStore({ kv: await openLevelKv(disk.level()), objects: disk.objects() })
 * console.log(await again.team('acme').table(tableId).count()) // 1
 */
export class FaultDisk {
  /** Decides the faults of the following steps. */
  faults: FaultPlan = NO_FAULTS
  /** Called when the process ends. */
  onCrash: () => void = () => {}
  readonly #files = new ObjectFiles()
  readonly #fileBytes = new FileBytes()
  readonly #log: FaultLog
  readonly #locks: boolean
  readonly #getSync: boolean
  #state: number
  #life: Life = { isOver: false }
  #steps = 0
  #user: object | null = null
  #hasLostPower = false

  /** @throws {StoreError} OPTION_NOT_ALLOWED */
  constructor(options: FaultDiskOptions = {}) {
    const others = ['model', 'locks', 'getSync']
    const { seed, logBytesMax } = integerOptions('FaultDisk', options, RANGES, others)
    const model = choiceOption('model', options.model, ['leveldb', 'prefix'])
    this.#getSync = booleanOption('getSync', options.getSync, true)
    this.#state = (Math.imul(seed, 0x9e3779b1) ^ 0x6a09e667) | 1
    this.#locks = booleanOption('locks', options.locks, true)
    this.#log = new FaultLog({ model, logBytesMax, below: (limit) => this.#below(limit) })
  }

  /** Number of steps of its ports so far. */
  get steps(): number {
    return this.#steps
  }

  /** Whether the process on the disk has ended. */
  get isDown(): boolean {
    return this.#life.isOver
  }

  /** Number of batches that the database has written so far. */
  get batches(): number {
    return this.#log.batches
  }

  /** Whether the machine has ever crashed. */
  get hasLostPower(): boolean {
    return this.#hasLostPower
  }

  /** The numbers of batches lost in power cuts since the last call. */
  takeLost(): readonly number[] {
    return this.#log.takeLost()
  }

  /** The database, not yet open. */
  level(): LevelDatabase {
    this.#begin()
    return new FaultLevel(this.#access, this.#life, this.#getSync)
  }

  /** @param syncs - Whether a put waits for the disk. */
  objects(syncs = true): ObjectStore {
    this.#begin()
    return new FaultObjects(this.#access, this.#files, this.#life, syncs)
  }

  /** A file for the high-water mark of the database. */
  file(): HighWaterFile {
    this.#begin()
    return new FaultFile(this.#access, this.#fileBytes, this.#life)
  }

  /**
   * Ends the process: nothing that it still does has an effect. What the process wrote remains, unless the machine
   * crashes with it: then unsynced data is lost, kept, or kept in part.
   * @throws {StoreError} REQUEST_VALIDATION_ERROR
   */
  crash(of: 'process' | 'machine'): void {
    checkWord('of', of, CRASHES)
    if (!this.#life.isOver) {
      this.#life.isOver = true
      this.#user = null
      this.onCrash()
    }
    if (of === 'machine') {
      this.#hasLostPower = true
      this.#log.losePower()
      this.#files.losePower((limit) => this.#below(limit))
      this.#fileBytes.losePower((limit) => this.#below(limit))
    }
  }

  /**
   * Damages stored data while nobody uses it.
   * @returns whether there was something to damage
   * @throws {StoreError} REQUEST_VALIDATION_ERROR
   */
  damage(kind: Damage): boolean {
    checkWord('kind', kind, DAMAGES)
    const below = (limit: number): number => this.#below(limit)
    switch (kind) {
      case 'dropBatch':
        return this.#log.dropBatch()
      case 'cutLog':
        return this.#log.cutTail()
      case 'flipObject':
        return this.#files.damage('flip', below) !== null
      case 'cutObject':
        return this.#files.damage('cut', below) !== null
      case 'loseObject':
        return this.#files.damage('lose', below) !== null
      case 'swapObjects':
        return this.#files.damage('swap', below) !== null
      default:
        return this.#damageRecord(kind)
    }
  }

  #damageRecord(kind: 'flipRecord' | 'swapRecords' | 'dropRecord'): boolean {
    let isDone = false
    this.#log.rewrite((records) => {
      const at = this.#below(Math.max(1, records.length))
      const isBeside = this.#below(2) === 0
      const other = isBeside ? at + 1 : this.#below(Math.max(1, records.length))
      const changed = changeRecord(records, kind, { at, other }, (bits) => this.#below(bits))
      isDone = changed !== records
      return changed
    })
    return isDone
  }

  /** The first port opened after a crash begins a new process. */
  #begin(): void {
    if (this.#life.isOver) this.#life = { isOver: false }
  }

  readonly #access: DiskAccess = (() => {
    const disk = this
    return {
      get log() {
        return disk.#log
      },
      step: (port, operation, life) => disk.#step(port, operation, life),
      stepNow: (port, operation, life) => {
        const fault = disk.#stepNow(port, operation, life)
        return fault?.kind === 'delay' ? null : fault
      },
      after: (fault, life) => disk.#after(fault, life),
      lock: (user) => disk.#lock(user),
      unlock: (user) => disk.#unlock(user),
      below: (limit) => disk.#below(limit),
    }
  })()

  async #step(
    port: PortStep['port'],
    operation: PortStep['operation'],
    life: Life,
  ): Promise<Fault | null> {
    const fault = this.#stepNow(port, operation, life)
    await undefined // A disk never completes a step synchronously.
    if (fault?.kind === 'delay') for (let turn = 0; turn < fault.turns; turn++) await undefined
    if (life.isOver) throw new DiskGone('The process has ended')
    return fault?.kind === 'delay' ? null : fault
  }

  #stepNow(port: PortStep['port'], operation: PortStep['operation'], life: Life): Fault | null {
    if (life.isOver) throw new DiskGone('The process has ended')
    const fault = this.faults({ port, operation, index: this.#steps++ })
    if (fault?.kind !== 'crash' || fault.side === 'after') return fault
    this.crash(fault.of)
    throw new DiskGone('The process has ended')
  }

  #after(fault: Fault | null, life: Life): void {
    if (fault?.kind === 'crash') this.crash(fault.of)
    if (life.isOver) throw new DiskGone('The process has ended')
  }

  #lock(user: object): boolean {
    if (this.#locks && this.#user !== null) return false
    this.#user = user
    return true
  }

  #unlock(user: object): void {
    if (this.#user === user) this.#user = null
  }

  /** Pseudo-random numbers (xorshift): the same for the same seed and the same calls. */
  #below(limit: number): number {
    this.#state ^= this.#state << 13
    this.#state ^= this.#state >>> 17
    this.#state ^= this.#state << 5
    return (this.#state >>> 0) % Math.max(1, limit)
  }
}

function changeRecord(
  records: SortedRecords,
  kind: 'flipRecord' | 'swapRecords' | 'dropRecord',
  { at, other }: Readonly<{ at: number; other: number }>,
  below: (limit: number) => number,
): SortedRecords {
  const record = records[at]
  const second = records[other]
  if (record === undefined || second === undefined) return records
  if (kind === 'dropRecord') return records.filter((one) => one !== record)
  if (kind === 'flipRecord') {
    const value = flipBit(record.value, below(record.value.length * 8))
    return records.map((one) => (one === record ? { ...record, value } : one))
  }
  if (record === second) return records
  return records.map((one) => {
    if (one === record) return { ...record, value: second.value }
    return one === second ? { ...second, value: record.value } : one
  })
}
