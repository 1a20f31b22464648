// The lanes of T6 on stores whose ports fail, and the journal of the answers.
import { isStoreError, type Store } from '../../../src/index.js'
import { Lane } from '../crash/lane.js'
import { laneStoreOf } from '../crash/lane-store.js'
import { Ledger } from '../crash/ledger.js'
import type { LogLine } from '../crash/log-lines.js'
import { resolveJob } from '../crash/writer-job.js'
import { Pace } from './journal.js'

const LANES_OF_STORE = 2

/** How long a lane may go without an accepted change. */
const RECOVERY_MS_MAX = 120_000

type Begun = Readonly<{ what: string; at: number }>

export class FaultyLanes {
  readonly ledger = new Ledger()
  readonly #lanes: readonly Lane[]
  readonly #pace = new Pace()
  readonly #begun = new Map<number, Begun>()
  /** Operations by kind: acknowledged, and failed by outcome. */
  readonly #counts = new Map<string, Map<string, number>>()
  #operations = 0
  #isOver = false

  constructor(stores: readonly Store[], seed: number) {
    this.#lanes = stores.flatMap((store, which) =>
      Array.from({ length: LANES_OF_STORE }, (_, number) => {
        const index = which * LANES_OF_STORE + number
        return new Lane(laneStoreOf(store), {
          ...resolveJob({ seed: seed * 31 + index, fileBytesMax: 20_000 }),
          index,
          nextOperation: () => ++this.#operations,
          say: (line) => this.#say(line),
        })
      }),
    )
  }

  /** Creates what they work on. Nothing may fail yet. */
  async start(): Promise<void> {
    for (const lane of this.#lanes) await lane.start()
  }

  /** Runs all lanes for a time. */
  async run(ms: number): Promise<void> {
    const timer = setTimeout(() => {
      this.#isOver = true
    }, ms)
    try {
      await Promise.all(this.#lanes.map((lane) => this.#work(lane)))
    } finally {
      this.#isOver = true
      clearTimeout(timer)
    }
  }

  /** Lines about their operations, and the longest pauses. */
  summary(): string[] {
    const { acknowledged, failures } = this.ledger
    const { longestMs, longestGapMs } = this.#pace
    const counts = [...this.#counts].map(([what, counts]) => [what, Object.fromEntries(counts)])
    return [
      `${acknowledged} operations acknowledged, ${failures} failed: ${JSON.stringify(Object.fromEntries(counts))}`,
      `longest operation ${longestMs.toFixed(0)} ms, longest time in which none was acknowledged ${longestGapMs.toFixed(0)} ms`,
    ]
  }

  async #work(lane: Lane): Promise<void> {
    while (!this.#isOver) {
      const { failures } = lane
      await lane.step()
      if (lane.failures > failures) await recover(lane)
    }
  }

  #say(line: LogLine): void {
    this.ledger.read([line])
    if (line.say === 'begin') {
      this.#begun.set(line.op, { what: line.change.do, at: performance.now() })
    } else if (line.say === 'done' || line.say === 'failed') {
      const { what, at } = this.#begun.get(line.op) ?? { what: '', at: 0 }
      this.#begun.delete(line.op)
      if (line.say === 'done') this.#pace.note(at)
      const counts = this.#counts.get(what) ?? new Map<string, number>()
      const came = line.say === 'done' ? 'done' : `failed, ${line.outcome ?? 'unknown'}`
      counts.set(came, (counts.get(came) ?? 0) + 1)
      this.#counts.set(what, counts)
    }
  }
}

/** Waits until a change is accepted again, and reads the outcome of those that failed. Reads may fail, too. */
async function recover(lane: Lane): Promise<void> {
  const endsAt = performance.now() + RECOVERY_MS_MAX
  while (performance.now() < endsAt) {
    try {
      if (await lane.recover(endsAt - performance.now())) return
    } catch (failure) {
      if (!isStoreError(failure) || failure.code !== 'STORAGE_UNAVAILABLE') throw failure
    }
  }
  throw new Error(`A lane finds no change taken for ${RECOVERY_MS_MAX} ms`)
}
