// Runs long work on the main thread in slices, so that other work can run in between (PERFORMANCE.md, P5).
//
// A slice ends after a time, or after an amount of work that usually takes less. The cost of work depends on the input,
// whose sender must not decide how long others wait.

import type { Awaitable } from './awaitable.js'
import type { Clock } from './clock.js'
import { yieldToEventLoop } from './platform.js'

/** The length of a slice, in milliseconds, and in characters or bytes of input. */
const SLICE_MS = 5
const SLICE_WORK = 256 * 1024

/** The cost of an item, such as a row, besides its characters: even an empty one costs something. */
export const ITEM_WORK = 16

/** The amount of work between two readings of the clock, which is not free. */
const CHECKED_WORK = 8 * 1024

/**
 * Shares each turn of the event loop among the operations of a store. Other work, such as small requests, waits for
 * one slice instead of one per operation: operations that begin in a turn share its slice, and one paused operation
 * continues per turn.
 */
export class SliceTurns {
  readonly #clock: Clock
  /** Paused operations, in order. */
  readonly #waiting: (() => void)[] = []
  /** When this turn's slice began; undefined: no work was recorded in this turn yet. */
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

  /** Records work done in this turn. @returns whether its slice is over. */
  spend(work: number): boolean {
    if (this.#begun === undefined) {
      this.#begun = this.#clock.now()
      this.#work = 0
      this.#scheduleTurn()
    }
    this.#work += work
    if (this.#work >= SLICE_WORK) return true
    const spent = this.#clock.now() - this.#begun
    return spent >= SLICE_MS || spent < 0 // Negative: the clock was set back.
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

/** Work that yields the amount done in each step, and returns its result. */
export type Steps<T> = Generator<number, T, void>

/** The slices of one operation. */
export class TimeSlices {
  readonly #turns: SliceTurns
  #unchecked = 0

  constructor(turns: SliceTurns) {
    this.#turns = turns
  }

  /** Records work that was done. @returns whether `pause` is due. */
  spend(work: number): boolean {
    this.#unchecked += work
    return this.#unchecked >= CHECKED_WORK && this.#isOver()
  }

  #isOver(): boolean {
    const work = this.#unchecked
    this.#unchecked = 0
    return this.#turns.spend(work)
  }

  /** Waits until work that cannot be divided may run. */
  async admit(work: number): Promise<void> {
    if (this.spend(work)) await this.pause()
  }

  /** Lets other work run, and continues in a later turn of the event loop. */
  pause(): Promise<void> {
    return this.#turns.next()
  }

  /** Runs all steps; synchronously, if they end within the slice. */
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

  /** Runs steps until the slice ends. @returns the result; undefined: more steps remain. */
  #runSlice<T>(steps: Steps<T>): Readonly<{ value: T }> | undefined {
    for (;;) {
      const step = steps.next()
      if (step.done) return step
      if (this.spend(step.value)) return undefined
    }
  }
}

/** Runs all steps synchronously. */
export function runAtOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}
