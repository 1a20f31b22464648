// Reuses large buffers: a fresh one costs page faults, and many of them make the garbage collector hold far more memory
// than is in use (PERFORMANCE.md, P15).
import type { Bytes } from './bytes.js'

const SIZE_MIN = 64 * 1024

export class BufferPool {
  readonly #bytesMax: number
  readonly #free: Uint8Array<ArrayBuffer>[] = []
  #bytes = 0

  /** @param bytesMax - Memory that the pool keeps at most, in bytes; 0 keeps nothing. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Memory that the pool keeps now, in bytes, without the buffers that were taken. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * A buffer of at least `bytes` bytes, with any content.
   * @param lengthMax - How long it may be, if it is not a new one.
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

  /** Gives back a buffer, or what a part of one stands on. Nobody may use it any more. */
  give(bytes: Bytes): void {
    const buffer = bytes.buffer as ArrayBuffer
    const isWhole = bytes.length === buffer.byteLength
    const whole = isWhole ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(buffer)
    if (whole.length < SIZE_MIN || this.#bytes + whole.length > this.#bytesMax) return
    this.#free.push(whole)
    this.#bytes += whole.length
  }
}

/** Few sizes, so that buffers fit again. */
function pooledBytes(bytes: number): number {
  return Math.max(SIZE_MIN, 2 ** Math.ceil(Math.log2(Math.max(1, bytes))))
}
