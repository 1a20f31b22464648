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

/** The clock is looked at after so much work: more often it would cost more than it is worth. */
const CHECKED_WORK = 8 * 1024

/**
 * Gives the operations of a store their slices in turn, one in each turn of the event loop: what else is to run, such as
 * small requests, waits for one slice, not for one of each operation.
 */
export class SliceTurns {
  readonly #clock: Clock
  /** Operations whose next slice is due, in order. */
  readonly #waiting: (() => void)[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The slices of one operation. The first begins now. */
  begin(): TimeSlices {
    return new TimeSlices(this.#clock, this)
  }

  /** Resolves in a later turn of the event loop. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      if (this.#waiting.length === 1) void this.#giveTurns()
    })
  }

  async #giveTurns(): Promise<void> {
    while (this.#waiting.length > 0) {
      await yieldToEventLoop()
      this.#waiting.shift()?.()
    }
  }
}

/** Work that gives the amount of each step that it did, and its result in the end. */
export type Steps<T> = Generator<number, T, void>

export class TimeSlices {
  readonly #clock: Clock
  readonly #turns: SliceTurns
  #begun: number
  #work = 0
  #unchecked = 0

  constructor(clock: Clock, turns: SliceTurns) {
    this.#clock = clock
    this.#turns = turns
    this.#begun = clock.now()
  }

  /** Notes that work was done. @returns whether `pause` is due. */
  spend(work: number): boolean {
    this.#unchecked += work
    return this.#unchecked >= CHECKED_WORK && this.#isOver()
  }

  #isOver(): boolean {
    this.#work += this.#unchecked
    this.#unchecked = 0
    if (this.#work >= SLICE_WORK) return true
    const spent = this.#clock.now() - this.#begun
    return spent >= SLICE_MS || spent < 0 // A clock that was set back says nothing.
  }

  /** Lets other work run, and begins the next slice. */
  async pause(): Promise<void> {
    await this.#turns.next()
    this.#work = 0
    this.#unchecked = 0
    this.#begun = this.#clock.now()
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
