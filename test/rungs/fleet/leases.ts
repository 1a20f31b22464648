// How soon the others replace a killed server: when they end its incarnation, and when its duties pass to another.
import { setTimeout as pause } from 'node:timers/promises'
import { toHex } from '../../../src/base/bytes.js'
import { readIncarnations } from '../../../src/engine/context/other-incarnations.js'
import { decodeDutyLease, NO_INCARNATION } from '../../../src/format/duty-records.js'
import { DUTIES_RANGE } from '../../../src/format/keys.js'
import type { KvStore } from '../../../src/ports.js'
import { TEAM } from '../crash/lane.js'

const LOOK_MS = 200

/** More than there are duties. */
const DUTIES_MAX = 100

type Seen = Readonly<{ bytes: string; changedAt: number }>

export class LeaseWatch {
  readonly #kv: KvStore
  readonly #alive = new Map<string, Seen>()
  /** Ended incarnations, and the times of their last signs of life. */
  readonly #lastSigns = new Map<string, number>()
  /** Owners of duties, by partition and key. */
  readonly #owners = new Map<string, string>()
  /** Milliseconds between the last sign of an incarnation and its end by others. */
  readonly endedAfterMs: number[] = []
  /** Milliseconds between the last sign of a killed owner of a duty and the next owner. */
  readonly passedAfterMs: number[] = []
  #isOver = false

  constructor(kv: KvStore) {
    this.#kv = kv
  }

  async run(): Promise<void> {
    while (!this.#isOver) {
      await this.#lookAtIncarnations()
      for (const partition of ['', TEAM]) await this.#lookAtDuties(partition)
      await pause(LOOK_MS)
    }
  }

  end(): void {
    this.#isOver = true
  }

  async #lookAtIncarnations(): Promise<void> {
    const all = await this.#kv.partition('').read(readIncarnations)
    const now = performance.now()
    const alive = new Set<string>()
    for (const { name, bytes, record } of all) {
      if (record.hasEnded) continue
      alive.add(name)
      const text = toHex(bytes)
      if (this.#alive.get(name)?.bytes !== text)
        this.#alive.set(name, { bytes: text, changedAt: now })
    }
    for (const [name, { changedAt }] of this.#alive) {
      if (alive.has(name)) continue
      this.endedAfterMs.push(now - changedAt)
      this.#lastSigns.set(name, changedAt)
      this.#alive.delete(name)
    }
  }

  async #lookAtDuties(partition: string): Promise<void> {
    const range = { ...DUTIES_RANGE, count: DUTIES_MAX }
    const duties = await this.#kv.partition(partition).read((view) => view.scan(range))
    for (const [key, bytes] of duties) {
      const { owner } = decodeDutyLease(bytes)
      if (owner === NO_INCARNATION) continue
      const duty = `${partition}:${toHex(key)}`
      const lastSign = this.#lastSigns.get(this.#owners.get(duty) ?? '')
      const isNew = this.#owners.get(duty) !== owner
      if (isNew && lastSign !== undefined) this.passedAfterMs.push(performance.now() - lastSign)
      this.#owners.set(duty, owner)
    }
  }
}
