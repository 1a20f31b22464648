// Allocates object IDs, and tracks the IDs that no commit names yet.
//
// Invariants:
// - An ID begins with the incarnation (one opening of the store), so two openings never make the same ID. If other
//   processes have ended the incarnation of a process, the process continues as a new incarnation.
// - An ID is pending from `next` until `release`. Meanwhile the object may be on the disk although no record names it,
//   and garbage collection must not delete it.
// - An object that segments share is pending as long as one of these segments is.
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

/** The pending counters of an incarnation: the listed counters below `settled`, and all counters from `settled` on. */
export type PendingCounters = Readonly<{ settled: number; pending: readonly number[] }>

export class ObjectIds {
  readonly #random: Random
  readonly #pending = new Set<ObjectId>()
  /** The shared object of each pending segment. */
  readonly #sharedBy = new Map<ObjectId, ObjectId>()
  readonly #sharing = new Map<ObjectId, number>()
  #incarnation: string
  #count = 0

  constructor(random: Random) {
    this.#random = random
    this.#incarnation = newIncarnation(random)
  }

  /** The 16 hex digits with which new IDs begin. */
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

  /** Begins a new incarnation for new IDs. The old IDs stay pending. */
  beginAnew(): void {
    this.#incarnation = newIncarnation(this.#random)
    this.#count = 0
  }

  /** Ends the pending state of IDs, because a commit names them or garbage collection may delete them. */
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

  /**
   * Notes that a pending object has the bytes of several pending segments. When the last of these segments is released,
   * the object is released, too.
   */
  share(object: ObjectId, segments: readonly ObjectId[]): void {
    for (const segment of segments) this.#sharedBy.set(segment, object)
    this.#sharing.set(object, segments.length)
  }

  /** Releases IDs after a failure, unless its outcome is unknown: then a commit may name the IDs. */
  releaseAfter(failure: unknown, ids: Iterable<ObjectId>): void {
    if (!isStoreError(failure) || failure.outcome !== 'unknown') this.release(ids)
  }

  isPending(id: ObjectId): boolean {
    return this.#pending.has(id)
  }

  /** The counters that are pending now in the incarnation. @param listedMax - Maximum number of counters to list */
  pendingCounters(listedMax: number): PendingCounters {
    const pending: number[] = []
    for (const id of this.#pending) {
      // The IDs are in ascending order of their counters.
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
