// Reads a whole segment in order and checks each of its bytes, for verification and backup.
import { type Bytes, sameBytes } from '../../base/bytes.js'
import { yieldToEventLoop } from '../../base/platform.js'
import { isStoreError, StoreError } from '../../base/store-error.js'
import type { SegmentRef } from '../../format/extent-page.js'
import { codecBit } from '../../format/frame-codec.js'
import type { FramePlace } from '../../format/segment-footer.js'
import { SEGMENT_HEADER } from '../../format/segment-layout.js'
import type { SegmentFooter } from '../../format/segment-reader.js'
import { decodeFooter, decodeFrame, type Frame, footerRange } from '../../format/segment-reader.js'
import { rangeInObject, storedIn } from '../../format/shared-objects.js'
import type { ObjectStore } from '../../objects/objects.js'
import type { Problem } from '../types/verify-types.js'
import { divideFrames, READ_BYTES_MAX, type StoredPart } from './frame-parts.js'

/** Where segments are read from: the object store, or one object in memory. */
export type ReadObjects = Pick<ObjectStore, 'get'>

/**
 * Reads the footer of a segment. Checks that the object exists and has the recorded length. For a shared object, checks
 * that it reaches to the end of the segment.
 * @returns the footer, or the problem that was found.
 * @throws {StoreError} STORAGE_UNAVAILABLE
 */
export async function openSegment(
  objects: ReadObjects,
  ref: SegmentRef,
): Promise<Readonly<{ footer: SegmentFooter; bytes: Bytes }> | Problem> {
  const { start } = footerRange(ref)
  if (start < SEGMENT_HEADER.length) {
    const message = `The record of segment ${ref.object} gives it a footer that is larger than the segment`
    return { kind: 'record-mismatch', message }
  }
  // Of an unshared object, one byte beyond the recorded length is read too, to notice that it is too long.
  const limit = ref.shared === undefined ? ref.objectBytes + 1 : ref.objectBytes
  const bytes = await objects.get(storedIn(ref), rangeInObject(ref, { start, limit }))
  if (bytes === null) {
    return { kind: 'object-missing', message: `Segment ${ref.object} is missing` }
  }
  if (bytes.length !== ref.objectBytes - start) return wrongObjectLength(ref, start + bytes.length)
  try {
    const footer = decodeFooter(ref, bytes)
    const problem = frameProblem(ref, footer.frames, start)
    return problem ?? { footer, bytes }
  } catch (failure) {
    return corruptProblem(failure)
  }
}

/** Checks that frames follow each other from the header to the footer, so that no byte between them goes unchecked. */
function frameProblem(
  ref: SegmentRef,
  frames: readonly FramePlace[],
  footerStart: number,
): Problem | null {
  let [offset, row] = [SEGMENT_HEADER.length, 0]
  for (const frame of frames) {
    if (frame.offset !== offset || frame.firstRow !== row || frame.rowCount < 1) break
    offset += frame.bytes
    row += frame.rowCount
  }
  if (offset === footerStart && row === ref.rowCount) return null
  const message = `The frames of segment ${ref.object} leave a gap, or overlap`
  return { kind: 'segment', message, place: `frame index, offset ${offset}` }
}

/** Adjacent stored bytes of a segment, and the frames in them. */
export type SegmentPiece = Readonly<{
  bytes: Bytes
  frames: readonly Readonly<{ place: FramePlace; frame: Frame }>[]
  /** The codecs of the frames, one bit each; see `codecBit`. */
  codecs: number
  problems: readonly Problem[]
}>

/** Reads a segment from its header to its last frame. Frames that cannot be decoded are reported as problems. */
export async function* readSegmentPieces(
  objects: ReadObjects,
  ref: SegmentRef,
  { frames }: SegmentFooter,
): AsyncGenerator<SegmentPiece, void> {
  let start = 0
  for (let index = 0; index < frames.length || start === 0; ) {
    const run: FramePlace[] = []
    let limit = start === 0 ? SEGMENT_HEADER.length : start
    for (let place = frames[index]; place !== undefined; place = frames[++index]) {
      if (run.length > 0 && limit + place.bytes - start > READ_BYTES_MAX) break
      run.push(place)
      limit += place.bytes
    }
    const bytes = await objects.get(storedIn(ref), rangeInObject(ref, { start, limit }))
    if (bytes === null || bytes.length !== limit - start) {
      throw new StoreError(
        'DATA_CORRUPT',
        `Segment ${ref.object} is missing its bytes from ${start} on`,
      )
    }
    const problems: Problem[] = start === 0 ? headerProblems(ref, bytes) : []
    let codecs = 0
    const decoded: { place: FramePlace; frame: Frame }[] = []
    for (const [number, part] of divideFrames(run, bytes, start).entries()) {
      if (number > 0) await yieldToEventLoop() // Decompressing a piece takes 1 ms or more.
      for (const stored of part) {
        codecs |= codecBit(stored.bytes[0] ?? 0)
        const found = await tryDecode(ref, stored)
        if ('frame' in found) decoded.push(found)
        else problems.push(found)
      }
    }
    yield { bytes, frames: decoded, codecs, problems }
    start = limit
  }
}

async function tryDecode(
  ref: SegmentRef,
  { place, bytes }: StoredPart[number],
): Promise<Readonly<{ place: FramePlace; frame: Frame }> | Problem> {
  try {
    return { place, frame: await decodeFrame(ref, place, bytes) }
  } catch (failure) {
    const rows = `rows ${place.firstRow} to ${place.firstRow + place.rowCount - 1}`
    return { ...corruptProblem(failure), place: `frame at ${place.offset}, ${rows}` }
  }
}

function headerProblems(ref: SegmentRef, bytes: Bytes): Problem[] {
  if (sameBytes(bytes.subarray(0, SEGMENT_HEADER.length), SEGMENT_HEADER)) return []
  const message = `Segment ${ref.object} does not begin with the header of a segment`
  return [{ kind: 'segment', message, place: 'header' }]
}

function wrongObjectLength(ref: SegmentRef, found: number): Problem {
  const { limit } = rangeInObject(ref, { start: 0, limit: ref.objectBytes })
  const has = found > ref.objectBytes ? 'more' : `only ${limit - ref.objectBytes + found}`
  const expected = ref.shared === undefined ? `${limit} bytes` : `${limit} bytes or more`
  const message = `Object ${storedIn(ref)} should have ${expected}, but has ${has}`
  return { kind: 'object-length', message }
}

function corruptProblem(failure: unknown): Problem {
  if (isStoreError(failure) && failure.code === 'DATA_CORRUPT') {
    return { kind: 'segment', message: failure.message }
  }
  throw failure
}
