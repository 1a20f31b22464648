// Large buffers that are used again: a fresh one costs page faults, and many of them make the garbage
// collector hold far more memory than is in use.
import type { Bytes } from './bytes.js'

const SIZE_MIN = 64 * 1024

export class BufferPool {
  readonly #bytesMax: number
  readonly #free: Uint8Array<ArrayBuffer>[] = []
  #bytes = 0

  /** @param bytesMax - What the pool keeps at most, in bytes. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** A buffer of at least so many bytes, with anything in it. */
  take(bytes: number): Uint8Array<ArrayBuffer> {
    const index = this.#free.findIndex(
      ({ length }) => length >= bytes && length <= 4 * bytes + SIZE_MIN,
    )
    const [buffer] = index < 0 ? [] : this.#free.splice(index, 1)
    if (buffer === undefined) return new Uint8Array(sizeFor(bytes))
    this.#bytes -= buffer.length
    return buffer
  }

  /** Gives back a buffer, or what a part of one stands on. Nobody may use it any more. */
  give({ buffer }: Bytes): void {
    const whole = new Uint8Array(buffer as ArrayBuffer)
    if (whole.length < SIZE_MIN || this.#bytes + whole.length > this.#bytesMax) return
    this.#free.push(whole)
    this.#bytes += whole.length
  }
}

/** Few sizes, so that buffers fit again. */
function sizeFor(bytes: number): number {
  return Math.max(SIZE_MIN, 2 ** Math.ceil(Math.log2(Math.max(1, bytes))))
}
