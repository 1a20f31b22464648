import { expect, onTestFinished, test, vi } from 'vitest'
import { parseSeeds, repeatCommand } from '../../support/ladder.js'
import { readText } from '../../support/project.js'

test('recorded seeds are of suites that there are', () => {
  const suites = JSON.parse(readText('test/rungs/ladder/suites.json')) as readonly { id: string }[]
  const ids = new Set(suites.map(({ id }) => id))
  for (const suite of parseSeeds(readText('test/seeds.txt')).keys()) expect(ids).toContain(suite)
})

test('a line of recorded seeds is a suite, a seed, how many runs, and what it found', () => {
  const text = '# all\n\nT4 7 # one\nT4 9 20 # more\nT2b 1 2\n'
  expect([...parseSeeds(text)]).toEqual([
    [
      'T4',
      [
        { seed: 7, runs: 1 },
        { seed: 9, runs: 20 },
      ],
    ],
    ['T2b', [{ seed: 1, runs: 2 }]],
  ])
  for (const line of ['T4', 'T4 x', 'T4 1 2 3', '4 1']) expect(() => parseSeeds(line)).toThrow(line)
})

test('a failure names the command that repeats it', () => {
  const done = { suite: 'T4 crash simulator', seed: 7, runs: 3_000, seconds: 1, violations: 1 }
  vi.stubEnv('ROWSTASH_RUNS', undefined)
  onTestFinished(() => void vi.unstubAllEnvs())

  expect(repeatCommand(done)).toBe('ROWSTASH_SEED=7 npm run test:rung -- T4')
  expect(repeatCommand({ ...done, failing: { seed: 12, runs: 1 } })).toBe(
    'ROWSTASH_SEED=12 ROWSTASH_RUNS=1 npm run test:rung -- T4',
  )
})
