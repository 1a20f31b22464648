// Caches forward objects by ID. Each object is read as a whole, because a page or a walk makes many lookups in one
// object.

import type { Awaitable } from '../../base/awaitable.js'
import { ByteCache } from '../../base/byte-cache.js'
import { StoreError } from '../../base/store-error.js'
import { ForwardMap } from '../../format/forward.js'
import type { Generation } from '../../format/records.js'
import type { ObjectId, ObjectStore } from '../../objects/objects.js'

export class ForwardCache {
  readonly #objects: ObjectStore
  readonly #maps: ByteCache<ForwardMap>

  /** @param bytesMax - Maximum size of the cache, in bytes; 0 caches nothing. */
  constructor(objects: ObjectStore, bytesMax: number) {
    this.#objects = objects
    this.#maps = new ByteCache(bytesMax, (_, { bytes }) => bytes)
  }

  /** Estimated size, in bytes. */
  get bytes(): number {
    return this.#maps.bytes
  }

  /** Number of lookups that found an entry. `misses` is the number of all other lookups. */
  get hits(): number {
    return this.#maps.hits
  }

  get misses(): number {
    return this.#maps.misses
  }

  /** The preserved row IDs of a generation; null: it has none. @throws {StoreError} DATA_CORRUPT */
  of({ forward }: Generation): Awaitable<ForwardMap | null> {
    if (forward === null) return null
    const known = this.#maps.get(forward.object)
    return known ?? this.#read(forward.object)
  }

  async #read(object: ObjectId): Promise<ForwardMap> {
    const content = await this.#objects.get(object)
    if (content === null) {
      throw new StoreError('DATA_CORRUPT', `Forward object ${object} is missing`)
    }
    const map = new ForwardMap(object, content)
    this.#maps.set(object, map)
    return map
  }
}
