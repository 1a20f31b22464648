// The number of chunks in each stash in use: counted once, then updated. A guard against endless stashes, not exact: on
// a shared store other processes add chunks too.
//
// Not part of the cache memory: without the counts, each put would count all chunks of its stash.
import { BoundedMap } from '../../base/bounded-map.js'

/** Stashes with a known count, at most. Beyond it the oldest count is dropped, and made again when it is needed. */
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
