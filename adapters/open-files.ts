// Files kept open for reading: opening one costs as much as reading a frame of it.
//
// Invariants:
// - A descriptor is closed once, and never while a read of it is under way.
// - At most `openMax` files stay open beyond those that are being read.
import { closeSync, fstatSync, openSync, read, readSync } from 'node:fs'
import type { ByteRange, Soon } from '../src/index.js'
import { systemCode } from './fs-error.js'

type OpenFile = { readonly descriptor: number; reads: number; dropped: boolean }

/**
 * Reads up to this long always happen at once, on the calling thread: out of the system's cache they take 3 µs, on the
 * thread pool 23.
 */
const SHORT_BYTES_MAX = 65_536

/**
 * Reads up to this long, those of a page, happen at once as long as the system has the bytes in its cache, which takes
 * 0.1 ms; the trip to the thread pool takes as much of this thread, and a page twice as long. Longer ones let the thread
 * do something else meanwhile.
 */
const AT_ONCE_BYTES_MAX = 1_048_576

/** A read at once that took longer was one of the disk: then that many go to the thread pool, and the next is tried again. */
const CACHED_MS_MAX = 2
const POOLED_READS = 64

export class OpenFiles {
  readonly #openMax: number
  readonly #nowMs: () => number
  /** By path, in order of last use, oldest first. */
  readonly #files = new Map<string, OpenFile>()
  /** How many of the reads that are not short still go to the thread pool. */
  #pooledReads = 0

  /** @param nowMs - A clock that only goes forward. */
  constructor(openMax: number, nowMs = () => performance.now()) {
    this.#openMax = openMax
    this.#nowMs = nowMs
  }

  /**
   * Bytes of a range, fewer at the end of the file; null: there is no such file. What comes at once throws what
   * fails.
   * @param memory - Where they are put, if it is large enough; else they get memory of their own.
   */
  read(path: string, { start, limit }: ByteRange, memory?: Uint8Array): Soon<Uint8Array | null> {
    const file = this.#open(path)
    if (file === null) return null
    const length = limit - start
    if (length <= SHORT_BYTES_MAX) {
      return readAtOnce(file.descriptor, memoryFor(length, memory), start)
    }
    if (length > AT_ONCE_BYTES_MAX || this.#pooledReads > 0) {
      if (this.#pooledReads > 0) this.#pooledReads--
      return this.#readLong(file, { start, limit }, memory)
    }
    const startMs = this.#nowMs()
    const bytes = readAtOnce(file.descriptor, memoryFor(length, memory), start)
    if (this.#nowMs() - startMs > CACHED_MS_MAX) this.#pooledReads = POOLED_READS
    return bytes
  }

  async #readLong(
    file: OpenFile,
    { start, limit }: ByteRange,
    memory: Uint8Array | undefined,
  ): Promise<Uint8Array> {
    file.reads++
    try {
      const { size } = fstatSync(file.descriptor) // Only what is there is worth memory.
      const length = Math.max(0, Math.min(limit, size) - start)
      return await readInPool(file.descriptor, memoryFor(length, memory), start)
    } finally {
      file.reads--
      if (file.dropped && file.reads === 0) closeSync(file.descriptor)
    }
  }

  /** Lets go of a file that is, or was, deleted. */
  drop(path: string): void {
    const file = this.#files.get(path)
    if (file === undefined) return
    this.#files.delete(path)
    file.dropped = true
    if (file.reads === 0) closeSync(file.descriptor)
  }

  close(): void {
    for (const path of [...this.#files.keys()]) this.drop(path)
  }

  #open(path: string): OpenFile | null {
    const known = this.#files.get(path)
    if (known !== undefined) {
      this.#files.delete(path)
      this.#files.set(path, known)
      return known
    }
    const descriptor = openToRead(path)
    if (descriptor === null) return null
    const file = { descriptor, reads: 0, dropped: false }
    this.#files.set(path, file)
    const [oldest] = this.#files.keys()
    if (this.#files.size > this.#openMax && oldest !== undefined) this.drop(oldest)
    return file
  }
}

function openToRead(path: string): number | null {
  try {
    return openSync(path, 'r')
  } catch (failure) {
    if (systemCode(failure) === 'ENOENT') return null
    throw failure
  }
}

/** Memory that need not be cleared, as it is filled or cut off. Never of a pool: its owner may keep it. */
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
