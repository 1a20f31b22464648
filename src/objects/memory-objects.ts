// An ObjectStore in memory, for tests and temporary stores.
import type { Bytes } from '../base/bytes.js'
import { concatBytes } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import { StoreError } from '../base/store-error.js'
import { assertObjectId, assertRange, LIST_COUNT_MAX } from './object-arguments.js'
import { inPieces } from './object-parts.js'
import type { ByteRange, ObjectId, ObjectStore } from './objects.js'

/**
 * An empty object store in memory. Its objects are gone when the process ends.
 * @example
 * import { memoryObjects } from 'rowstash'
 *
 * const objects = memoryObjects()
 * console.log(await objects.put('0'.repeat(32), new Uint8Array(5))) // 5
 */
export function memoryObjects(): ObjectStore {
  return new MemoryObjects()
}

class MemoryObjects implements ObjectStore {
  readonly #contents = new Map<ObjectId, Bytes>()
  /** IDs of puts in progress. They are not visible yet, but must not be put again. */
  readonly #incoming = new Set<ObjectId>()
  #closed = false

  async put(id: ObjectId, content: Bytes | AsyncIterable<Bytes>): Promise<number> {
    this.#assertUsable(id)
    invariant(!this.#contents.has(id) && !this.#incoming.has(id), 'an object id is put once')
    this.#incoming.add(id)
    try {
      // Copied, so that later changes of the caller's buffers do not affect the object.
      const pieces: Bytes[] = []
      if (content instanceof Uint8Array) pieces.push(content)
      else for await (const piece of content) pieces.push(Uint8Array.from(piece))
      const whole = concatBytes(pieces)
      this.#contents.set(id, whole)
      return whole.length
    } finally {
      this.#incoming.delete(id)
    }
  }

  async get(id: ObjectId, range?: ByteRange): Promise<Bytes | null> {
    this.#assertUsable(id)
    const whole = this.#contents.get(id)
    if (whole === undefined) return null
    return range === undefined ? whole : slice(whole, range)
  }

  async stream(id: ObjectId, range?: ByteRange): Promise<AsyncIterable<Bytes> | null> {
    const content = await this.get(id, range)
    return content === null ? null : toAsync(inPieces(content))
  }

  async delete(ids: readonly ObjectId[]): Promise<void> {
    for (const id of ids) this.#assertUsable(id)
    for (const id of ids) this.#contents.delete(id)
  }

  async list(prefix: string, after = ''): Promise<ObjectId[]> {
    this.#assertOpen()
    const listed: ObjectId[] = []
    for (const id of this.#contents.keys()) if (id.startsWith(prefix) && id > after) listed.push(id)
    return listed.sort().slice(0, LIST_COUNT_MAX)
  }

  async close(): Promise<void> {
    this.#closed = true
  }

  #assertUsable(id: ObjectId): void {
    assertObjectId(id)
    this.#assertOpen()
  }

  #assertOpen(): void {
    if (this.#closed) throw new StoreError('STORE_CLOSED', 'The store was closed')
  }
}

function slice(whole: Bytes, range: ByteRange): Bytes {
  assertRange(range)
  return whole.subarray(range.start, range.limit)
}

async function* toAsync(pieces: Iterable<Bytes>): AsyncGenerator<Bytes> {
  yield* pieces
}
