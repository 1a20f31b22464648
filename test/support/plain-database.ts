// A database like IndexedDB: it has no snapshots, and each read takes a turn or two.
import { MemoryLevel } from 'memory-level'
import type { LevelDatabase } from '../../src/kv/level-database.js'

/** @param pause - Waits before and after each read. */
export function plainDatabase(pause: () => Promise<unknown> = nextTurn): LevelDatabase {
  const level = new MemoryLevel<Uint8Array, Uint8Array>() as unknown as LevelDatabase
  const plain: Partial<LevelDatabase> = {
    supports: { explicitSnapshots: false, getSync: false },
    open: () => level.open(),
    close: () => level.close(),
    async getMany(keys, options) {
      if ('snapshot' in options) throw new Error('There are no snapshots')
      await pause()
      const values = await level.getMany(keys, options)
      await pause()
      return values
    },
    async batch(operations, options) {
      await pause()
      await level.batch(operations, options)
      await pause()
    },
    iterator(options) {
      if ('snapshot' in options) throw new Error('There are no snapshots')
      const iterator = level.iterator(options)
      return {
        async nextv(count) {
          await pause()
          const entries = await iterator.nextv(count)
          await pause()
          return entries
        },
        all: () => iterator.all(),
        close: () => iterator.close(),
      }
    },
    keys: (options) => level.keys(options),
  }
  return Object.defineProperty(plain, 'status', { get: () => level.status }) as LevelDatabase
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
