// Goal: the lists of mutation testing do not go stale: their files are there, and so is the line of each survivor.
import { expect, test } from 'vitest'
import { readText } from '../support/project.js'
import invariants from './invariants.json' with { type: 'json' }
import { expand, filesOf } from './listed-files.js'
import survivors from './survivors.json' with { type: 'json' }

const modules = Object.entries(invariants)

test.each(modules)('the files and the tests of %s are there', (_, { files, tests }) => {
  const patterns = [files, ...tests].flatMap(expand)

  expect(patterns.filter((pattern) => filesOf(pattern).length === 0)).toEqual([])
})

test('each survivor is of a module, stands in its source, and is explained once', () => {
  const paths = new Set(modules.flatMap(([, { files }]) => expand(files).flatMap(filesOf)))
  const stale = survivors.filter(({ file, source }) => {
    if (!paths.has(file)) return true
    const lines = readText(file).split('\n')
    return !lines.some((line) => line.trim() === source)
  })
  const names = survivors.map(({ file, source, replacement }) => `${file} ${source} ${replacement}`)

  expect(stale).toEqual([])
  expect(new Set(names).size).toBe(names.length)
  for (const { kind, reason } of survivors) {
    expect(['message', 'cost', 'equal', 'gap']).toContain(kind)
    expect(reason).not.toBe('')
  }
})
