// The result of one statement that reads an object: slices in any order, put together.
import type { Bytes } from '../../src/base/bytes.js'
import { StoreError } from '../../src/base/store-error.js'
import type { ByteRange, ObjectId } from '../../src/objects/objects.js'

/** A slice of an object. */
export type Slice = Readonly<{
  /** Length of the object. */
  total: number
  /** Position of the slice in the object. */
  place: number
  bytes: Bytes
}>

/** The bytes of a window of an object, and the object's length. */
export type Found = Readonly<{ bytes: Bytes; total: number }>

export class ObjectWindow {
  readonly #id: ObjectId
  readonly #range: ByteRange
  readonly #memory: Bytes | undefined
  #found: Found | undefined
  #missing = 0

  /** @param memory - Receives the bytes if it is large enough. */
  constructor(id: ObjectId, range: ByteRange, memory: Bytes | undefined) {
    this.#id = id
    this.#range = range
    this.#memory = memory
  }

  /** Copies a slice. @throws {StoreError} DATA_CORRUPT: it lies outside the window */
  add({ total, place, bytes }: Slice): void {
    this.#found ??= this.#begin(total)
    const at = place - this.#range.start
    if (at < 0 || at + bytes.length > this.#found.bytes.length) throw this.#lost()
    this.#found.bytes.set(bytes, at)
    this.#missing -= bytes.length
  }

  /** @returns null: there is no such object. @throws {StoreError} DATA_CORRUPT: a slice is missing */
  found(): Found | null {
    if (this.#missing !== 0) throw this.#lost()
    return this.#found ?? null
  }

  #begin(total: number): Found {
    const { start, limit } = this.#range
    const length = Math.max(0, Math.min(limit, total) - start)
    const memory = this.#memory
    const hasRoom = memory !== undefined && memory.length >= length
    this.#missing = length
    return { bytes: hasRoom ? memory.subarray(0, length) : new Uint8Array(length), total }
  }

  #lost(): StoreError {
    const { start, limit } = this.#range
    const message = `Object ${this.#id} has lost bytes between ${start} and ${limit}`
    return new StoreError('DATA_CORRUPT', message)
  }
}
