// Limits concurrent reads of the bodies of files, because each read needs a connection, an open file and several
// buffers.
//
// Invariants:
// - A team may start a transfer only while it has fewer transfers than there are free places. So one team takes at most
//   half of the places, rounded up, and other teams find free places.
// - Transfers start in order of arrival, except that the transfers of a team at its limit wait longer.
import { StoreError } from '../../base/store-error.js'

/** Maximum number of waiting transfers. Each holds a connection, but no bytes. Further ones fail with RATE_LIMITED. */
const WAITING_MAX = 1_000
/** Maximum number of waiting transfers of one team. */
const TEAM_WAITING_MAX = WAITING_MAX / 2

type Waiter = Readonly<{ teamId: string; enter: () => void }>

export class TransferLimit {
  readonly #max: number
  readonly #what: string
  readonly #runningOf = new Map<string, number>()
  readonly #waiting = new Set<Waiter>()
  #running = 0

  /** @param what - The name, in messages, of what is limited. */
  constructor(max: number, what = 'file transfers') {
    this.#max = max
    this.#what = what
  }

  /**
   * Runs a transfer when a place is free.
   * @param ended - Aborts the wait; its reason is the failure.
   * @throws {StoreError} RATE_LIMITED: if too many transfers are already waiting.
   */
  async run<T>(teamId: string, transfer: () => Promise<T>, ended?: AbortSignal): Promise<T> {
    if (this.#mayBegin(teamId)) this.#begin(teamId)
    else await this.#wait(teamId, ended)
    try {
      return await transfer()
    } finally {
      this.#end(teamId)
    }
  }

  #mayBegin(teamId: string): boolean {
    return (this.#runningOf.get(teamId) ?? 0) < this.#max - this.#running
  }

  #begin(teamId: string): void {
    this.#running++
    this.#runningOf.set(teamId, (this.#runningOf.get(teamId) ?? 0) + 1)
  }

  #end(teamId: string): void {
    this.#running--
    const left = (this.#runningOf.get(teamId) ?? 0) - 1
    if (left > 0) this.#runningOf.set(teamId, left)
    else this.#runningOf.delete(teamId)
    for (const waiter of this.#waiting) {
      if (this.#running === this.#max) return
      if (!this.#mayBegin(waiter.teamId)) continue
      this.#waiting.delete(waiter)
      this.#begin(waiter.teamId)
      waiter.enter()
    }
  }

  async #wait(teamId: string, ended: AbortSignal | undefined): Promise<void> {
    const ofTeam = [...this.#waiting].filter((waiter) => waiter.teamId === teamId)
    if (this.#waiting.size >= WAITING_MAX || ofTeam.length >= TEAM_WAITING_MAX) {
      throw new StoreError('RATE_LIMITED', `Too many ${this.#what} are in progress; try again`)
    }
    ended?.throwIfAborted()
    await new Promise<void>((resolve, reject) => {
      const waiter = { teamId, enter }
      function enter(): void {
        ended?.removeEventListener('abort', leave)
        resolve()
      }
      const leave = (): void => {
        this.#waiting.delete(waiter)
        reject(ended?.reason)
      }
      this.#waiting.add(waiter)
      ended?.addEventListener('abort', leave, { once: true })
    })
  }
}
