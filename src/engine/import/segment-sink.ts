// Stores rows as segments, one after the other, each under a new, pending object ID, and gives the segments to a
// target.
import type { Bytes } from '../../base/bytes.js'
import { invariant } from '../../base/invariant.js'
import { StoreError } from '../../base/store-error.js'
import type { Steps } from '../../base/time-slices.js'
import type { SegmentRef } from '../../format/extent-page.js'
import type { FileIds } from '../../format/file-references.js'
import type { SegmentBuilder } from '../../format/segment-writer.js'
import type { TextBuffer } from '../../format/text-buffer.js'
import type { ObjectId } from '../../objects/objects.js'
import type { ColumnSummary } from '../../schema/column-summary.js'
import type { JsonByteScanner } from '../../schema/scan-json-bytes.js'
import { newMarkedFiles } from '../commit/file-markers.js'
import type { StoreContext, TeamContext } from '../context/store-context.js'
import { beginSegment, putSharing } from '../context/stored-segments.js'
import type { RowBatch } from './chunk-builder.js'
import { workOfRow } from './columns-of-chunk.js'
import type { RowSink } from './read-json-bytes.js'

/** Receives finished segments. */
export interface SegmentTarget {
  /** Begins anew: the rows are read again from their beginning, and earlier segments do not count. */
  begin(): void
  /**
   * Takes a segment. Its bytes must not change until the promise settles.
   * @returns the segment with its place.
   */
  take(segment: FinishedSegment): Promise<SegmentRef>
}

export type FinishedSegment = Readonly<{
  ref: SegmentRef
  bytes: Bytes
  /** The codecs of the frames, one bit each; see `codecBit`. */
  codecs: number
  columns: readonly ColumnSummary[]
}>

/** Puts segments into the object store. */
export function storedSegments(team: TeamContext): SegmentTarget {
  return {
    begin: () => undefined,
    take: (segment) => putSharing(team, segment.ref, segment),
  }
}

/** Turns rows into segments, one after the other, under new, pending object IDs. */
export class SegmentSink implements RowSink {
  readonly segments: SegmentRef[] = []
  readonly files = newMarkedFiles()
  readonly #context: StoreContext
  readonly #target: SegmentTarget
  #object: ObjectId | undefined
  #builder: SegmentBuilder | undefined

  constructor(context: StoreContext, target: SegmentTarget) {
    this.#context = context
    this.#target = target
    target.begin()
  }

  add(texts: readonly string[]): void {
    if (texts.length === 0) return
    const builder = this.#opened()
    for (const text of texts) builder.add(text)
  }

  /** Adds any number of rows in steps; see `add`. */
  *addInSteps(texts: readonly string[]): Steps<void> {
    for (const text of texts) {
      this.add([text])
      yield workOfRow(text.length)
    }
  }

  addRow(write: (texts: TextBuffer) => void, scanned?: JsonByteScanner): void {
    this.#opened().addRow(write, scanned)
  }

  #opened(): SegmentBuilder {
    if (this.#builder === undefined) {
      this.#object = this.#context.ids.next()
      this.#builder = beginSegment(this.#context, this.#object)
    }
    return this.#builder
  }

  /** Adds the last rows of a segment and stores it. Does nothing if the segment has no rows. */
  async end({ texts, columns, claims }: RowBatch): Promise<void> {
    this.add(texts)
    const object = this.#object
    const builder = this.#builder
    if (object === undefined || builder === undefined) return
    if (this.segments.length === SEGMENTS_MAX) throw tooManySegments()
    const { rowCount } = builder
    const { bytes, footerBytes, codecs, files, used } = await builder.finish(columns, claims)
    const ref = { object, rowCount, objectBytes: bytes.length, footerBytes }
    this.segments.push(await this.#target.take({ ref, bytes, codecs, columns }))
    this.files.addAll(files)
    this.#object = undefined
    this.#builder = undefined
    for (const buffer of used) this.#context.buffers.give(buffer) // The target has its copy.
  }

  /** Abandons all segments, stored or in progress. */
  abandon(): void {
    const objects = this.segments.map(({ object }) => object)
    this.#context.ids.release(this.#object === undefined ? objects : [...objects, this.#object])
    for (const buffer of this.#builder?.abandon() ?? []) this.#context.buffers.give(buffer)
  }
}

/** Maximum number of segments of one operation, so that a single commit is enough. */
export const SEGMENTS_MAX = 65_535

export function tooManySegments(): StoreError {
  return new StoreError(
    'REQUEST_VALIDATION_ERROR',
    `The rows fill more than ${SEGMENTS_MAX} segments; put them into a stash, in chunks`,
  )
}

/**
 * Stores rows as a segment under a new, pending object ID.
 * @param files - Collects the files that the rows name.
 */
export async function storeSegment(
  team: TeamContext,
  batch: RowBatch,
  files: FileIds,
): Promise<SegmentRef> {
  const sink = new SegmentSink(team, storedSegments(team))
  try {
    await team.slices.begin().run(sink.addInSteps(batch.texts))
    await sink.end({ ...batch, texts: [] })
  } catch (failure) {
    sink.abandon()
    throw failure
  }
  const [segment] = sink.segments
  invariant(segment !== undefined, 'a batch has rows')
  files.addAll(sink.files)
  return segment
}
