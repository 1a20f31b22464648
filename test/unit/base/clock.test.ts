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
  expect(clock.now()).toBe(500) // also noticed by a caller that does not ask for a lifetime
  at.now = 5_000
  expect(clock.lifetimeMs()).toBe(500)
})

test('a clock that was set since its comparison begins and ends no lifetime until the next one', async () => {
  const at = { now: 1_000_000, passed: 0, database: 1_000_000 }
  const clock = new StoreClock({ now: () => at.now, monotonicMs: () => at.passed }, 100)
  await clock.compare(async () => at.database)
  for (const time of ['now', 'passed', 'database'] as const) at[time] += 5_000
  expect(clock.stampMs()).toBe(1_005_000)
  at.now -= 90_000
  const refusal = /moved by -90000 ms since it was compared.*try again/
  expect(() => clock.stampMs()).toThrow(refusal)
  expect(() => clock.lifetimeMs()).toThrow(refusal)
  at.now += 90_000
  expect(clock.stampMs()).toBe(1_005_000)

  for (const time of ['now', 'database'] as const) at[time] += 3_600_000 // The machine was suspended.
  expect(() => clock.stampMs()).toThrow('suspended')
  await clock.compare(async () => at.database)
  expect(clock.stampMs()).toBe(at.now)
})
