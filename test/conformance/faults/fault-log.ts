// The parts of a LevelDB database on the disk: tables, which are durable, and logs, which are durable as far as they
// were synced. The behaviour was measured on LevelDB 1.20 (src/kv/LEVELDB.md, F3 to F8).
//
// - A batch is in one log, whole or not at all. A full log is followed by the next one, and becomes a durable table
//   some writes later.
// - In the model `leveldb` a sync covers the current log, not the previous one. In the model `prefix` it covers all
//   logs, so that a crash only loses the latest batches.
// - After a full disk, later batches of the same log are lost when the log is read again.
import type { RecordChange, SortedRecords } from './sorted-records.js'
import { applyBatch, NO_RECORDS } from './sorted-records.js'

/** What a power cut may lose: see `FaultDiskOptions.model`. */
export type LossModel = 'prefix' | 'leveldb'

type LoggedBatch = {
  /** The batch's number from 1, counted over all logs and processes. */
  readonly number: number
  readonly changes: readonly RecordChange[]
  isSynced: boolean
}

type Log = {
  readonly batches: LoggedBatch[]
  bytes: number
  /** Whether a torn record hides the batches after it. */
  isTorn: boolean
  /** Writes until the log becomes a table. */
  writesToTable: number
}

export type FaultLogOptions = Readonly<{
  model: LossModel
  logBytesMax: number
  /** A number from 0 to `limit` - 1. */
  below: (limit: number) => number
}>

const WRITES_TO_TABLE_MAX = 6

export class FaultLog {
  readonly #options: FaultLogOptions
  #tables: SortedRecords = NO_RECORDS
  #logs: Log[] = []
  #batches = 0
  #lost: number[] = []

  constructor(options: FaultLogOptions) {
    this.#options = options
  }

  /** Number of batches written to a log so far, including lost ones. */
  get batches(): number {
    return this.#batches
  }

  /** The numbers of batches lost in power cuts since the last call, in order. */
  takeLost(): readonly number[] {
    return this.#lost.splice(0)
  }

  /** Reads the logs as an opening does, and makes a table of them. */
  recover(): SortedRecords {
    for (const { batches } of this.#logs) {
      for (const { changes } of batches) this.#tables = applyBatch(this.#tables, changes)
    }
    this.#logs = []
    return this.#tables
  }

  append(changes: readonly RecordChange[], isSynced: boolean): void {
    this.#ageOldLogs()
    const log = this.#current()
    log.bytes += changes.reduce((sum, change) => sum + sizeOf(change), 0)
    if (!log.isTorn) log.batches.push({ number: ++this.#batches, changes, isSynced })
    if (isSynced) this.#sync(log)
    if (log.bytes >= this.#options.logBytesMax) this.#logs.push(this.#newLog())
  }

  /** The disk is full: batches written to this log from here on are lost. */
  tear(): void {
    this.#current().isTorn = true
  }

  /** Makes tables of all logs. */
  flush(): void {
    this.#logs = this.#logs.filter((log) => !this.#makeTable(log))
  }

  /** The machine crashes: each log keeps some of the first batches that were not synced. */
  losePower(): void {
    let isCut = false
    for (const log of this.#logs) {
      const synced = log.batches.findLastIndex((batch) => batch.isSynced) + 1
      const kept = isCut ? synced : synced + this.#options.below(log.batches.length - synced + 1)
      if (kept < log.batches.length && this.#options.model === 'prefix') isCut = true
      for (const { number } of log.batches.slice(kept)) this.#lost.push(number)
      log.batches.length = kept
      for (const batch of log.batches) batch.isSynced = true
    }
  }

  /** Drops a batch that is not the last, as LevelDB does if its checksum fails. */
  dropBatch(): boolean {
    const logs = this.#logs.filter(({ batches }) => batches.length > 0)
    const count = logs.reduce((sum, { batches }) => sum + batches.length, 0) - 1
    if (count < 1) return false
    let at = this.#options.below(count)
    for (const { batches } of logs) {
      if (at < batches.length) {
        batches.splice(at, 1)
        return true
      }
      at -= batches.length
    }
    return false
  }

  /** Cuts off the last batches, as if the end of a log was lost. */
  cutTail(): boolean {
    const log = this.#logs.findLast(({ batches }) => batches.length > 0)
    if (log === undefined) return false
    log.batches.length = this.#options.below(log.batches.length)
    return true
  }

  /** Replaces the content of the tables: damage at rest. */
  rewrite(change: (records: SortedRecords) => SortedRecords): void {
    this.#tables = change(this.recover())
  }

  #current(): Log {
    const last = this.#logs[this.#logs.length - 1]
    if (last !== undefined) return last
    const log = this.#newLog()
    this.#logs.push(log)
    return log
  }

  #newLog(): Log {
    const writesToTable = 1 + this.#options.below(WRITES_TO_TABLE_MAX)
    return { batches: [], bytes: 0, isTorn: false, writesToTable }
  }

  #sync(log: Log): void {
    const covered = this.#options.model === 'prefix' ? this.#logs : [log]
    for (const { batches } of covered) for (const batch of batches) batch.isSynced = true
  }

  #ageOldLogs(): void {
    for (const old of this.#logs.slice(0, -1)) old.writesToTable--
    // In order: a later log never becomes a table before an earlier one.
    while (this.#logs.length > 1) {
      const [oldest] = this.#logs
      if (oldest === undefined || oldest.writesToTable > 0 || !this.#makeTable(oldest)) return
      this.#logs.shift()
    }
  }

  /** @returns false for a log of a full disk, which has no room for a table */
  #makeTable(log: Log): boolean {
    if (log.isTorn) return false
    for (const { changes } of log.batches) this.#tables = applyBatch(this.#tables, changes)
    return true
  }
}

function sizeOf(change: RecordChange): number {
  return change.key.length + (change.type === 'put' ? change.value.length : 0)
}
