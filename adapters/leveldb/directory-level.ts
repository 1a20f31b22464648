// The LevelDB of a directory.
import type { Bytes } from '../../src/base/bytes.js'
import { type LevelOperation, storageError } from '../../src/kv/level-database.js'
import { ClassicLevel } from './classic-level.js'

/**
 * The internal methods of a chained batch. They lack the checks, encodings, hooks and events of its public methods,
 * which are not needed here. abstract-level documents them for implementations.
 */
type BareBatch = Readonly<{
  _put(key: Bytes, value: Bytes): void
  _del(key: Bytes): void
  _clear(): void
  _write(options: { sync: boolean }): Promise<void>
}>

/** The internal method for an array batch. */
type BareLevel = Readonly<{
  _batch(operations: readonly LevelOperation[], options: { sync: boolean }): Promise<void>
}>

export class DirectoryLevel extends ClassicLevel<Bytes, Bytes> {
  /** An idle batch for reuse: a new one stays in memory until the next garbage collection. */
  #idle: BareBatch | undefined

  /** Writes a small batch operation by operation, bypassing the checks of the public methods (PERFORMANCE.md, P26, P27). */
  writeSmall(operations: readonly LevelOperation[], sync: boolean): Promise<void> {
    try {
      // Throws if the database is not open.
      const batch = this.status === 'open' && this.#idle ? this.#idle : bare(this.batch())
      this.#idle = undefined
      for (const operation of operations) {
        if (operation.type === 'put') batch._put(operation.key, operation.value)
        else batch._del(operation.key)
      }
      return batch._write({ sync }).then(() => {
        batch._clear()
        if (this.status === 'open') this.#idle = batch
      })
    } catch (failure) {
      return Promise.reject(failure)
    }
  }

  /** Writes a large batch, bypassing the public method's copies of the operations (PERFORMANCE.md, P45). */
  async writeLarge(operations: LevelOperation[], sync: boolean): Promise<void> {
    if (this.status !== 'open')
      await this.batch(operations, { sync }) // Throws, because the database is not open.
    else await (this as unknown as BareLevel)._batch(operations, { sync })
  }

  /** Closes the idle batch too. */
  override async close(): Promise<void> {
    this.#idle = undefined
    await super.close()
  }
}

function bare(batch: object): BareBatch {
  return batch as BareBatch
}

/**
 * Whether another process has a database open that this process does not have open. LevelDB checks the lock before it
 * checks whether the database exists.
 */
export async function isLocked(folder: string): Promise<boolean> {
  const probe = new ClassicLevel(folder, { createIfMissing: false, errorIfExists: true })
  try {
    await probe.open()
    await probe.close()
    return false
  } catch (failure) {
    return storageError(failure, 'The database cannot be opened').code === 'STORE_LOCKED'
  }
}
