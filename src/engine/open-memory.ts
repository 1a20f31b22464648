import { requirePackage } from '../base/platform.js'
import { openLevelKv } from '../kv/level-kv.js'
import { memoryObjects } from '../objects/memory-objects.js'
import { resolveStoreOptions } from './arguments/resolve-options.js'
import { openStore } from './store.js'
import type { StoreOptions } from './types/store-options.js'
import type { Store } from './types/store-types.js'

/**
 * Opens an empty store in memory, for tests. Its data is gone when it is closed.
 * @throws {StoreError} OPTION_NOT_ALLOWED
 * @example
 * import { openMemory } from 'rowstash'
 *
 * const store = await openMemory()
 * const { tableId } = await store.team('acme').createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
 * console.log(await store.team('acme').table(tableId).count()) // 2
 * await store.close()
 */
export async function openMemory(options: StoreOptions = {}): Promise<Store> {
  resolveStoreOptions(options)
  const { MemoryLevel } = await loadMemoryLevel()
  const database = new MemoryLevel<Uint8Array, Uint8Array>({
    keyEncoding: 'view',
    valueEncoding: 'view',
  })
  return openStore({ ...options, kv: await openLevelKv(database), objects: memoryObjects() })
}

type MemoryLevelPackage = typeof import('memory-level')

async function loadMemoryLevel(): Promise<MemoryLevelPackage> {
  const required = requirePackage('memory-level', import.meta.url)
  return (required as MemoryLevelPackage | undefined) ?? import('memory-level')
}
