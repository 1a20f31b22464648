// Attempts on PostgreSQL: when another one is made, and which failure the caller gets.
import { expect, test } from 'vitest'
import { retryPostgres } from '../../../adapters/postgres/connection/retry.js'

/** Attempts that fail with their number, up to one that succeeds. */
function attempts(succeedsAt: number) {
  let made = 0
  const attempt = async (): Promise<number> => {
    if (++made < succeedsAt) throw new Error(`attempt ${made}`)
    return made
  }
  return { attempt, count: () => made }
}

const IN_TIME = { retryMsMax: 60_000, pauseMs: () => 0 }

test('attempts end with the first one that succeeds', async () => {
  const { attempt, count } = attempts(3)

  expect(await retryPostgres(attempt, () => false, IN_TIME)).toBe(3)
  expect(count()).toBe(3)
})

test('a failure that would come again is thrown at once', async () => {
  const { attempt, count } = attempts(9)
  const isFinal = (failure: unknown) => String(failure).includes('attempt 2')

  await expect(retryPostgres(attempt, isFinal, IN_TIME)).rejects.toThrow('attempt 2')
  expect(count()).toBe(2)
})

test('no attempt is made after a pause that would end too late', async () => {
  const { attempt, count } = attempts(9)
  const pauses = [0, 0, 60_000]
  const options = { retryMsMax: 1_000, pauseMs: (failed: number) => pauses[failed] ?? 0 }

  await expect(retryPostgres(attempt, () => false, options)).rejects.toThrow('attempt 3')
  expect(count()).toBe(3)
})
