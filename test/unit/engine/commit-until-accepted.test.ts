import { expect, test } from 'vitest'
import {
  commitUntilAccepted,
  REFUSED,
  tryToCommit,
} from '../../../src/engine/commit/commit-until-accepted.js'

/** A try that is refused so often before it is accepted. */
function acceptedAfter(refusals: number): { attempt: () => Promise<number | typeof REFUSED> } {
  let tries = 0
  return { attempt: async () => (tries++ < refusals ? REFUSED : tries) }
}

test('tries until a commit is accepted, and no further', async () => {
  const { attempt } = acceptedAfter(99)

  expect(await commitUntilAccepted('The table is too busy', attempt)).toBe(100)
})

test('a result of undefined or false is a result', async () => {
  expect(await commitUntilAccepted('busy', async () => undefined)).toBe(undefined)
  expect(await commitUntilAccepted('busy', async () => false)).toBe(false)
})

test('refused a hundred times, the operation fails and has changed nothing', async () => {
  const { attempt } = acceptedAfter(100)

  await expect(commitUntilAccepted('The table is too busy', attempt)).rejects.toMatchObject({
    code: 'STORAGE_UNAVAILABLE',
    outcome: 'unchanged',
    message: 'The table is too busy; try again',
  })
})

test('what a try throws ends the operation', async () => {
  const failure = new Error('not there')

  await expect(commitUntilAccepted('busy', () => Promise.reject(failure))).rejects.toBe(failure)
})

test('what a later run does again is given up without an error', async () => {
  expect(await tryToCommit(acceptedAfter(3).attempt, 3, () => -1)).toBe(-1)
  expect(await tryToCommit(acceptedAfter(2).attempt, 3, () => -1)).toBe(3)
})
