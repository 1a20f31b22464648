import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectFiles, ROOT, readText } from '../../support/project.js'
import { importsOf, parseSource } from '../../support/source-files.js'

type Suite = Readonly<{ id: string; name: string; rule: string; files: readonly string[] }>

const SUITES = JSON.parse(readText('test/rungs/ladder/suites.json')) as readonly Suite[]

function runRungs(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(ROOT, 'test/run.mjs'), ...args],
    { encoding: 'utf8', env: { PATH: process.env['PATH'], NO_COLOR: '1' } },
  )
  return { status, stdout, stderr }
}

test.each(SUITES)('every file of rung $id, $name, is there', ({ files }) => {
  expect(files.length).toBeGreaterThan(0)
  expect(files.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
})

test('every rung of the ladder has an ID and a name of its own', () => {
  const words = SUITES.flatMap(({ id, name }) => [id, name])

  expect(new Set(words).size).toBe(words.length)
})

test('every test file that reports to the ladder belongs to a rung', () => {
  const reporting = projectFiles().filter((path) => {
    if (!/^test\/.*\.test\.ts$/.test(path) || !/\breport\(\{/.test(readText(path))) return false
    return importsOf(parseSource(path)).some(({ from }) => from.endsWith('support/ladder.js'))
  })
  const run = new Set(SUITES.flatMap(({ files }) => files))

  expect(reporting.length).toBeGreaterThan(10)
  expect(reporting.filter((path) => !run.has(path))).toEqual([])
})

test('the runner prints the rungs, and refuses a name that no rung has', () => {
  const listed = runRungs()
  const refused = runRungs('T4', 'T99')

  expect([listed.status, listed.stdout.trimEnd().split('\n').length]).toEqual([0, SUITES.length])
  expect([refused.status, refused.stdout]).toEqual([1, ''])
  expect(refused.stderr).toMatch(/^No rung is named T99; the rungs are:\nT1 /)
})

test('the runner gives vitest the files of the rungs, and the options behind them', () => {
  const { status, stdout } = runRungs('t16', 'meta', '-t', 'a name of no test')

  expect(stdout).toMatch(/Test Files {2}2 skipped \(2\)/)
  expect(status).toBe(0)
})
