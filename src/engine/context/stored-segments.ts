// Stores new segments as objects.
import type { SegmentRef } from '../../format/extent-page.js'
import { type BuiltSegment, SegmentBuilder } from '../../format/segment-writer.js'
import type { ObjectId } from '../../objects/objects.js'
import { SMALL_SEGMENT_BYTES_MAX } from './segment-puts.js'
import type { StoreContext, TeamContext } from './store-context.js'

/** Size of the first buffer of a segment, in bytes: the size of a usual chunk. */
const SEGMENT_BYTES_FIRST = 512 * 1024

/** Begins a segment in lent buffers. They are returned when the segment is stored. */
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

/**
 * Stores a segment before a commit names it. A small segment may share an object with other segments of the team.
 * @returns the segment with its place.
 */
export async function putSharing(
  team: StoreContext & Pick<TeamContext, 'segmentPuts'>,
  ref: SegmentRef,
  built: Pick<BuiltSegment, 'bytes' | 'codecs'>,
): Promise<SegmentRef> {
  const { codecs: known, segmentPuts, activity } = team
  const { bytes, codecs } = built
  if (bytes.length > SMALL_SEGMENT_BYTES_MAX) {
    await putSegment(team, ref.object, built)
    return ref
  }
  await known.note(codecs)
  const shared = await segmentPuts.put({ object: ref.object, bytes })
  activity.segmentBytesWritten += bytes.length
  return shared === undefined ? ref : { ...ref, shared }
}
