// Files of one store that are read in parts, and kept open as far as possible (descriptor-cache).
import { fstatSync, openSync, read, readSync } from 'node:fs'
import type { Awaitable, ByteRange } from '../../src/ports.js'
import { CachedDescriptor, type DescriptorCache, freedFor } from './descriptor-cache.js'
import { systemCode } from './fs-error.js'

/** Reads of at most this length always run on the calling thread (PERFORMANCE.md, P20). */
const SHORT_BYTES_MAX = 65_536

/**
 * Reads of at most this length, such as those of a page, run on the calling thread while the system has the bytes in
 * its cache (PERFORMANCE.md, P14). Longer ones use the thread pool.
 */
const AT_ONCE_BYTES_MAX = 1_048_576

/** A read that takes longer came from disk: the next `POOLED_READS` use the thread pool. */
const CACHED_MS_MAX = 2
const POOLED_READS = 64

export class OpenFiles {
  readonly #kept: DescriptorCache
  readonly #pathOf: (name: string) => string
  readonly #nowMs: () => number
  readonly #files = new Map<string, CachedDescriptor>()
  /** How many further non-short reads use the thread pool. */
  #pooledReads = 0

  /**
   * @param pathOf - Returns the path of a name; called only to open the file.
   * @param nowMs - A monotonic clock, in milliseconds.
   */
  constructor(
    kept: DescriptorCache,
    pathOf: (name: string) => string,
    nowMs = () => performance.now(),
  ) {
    this.#kept = kept
    this.#pathOf = pathOf
    this.#nowMs = nowMs
  }

  /**
   * Bytes of a range, fewer at the end of the file; null: there is no such file. Synchronous reads throw their
   * failures.
   * @param memory - Receives the bytes if it is large enough; otherwise they get new memory.
   */
  read(
    name: string,
    { start, limit }: ByteRange,
    memory?: Uint8Array,
  ): Awaitable<Uint8Array | null> {
    let file: CachedDescriptor | null | undefined = this.#files.get(name)
    if (file === undefined) {
      file = this.#open(name)
      if (file === null) return null
    } else file.used = true
    const length = limit - start
    if (length <= SHORT_BYTES_MAX) {
      return readAtOnce(file.descriptor, memoryFor(length, memory), start)
    }
    if (length > AT_ONCE_BYTES_MAX || this.#pooledReads > 0) {
      if (this.#pooledReads > 0) this.#pooledReads--
      return readLong(file, { start, limit }, memory)
    }
    const startMs = this.#nowMs()
    const bytes = readAtOnce(file.descriptor, memoryFor(length, memory), start)
    if (this.#nowMs() - startMs > CACHED_MS_MAX) this.#pooledReads = POOLED_READS
    return bytes
  }

  /** Drops a file that is being deleted or was deleted. */
  drop(name: string): void {
    const file = this.#files.get(name)
    if (file !== undefined) this.#kept.drop(file)
  }

  close(): void {
    for (const file of [...this.#files.values()]) this.#kept.drop(file)
  }

  #open(name: string): CachedDescriptor | null {
    const descriptor = openToRead(this.#pathOf(name), this.#kept)
    if (descriptor === null) return null
    const file = new CachedDescriptor(descriptor, () => this.#files.delete(name))
    this.#files.set(name, file)
    this.#kept.keep(file)
    return file
  }
}

function openToRead(path: string, kept: DescriptorCache): number | null {
  try {
    return openSync(path, 'r')
  } catch (failure) {
    if (systemCode(failure) === 'ENOENT') return null
    if (freedFor(failure, kept)) return openToRead(path, kept)
    throw failure
  }
}

async function readLong(
  file: CachedDescriptor,
  { start, limit }: ByteRange,
  memory: Uint8Array | undefined,
): Promise<Uint8Array> {
  file.reads++
  try {
    const { size } = fstatSync(file.descriptor) // So that memory is taken only for bytes that exist.
    const length = Math.max(0, Math.min(limit, size) - start)
    return await readInPool(file.descriptor, memoryFor(length, memory), start)
  } finally {
    file.endRead()
  }
}

/** Memory for a read. It is not cleared: unread bytes are cut off. Never from a pool, as the caller may keep it. */
function memoryFor(length: number, given: Uint8Array | undefined): Uint8Array {
  if (given !== undefined && given.length >= length) return given.subarray(0, length)
  const { buffer } = Buffer.allocUnsafeSlow(length)
  return new Uint8Array(buffer, 0, length)
}

function readAtOnce(descriptor: number, bytes: Uint8Array, start: number): Uint8Array {
  let at = 0
  while (at < bytes.length) {
    const count = readSync(descriptor, bytes, at, bytes.length - at, start + at)
    if (count === 0) break
    at += count
  }
  return at === bytes.length ? bytes : bytes.subarray(0, at)
}

async function readInPool(
  descriptor: number,
  bytes: Uint8Array,
  start: number,
): Promise<Uint8Array> {
  let at = 0
  while (at < bytes.length) {
    const count = await readSome(descriptor, bytes, at, start + at)
    if (count === 0) break
    at += count
  }
  return at === bytes.length ? bytes : bytes.subarray(0, at)
}

function readSome(
  descriptor: number,
  bytes: Uint8Array,
  at: number,
  position: number,
): Promise<number> {
  return new Promise((resolve, reject) => {
    read(descriptor, bytes, at, bytes.length - at, position, (failure, count) => {
      if (failure === null) resolve(count)
      else reject(failure)
    })
  })
}
