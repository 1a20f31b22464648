// Writes batches with the durability that the store was opened with.
//
// `interval` acknowledges a batch before it is on disk, but loses only the newest batches in a power cut. LevelDB
// syncs only the log that it writes to, so a synced batch may survive although an earlier batch is lost with a log
// that was closed unsynced (LEVELDB.md, F6).
//
// Invariants in `interval`:
// - All bytes that are not on disk are in the current log: the memory table is flushed, which begins a new log, before
//   LevelDB would do so itself. A file that is only appended to loses only its end.
// - While LevelDB may begin a new log at any moment, as during a compaction, every batch is synced.
import type { LevelDatabase, LevelOperation } from './level-database.js'
import { flushMemory, operationBytes, writeBatch } from './level-database.js'

/** When a commit is acknowledged; see the option `durability`. */
export type Durability = 'commit' | 'interval' | 'none'

export type BatchWriterOptions = Readonly<{ durability: Durability; flushBytes: number }>

/** The maximum number of bytes that an operation takes in a memory table besides its key and value. */
const OPERATION_BYTES = 64

export class BatchWriter {
  readonly #database: LevelDatabase
  readonly #options: BatchWriterOptions
  /** Number of bytes written since the memory table was flushed. */
  #tableBytes = 0
  #isBehind = false
  #syncers = 0

  constructor(database: LevelDatabase, options: BatchWriterOptions) {
    this.#database = database
    this.#options = options
  }

  /** Whether batches are not on disk yet, but will be. */
  get isBehind(): boolean {
    return this.#isBehind
  }

  /** Whether all that was written is on disk. */
  get isDurable(): boolean {
    return this.#options.durability !== 'none' && !this.#isBehind
  }

  /**
   * Writes one batch. Must not run concurrently.
   * @param sync - Whether this batch and all earlier ones must be on disk when the promise resolves. It has no effect
   *   if the store never syncs.
   */
  write(operations: LevelOperation[], sync: boolean): Promise<void> {
    const { durability } = this.#options
    if (durability === 'interval') return this.#writeBehind(operations, sync)
    return writeBatch(this.#database, operations, durability === 'commit')
  }

  async #writeBehind(operations: LevelOperation[], sync: boolean): Promise<void> {
    const synced = sync || this.#syncers > 0
    await writeBatch(this.#database, operations, synced)
    this.#tableBytes += bytesOfBatch(operations)
    this.#isBehind = !synced
    // Without this, LevelDB itself would flush before its next write.
    if (this.#tableBytes > this.#options.flushBytes) await this.#flush()
  }

  /** Syncs every batch from now on, until the returned function is called. */
  syncAll(): () => void {
    this.#syncers++
    return () => {
      this.#syncers--
    }
  }

  async #flush(): Promise<void> {
    await flushMemory(this.#database)
    this.#tableBytes = 0
    this.#isBehind = false
  }
}

function bytesOfBatch(operations: readonly LevelOperation[]): number {
  let bytes = 0
  for (const operation of operations) bytes += OPERATION_BYTES + operationBytes(operation)
  return bytes
}
