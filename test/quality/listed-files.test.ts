// Goal: a configuration lists no test that is missing: vitest does not report it.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { ROOT } from '../support/project.js'
import {
  LEFT_TO_ALL,
  LONG_FILES,
  SAME_EVERYWHERE,
  SEPARATE_FILES,
  SHARED_FILES,
} from '../vitest.config.js'
import { expand, filesOf } from './listed-files.js'

type Config = Readonly<{
  default: Readonly<{ test?: Readonly<{ include?: string[]; exclude?: string[] }> }>
}>

function isThere(pattern: string): boolean {
  return filesOf(pattern).length > 0
}

test('patterns are expanded and looked for', () => {
  expect(expand('x/{a,b}/{c,d}.ts')).toEqual(['x/a/c.ts', 'x/a/d.ts', 'x/b/c.ts', 'x/b/d.ts'])
  expect(isThere('test/quality/*.test.ts')).toBe(true)
  expect(isThere('test/quality/no-such-file.test.ts')).toBe(false)
})

test.each(['../quick.config.js', './mutation.config.js'])(
  'every file that %s names is there',
  async (path) => {
    vi.stubEnv('ROWSTASH_MUTANTS_WIDE', '1')
    const { default: config } = (await import(path)) as Config
    vi.unstubAllEnvs()
    const { include = [], exclude = [] } = config.test ?? {}
    const patterns = [...include, ...exclude].flatMap(expand)

    expect(patterns.length).toBeGreaterThan(20)
    expect(patterns.filter((pattern) => !isThere(pattern))).toEqual([])
  },
)

test('every file that vitest.config.ts names is there', () => {
  const lists = [SEPARATE_FILES, SHARED_FILES, SAME_EVERYWHERE, LONG_FILES].map((list) =>
    list.flatMap(expand),
  )
  const leftOut = Object.values(LEFT_TO_ALL).flat()

  expect(lists.flat().filter((pattern) => !isThere(pattern))).toEqual([])
  expect(leftOut.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
})
