// Stores small segments of a team together, as one object, if they are ready at the same time (FORMAT.md, section 6). A
// file for each segment, or a request that costs money, would cost more than the bytes of the segments (PERFORMANCE.md,
// P35).
//
// Invariants:
// - A segment that comes alone does not wait. Segments gather as a group only while another group is being stored.
// - A group is stored as a whole, or all of its puts fail.
// - The object of a group is pending until each of its segments is named by a commit or abandoned.
import type { BufferPool } from '../../base/buffer-pool.js'
import type { Bytes } from '../../base/bytes.js'
import { yieldToEventLoop } from '../../base/platform.js'
import { mayShare, type SharedPlace } from '../../format/shared-objects.js'
import type { ObjectId, ObjectStore } from '../../objects/objects.js'
import type { ObjectIds } from '../ids/object-ids.js'

/** Maximum size of a small segment, in bytes. A larger segment has an object of its own. */
export const SMALL_SEGMENT_BYTES_MAX = 64 * 1024

/** Maximum number of bytes and segments of a group. */
const GROUP_BYTES_MAX = 1024 * 1024
const GROUP_SEGMENTS_MAX = 1_000

type Segment = Readonly<{ object: ObjectId; bytes: Bytes }>

type Waiting = Segment &
  Readonly<{
    resolve: (place: SharedPlace | undefined) => void
    reject: (failure: unknown) => void
  }>

type PutsParts = Readonly<{
  objects: ObjectStore
  ids: Pick<ObjectIds, 'next' | 'release' | 'share'>
  buffers: BufferPool
}>

/** Stores the small segments of one team. */
export class SegmentPuts {
  readonly #parts: PutsParts
  #waiting: Waiting[] = []
  #running: Promise<void> | undefined
  /** The expected number of segments of the next group: those of the last group, and those that waited for it. */
  #expected = 1
  #gathered: (() => void) | undefined

  constructor(parts: PutsParts) {
    this.#parts = parts
  }

  /**
   * Stores a segment of at most `SMALL_SEGMENT_BYTES_MAX` bytes. The bytes must not change until the call has settled.
   * @returns the place of the segment in the shared object; undefined: the segment has an object of its own.
   * @throws {StoreError} as `ObjectStore.put`: then nothing is stored
   */
  put({ object, bytes }: Segment): Promise<SharedPlace | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ object, bytes, resolve, reject })
      if (this.#waiting.length >= this.#expected) this.#gathered?.()
      this.#running ??= this.#run()
    })
  }

  async #run(): Promise<void> {
    await Promise.resolve() // Segments that are put in this turn join the first group.
    while (this.#waiting.length > 0) {
      if (this.#waiting.length < this.#expected) await this.#gather()
      await this.#settle(this.#waiting.splice(0, segmentGroupLength(this.#waiting)))
    }
    this.#running = undefined
  }

  /** Waits for the expected number of segments, but no longer than this turn of the event loop. */
  async #gather(): Promise<void> {
    const gathered = new Promise<void>((resolve) => {
      this.#gathered = resolve
    })
    await Promise.race([gathered, yieldToEventLoop()])
    this.#gathered = undefined
  }

  /** Stores a group and settles all its puts. Never fails. */
  async #settle(group: readonly Waiting[]): Promise<void> {
    const { ids } = this.#parts
    const object = group.length > 1 ? ids.next() : undefined
    const isShared =
      object !== undefined && group.every((segment) => mayShare(object, segment.object))
    if (isShared) return this.#putTogether(object, group)
    if (object !== undefined) ids.release([object]) // Some segments have IDs of the previous incarnation.
    await Promise.all(group.map((segment) => this.#putAlone(segment)))
  }

  async #putAlone({ object, bytes, resolve, reject }: Waiting): Promise<void> {
    try {
      await this.#parts.objects.put(object, bytes)
      this.#expectAfter(1)
      resolve(undefined)
    } catch (failure) {
      reject(failure)
    }
  }

  async #putTogether(object: ObjectId, group: readonly Waiting[]): Promise<void> {
    const { objects, ids, buffers } = this.#parts
    const segments = group.map((segment) => segment.object)
    ids.share(object, segments)
    const length = waitingGroupBytes(group)
    const whole = buffers.take(length)
    const offsets: number[] = []
    let offset = 0
    for (const { bytes } of group) {
      whole.set(bytes, offset)
      offsets.push(offset)
      offset += bytes.length
    }
    try {
      await objects.put(object, whole.subarray(0, length))
      this.#expectAfter(group.length)
      for (const [index, { resolve }] of group.entries()) {
        resolve({ object, offset: offsets[index] ?? 0 })
      }
    } catch (failure) {
      for (const { reject } of group) reject(failure)
    } finally {
      buffers.give(whole)
    }
  }

  /** Must be called before the puts of a group settle, or callers that put their next segment then would count twice. */
  #expectAfter(stored: number): void {
    this.#expected = stored + this.#waiting.length
  }
}

/** The number of waiting segments that go into the next object. */
function segmentGroupLength(waiting: readonly Waiting[]): number {
  let bytes = 0
  let length = 0
  for (const segment of waiting) {
    bytes += segment.bytes.length
    if (length > 0 && (bytes > GROUP_BYTES_MAX || length === GROUP_SEGMENTS_MAX)) break
    length++
  }
  return length
}

function waitingGroupBytes(group: readonly Waiting[]): number {
  return group.reduce((sum, { bytes }) => sum + bytes.length, 0)
}
