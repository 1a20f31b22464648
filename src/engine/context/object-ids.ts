// Allocates object IDs, and tracks those that no commit names yet.
//
// Invariants:
// - An id begins with the incarnation (one opening of the store), so no two openings make the same one.
// - From `next` until `release` an id is pending: its object may be on disk with no record naming it,
//   and the sweep must leave it alone.
import { toHex } from '../../base/bytes.js'
import type { Random } from '../../base/random.js'
import { isStoreError } from '../../base/store-error.js'
import type { ObjectId } from '../../objects/objects.js'

const INCARNATION_BYTES = 8
const COUNTER_DIGITS = 16

export class ObjectIds {
  readonly incarnation: string
  readonly #pending = new Set<ObjectId>()
  #count = 0

  constructor(random: Random) {
    this.incarnation = toHex(random.bytes(INCARNATION_BYTES))
  }

  next(): ObjectId {
    const id = this.incarnation + (this.#count++).toString(16).padStart(COUNTER_DIGITS, '0')
    this.#pending.add(id)
    return id
  }

  /** Ends the pending state of IDs, because a commit names them now or the sweep may delete them. */
  release(ids: Iterable<ObjectId>): void {
    for (const id of ids) this.#pending.delete(id)
  }

  /** As `release`, unless the operation failed with an unknown outcome: then a commit may name the ids. */
  releaseAfter(failure: unknown, ids: Iterable<ObjectId>): void {
    if (!isStoreError(failure) || failure.outcome !== 'unknown') this.release(ids)
  }

  isPending(id: ObjectId): boolean {
    return this.#pending.has(id)
  }
}
