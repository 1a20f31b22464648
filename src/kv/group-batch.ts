// The operations of a batch. If the database copies a batch before its call returns, all batches reuse the memory of
// keys and values (PERFORMANCE.md, P55).
import type { Bytes } from '../base/bytes.js'
import { type LevelDatabase, type LevelOperation, SMALL_BYTES_MAX } from './level-database.js'
import type { BatchWrites, Prefix } from './level-views.js'
import { ENVELOPE_BYTES, payloadOf, sealInto } from './record-envelope.js'

/** The effect of a commit on a record. */
export type RecordChange = Readonly<{
  /** The LevelDB key as text. */
  text: string
  prefix: Prefix
  key: Bytes
  /** The new value of the record; null: the record is deleted. */
  payload: Bytes | null
}> & {
  /** The payload as a view of the batch's memory. */
  written: Bytes | null
}

/** Makes batches, one at a time. */
export class GroupBatches {
  /** Whether the next batch overwrites the memory of this one. */
  readonly #isReused: boolean
  readonly #memory: Uint8Array<ArrayBuffer>

  constructor({ writeSmall }: LevelDatabase) {
    this.#isReused = writeSmall !== undefined
    this.#memory = new Uint8Array(this.#isReused ? SMALL_BYTES_MAX : 0)
  }

  /**
   * @param changes - The changes of the batch, which the caller fills in later; they are passed to the caches of
   *   records.
   */
  next(changes: ReadonlyMap<string, RecordChange>): GroupBatch {
    return new GroupBatch(changes, this.#memory, this.#isReused)
  }
}

export class GroupBatch implements BatchWrites {
  readonly operations: LevelOperation[] = []
  readonly changes: ReadonlyMap<string, RecordChange>
  readonly isReused: boolean
  readonly #memory: Uint8Array<ArrayBuffer>
  #taken = 0

  constructor(
    changes: ReadonlyMap<string, RecordChange>,
    memory: Uint8Array<ArrayBuffer>,
    isReused: boolean,
  ) {
    this.changes = changes
    this.#memory = memory
    this.isReused = isReused
  }

  add(change: RecordChange): void {
    const { prefix, key, payload } = change
    const start = prefix.bytes.length
    const levelKey = this.#take(start + key.length)
    levelKey.set(prefix.bytes)
    levelKey.set(key, start)
    if (payload === null) this.operations.push({ type: 'del', key: levelKey })
    else change.written = this.#put(levelKey, payload)
  }

  /** @param key - The complete LevelDB key. */
  put(key: Bytes, payload: Bytes): void {
    const levelKey = this.#take(key.length)
    levelKey.set(key)
    this.#put(levelKey, payload)
  }

  /** @param key - The complete LevelDB key. */
  delete(key: Bytes): void {
    this.operations.push({ type: 'del', key })
  }

  /** Adds a put. @returns the payload as a view of the batch's memory. */
  #put(key: Bytes, payload: Bytes): Bytes {
    const value = this.#take(ENVELOPE_BYTES + payload.length)
    sealInto(value, key, payload)
    this.operations.push({ type: 'put', key, value })
    return payloadOf(value)
  }

  #take(count: number): Uint8Array<ArrayBuffer> {
    const at = this.#taken
    if (at + count > this.#memory.length) return new Uint8Array(count)
    this.#taken = at + count
    return new Uint8Array(this.#memory.buffer, at, count)
  }
}
