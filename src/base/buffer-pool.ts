// Reuses large buffers. Fresh ones cost page faults, and many of them make the garbage collector hold far more memory
// than is in use (PERFORMANCE.md, P15).
import type { Bytes } from './bytes.js'

const SIZE_MIN = 64 * 1024

export class BufferPool {
  readonly #bytesMax: number
  readonly #free: Uint8Array<ArrayBuffer>[] = []
  #bytes = 0

  /** @param bytesMax - The maximum memory in the pool, in bytes; 0 keeps nothing. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Memory in the pool, in bytes, without the buffers in use. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * A buffer of at least `bytes` bytes, with arbitrary content.
   * @param lengthMax - The greatest length of a reused buffer.
   */
  take(bytes: number, lengthMax = 4 * bytes + SIZE_MIN): Uint8Array<ArrayBuffer> {
    const free = this.#free
    for (let index = free.length - 1; index >= 0; index--) {
      const buffer = free[index]
      if (buffer === undefined || buffer.length < bytes || buffer.length > lengthMax) continue
      const last = free.pop()
      if (last !== undefined && last !== buffer) free[index] = last
      this.#bytes -= buffer.length
      return buffer
    }
    return new Uint8Array(pooledBytes(bytes))
  }

  /** Returns a buffer, or the buffer under a view, to the pool. It must not be used afterwards. */
  give(bytes: Bytes): void {
    const buffer = bytes.buffer as ArrayBuffer
    const isWhole = bytes.length === buffer.byteLength
    const whole = isWhole ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(buffer)
    if (whole.length < SIZE_MIN || this.#bytes + whole.length > this.#bytesMax) return
    this.#free.push(whole)
    this.#bytes += whole.length
  }
}

/** Rounds to few sizes, so that buffers can be reused. */
function pooledBytes(bytes: number): number {
  return Math.max(SIZE_MIN, 2 ** Math.ceil(Math.log2(Math.max(1, bytes))))
}
