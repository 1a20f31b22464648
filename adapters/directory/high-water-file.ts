// The file HIGHWATER of a directory; its bytes are those of src/kv/high-water.
//
// Invariant: the file under this name is always complete, and was on disk before it got the name.

import { fstatSync, writeSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { open, readdir, rename, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { type Bytes, fromHex } from '../../src/base/bytes.js'
import { invariant } from '../../src/base/invariant.js'
import type { HighWaterFile, HighWaterPlace } from '../../src/kv/high-water.js'
import { PRIVATE_FILE } from '../fs/fs-calls.js'
import { fileError, systemCode } from '../fs/fs-error.js'
import { syncDirectory } from '../fs/fs-folders.js'
import { withDescriptor } from '../fs/process-descriptors.js'
import { removeFile } from '../fs/temporary-files.js'
import { HeldDirectory } from './held-directory.js'

const HIGH_WATER_FILE = 'HIGHWATER'

/** Bytes that LevelDB writes when it opens a database, in addition to the records of its logs. */
const PROBE_BYTES_MIN = 262_144
const PROBE_PIECE_BYTES = 65_536

/** The maximum number of bytes that are read: enough to detect a file that is too long. */
const BYTES_MAX = 1_024

/**
 * The place of a directory's high-water mark.
 * @param store - The store's name: 32 lower-case hex digits.
 * @param record - The path of the owner record. Default: none, for a directory that no other process knows.
 */
export function makeHighWaterPlace(
  directory: string,
  store: string,
  record?: string,
): HighWaterPlace {
  const name = fromHex(store)
  invariant(name !== null, 'the name of a store is hex')
  return { file: new FsHighWater(directory, record), store: name }
}

class FsHighWater implements HighWaterFile {
  readonly #directory: string
  readonly #path: string
  readonly #record: string | undefined
  /** The handle of the last written file. */
  #handle: FileHandle | undefined
  /** Set when the first mark is written, after the database was opened. */
  #held: HeldDirectory | undefined

  constructor(directory: string, record: string | undefined) {
    this.#directory = directory
    this.#record = record
    this.#path = join(directory, HIGH_WATER_FILE)
  }

  async read(): Promise<Bytes | null> {
    try {
      await removeFile(`${this.#path}.probe`) // Left by a process that ended on a full disk.
      const handle = await withDescriptor(() => open(this.#path, 'r'))
      try {
        const { bytesRead, buffer } = await handle.read(new Uint8Array(BYTES_MAX))
        return buffer.subarray(0, bytesRead)
      } finally {
        await handle.close()
      }
    } catch (failure) {
      if (systemCode(failure) === 'ENOENT') return null
      throw fileError(failure, 'The high-water mark cannot be read')
    }
  }

  async replace(bytes: Bytes): Promise<void> {
    const temporary = `${this.#path}.tmp`
    const held = this.#held ?? new HeldDirectory(this.#directory, this.#record)
    this.#held = held
    try {
      const handle = await withDescriptor(() => open(temporary, 'w', PRIVATE_FILE))
      try {
        await handle.writeFile(bytes)
        await handle.sync()
        held.expectMark(fstatSync(handle.fd))
        await rename(temporary, this.#path)
      } catch (failure) {
        if (this.#handle !== undefined) held.holdMark(this.#path, fstatSync(this.#handle.fd))
        await handle.close()
        await unlink(temporary).catch((other: unknown) => systemCode(other)) // The next save overwrites it.
        throw failure
      }
      const before = this.#handle
      this.#handle = handle
      held.holdMark(this.#path, fstatSync(handle.fd))
      await before?.close()
      await syncDirectory(this.#directory)
    } catch (failure) {
      throw fileError(failure, 'The high-water mark cannot be written', 'unchanged')
    }
  }

  overwrite(at: number, bytes: Bytes): void {
    // Takes a few microseconds: nothing is flushed, and the file does not grow.
    if (this.#handle === undefined) return
    try {
      writeSync(this.#handle.fd, bytes, 0, bytes.length, at)
    } catch (failure) {
      throw fileError(failure, 'The high-water mark cannot be written')
    }
  }

  check(all: boolean): void {
    this.#held?.check(all)
  }

  /** Checks for room to open the database: LevelDB writes the records of its logs to tables, then a manifest. */
  async probe(): Promise<void> {
    this.check(true)
    const path = `${this.#path}.probe`
    try {
      let room = PROBE_BYTES_MIN
      const folder = join(this.#directory, 'kv')
      for (const name of await readdir(folder)) {
        if (name.endsWith('.log')) room += (await stat(join(folder, name))).size
      }
      const handle = await withDescriptor(() => open(path, 'w', PRIVATE_FILE))
      try {
        const piece = new Uint8Array(PROBE_PIECE_BYTES)
        for (let at = 0; at < room; at += piece.length) await handle.write(piece)
        await handle.datasync()
      } finally {
        await handle.close()
        await removeFile(path)
      }
    } catch (failure) {
      throw fileError(failure, 'The disk does not accept writes', 'unchanged')
    }
  }

  async close(): Promise<void> {
    const handle = this.#handle
    this.#handle = undefined
    await handle?.close()
  }
}
