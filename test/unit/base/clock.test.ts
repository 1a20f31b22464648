import { expect, test } from 'vitest'
import { StoreClock } from '../../../src/base/clock.js'

test('lifetimes pass as `now` does where there is no monotonic time', () => {
  const at = { now: 1_000 }
  const clock = new StoreClock({ now: () => at.now }, 0)
  at.now = 5_000
  expect(clock.lifetimeMs()).toBe(5_000)
})

test('lifetimes are never ahead of `now`, and pass no faster than the monotonic time', () => {
  const at = { now: 1_000, passed: 0.5 }
  const clock = new StoreClock({ now: () => at.now, monotonicMs: () => at.passed }, 0)
  at.now = 5_000
  expect(clock.lifetimeMs()).toBe(1_000)
  at.passed = 10.75
  expect(clock.lifetimeMs()).toBe(1_010)
  at.now = 500
  expect(clock.now()).toBe(500) // Also noticed by what asks for no lifetime.
  at.now = 5_000
  expect(clock.lifetimeMs()).toBe(500)
})
