// The LevelDB of a directory.
import { ClassicLevel } from 'classic-level'
import type { LevelOperation } from '../src/kv/level-database.js'

export class DirectoryLevel extends ClassicLevel<Uint8Array, Uint8Array> {
  /** An array of 16 operations takes the main thread 120 µs, the same ones given one by one 35. */
  async writeSmall(operations: readonly LevelOperation[], sync: boolean): Promise<void> {
    const batch = this.batch()
    for (const operation of operations) {
      if (operation.type === 'put') batch.put(operation.key, operation.value)
      else batch.del(operation.key)
    }
    await batch.write({ sync })
  }
}
