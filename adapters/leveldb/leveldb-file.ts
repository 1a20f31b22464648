// The files of a LevelDB database: their names, and the errors for damaged ones.
import { type FileHandle, open, stat } from 'node:fs/promises'
import { StoreError } from '../../src/base/store-error.js'
import { systemCode } from '../fs/fs-error.js'
import { Malformed } from './leveldb-codec.js'

/** The maximum accepted file number. LevelDB counts up by one and never reaches it. */
export const FILE_NUMBER_MAX = 2 ** 52

export function fileName(number: number, ending: 'log' | 'ldb' | 'sst'): string {
  return `${String(number).padStart(6, '0')}.${ending}`
}

/**
 * Reads a file that the database requires.
 * @param read - Throws `Malformed` for bytes that LevelDB does not write.
 * @throws {StoreError} DATA_CORRUPT, with the file; DATA_LOSS if it is missing.
 */
export async function readDatabaseFile<T>(
  path: string,
  read: (handle: FileHandle) => Promise<T>,
): Promise<T> {
  let handle: FileHandle | undefined
  try {
    // Opening anything else might block forever.
    if (!(await stat(path)).isFile()) throw new Malformed('it is not a file')
    handle = await open(path, 'r')
    return await read(handle)
  } catch (failure) {
    if (systemCode(failure) === 'ENOENT') {
      const message = `The database has lost its file ${path}; restore the store from a backup`
      throw new StoreError('DATA_LOSS', message, { cause: failure })
    }
    if (!(failure instanceof Malformed)) throw failure
    const message = `The database file ${path} is damaged: ${failure.message}; restore the store from a backup`
    throw new StoreError('DATA_CORRUPT', message, { cause: failure })
  } finally {
    await handle?.close()
  }
}
