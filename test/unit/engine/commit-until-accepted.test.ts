import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openSystemRandom } from '../../../src/base/random.js'
import {
  commitUntilAccepted,
  REFUSED,
  tryToCommit,
} from '../../../src/engine/commit/commit-until-accepted.js'

const random = openSystemRandom()

/** The pauses between attempts, in milliseconds. They take no time. */
let pauses: number[] = []

beforeEach(() => {
  pauses = []
  vi.stubGlobal('setTimeout', (call: () => void, ms: number) => {
    pauses.push(ms)
    call()
  })
})

afterEach(() => {
  vi.unstubAllGlobals()
})

/** An attempt that is refused this often before it is accepted. */
function acceptedAfter(refusals: number): { attempt: () => Promise<number | typeof REFUSED> } {
  let tries = 0
  return { attempt: async () => (tries++ < refusals ? REFUSED : tries) }
}

test('tries until a commit is accepted, and no further', async () => {
  const { attempt } = acceptedAfter(99)

  expect(await commitUntilAccepted('The table is too busy', random, attempt)).toBe(100)
})

test('a result of undefined or false is a result', async () => {
  expect(await commitUntilAccepted('busy', random, async () => undefined)).toBe(undefined)
  expect(await commitUntilAccepted('busy', random, async () => false)).toBe(false)
})

test('refused a hundred times, the operation fails and has changed nothing', async () => {
  const { attempt } = acceptedAfter(100)

  await expect(commitUntilAccepted('The table is too busy', random, attempt)).rejects.toMatchObject(
    {
      code: 'STORAGE_UNAVAILABLE',
      outcome: 'unchanged',
      message: 'The table is too busy; try again',
    },
  )
})

test('what a try throws ends the operation', async () => {
  const failure = new Error('not there')

  await expect(commitUntilAccepted('busy', random, () => Promise.reject(failure))).rejects.toBe(
    failure,
  )
})

test('what a later run does again is given up without an error', async () => {
  expect(await tryToCommit(random, acceptedAfter(3).attempt, 3, () => -1)).toBe(-1)
  expect(await tryToCommit(random, acceptedAfter(2).attempt, 3, () => -1)).toBe(3)
})

/** Random bytes that are all the same. */
function always(byte: number): { bytes: (count: number) => Uint8Array } {
  return { bytes: (count) => new Uint8Array(count).fill(byte) }
}

test('refused once, an operation is tried again at once, and after pauses that grow from then on', async () => {
  await tryToCommit(always(255), acceptedAfter(1).attempt, 10, () => -1)
  expect(pauses).toEqual([])

  await tryToCommit(always(255), acceptedAfter(9).attempt, 10, () => -1)
  expect(pauses).toEqual([2, 4, 8, 16, 32, 64, 64, 64])
})

test('those who refuse each other pause for different times', async () => {
  await tryToCommit(always(0), acceptedAfter(3).attempt, 10, () => -1)
  expect(pauses.splice(0)).toEqual([0, 0])

  for (let i = 0; i < 50; i++) await tryToCommit(random, acceptedAfter(5).attempt, 10, () => -1)
  expect(new Set(pauses.filter((_, i) => i % 4 === 3)).size).toBeGreaterThan(5)
  expect(Math.max(...pauses)).toBeLessThanOrEqual(16)
})

test('tries that take long by themselves have no pauses, and none comes after the last try', async () => {
  await tryToCommit(null, acceptedAfter(9).attempt, 10, () => -1)
  await tryToCommit(random, acceptedAfter(9).attempt, 2, () => -1)
  expect(pauses).toEqual([])
})
