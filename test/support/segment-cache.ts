import { BufferPool } from '../../src/base/buffer-pool.js'
import { SegmentCache } from '../../src/engine/segments/segment-cache.js'
import { SegmentReads } from '../../src/engine/segments/segment-reads.js'
import type { ObjectStore } from '../../src/objects/objects.js'

const BUFFER_BYTES = 4 * 1024 * 1024

/** A segment cache alone, with separate buffers. */
export function segmentCacheOf(objects: ObjectStore, bytesMax: number): SegmentCache {
  return new SegmentCache(new SegmentReads(objects, new BufferPool(BUFFER_BYTES)), bytesMax)
}
