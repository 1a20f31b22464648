// Goal: wildcards match the files that a shell would match.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { filesOf } from '../../../adapters/cli/import/file-patterns.js'

const FILES = [
  ...['a.csv', 'b.csv', 'ab.csv', 'c.csv.gz', '.hidden.csv', 'x+y.csv', 'xxy.csv', 'ü.csv'],
  ...['2026-01/day.ndjson', '2026-02/day.ndjson', '2026-02/more/day.ndjson', '2027/day.ndjson'],
]

let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowstash-patterns-'))
  for (const name of FILES) {
    await mkdir(join(folder, name, '..'), { recursive: true })
    await writeFile(join(folder, name), '')
  }
  await mkdir(join(folder, 'folder.csv'))
})

afterAll(() => rm(folder, { recursive: true }))

test.each([
  ['*.csv', ['a.csv', 'ab.csv', 'b.csv', 'x+y.csv', 'xxy.csv', 'ü.csv']],
  ['?.csv', ['a.csv', 'b.csv', 'ü.csv']],
  ['a*.csv', ['a.csv', 'ab.csv']],
  ['x+*.csv', ['x+y.csv']],
  ['.*.csv', ['.hidden.csv']],
  ['*.csv*', ['a.csv', 'ab.csv', 'b.csv', 'c.csv.gz', 'x+y.csv', 'xxy.csv', 'ü.csv']],
  ['2026-*/day.ndjson', ['2026-01/day.ndjson', '2026-02/day.ndjson']],
  ['*/*.ndjson', ['2026-01/day.ndjson', '2026-02/day.ndjson', '2027/day.ndjson']],
  ['*/more/d*', ['2026-02/more/day.ndjson']],
])('%s', (pattern, names) => {
  expect(filesOf([join(folder, pattern)])).toEqual(names.map((name) => join(folder, name)))
})

test('names stay in their order, and an existing name is not a pattern', async () => {
  const odd = join(folder, 'what?.csv')
  await writeFile(odd, '')
  const [one, none] = [join(folder, 'b.csv'), join(folder, 'none.csv')]

  expect(filesOf([odd, none, '-', join(folder, 'a*.csv'), one])).toEqual([
    ...[odd, none, '-', join(folder, 'a.csv'), join(folder, 'ab.csv'), one],
  ])
  await rm(odd)
})

test.each(['*.parquet', 'none/*.csv', 'a.csv/*.csv'])(
  '%s that matches nothing is refused',
  (name) => {
    const pattern = join(folder, name)

    expect(() => filesOf([pattern])).toThrow(`No file matches ${pattern}`)
  },
)
