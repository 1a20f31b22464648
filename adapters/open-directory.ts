import type { Store, StoreOptions } from '../src/index.js'
import { openStore } from '../src/index.js'
import { checkStoreOptions } from '../src/internal.js'
import type { UrlFetcher } from '../src/ports.js'
import { checkOptionNames, resolvePath } from './base/arguments.js'
import { publishEvent } from './base/diagnostics.js'
import { type DirectoryPortOptions, openDirectoryPorts } from './directory/directory.js'
import { nodeSources } from './sources/source-fetch.js'
import type { SourceOptions } from './sources/source-options.js'

/** Options of `openDirectory`. Unknown names are refused. */
export interface DirectoryOptions extends Omit<StoreOptions, 'sources'>, DirectoryPortOptions {
  /**
   * Options of the built-in fetcher of source URLs, or another fetcher. Default: the built-in one, which fetches from
   * public addresses only.
   */
  readonly sources?: SourceOptions | UrlFetcher
}

/** Options of `openStore` that `openDirectory` sets itself. */
const OWN_OPTIONS: readonly string[] = ['kv', 'objects', 'afterClose']

/**
 * Opens the store in a directory, or creates one if the directory is missing or empty. Only one process may have a
 * directory open, and only once; `waitMs` waits for it. Network file systems are not supported.
 *
 * On a full disk the store opens for reading, with a warning, if another disk has room for a few files; writes fail
 * with INSUFFICIENT_STORAGE until there is room.
 * @param path - A path, or a `file:` URL.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR (the path), OPTION_NOT_ALLOWED, STORE_LOCKED, FORMAT_UNKNOWN (the
 *   directory contains something else and was not touched), DATA_LOSS, DATA_CORRUPT, STORAGE_UNAVAILABLE,
 *   INSUFFICIENT_STORAGE
 * @example
 * import { openDirectory } from 'rowstash/node'
 *
 * const store = await openDirectory(directory)
 * const { tableId } = await store.team('acme').createTable({ name: 'Orders', rows: { csv: 'id,total\n1,34.50' } })
 * await store.close()
 *
 * const again = await openDirectory(directory)
 * console.log((await again.team('acme').table(tableId).page()).rows[0]?.total) // 34.5
 * await again.close()
 */
export async function openDirectory(
  path: string | URL,
  options: DirectoryOptions = {},
): Promise<Store> {
  const directory = resolvePath('The directory', path)
  checkOptionNames('openDirectory', options, (name) => !OWN_OPTIONS.includes(name))
  const {
    sources: given = {},
    acceptLoss,
    durability,
    flushMs,
    waitMs,
    onEvent,
    ...others
  } = options
  const storeOptions = {
    ...others,
    onEvent: publishing(onEvent),
    sources: isSources(given) ? given : nodeSources(given),
  }
  // Before a new directory is made: wrong options must not leave one.
  checkStoreOptions(storeOptions)
  const { kv, objects, close } = await openDirectoryPorts(directory, {
    acceptLoss,
    durability,
    flushMs,
    waitMs,
  })
  try {
    return await openStore({ ...storeOptions, kv, objects, afterClose: close })
  } catch (failure) {
    await close()
    throw failure
  }
}

/** Publishes each event, and passes it on. A value that is no function goes to `openStore`, which refuses it. */
function publishing(onEvent: StoreOptions['onEvent']): StoreOptions['onEvent'] {
  if (onEvent === undefined) return publishEvent
  if (typeof onEvent !== 'function') return onEvent
  return (event) => {
    publishEvent(event)
    return onEvent(event) // `openStore` gets its promise, too.
  }
}

/** Values that are neither a fetcher nor options go to `openStore`, which refuses them by name. */
function isSources(given: SourceOptions | UrlFetcher): given is UrlFetcher {
  return typeof given !== 'object' || given === null || 'fetch' in given
}
