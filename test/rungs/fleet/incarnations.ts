// How long it takes until the others take a killed server for ended: its record stops changing, and is ended.
import { setTimeout as pause } from 'node:timers/promises'
import { toHex } from '../../../src/base/bytes.js'
import { readIncarnations } from '../../../src/engine/context/other-incarnations.js'
import type { KvStore } from '../../../src/index.js'

const LOOK_MS = 200

type Seen = { bytes: string; changedAt: number }

export class IncarnationWatch {
  readonly #kv: KvStore
  readonly #seen = new Map<string, Seen>()
  /** Milliseconds between the last sign of an incarnation and its end, as others made it. */
  readonly endedAfterMs: number[] = []
  #isOver = false

  constructor(kv: KvStore) {
    this.#kv = kv
  }

  async run(): Promise<void> {
    while (!this.#isOver) {
      await this.#look()
      await pause(LOOK_MS)
    }
  }

  end(): void {
    this.#isOver = true
  }

  /** Incarnations with a record. */
  get count(): number {
    return this.#seen.size
  }

  async #look(): Promise<void> {
    const all = await this.#kv.partition('').read(readIncarnations)
    const now = performance.now()
    const alive = new Set<string>()
    for (const { name, bytes, record } of all) {
      if (record.hasEnded) continue
      alive.add(name)
      const text = toHex(bytes)
      const seen = this.#seen.get(name)
      if (seen?.bytes !== text) this.#seen.set(name, { bytes: text, changedAt: now })
    }
    for (const [name, { changedAt }] of this.#seen) {
      if (alive.has(name)) continue
      this.endedAfterMs.push(now - changedAt)
      this.#seen.delete(name)
    }
  }
}
