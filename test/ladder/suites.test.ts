import { expect, test } from 'vitest'
import { readText } from '../support/source-files.js'

type Suite = Readonly<{ id: string; script: string; rule: string }>

const SUITES = JSON.parse(readText('test/ladder/suites.json')) as readonly Suite[]
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
