import { expect, test } from 'vitest'
import { importsOf, parseSource, projectFiles, readText } from '../../support/source-files.js'

type Suite = Readonly<{ id: string; script: string; rule: string }>

const SUITES = JSON.parse(readText('test/rungs/ladder/suites.json')) as readonly Suite[]
const { scripts } = JSON.parse(readText('package.json')) as { scripts: Record<string, string> }

test.each(SUITES)(
  '$id of the ladder is the script $script, which runs vitest files',
  ({ script }) => {
    expect(scripts[script]).toMatch(
      /^vitest run --config test\/vitest\.config\.ts test\/\S+\.test\.ts/,
    )
  },
)

test('every suite of the ladder has an ID and a script of its own', () => {
  expect(new Set(SUITES.map(({ id }) => id)).size).toBe(SUITES.length)
  expect(new Set(SUITES.map(({ script }) => script)).size).toBe(SUITES.length)
})

test('every file of tests that reports to the ladder is run by one of its scripts', () => {
  const reporting = projectFiles().filter((path) => {
    if (!/^test\/.*\.test\.ts$/.test(path) || !/\breport\(\{/.test(readText(path))) return false
    return importsOf(parseSource(path)).some(({ from }) => from.endsWith('support/ladder.js'))
  })
  const run = new Set(SUITES.flatMap(({ script }) => scripts[script]?.split(' ') ?? []))

  expect(reporting.length).toBeGreaterThan(10)
  expect(reporting.filter((path) => !run.has(path))).toEqual([])
})
