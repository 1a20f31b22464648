// Reads parts of segments: footers and frames, optionally into a reused buffer.

import { type Awaitable, chain, isSync } from '../../base/awaitable.js'
import type { BufferPool } from '../../base/buffer-pool.js'
import type { Bytes } from '../../base/bytes.js'
import { StoreError } from '../../base/store-error.js'
import type { SegmentRef } from '../../format/extent-page.js'
import type { FramePlace } from '../../format/segment-footer.js'
import { decodeFooter, footerRange, type SegmentFooter } from '../../format/segment-reader.js'
import { rangeInObject, storedIn } from '../../format/shared-objects.js'
import type { ByteRange, ObjectStore } from '../../objects/objects.js'

/** Maximum value of the cost of a request, in bytes. */
const REQUEST_COST_BYTES_MAX = 1024 * 1024

export class SegmentReads {
  /** Buffers for reads whose bytes are copied afterwards. */
  readonly buffers: BufferPool
  /** The cost of one more request, in bytes; see `ObjectStore`. If it is 0, nothing is read ahead. */
  readonly requestCostBytes: number
  readonly #objects: ObjectStore
  #bytesRead = 0

  constructor(objects: ObjectStore, buffers: BufferPool) {
    this.#objects = objects
    this.buffers = buffers
    this.requestCostBytes = Math.min(objects.requestCostBytes ?? 0, REQUEST_COST_BYTES_MAX)
  }

  get bytesRead(): number {
    return this.#bytesRead
  }

  /** @throws {StoreError} DATA_CORRUPT, STORAGE_UNAVAILABLE */
  footer(ref: SegmentRef): Awaitable<SegmentFooter> {
    return chain(this.range(ref, footerRange(ref)), (bytes) => decodeFooter(ref, bytes))
  }

  /** The stored bytes of a frame; see `range`. */
  frame(ref: SegmentRef, { offset, bytes }: FramePlace, memory?: Bytes): Awaitable<Bytes> {
    return this.range(ref, { start: offset, limit: offset + bytes }, memory)
  }

  /**
   * @param range - Offsets in the segment.
   * @param memory - The memory to read into, if it is large enough; otherwise new memory is allocated.
   * @throws {StoreError} DATA_CORRUPT: if the segment is missing; STORAGE_UNAVAILABLE
   */
  range(ref: SegmentRef, range: ByteRange, memory?: Bytes): Awaitable<Bytes> {
    this.#bytesRead += range.limit - range.start
    const bytes = this.#objects.get(storedIn(ref), rangeInObject(ref, range), memory)
    return isSync(bytes) ? present(ref, bytes) : bytes.then((read) => present(ref, read))
  }
}

function present(ref: SegmentRef, bytes: Bytes | null): Bytes {
  if (bytes !== null) return bytes
  throw new StoreError('DATA_CORRUPT', `Segment ${ref.object} is missing`)
}
