// Counts against limits where several processes add: each counts what there is, may use its share of the room, and then
// counts again. So it takes a number of counts that grows with the logarithm of the limit, no operation waits for the
// counters of others, and no two commits refuse each other for one.
//
// Not exact: while a process has a share that it has not used, others may use up the room. All together add less than
// twice the limit, whatever their number is, and what they add within `COUNT_MS`.
import { monotonicMs } from '../../base/clock.js'
import { decodeIncarnation } from '../../format/incarnation-records.js'
import { INCARNATIONS_RANGE } from '../../format/keys.js'
import type { KvStore } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'

/** A count is used so long at least, in milliseconds: a team at its limit is not counted by each call. */
const COUNT_MS = 10_000

export class CountShares {
  readonly #kv: Pick<KvStore, 'shared' | 'partition'>

  constructor(kv: Pick<KvStore, 'shared' | 'partition'>) {
    this.#kv = kv
  }

  /** How many processes add, this one included; ask before the count. undefined: no other process can. */
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

  /** Whether it is time to count again. @param room - What is left by what this process has added. */
  isSpent(room: readonly number[]): boolean {
    if (monotonicMs() - this.#since < COUNT_MS) return false
    return this.#room.some((before, i) => {
      const used = before - (room[i] ?? 0)
      return this.#processes * used >= before
    })
  }
}
