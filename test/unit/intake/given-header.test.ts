// Goal: given names for a source without a header become its columns, whatever they contain and however the source is
// quoted.
import { expect, test } from 'vitest'
import { read } from './support.js'

test.each([
  ['a line break', ['a\nb', 'c']],
  ['a line break and quotes of both kinds', ['a"\r\n\'b', "'c"]],
  ['a delimiter and a comment', ['#a;b', 'c;']],
])('names with %s, beside other quotes and comments', async (_what, header) => {
  const dialect = { header, quote: "'", comment: '#', delimiter: ';' }
  const { columns, rows, report } = await read("1;'x\ny'\n#no\n\n2;z\n", {
    dialect,
    detects: false,
  })
  expect(columns).toEqual(header)
  expect(rows).toEqual([['1', 'x\ny'], [''], ['2', 'z']])
  expect(report).toMatchObject({ rows: 3, headerLine: undefined })
})

test('errors of a source without a header name its own lines', async () => {
  const dialect = { header: ['a', 'b\nc'], skipLines: 1 } as const
  const reading = read('title\n1,2\n3,"4\n', { dialect, detects: false })
  await expect(reading).rejects.toMatchObject({ line: 3, offset: 10 })
})
