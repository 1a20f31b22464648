// Reads pieces of segments: footers and frames, on request into memory that is used again.

import { type Awaitable, chain, isSync } from '../../base/awaitable.js'
import type { BufferPool } from '../../base/buffer-pool.js'
import type { Bytes } from '../../base/bytes.js'
import { StoreError } from '../../base/store-error.js'
import type { SegmentRef } from '../../format/extent-page.js'
import type { FramePlace } from '../../format/segment-footer.js'
import { decodeFooter, footerRange, type SegmentFooter } from '../../format/segment-reader.js'
import type { ByteRange, ObjectStore } from '../../objects/objects.js'

export class SegmentReads {
  /** For pieces that are read to be copied from. */
  readonly buffers: BufferPool
  readonly #objects: ObjectStore

  constructor(objects: ObjectStore, buffers: BufferPool) {
    this.#objects = objects
    this.buffers = buffers
  }

  /** @throws {StoreError} DATA_CORRUPT, STORAGE_UNAVAILABLE */
  footer(ref: SegmentRef): Awaitable<SegmentFooter> {
    return chain(this.range(ref, footerRange(ref)), (bytes) => decodeFooter(ref, bytes))
  }

  /** A frame as it is stored, see `range`. */
  frame(ref: SegmentRef, { offset, bytes }: FramePlace, memory?: Bytes): Awaitable<Bytes> {
    return this.range(ref, { start: offset, limit: offset + bytes }, memory)
  }

  /**
   * @param memory - Where the bytes are put if it is large enough; else they have memory of their own.
   * @throws {StoreError} DATA_CORRUPT: the segment is missing; STORAGE_UNAVAILABLE
   */
  range(ref: SegmentRef, range: ByteRange, memory?: Bytes): Awaitable<Bytes> {
    const bytes = this.#objects.get(ref.object, range, memory)
    return isSync(bytes) ? present(ref, bytes) : bytes.then((read) => present(ref, read))
  }
}

function present(ref: SegmentRef, bytes: Bytes | null): Bytes {
  if (bytes !== null) return bytes
  throw new StoreError('DATA_CORRUPT', `Segment ${ref.object} is missing`)
}
