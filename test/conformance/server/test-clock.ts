import type { Clock } from '../../../src/index.js'

/** A clock that stands still until a test sets it forward. */
export class TestClock implements Clock {
  #now: number

  /** @param now - Milliseconds since 1970 UTC. */
  constructor(now: number) {
    this.#now = now
  }

  now(): number {
    return this.#now
  }

  /** Sets it forward by so many milliseconds. */
  pass(milliseconds: number): void {
    this.#now += milliseconds
  }
}
