import { expect, test } from 'vitest'
import { parseSeeds } from '../../support/ladder.js'
import { readText } from '../../support/source-files.js'

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
