import { type Bytes, fromUtf8, readUint32 } from '../base/bytes.js'
import { sameRanges } from '../base/platform.js'
import { StoreError } from '../base/store-error.js'

/** Reads the output of ByteWriter. Throws DATA_CORRUPT if bytes are missing or remain. */
export class ByteReader {
  readonly #bytes: Bytes
  readonly #what: string
  #at = 0

  /** @param what - Names the record in errors. */
  constructor(bytes: Bytes, what: string) {
    this.#bytes = bytes
    this.#what = what
  }

  get left(): number {
    return this.#bytes.length - this.#at
  }

  u8(): number {
    return this.#bytes[this.#take(1)] ?? 0
  }

  u16(): number {
    return this.#uint16(this.#take(2))
  }

  u32(): number {
    return readUint32(this.#bytes, this.#take(4))
  }

  u48(): number {
    const at = this.#take(6)
    return this.#uint16(at) * 2 ** 32 + readUint32(this.#bytes, at + 2)
  }

  u64(): number {
    const at = this.#take(8)
    const value = readUint32(this.#bytes, at) * 2 ** 32 + readUint32(this.#bytes, at + 4)
    if (!Number.isSafeInteger(value)) throw this.corrupt('an integer is out of range')
    return value
  }

  /** Skips the next bytes. */
  pass(count: number): void {
    this.#take(count)
  }

  /** A view of the next bytes, not a copy. */
  bytes(count: number): Bytes {
    const at = this.#take(count)
    return this.#bytes.subarray(at, at + count)
  }

  /** Skips the next bytes if they equal the given ones. @returns whether they do */
  skip(bytes: Bytes): boolean {
    const { length } = bytes
    if (length > this.left || !sameRanges(this.#bytes, this.#at, bytes, 0, length)) return false
    this.#at += length
    return true
  }

  /** A view of all remaining bytes. */
  rest(): Bytes {
    return this.#bytes.subarray(this.#at)
  }

  text(): string {
    const run = this.bytes(this.u32())
    try {
      return fromUtf8(run)
    } catch (cause) {
      throw this.corrupt('a text is not UTF-8', cause)
    }
  }

  /** Reads the record version at the beginning of every record: 1 to `newest`. */
  recordVersion(newest = 1): number {
    const version = this.u8()
    if (version < 1 || version > newest) throw this.corrupt(`record version ${version} is unknown`)
    return version
  }

  end(): void {
    if (this.left !== 0) throw this.corrupt(`${this.left} bytes are left over`)
  }

  corrupt(problem: string, cause?: unknown): StoreError {
    return new StoreError('DATA_CORRUPT', `Stored ${this.#what} cannot be read: ${problem}`, {
      cause,
    })
  }

  #uint16(at: number): number {
    return (this.#bytes[at] ?? 0) * 256 + (this.#bytes[at + 1] ?? 0)
  }

  #take(count: number): number {
    const at = this.#at
    if (count > this.#bytes.length - at) throw this.corrupt('it ends early')
    this.#at = at + count
    return at
  }
}
