// Enforces limits where several processes add. Each process counts, may use its share of the room that is left, and
// then counts again. So the number of counts grows with the logarithm of the limit, no operation waits for another
// process, and no two commits conflict over a counter.
//
// Not exact: while a process has an unused share, others may use up the room. All processes together stay below twice
// the limit, plus what they add within `COUNT_MS`.
import { monotonicMs } from '../../base/clock.js'
import { decodeIncarnation } from '../../format/incarnation-records.js'
import { INCARNATIONS_RANGE } from '../../format/keys.js'
import type { KvStore } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'

/** Least time that a count is used, in milliseconds, so that a team at its limit is not counted on each call. */
const COUNT_MS = 10_000

export class CountShares {
  readonly #kv: Pick<KvStore, 'shared' | 'partition'>

  constructor(kv: Pick<KvStore, 'shared' | 'partition'>) {
    this.#kv = kv
  }

  /** How many processes add, including this one. Call it before the count. undefined: no other process adds. */
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

/** The share of a process in the room that it has just counted. */
export class CountShare {
  readonly #room: readonly number[]
  readonly #processes: number
  readonly #since = monotonicMs()

  /** @param room - What may be added until each limit is reached. */
  constructor(room: readonly number[], processes: number) {
    this.#room = room
    this.#processes = processes
  }

  /** Whether it is time to count again. @param room - The room left after what this process has added. */
  isSpent(room: readonly number[]): boolean {
    if (monotonicMs() - this.#since < COUNT_MS) return false
    return this.#room.some((before, i) => {
      const used = before - (room[i] ?? 0)
      return this.#processes * used >= before
    })
  }
}
