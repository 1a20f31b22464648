// A directory as the commands that speak HTTP see it: served to this process alone.
import { resolve } from 'node:path'
import { startServer } from '../http/start-server.js'
import { openDirectory } from '../open-directory.js'
import { makeKey } from './key-file.js'
import { QUIET } from './store-place.js'

/**
 * Serves a directory on a free port of this machine while a function runs, with a key that nobody else knows. A directory
 * without a store gets one.
 * @throws {StoreError} STORE_LOCKED if somebody else has it open, and as `openDirectory`
 */
export async function withServedDirectory<T>(
  directory: string,
  teamId: string,
  use: (server: Readonly<{ url: string; key: string }>) => Promise<T>,
): Promise<T> {
  const store = await openDirectory(resolve(directory), QUIET)
  try {
    const key = makeKey()
    const server = await startServer(store, { keys: [{ key, teamId }], port: 0 })
    try {
      return await use({ url: server.url, key })
    } finally {
      await server.close()
    }
  } finally {
    await store.close()
  }
}
