import { expect, test } from 'vitest'
import { readText } from '../../support/project.js'
import { addLine, rarePairs, readRecord, type TortureRecord, wrongRecord } from './record.mjs'

const SUITES = JSON.parse(readText('test/rungs/ladder/suites.json')) as readonly { id: string }[]

const DAY_MS = 86_400_000
const suites = {}
const recordOf = (day: string): TortureRecord => ({ commits: [{ commit: 'abc', day, suites }] })

test('the record of tortures has no violation', async () => {
  const { commits } = await readRecord()
  const all = commits.flatMap(({ suites }) => Object.values(suites))
  expect(all.reduce((sum, { violations }) => sum + violations, 0)).toBe(0)
})

test('the record names every rung', async () => {
  const { commits } = await readRecord()
  const ran = commits.flatMap(({ suites }) => Object.keys(suites).map((name) => name.split(' ')[0]))

  expect(SUITES.map(({ id }) => id).filter((id) => !ran.includes(id))).toEqual([])
})

test('runs of a suite add up; figures in its name are of one run', () => {
  const found = {}
  addLine(found, { suite: 'T7 power cut, 622 points', runs: 3, seed: 7, violations: 0 })
  addLine(found, { suite: 'T7 power cut, 60 points', runs: 4, seed: 8, violations: 1 })
  addLine(found, { suite: 'T7 power cut', skipped: 'there is no strace' })
  addLine(found, { suite: 'T8 power cut, ext4', skipped: 'it needs root' })

  expect(found).toEqual({
    'T7 power cut': { runs: 7, violations: 1, seeds: [7, 8] },
    'T8 power cut, ext4': { runs: 0, violations: 0, seeds: [], skipped: 'it needs root' },
  })
})

test('pairs of several runs add up, and rare ones are reported', () => {
  const found = {}
  const line = { suite: 'T3 races', runs: 3, seed: 7, violations: 0 }
  addLine(found, { ...line, pairs: { add: 'add 3, read row 999', 'read row': 'read row 0' } })
  addLine(found, { ...line, pairs: { add: 'add 4, read row 1', 'read row': 'read row 0' } })

  expect(found).toMatchObject({
    'T3 races': { pairs: { add: 'add 7, read row 1000', 'read row': 'read row 0' } },
  })
  expect(rarePairs(found)).toEqual(['T3 races: read row × read row 0', 'T3 races: add × add 7'])

  const apart = { suite: 'T3 background', runs: 3, seed: 7, violations: 0 }
  const [never, once] = [{ job: 'overwrite 0' }, { update: 'overwrite 1' }].map((pairs) => {
    const own = {}
    addLine(own, { ...apart, pairs })
    return rarePairs(own)
  })
  expect([never, once]).toEqual([[], ['T3 background: update × overwrite 1']])
})

test('a package is published with a torture of its own code, or of at most 14 days before', () => {
  const now = Date.parse('2026-01-20')
  const wrong = (record: TortureRecord, isSame = false) =>
    wrongRecord(record, { now, isSame: () => isSame })

  expect(wrong(recordOf('2026-01-06'))).toEqual([])
  expect(wrong(recordOf('2026-01-05'))).toEqual([
    'the last torture is of abc, 15 days ago: npm run torture',
  ])
  expect(wrong(recordOf('2026-01-05'), true)).toEqual([])
  expect(wrong({ commits: [] })).toEqual(['no torture is on record: npm run torture'])
  expect(now - Date.parse('2026-01-06')).toBe(14 * DAY_MS)
})
