// Segments on their way into the object store.
import { type BuiltSegment, SegmentBuilder } from '../../format/segment-writer.js'
import type { ObjectId } from '../../objects/objects.js'
import type { StoreContext } from './store-context.js'

/** Room to begin with: that of a usual chunk. */
const SEGMENT_BYTES_FIRST = 512 * 1024

/** Begins a segment in lent buffers: those that it has used are given back when its bytes are stored. */
export function beginSegment(
  { buffers, options }: Pick<StoreContext, 'buffers' | 'options'>,
  object: ObjectId,
): SegmentBuilder {
  const take = (bytes: number): Uint8Array<ArrayBuffer> => buffers.take(bytes)
  const { compression, valueFilters } = options
  return new SegmentBuilder(object, SEGMENT_BYTES_FIRST, compression, take, valueFilters)
}

/** Stores a segment, before a commit names it. */
export async function putSegment(
  { codecs: known, objects, activity }: StoreContext,
  object: ObjectId,
  { bytes, codecs }: Pick<BuiltSegment, 'bytes' | 'codecs'>,
): Promise<void> {
  await known.note(codecs)
  await objects.put(object, bytes)
  activity.segmentBytesWritten += bytes.length
}
