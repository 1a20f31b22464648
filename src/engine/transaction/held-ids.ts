// Object IDs of the operations of a transaction: they stay pending until the transaction has ended, not the operation.
import type { ObjectId } from '../../objects/objects.js'
import type { StoreContext } from '../context/store-context.js'

type Ids = StoreContext['ids']

export class HeldIds implements Ids {
  readonly #ids: Ids
  readonly #held = new Set<ObjectId>()

  constructor(ids: Ids) {
    this.#ids = ids
  }

  get incarnation(): string {
    return this.#ids.incarnation
  }

  get count(): number {
    return this.#ids.count
  }

  next(): ObjectId {
    return this.#ids.next()
  }

  share(object: ObjectId, segments: readonly ObjectId[]): void {
    this.#ids.share(object, segments)
  }

  isPending(id: ObjectId): boolean {
    return this.#ids.isPending(id)
  }

  release(ids: Iterable<ObjectId>): void {
    for (const id of ids) this.#held.add(id)
  }

  releaseAfter(_: unknown, ids: Iterable<ObjectId>): void {
    this.release(ids)
  }

  /** The transaction has ended: a commit names the objects, or they are the sweep's. */
  end(): void {
    this.#ids.release(this.#held)
  }

  /** The commit of the transaction has failed. */
  endAfter(failure: unknown): void {
    this.#ids.releaseAfter(failure, this.#held)
  }
}
