// Checks that the directory of an open store still belongs to this process.
//
// The owner record may be gone: it was removed, or another process took the directory over while this one was paused.
// And LevelDB locks the file kv/LOCK, not its name: if that file is removed, another program can open the database,
// while this process still writes to deleted files (LEVELDB.md, F15). So the record must exist, and the inodes behind
// the names are compared with those at open (PERFORMANCE.md, P30).
//
// Invariant: `check` returns only if no other process had begun to open the database when it was called. So the other
// process reads every write that is acknowledged after a check.
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { StoreError } from '../../src/base/store-error.js'
import { fileError } from '../fs/fs-error.js'

/** Interval between full checks, in milliseconds. A takeover changes kv/LOCK before the names that only they check. */
const WHOLE_CHECK_MS = 1_000

/** Identifies a file or a directory independently of its name. */
export type Identity = Readonly<{ dev: number; ino: number }>

export class HeldDirectory {
  readonly #path: string
  readonly #record: string | undefined
  readonly #lockPath: string
  readonly #directory: Identity | undefined
  readonly #lock: Identity | undefined
  /** `next`: the file being renamed to this path; at some moment of the asynchronous rename it has the name. */
  #mark: Readonly<{ path: string; file: Identity; next?: Identity }> | undefined
  #checkedAt = 0
  /** The loss, which is permanent: after it, LevelDB closes its files, and new files may get the same inodes. */
  #loss: StoreError | undefined

  /**
   * Must be created while the database is open.
   * @param path - The directory, without symbolic links.
   * @param record - The path of the owner record. Default: there is none.
   */
  constructor(path: string, record?: string) {
    this.#path = path
    this.#record = record
    this.#lockPath = join(path, 'kv', 'LOCK')
    this.#directory = identityOf(path)
    this.#lock = identityOf(this.#lockPath)
  }

  /** Sets the file of the high-water mark, which every process replaces when it opens the store. */
  holdMark(path: string, file: Identity): void {
    this.#mark = { path, file }
  }

  /** Until `holdMark`, also accepts another file as the mark: one that is about to be renamed to the mark's path. */
  expectMark(next: Identity): void {
    if (this.#mark !== undefined) this.#mark = { ...this.#mark, next }
  }

  /**
   * Checks that the owner record exists, and that kv/LOCK is still the file that LevelDB has locked. Once a second, and
   * with `all`, also checks the high-water mark, and that the directory is writable.
   * @throws {StoreError} DATA_LOSS: another process may have written; STORAGE_UNAVAILABLE: the directory is missing or
   *   not writable.
   */
  check(all: boolean): void {
    if (this.#loss !== undefined) throw this.#loss
    const record = this.#record
    if (record !== undefined && !existsSync(record)) throw this.#changed(record)
    if (!isSameFile(this.#lock, identityOf(this.#lockPath))) throw this.#changed(this.#lockPath)
    const now = performance.now()
    if (!all && now - this.#checkedAt < WHOLE_CHECK_MS) return
    const mark = this.#mark
    if (mark !== undefined) {
      const found = identityOf(mark.path)
      const isNext = mark.next !== undefined && isSameFile(mark.next, found)
      if (!isNext && !isSameFile(mark.file, found)) throw this.#changed(mark.path)
    }
    try {
      accessSync(this.#path, constants.W_OK)
    } catch (failure) {
      throw fileError(
        failure,
        `The directory ${this.#path} of the open store does not accept new files`,
      )
    }
    this.#checkedAt = now
  }

  #changed(path: string): StoreError {
    if (!isSameFile(this.#directory, identityOf(this.#path))) {
      const message = `The directory ${this.#path} was deleted or moved while the store was open`
      return new StoreError('STORAGE_UNAVAILABLE', message)
    }
    const what = identityOf(path) === undefined ? 'removed' : 'replaced'
    const message = `${path} was ${what} while the store was open: another process may have written, and the latest changes may be lost. Close the store, and open it in one process only`
    this.#loss = new StoreError('DATA_LOSS', message)
    process.emitWarning(message, { code: 'ROWSTASH_DIRECTORY_TAKEN' }) // Also shown if no operation is called.
    return this.#loss
  }
}

/** The identity of the file at a path; undefined: there is none. */
function identityOf(path: string): Identity | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (failure) {
    throw fileError(failure, `The state of ${path} cannot be read`)
  }
}

function isSameFile(held: Identity | undefined, found: Identity | undefined): boolean {
  return held?.ino === found?.ino && held?.dev === found?.dev
}
