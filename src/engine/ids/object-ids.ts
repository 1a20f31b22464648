// Allocates object IDs, and tracks those that no commit names yet.
//
// Invariants:
// - An id begins with the incarnation (one opening of the store), so no two openings make the same one. One that other
//   processes took for ended goes on as a new incarnation.
// - From `next` until `release` an id is pending: its object may be on disk with no record naming it,
//   and garbage collection must leave it alone.
// - An object that segments share is pending as long as one of them is.
import { toHex } from '../../base/bytes.js'
import type { Random } from '../../base/random.js'
import { isStoreError } from '../../base/store-error.js'
import {
  counterOf,
  INCARNATION_BYTES,
  incarnationOf,
  makeObjectId,
} from '../../format/object-id.js'
import type { ObjectId } from '../../objects/objects.js'

/** What an incarnation has pending: some counters below `settled`, and any from there on. */
export type PendingCounters = Readonly<{ settled: number; pending: readonly number[] }>

export class ObjectIds {
  readonly #random: Random
  readonly #pending = new Set<ObjectId>()
  /** The shared objects of pending segments, and how many each has. */
  readonly #sharedBy = new Map<ObjectId, ObjectId>()
  readonly #sharing = new Map<ObjectId, number>()
  #incarnation: string
  #count = 0

  constructor(random: Random) {
    this.#random = random
    this.#incarnation = newIncarnation(random)
  }

  /** The 16 hex digits that new IDs begin with. */
  get incarnation(): string {
    return this.#incarnation
  }

  /** The counter of the next ID of the incarnation. */
  get count(): number {
    return this.#count
  }

  next(): ObjectId {
    const id = makeObjectId(this.#incarnation, this.#count++)
    this.#pending.add(id)
    return id
  }

  /** New IDs are of a new incarnation from here on; those of the old one stay pending. */
  beginAnew(): void {
    this.#incarnation = newIncarnation(this.#random)
    this.#count = 0
  }

  /** Ends the pending state of IDs, because a commit names them now or garbage collection may delete them. */
  release(ids: Iterable<ObjectId>): void {
    for (const id of ids) {
      this.#pending.delete(id)
      const object = this.#sharedBy.get(id)
      if (object === undefined) continue
      this.#sharedBy.delete(id)
      const left = (this.#sharing.get(object) ?? 0) - 1
      this.#sharing.set(object, left)
      if (left > 0) continue
      this.#sharing.delete(object)
      this.#pending.delete(object)
    }
  }

  /** Notes that a pending object has the bytes of pending segments: releasing the last of them releases it. */
  share(object: ObjectId, segments: readonly ObjectId[]): void {
    for (const segment of segments) this.#sharedBy.set(segment, object)
    this.#sharing.set(object, segments.length)
  }

  /** As `release`, unless the operation failed with an unknown outcome: then a commit may name the ids. */
  releaseAfter(failure: unknown, ids: Iterable<ObjectId>): void {
    if (!isStoreError(failure) || failure.outcome !== 'unknown') this.release(ids)
  }

  isPending(id: ObjectId): boolean {
    return this.#pending.has(id)
  }

  /** What the incarnation has pending now, with at most so many counters listed. */
  pendingCounters(listedMax: number): PendingCounters {
    const pending: number[] = []
    for (const id of this.#pending) {
      // In the order of their counters.
      if (incarnationOf(id) !== this.#incarnation) continue
      if (pending.length === listedMax) return { settled: counterOf(id), pending }
      pending.push(counterOf(id))
    }
    return { settled: this.#count, pending }
  }
}

function newIncarnation(random: Random): string {
  return toHex(random.bytes(INCARNATION_BYTES))
}
