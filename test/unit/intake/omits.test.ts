// Columns that are left out of a source, whatever they hold.
import { expect, test } from 'vitest'
import { read, readJson } from './support.js'

test.each([
  ['id,note,n\n1,a,2\n3,"b,\n",4\n', ['note'], 'id n', ['1 2', '3 4']],
  ['id;note;n\n1;a;2,5\n3;b;4\n', ['id'], 'note n', ['a 2.5', 'b 4']],
  ['id,,n\n1,,2\n3,,4\n', ['n'], 'id', ['1', '3']], // One without a name and values is left out anyway.
  ['id,a,a\n1,2,3\n', ['a'], 'id', ['1']],
  ['id,n\n1,2\n', ['none'], 'id n', ['1 2']],
])('%j is read without the columns %j', async (source, omits, columns, rows) => {
  for (const size of [1, 1_000]) {
    const found = await read(source, { omits, size })
    expect(found.columns.join(' ')).toBe(columns)
    expect(found.rows.map((row) => row.join(' '))).toEqual(rows)
  }
})

test('members of JSON are left out as the columns that they would be', async () => {
  const source = '[{"id":1,"a":{"b":1.50,"c":[{}]},"n":[1]},{"n":2},{"id":3}]'
  expect(await readJson(source, { omits: ['n'] })).toEqual([
    { id: 1, a: { b: 1.5, c: [{}] } },
    {},
    { id: 3 },
  ])
  expect(await readJson(source, { omits: ['a.c', 'id'], nested: 'flatten' })).toEqual([
    { 'a.b': 1.5, n: [1] },
    { n: 2 },
    {},
  ])
  expect(await readJson(source, { omits: ['a'], nested: 'text' })).toEqual([
    { id: 1, n: [1] },
    { n: 2 },
    { id: 3 },
  ])
})
