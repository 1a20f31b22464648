// Enforces limits on a store to which several processes add. Each process counts, may use its share of the room up to
// the limit, and then counts again. So the number of counts grows with the logarithm of the limit, no operation waits
// for another process, and no two commits conflict over a counter.
//
// The limits are not exact: while a process has an unused share, others may use up the room. All processes together
// stay below twice the limit, plus what they add within `COUNT_MS`.
import { monotonicMs } from '../../base/clock.js'
import { decodeIncarnation } from '../../format/incarnation-records.js'
import { INCARNATIONS_RANGE } from '../../format/keys.js'
import type { KvStore } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'

/** Minimum time for which a count is used, in milliseconds, so that a team at its limit is not counted on each call. */
const COUNT_MS = 10_000

export class CountShares {
  readonly #kv: Pick<KvStore, 'shared' | 'partition'>

  constructor(kv: Pick<KvStore, 'shared' | 'partition'>) {
    this.#kv = kv
  }

  /**
   * The number of processes that add, including this one; undefined: no other process adds. It must be called before
   * the count.
   */
  async processes(): Promise<number | undefined> {
    if (!this.#kv.shared) return undefined
    return this.#kv.partition('').read(async (view) => {
      let living = 0
      for await (const entries of scanBatches(view, INCARNATIONS_RANGE)) {
        for (const [, record] of entries) if (!decodeIncarnation(record).hasEnded) living++
      }
      return Math.max(1, living)
    })
  }
}

/**
 * What a process may add before it must count again: its share of the room (what may be added until the limits are
 * reached).
 */
export class CountShare {
  readonly #room: readonly number[]
  readonly #processes: number
  readonly #since = monotonicMs()

  /** @param room - The room of each limit, by the count just made. */
  constructor(room: readonly number[], processes: number) {
    this.#room = room
    this.#processes = processes
  }

  /**
   * Whether it is time to count again.
   * @param room - The room of each limit, less what this process has added since the count.
   */
  isSpent(room: readonly number[]): boolean {
    if (monotonicMs() - this.#since < COUNT_MS) return false
    return this.#room.some((before, i) => {
      const used = before - (room[i] ?? 0)
      return this.#processes * used >= before
    })
  }
}
