// Runs long work of the main thread in slices, with other work of the process between them (PERFORMANCE.md, P5).
//
// A slice ends after a time, or after an amount of work that mostly takes less. The cost of work depends on its input,
// and the sender of the input must not decide how long all others wait.

import type { Awaitable } from './awaitable.js'
import type { Clock } from './clock.js'
import { yieldToEventLoop } from './platform.js'

/** A slice, in milliseconds, and in characters or bytes of input. */
const SLICE_MS = 5
const SLICE_WORK = 256 * 1024

/** What an item, such as a row, counts for besides its characters: an empty one costs some too. */
export const ITEM_WORK = 16

/** The clock is looked at after so much work: more often it would cost more than it is worth. */
const CHECKED_WORK = 8 * 1024

/**
 * Shares each turn of the event loop among the operations of a store. What else is to run, such as small requests, waits
 * for one slice, not for one of each operation: those that begin in a turn use up one slice together, and of those that
 * pause, one goes on in each turn.
 */
export class SliceTurns {
  readonly #clock: Clock
  /** Operations that pause, in order. */
  readonly #waiting: (() => void)[] = []
  /** When the slice of this turn began; undefined: nothing was noted in it yet. */
  #begun: number | undefined
  #work = 0
  #isScheduled = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The slices of one operation. */
  begin(): TimeSlices {
    return new TimeSlices(this)
  }

  /** Notes that work was done in this turn. @returns whether its slice is over. */
  spend(work: number): boolean {
    if (this.#begun === undefined) {
      this.#begun = this.#clock.now()
      this.#work = 0
      this.#scheduleTurn()
    }
    this.#work += work
    if (this.#work >= SLICE_WORK) return true
    const spent = this.#clock.now() - this.#begun
    return spent >= SLICE_MS || spent < 0 // A clock that was set back says nothing.
  }

  /** Resolves in a later turn of the event loop. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      this.#scheduleTurn()
    })
  }

  #scheduleTurn(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    void yieldToEventLoop().then(() => this.#beginTurn())
  }

  #beginTurn(): void {
    this.#isScheduled = false
    this.#begun = undefined
    this.#waiting.shift()?.()
    if (this.#waiting.length > 0) this.#scheduleTurn()
  }
}

/** Work that gives the amount of each step that it did, and its result in the end. */
export type Steps<T> = Generator<number, T, void>

/** The slices of one operation. */
export class TimeSlices {
  readonly #turns: SliceTurns
  #unchecked = 0

  constructor(turns: SliceTurns) {
    this.#turns = turns
  }

  /** Notes that work was done. @returns whether `pause` is due. */
  spend(work: number): boolean {
    this.#unchecked += work
    return this.#unchecked >= CHECKED_WORK && this.#isOver()
  }

  #isOver(): boolean {
    const work = this.#unchecked
    this.#unchecked = 0
    return this.#turns.spend(work)
  }

  /** Waits until work may be done that is done in one piece. */
  async admit(work: number): Promise<void> {
    if (this.spend(work)) await this.pause()
  }

  /** Lets other work run, and goes on in a later turn of the event loop. */
  pause(): Promise<void> {
    return this.#turns.next()
  }

  /** Does all steps: at once, if they end within the slice. */
  run<T>(steps: Steps<T>): Awaitable<T> {
    const end = this.#runSlice(steps)
    return end === undefined ? this.#runOn(steps) : end.value
  }

  async #runOn<T>(steps: Steps<T>): Promise<T> {
    for (;;) {
      await this.pause()
      const end = this.#runSlice(steps)
      if (end !== undefined) return end.value
    }
  }

  /** undefined: there is more to do. */
  #runSlice<T>(steps: Steps<T>): Readonly<{ value: T }> | undefined {
    for (;;) {
      const step = steps.next()
      if (step.done) return step
      if (this.spend(step.value)) return undefined
    }
  }
}

/** Does all steps at once. */
export function runAtOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}
