// Counts the open feeds of each key, and runs one timer for all of them.
import { every } from '../../base/platform.js'
import { rateLimited } from '../http/refusal.js'

/** Time between two comments of an idle feed, in milliseconds. They keep proxies from closing its connection. */
const KEEP_ALIVE_MS = 15_000

/** How long a refused client should wait before it retries, in milliseconds. */
const REFUSED_MS = 5_000

/** An open feed. It counts towards its key until it is closed. */
export type OpenFeed = {
  /** Whether a comment is due. */
  isDue: boolean
  /** Is called when a comment is due. */
  wake: () => void
  readonly close: () => void
}

export class OpenFeeds {
  readonly #perKeyMax: number
  readonly #open = new Map<string, Set<OpenFeed>>()
  #count = 0
  #stopTimer: (() => void) | undefined

  constructor(perKeyMax: number) {
    this.#perKeyMax = perKeyMax
  }

  /** The open feeds of all keys. */
  get count(): number {
    return this.#count
  }

  /** @throws {Refusal} RATE_LIMITED */
  open(key: string): OpenFeed {
    const ofKey = this.#open.get(key) ?? new Set()
    if (ofKey.size >= this.#perKeyMax) {
      const problem = `This key may have at most ${this.#perKeyMax} feeds (feedsPerKeyMax)`
      throw rateLimited(`${problem}; close one, or try again later`, REFUSED_MS)
    }
    const close = (): void => {
      if (!ofKey.delete(feed)) return
      this.#count--
      if (ofKey.size > 0) return
      this.#open.delete(key)
      if (this.#open.size > 0) return
      this.#stopTimer?.()
      this.#stopTimer = undefined
    }
    const feed: OpenFeed = { isDue: false, wake: () => undefined, close }
    this.#open.set(key, ofKey.add(feed))
    this.#count++
    this.#stopTimer ??= every(KEEP_ALIVE_MS, () => this.#tick())
    return feed
  }

  #tick(): void {
    for (const ofKey of this.#open.values()) {
      for (const feed of ofKey) {
        feed.isDue = true
        feed.wake()
      }
    }
  }
}
