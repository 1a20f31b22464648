import { type Bytes, pooledBytes, putUint32, putUint64, utf8 } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'

const UINT48_MAX = 2 ** 48 - 1

/** Encodes a record of big-endian integers, bytes and counted texts. Grows as needed. */
export class ByteWriter {
  #bytes: Uint8Array<ArrayBuffer>
  #length = 0

  /** @param capacity - Initial number of bytes. */
  constructor(capacity = 64) {
    this.#bytes = pooledBytes(capacity)
  }

  get length(): number {
    return this.#length
  }

  u8(value: number): this {
    invariant(Number.isInteger(value) && value >= 0 && value <= 0xff, 'a u8 has one byte')
    const at = this.#grow(1)
    this.#bytes[at] = value
    return this
  }

  u16(value: number): this {
    invariant(Number.isInteger(value) && value >= 0 && value <= 0xffff, 'a u16 has two bytes')
    const at = this.#grow(2)
    this.#bytes[at] = value >>> 8
    this.#bytes[at + 1] = value
    return this
  }

  u32(value: number): this {
    invariant(Number.isInteger(value) && value >= 0 && value <= 0xffffffff, 'a u32 has four bytes')
    const at = this.#grow(4)
    putUint32(this.#bytes, at, value)
    return this
  }

  u48(value: number): this {
    invariant(Number.isInteger(value) && value >= 0 && value <= UINT48_MAX, 'a u48 has six bytes')
    const at = this.#grow(6)
    const high = Math.floor(value / 2 ** 32)
    this.#bytes[at] = high >>> 8
    this.#bytes[at + 1] = high
    putUint32(this.#bytes, at + 2, value % 2 ** 32)
    return this
  }

  /** Writes a safe integer, such as a version, in eight bytes. */
  u64(value: number): this {
    invariant(Number.isSafeInteger(value) && value >= 0, 'a u64 here is a safe integer')
    const at = this.#grow(8)
    putUint64(this.#bytes, at, value)
    return this
  }

  bytes(run: Bytes): this {
    const at = this.#grow(run.length)
    this.#bytes.set(run, at)
    return this
  }

  /** Writes the byte count of a text, then its UTF-8. */
  text(text: string): this {
    const run = utf8(text)
    return this.u32(run.length).bytes(run)
  }

  /** The bytes from `at` on. Valid until the next write. */
  written(at: number): Bytes {
    return this.#bytes.subarray(at, this.#length)
  }

  /** The bytes so far. The writer must not be used afterwards. */
  finish(): Bytes {
    return this.#length === this.#bytes.length ? this.#bytes : this.written(0)
  }

  #grow(count: number): number {
    const at = this.#length
    const needed = at + count
    if (needed > this.#bytes.length) this.#bytes = grownBytes(this.#bytes, needed)
    this.#length = needed
    return at
  }
}

/**
 * A copy with room for at least `needed` bytes: at least twice the old size, so that growing takes linear time in
 * total.
 */
export function grownBytes(bytes: Bytes, needed: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(Math.max(needed, 2 * bytes.length))
  larger.set(bytes)
  return larger
}
