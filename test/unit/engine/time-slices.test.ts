// Long work in slices: when a pause is due, and that the result does not depend on the slices.
import { describe, expect, test } from 'vitest'
import { yieldToEventLoop } from '../../../src/base/platform.js'
import { runAtOnce, SliceTurns, type Steps } from '../../../src/base/time-slices.js'

const KIB = 1024

/** A clock that is moved by hand. */
function handClock() {
  const clock = { ms: 1_000, looks: 0, now: () => [clock.ms, clock.looks++][0] ?? 0 }
  return clock
}

describe('a pause is due', () => {
  test('when 5 ms have passed, checked once per 8 KiB of work', () => {
    const clock = handClock()
    const slices = new SliceTurns(clock).begin()
    expect(slices.spend(8 * KIB)).toBe(false)
    const { looks } = clock
    clock.ms += 5
    expect(slices.spend(8 * KIB - 1)).toBe(false)
    expect(clock.looks).toBe(looks)
    expect(slices.spend(1)).toBe(true)
  })

  test('after 256 KiB of work, whatever the clock says', () => {
    const slices = new SliceTurns(handClock()).begin()
    expect(slices.spend(256 * KIB - 1)).toBe(false)
    expect(slices.spend(8 * KIB)).toBe(true)
  })

  test('when the clock was set back', () => {
    const clock = handClock()
    const slices = new SliceTurns(clock).begin()
    expect(slices.spend(8 * KIB)).toBe(false)
    clock.ms -= 1
    expect(slices.spend(8 * KIB)).toBe(true)
  })

  test('not again until the next slice is over', async () => {
    const clock = handClock()
    const slices = new SliceTurns(clock).begin()
    expect(slices.spend(256 * KIB)).toBe(true)
    await slices.pause()
    expect(slices.spend(8 * KIB)).toBe(false)
    clock.ms += 5
    expect(slices.spend(8 * KIB)).toBe(true)
  })

  test('by the work and the time of all operations of a turn, and only of that turn', async () => {
    const clock = handClock()
    const turns = new SliceTurns(clock)
    expect(turns.begin().spend(128 * KIB)).toBe(false)
    expect(turns.begin().spend(120 * KIB)).toBe(false)
    expect(turns.begin().spend(8 * KIB)).toBe(true)
    await yieldToEventLoop()
    expect(turns.begin().spend(8 * KIB)).toBe(false)
    clock.ms += 5
    expect(turns.begin().spend(8 * KIB)).toBe(true)
    await yieldToEventLoop()
    expect(turns.begin().spend(8 * KIB)).toBe(false)
  })
})

test('operations continue one per turn of the event loop, in the order of their pauses', async () => {
  const turns = new SliceTurns(handClock())
  let log = ''
  const operations = ['a', 'b', 'c'].map(async (name) => {
    const slices = turns.begin()
    for (let slice = 1; slice <= 3; slice++) {
      await slices.pause()
      log += name
    }
  })
  const ended = Promise.all(operations).then(() => 'ended')
  while ((await Promise.race([ended, yieldToEventLoop()])) === undefined) log += '|'
  expect(log.replaceAll('|', '')).toBe('abcabcabc')
  expect(log.split('|').filter((turn) => turn.length > 1)).toEqual([])
})

function* sumOf(numbers: readonly number[]): Steps<number> {
  let sum = 0
  for (const number of numbers) {
    if (number < 0) throw new Error('negative')
    sum += number
    yield 8 * KIB
  }
  return sum
}

describe('work in steps', () => {
  test('runs without a pause if it ends within a slice', () => {
    expect(new SliceTurns(handClock()).begin().run(sumOf([1, 2, 3]))).toBe(6)
    expect(runAtOnce(sumOf([1, 2, 3]))).toBe(6)
  })

  test('lets other work run in each slice that is over', async () => {
    const clock = { now: () => (clock.ms += 5), ms: 0 }
    let turns = 0
    const count = (): void => {
      turns++
      if (turns < 100) setImmediate(count)
    }
    setImmediate(count)
    const sum = new SliceTurns(clock).begin().run(sumOf([1, 2, 3, 4]))
    expect(sum).toBeInstanceOf(Promise)
    expect(turns).toBe(0)
    expect(await sum).toBe(10)
    expect(turns).toBe(4)
  })

  test('fails as it would at once', async () => {
    const clock = { now: () => (clock.ms += 5), ms: 0 }
    await expect(new SliceTurns(clock).begin().run(sumOf([1, -1]))).rejects.toThrow('negative')
    expect(() => new SliceTurns(handClock()).begin().run(sumOf([-1]))).toThrow('negative')
  })
})
