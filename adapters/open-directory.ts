import type { Store, StoreOptions } from '../src/index.js'
import { openStore } from '../src/index.js'
import { openDirectoryPorts } from './directory.js'

/**
 * Opens the store in a directory, and makes one if the directory is missing or empty.
 * One process may have a directory open, and once only. Network file systems are not supported.
 * @throws {StoreError} OPTION_NOT_ALLOWED, STORE_LOCKED, FORMAT_UNKNOWN (the directory holds something
 *   else and was not touched), DATA_LOSS, DATA_CORRUPT, STORAGE_UNAVAILABLE, INSUFFICIENT_STORAGE
 */
export async function openDirectory(path: string, options: StoreOptions = {}): Promise<Store> {
  const { kv, objects, close } = await openDirectoryPorts(path)
  try {
    return await openStore({ ...options, kv, objects, afterClose: close })
  } catch (failure) {
    await close()
    throw failure
  }
}
