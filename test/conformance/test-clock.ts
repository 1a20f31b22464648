import { shown } from '../../src/base/options.js'
import type { Clock } from '../../src/ports.js'
import { invalidArgument } from './argument-checks.js'

/** In November 2023. */
const START = 1_700_000_000_000

/**
 * A clock that moves only when a test lets time pass.
 * @example
 * import { createTestServer } from 'rowstash/testing'
 *
 * await using server = await createTestServer({ now: 0 })
 * server.clock.pass(60_000)
 * console.log(server.clock.now()) // 60000
 */
export interface TestClock extends Clock {
  /**
   * Lets time pass; a negative number sets the clock back.
   * @throws {StoreError} REQUEST_VALIDATION_ERROR unless the number is finite
   */
  pass(milliseconds: number): void
}

/**
 * @param start - The time before any has passed, in milliseconds since 1970 UTC. If it is a function, the clock
 * advances by itself.
 */
export function testClock(start: number | (() => number) = START): TestClock {
  const startMs = typeof start === 'number' ? () => start : start
  let passed = 0
  let elapsed = 0
  return {
    now: () => startMs() + passed,
    monotonicMs: () => startMs() + elapsed,
    pass(milliseconds) {
      if (!Number.isFinite(milliseconds)) {
        throw invalidArgument(`pass takes a number of milliseconds, not ${shown(milliseconds)}`)
      }
      passed += milliseconds
      elapsed += Math.max(0, milliseconds)
    },
  }
}
