import { expect, test } from 'vitest'
import { hasRoom } from '../../../src/engine/jobs/job-runner.js'

const jobs = (count: number, teamId: string, holder?: string) =>
  Array.from({ length: count }, () => ({ teamId, holder }))
const [ofTeam, ofKey] = [
  { teamId: 't', holder: undefined },
  { teamId: 't', holder: 'k' },
]

test('a team has room for 100 jobs, and a holder for as many as it leaves', () => {
  expect(hasRoom(jobs(99, 't'), ofTeam)).toBe(true)
  expect(hasRoom(jobs(100, 't'), ofTeam)).toBe(false)
  expect(hasRoom(jobs(49, 't', 'k'), ofKey)).toBe(true)
  expect(hasRoom(jobs(50, 't', 'k'), ofKey)).toBe(false)
  expect(hasRoom(jobs(50, 't', 'k'), ofTeam)).toBe(true)
  expect(hasRoom([...jobs(50, 't', 'other'), ...jobs(24, 't', 'k')], ofKey)).toBe(true)
  expect(hasRoom(jobs(50, 'u', 'k'), ofKey)).toBe(true)
})

test('a team leaves as much room for other teams as it takes', () => {
  const others = Array.from({ length: 9 }, (_, n) => jobs(100, `u${n}`)).flat()
  expect(hasRoom([...others, ...jobs(49, 't')], ofTeam)).toBe(true)
  expect(hasRoom([...others, ...jobs(50, 't')], ofTeam)).toBe(false)
  expect(hasRoom([...others, ...jobs(50, 't')], { ...ofTeam, teamId: 'v' })).toBe(true)
})
