// The LevelDB of a directory.
import type { Bytes } from '../../src/base/bytes.js'
import { type LevelOperation, storageError } from '../../src/kv/level-database.js'
import { ClassicLevel } from './classic-level.js'

export class DirectoryLevel extends ClassicLevel<Bytes, Bytes> {
  /** Writes a small batch operation by operation (PERFORMANCE.md, P26). */
  async writeSmall(operations: readonly LevelOperation[], sync: boolean): Promise<void> {
    const batch = this.batch() // Throws if the database is not open.
    for (const operation of operations) {
      if (operation.type === 'put') batch.put(operation.key, operation.value)
      else batch.del(operation.key)
    }
    await batch.write({ sync })
  }
}

/**
 * Whether another process has a database open that this process does not have open. LevelDB checks its lock first, and
 * then only whether a database exists.
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
