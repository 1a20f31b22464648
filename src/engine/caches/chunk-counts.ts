// The number of chunks of each stash in use, counted once and then updated. It guards against endless stashes and is
// not exact: on a shared store other processes add chunks too.
//
// It is not part of the cache memory: without it, each put would count all chunks of its stash.
import { BoundedMap } from '../../base/bounded-map.js'

/**
 * Maximum number of stashes with a known count. The oldest count is dropped first, and made again when it is needed.
 */
const STASHES_MAX = 4_096

export class ChunkCounts {
  readonly #counts = new BoundedMap<string, number>(STASHES_MAX)

  /** @param nonce - The nonce of the stash, as hex. */
  async get(nonce: string, count: () => Promise<number>): Promise<number> {
    const known = this.#counts.get(nonce)
    if (known !== undefined) return known
    const found = await count()
    this.#counts.set(nonce, found)
    return found
  }

  add(nonce: string): void {
    const known = this.#counts.get(nonce)
    if (known !== undefined) this.#counts.set(nonce, known + 1)
  }
}
