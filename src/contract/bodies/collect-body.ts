// Collects the bytes of a body in one growing buffer.
//
// Invariant: memory is charged to the budget before it is allocated, except bytes that the adapter has read ahead, and
// the old buffer while its content is copied to a larger one.
import type { BufferPool } from '../../base/buffer-pool.js'
import { type Bytes, NO_BYTES } from '../../base/bytes.js'
import { StoreError } from '../../base/store-error.js'
import { Refusal } from '../http/refusal.js'
import type { MemoryBudget, Room } from '../memory/memory-budget.js'

export type BodyLimits = Readonly<{ bytesMax: number; budget: MemoryBudget; buffers: BufferPool }>

export type BodySource = Readonly<{
  team: string
  /** The name of the request's key. */
  key?: string | undefined
  /** `Content-Length`; undefined: the body is chunked. */
  announced: number | undefined
  pieces: AsyncIterable<Uint8Array>
}>

/** Calls `use` with the whole body, and releases its memory afterwards. */
export async function collectBody<T>(
  { team, key, announced, pieces }: BodySource,
  limits: BodyLimits,
  use: (bytes: Bytes) => Promise<T>,
): Promise<T> {
  if (announced !== undefined && announced > limits.bytesMax) throw bodyTooLarge(limits.bytesMax)
  const loss = new Loss()
  const room = limits.budget.open(team, (failure) => loss.report(failure), key)
  const body = new GrowingBody(room, limits, announced ?? limits.bytesMax)
  try {
    room.setMoving(true)
    for await (const piece of bodyPieces(pieces, loss)) {
      room.moved(piece.length)
      const growing = body.reserve(piece.length)
      if (growing !== undefined) await growing
      body.append(piece)
    }
    room.setMoving(false)
    return await use(body.bytes)
  } finally {
    body.free()
    room.close()
  }
}

/** Reports that a room has lost its memory, and then ends the wait for the next piece of the body. */
class Loss {
  #failure: StoreError | undefined
  #end: (failure: StoreError) => void = () => {}

  report(failure: StoreError): void {
    this.#failure = failure
    this.#end(failure)
  }

  /**
   * The result of `next`; if the memory is lost first, the failure. It does not use `Promise.race`, whose promise would
   * refer to every piece until the body ends (PERFORMANCE.md, P32).
   */
  race<T>(next: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) return reject(this.#failure)
      this.#end = reject
      next().then(resolve, reject)
    })
  }
}

/**
 * The pieces of a body up to its end. A broken connection counts as a body that ended too early.
 *
 * @param loss - Ends the iteration as soon as the loss of memory is reported.
 */
export async function* bodyPieces(
  body: AsyncIterable<Uint8Array>,
  loss?: Loss,
): AsyncGenerator<Uint8Array, void> {
  const pieces = body[Symbol.asyncIterator]()
  const next = () =>
    pieces.next().catch((cause: unknown) => {
      throw new StoreError('ABORTED', 'The request body ended too early', { cause })
    })
  try {
    for (;;) {
      const { done, value } = await (loss === undefined ? next() : loss.race(next))
      if (done) return
      yield value
    }
  } finally {
    pieces.return?.().catch(() => {}) // Not awaited: a piece may never come.
  }
}

const FIRST_BYTES = 4 * 1_024

/** Growth factor of the buffer, a compromise between copies and unused memory. */
const GROWTH = 4

/** Smallest and largest buffer of the pool, in bytes. Sizes are powers of two, so that buffers can be reused. */
const POOLED_BYTES_MIN = 64 * 1_024
const POOLED_BYTES_MAX = 4 * 1_024 * 1_024

/**
 * Size of the smallest body with a pooled buffer, in bytes. From this size on, an allocation costs more than the pool.
 */
const POOLED_FROM_BYTES = 16 * 1_024

class GrowingBody {
  readonly #room: Room
  readonly #limits: BodyLimits
  readonly #expected: number
  #memory: Bytes = NO_BYTES
  #length = 0

  /** @param expected - The expected length of the body, in bytes. */
  constructor(room: Room, limits: BodyLimits, expected: number) {
    this.#room = room
    this.#limits = limits
    this.#expected = expected
  }

  get bytes(): Bytes {
    return this.#memory.subarray(0, this.#length)
  }

  /** Makes room for more bytes. @returns undefined if the caller need not wait. @throws {Refusal} REQUEST_TOO_LARGE */
  reserve(bytes: number): Promise<void> | undefined {
    const needed = this.#length + bytes
    if (needed > this.#limits.bytesMax) throw bodyTooLarge(this.#limits.bytesMax)
    if (needed <= this.#memory.length) return undefined
    const size = grownBodyBytes(needed, this.#expected)
    const granted = this.#room.resize(size)
    return granted === undefined ? this.#grow(size) : granted.then(() => this.#grow(size))
  }

  append(piece: Uint8Array): void {
    this.#memory.set(piece, this.#length)
    this.#length += piece.length
  }

  free(): void {
    this.#limits.buffers.give(this.#memory)
    this.#memory = NO_BYTES
  }

  #grow(size: number): undefined {
    const isPooled = size >= POOLED_BYTES_MIN && size <= POOLED_BYTES_MAX
    const memory = isPooled ? this.#limits.buffers.take(size, size) : new Uint8Array(size)
    memory.set(this.bytes)
    this.free()
    this.#memory = memory
  }
}

function grownBodyBytes(needed: number, expected: number): number {
  const wanted = Math.max(FIRST_BYTES, 2 ** Math.floor(Math.log2(GROWTH * needed)))
  const size = Math.max(needed, Math.min(wanted, expected))
  if (size < POOLED_FROM_BYTES || size > POOLED_BYTES_MAX) return size
  return Math.max(POOLED_BYTES_MIN, 2 ** Math.ceil(Math.log2(size)))
}

function bodyTooLarge(bytesMax: number): Refusal {
  return new Refusal('REQUEST_TOO_LARGE', `The request body is over the limit of ${bytesMax} bytes`)
}
