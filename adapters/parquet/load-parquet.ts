import { isStoreError } from '../../src/index.js'
import type { ParquetEncoder } from '../../src/ports.js'
import { loadWriter } from './parquet-packages.js'
import { encodeParquet, SERVED_FILE } from './parquet-write.js'

/**
 * Loads the package `hyparquet-writer`, an optional peer, for the option `parquet` of `nodeHandler`. The encoder holds a
 * row group at a time, of at most 16,384 rows and 2 MiB of JSON, or one longer row, and lets other work run between its
 * columns. It refuses numbers that are no doubles, and files with more than 8 MiB of metadata.
 *
 * @throws {StoreError} OPTION_NOT_ALLOWED: the package is not installed
 * @example
 * import { loadParquet, nodeHandler } from 'rowstash/node'
 *
 * const keys = [{ key: 'a-long-random-text', teamId: 'acme' }]
 * const handler = nodeHandler(store, { keys, parquet: await loadParquet() })
 * console.log(typeof handler) // function
 */
export async function loadParquet(): Promise<ParquetEncoder> {
  await loadWriter()
  return (rows, columns) => encodeParquet(rows, columns, SERVED_FILE)
}

/** The encoder; undefined: its package is not installed. */
export async function installedParquet(): Promise<ParquetEncoder | undefined> {
  return loadParquet().catch((failure: unknown) => {
    if (isStoreError(failure)) return undefined
    throw failure
  })
}
