// How many chunks the stashes in use hold: counted once, then kept up. A guard against stashes without end, not a
// truth: on a shared store others add too.
//
// No cache: without it, each put would count all chunks of its stash.
import { BoundedMap } from '../../base/bounded-map.js'

/** Stashes whose chunks are known; when there are more, the first one is counted anew when it is asked for. */
const STASHES_MAX = 4_096

export class ChunkCounts {
  readonly #counts = new BoundedMap<string, number>(STASHES_MAX)

  /** @param nonce - Of the stash, as hex. */
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
