// Goal: the lists of mutation testing are current: their files exist, and so does the line of each survivor.
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { projectFiles, readText } from '../support/project.js'
import invariants from './invariants.json' with { type: 'json' }
import { expand, filesOf } from './listed-files.js'
import survivors from './survivors.json' with { type: 'json' }

const modules = Object.entries(invariants)

test.each(modules)('the files and the tests of %s are there', (_, { files, tests }) => {
  const patterns = [files, ...tests].flatMap(expand)

  expect(patterns.filter((pattern) => filesOf(pattern).length === 0)).toEqual([])
})

/** Folders outside all modules: types, tables of names, and code that other tests prove. */
const OF_NO_MODULE = [
  ...['src', 'src/base', 'src/client', 'src/objects', 'src/engine/types'],
  ...['src/engine/arguments', 'src/contract/metrics', 'src/contract/openapi'],
]

test('each folder of src is of a module, or named', () => {
  const folders = (paths: readonly string[]) => new Set(paths.map((path) => dirname(path)))
  const known = folders(modules.flatMap(([, { files }]) => expand(files).flatMap(filesOf)))
  const left = [...folders(projectFiles().filter((path) => /^src\/.*\.ts$/.test(path)))].filter(
    (folder) => !known.has(folder),
  )

  expect(left.sort()).toEqual([...OF_NO_MODULE].sort())
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
