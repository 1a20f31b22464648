// Turns of keys. They limit how many operations of one kind a key may run at the same time; further operations wait in
// order of arrival.
//
// Invariants:
// - A key never has more turns than its limit, and no key waits for another.
// - A request that waits gets a turn, or is refused after `waitMsMax`.
// - A team fills at most half of all waiting places.
import { monotonicMs } from '../../base/clock.js'
import { every } from '../../base/platform.js'
import { busy, type Refusal } from '../http/refusal.js'

/** Maximum number of waiting requests, each of which holds a connection. Further requests are refused at once. */
const WAITING_MAX = 1_000
/** Maximum number of waiting requests of one team. */
const TEAM_WAITING_MAX = WAITING_MAX / 2

/** Shortest and longest period of the timeout check, in milliseconds. */
const CHECK_MS_MIN = 10
const CHECK_MS_MAX = 500

/** The holder of a turn. `key` is unique across teams. */
export type Holder = Readonly<{ team: string; key: string }>

type Waiting = Readonly<{
  holder: Holder
  since: number
  admit: () => void
  refuse: (refusal: Refusal) => void
}>

/** The turns of a key that has at least one. */
type Held = {
  count: number
  /** The waiting requests of the key, in order of arrival. */
  readonly line: Set<Waiting>
}

export type TurnLimits = Readonly<{
  /** Maximum number of turns of one key. */
  atOnceMax: number
  waitMsMax: number
  /** The use of the turns and its option, for messages. */
  name: string
}>

export class KeyTurns {
  readonly #limits: TurnLimits
  readonly #held = new Map<string, Held>()
  /** All waiting requests, oldest first. */
  readonly #line = new Set<Waiting>()
  /** The number of waiting requests by team. */
  readonly #waitingOf = new Map<string, number>()
  #stopChecks: (() => void) | undefined

  constructor(limits: TurnLimits) {
    this.#limits = limits
  }

  /** The number of waiting requests. */
  get waitingCount(): number {
    return this.#line.size
  }

  /**
   * Runs `work` in a turn of a key.
   * @throws {Refusal} STORAGE_UNAVAILABLE: the request waited too long, or too many requests wait
   */
  async run<T>(holder: Holder, work: () => Promise<T>): Promise<T> {
    const { key } = holder
    const held = this.#held.get(key)
    if (held === undefined) this.#held.set(key, { count: 1, line: new Set() })
    else if (held.count < this.#limits.atOnceMax) held.count++
    else await this.#wait(holder, held)
    try {
      return await work()
    } finally {
      this.#end(key)
    }
  }

  /** Gives the turn to the key's first waiting request. */
  #end(key: string): void {
    const held = this.#held.get(key)
    if (held === undefined) return
    const [next] = held.line
    if (next !== undefined) {
      this.#leave(next)
      next.admit()
    } else if (held.count > 1) held.count--
    else this.#held.delete(key)
  }

  #wait(holder: Holder, { line }: Held): Promise<void> {
    const ofTeam = this.#waitingOf.get(holder.team) ?? 0
    if (this.#line.size >= WAITING_MAX || ofTeam >= TEAM_WAITING_MAX) {
      throw this.#refusal('too many are already waiting')
    }
    return new Promise((admit, refuse) => {
      const waiting = { holder, since: monotonicMs(), admit, refuse }
      line.add(waiting)
      this.#line.add(waiting)
      this.#waitingOf.set(holder.team, ofTeam + 1)
      this.#stopChecks ??= every(this.#checkMs(), () => this.#check(monotonicMs()))
    })
  }

  #leave(waiting: Waiting): void {
    const { holder } = waiting
    this.#line.delete(waiting)
    this.#held.get(holder.key)?.line.delete(waiting)
    const ofTeam = (this.#waitingOf.get(holder.team) ?? 0) - 1
    if (ofTeam > 0) this.#waitingOf.set(holder.team, ofTeam)
    else this.#waitingOf.delete(holder.team)
    if (this.#line.size > 0) return
    this.#stopChecks?.()
    this.#stopChecks = undefined
  }

  #checkMs(): number {
    return Math.min(CHECK_MS_MAX, Math.max(CHECK_MS_MIN, this.#limits.waitMsMax / 10))
  }

  /** Refuses the requests that waited too long. */
  #check(now: number): void {
    const { waitMsMax } = this.#limits
    for (const waiting of this.#line) {
      if (now - waiting.since < waitMsMax) return // All further requests in line arrived later.
      this.#leave(waiting)
      waiting.refuse(this.#refusal(`none ended within ${waitMsMax / 1_000} s`))
    }
  }

  #refusal(problem: string): Refusal {
    const { atOnceMax, name } = this.#limits
    return busy(`This key is at its limit of ${atOnceMax} ${name}, and ${problem}`)
  }
}
