// Goal: the rules at the head of src/contract/memory/key-turns.ts hold, and a token bucket fills correctly. Time is
// virtual.
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { KeyTurns } from '../../../src/contract/memory/key-turns.js'
import { RateLimit } from '../../../src/contract/memory/rate-limit.js'
import { runOptions } from '../../support/fast-check-options.js'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

const settled = () => vi.advanceTimersByTimeAsync(0)
const turnsOf = (atOnceMax: number, waitMsMax = 30_000) =>
  new KeyTurns({ atOnceMax, waitMsMax, name: 'requests in flight (anOption)' })

/** Work of a key that continues until it is ended. */
function begin(turns: KeyTurns, key: string, team = key) {
  let state: 'waiting' | 'running' | 'ended' | string = 'waiting'
  let end = () => {}
  const work = new Promise<void>((resolve) => {
    end = resolve
  })
  turns
    .run({ team, key }, () => {
      state = 'running'
      return work
    })
    .then(
      () => {
        state = 'ended'
      },
      (failure: Error) => {
        state = failure.message
      },
    )
  return { key, state: () => state, end: () => end() }
}

test('what is over the limit of a key waits in order, and other keys do not', async () => {
  const turns = turnsOf(2)
  const [first, second, third, fourth] = ['a', 'a', 'a', 'a'].map((key) => begin(turns, key))
  const other = begin(turns, 'b')
  await settled()
  const states = () => [first, second, third, fourth, other].map((work) => work?.state())
  expect(states()).toEqual(['running', 'running', 'waiting', 'waiting', 'running'])

  second?.end()
  await settled()

  expect(states()).toEqual(['running', 'ended', 'running', 'waiting', 'running'])
  expect(turns.waitingCount).toBe(1)
})

test('a wait of 30 s is refused, with the limit and its option', async () => {
  const turns = turnsOf(1)
  const first = begin(turns, 'a')
  const second = begin(turns, 'a')
  await vi.advanceTimersByTimeAsync(29_000)
  expect(second.state()).toBe('waiting')

  await vi.advanceTimersByTimeAsync(2_000)

  expect(second.state()).toBe(
    'This key is at its limit of 1 requests in flight (anOption), and none ended within 30 s: nothing was changed; try again',
  )
  first.end()
  const third = begin(turns, 'a')
  await settled()
  expect(third.state()).toBe('running')
  expect(vi.getTimerCount()).toBe(0)
})

test.each([1, 3])(
  'one team with %i keys fills at most half of the waiting places',
  async (keys) => {
    const turns = turnsOf(1)
    const works = Array.from({ length: 501 + keys }, (_, at) => begin(turns, `a${at % keys}`, 'a'))
    const others = ['b', 'b'].map((key) => begin(turns, key))
    await settled()

    expect(works.at(-1)?.state()).toMatch(/too many are already waiting/)
    expect(works.at(-2)?.state()).toBe('waiting')
    expect(others.map(({ state }) => state())).toEqual(['running', 'waiting'])
  },
)

test('a key never has more turns than its limit, no turn is lost, and all begin in order', async () => {
  const step = fc.record({ key: fc.constantFrom('a', 'b', 'c'), ends: fc.nat() })
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 4 }), fc.array(step), async (max, steps) => {
      const turns = turnsOf(max)
      const works: ReturnType<typeof begin>[] = []
      for (const { key, ends } of steps) {
        works.push(begin(turns, key))
        const running = works.filter(({ state }) => state() === 'running')
        if (ends % 2 === 1) running[ends % (running.length || 1)]?.end()
        await settled()
        for (const name of ['a', 'b', 'c']) {
          const left = works.filter((work) => work.key === name && work.state() !== 'ended')
          const states = left.map(({ state }) => state())
          const expected = left.map((_, at) => (at < max ? 'running' : 'waiting'))
          expect(states).toEqual(expected)
        }
      }
      for (const { end } of works) end()
      await settled()
      expect(works.every(({ state }) => state() === 'ended')).toBe(true)
    }),
    runOptions(100),
  )
})

test('a bucket gives its tokens at once, then one for each part of its period', async () => {
  const rate = new RateLimit(10, 1_000)
  const taken = Array.from({ length: 11 }, () => rate.take('a'))
  expect(taken.slice(0, 10)).toEqual(Array(10).fill(0))
  expect(taken[10]).toBeCloseTo(100)
  expect(rate.take('b')).toBe(0)

  await vi.advanceTimersByTimeAsync(100)

  expect([rate.take('a'), rate.take('a')]).toEqual([0, expect.closeTo(100)])
  await vi.advanceTimersByTimeAsync(60_000)
  const later = Array.from({ length: 11 }, () => rate.take('a') > 0)
  expect(later).toEqual([...Array(10).fill(false), true])
})
