import { expect, onTestFinished, test, vi } from 'vitest'
import { StoreClock } from '../../../src/base/clock.js'
import { StoreError } from '../../../src/base/store-error.js'

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

test('a clock that was set since its comparison is compared again before it begins or ends a lifetime', async () => {
  const at = { now: 1_000_000, passed: 0, database: 1_000_000 }
  const clock = new StoreClock({ now: () => at.now, monotonicMs: () => at.passed }, 100)
  let asked = 0
  let answer = async () => at.database
  await clock.compare(() => {
    asked++
    return answer()
  })
  for (const time of ['now', 'passed', 'database'] as const) at[time] += 5_000
  expect([clock.stampMs(), asked]).toEqual([1_005_000, 1])

  for (const time of ['now', 'database'] as const) at[time] += 3_600_000 // The machine was suspended.
  const times = await Promise.all([clock.stampMs(), clock.stampMs(), clock.lifetimeMs()])
  expect([...times, asked]).toEqual([at.now, at.now, 1_005_000, 2]) // They share one comparison.
  expect(clock.stampMs()).toBe(at.now)

  at.now -= 90_000
  await expect(clock.stampMs()).rejects.toThrow('90000 ms behind that of the database')
  at.now += 90_000
  expect(await clock.stampMs()).toBe(at.now)

  answer = async () => {
    at.now += answers.shift() ?? 0 // It is set while the database answers.
    return at.database
  }
  const answers = [500, -1_000]
  at.now += 500
  expect([await clock.stampMs(), asked]).toEqual([at.now, 7])
})

test('a clock that was set and cannot be compared begins and ends no lifetime', async () => {
  const at = { now: 1_000_000, passed: 0 }
  const clock = new StoreClock({ now: () => at.now, monotonicMs: () => at.passed }, 100)
  let answer: () => Promise<number> = async () => at.now
  await clock.compare(() => answer())
  at.now -= 90_000
  answer = () => Promise.reject(new StoreError('STORAGE_UNAVAILABLE', 'No database'))
  const refusal = /moved by -90000 ms.*could not be compared.*try again/
  await expect(clock.stampMs()).rejects.toThrow(refusal)
  await expect(clock.lifetimeMs()).rejects.toThrow(refusal)

  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  answer = () => new Promise(() => undefined)
  const stamped = expect(clock.stampMs()).rejects.toThrow(refusal)
  await vi.advanceTimersByTimeAsync(15_000)
  await stamped
})
