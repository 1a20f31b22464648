// Objects in JSON rows: as columns or as text, with every digit, or refused.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createClient } from '../../../src/client/client.js'
import { fetchHandler, openMemory } from '../../../src/index.js'
import { runOptions } from '../../support/fast-check-options.js'
import { open, readJson } from './support.js'

type Nested = 'flatten' | 'text'

async function textOf(source: string, nested: Nested): Promise<string> {
  let text = ''
  for await (const { bytes } of (await open(source, { format: 'ndjson', nested })).runs) {
    text += `${new TextDecoder().decode(bytes)};`
  }
  return text
}

test.each([
  ['{"a":1, "b":[1]}', '{"a":1, "b":[1]}', '{"a":1, "b":[1]}'],
  [
    '{"a":{"b":1.50,"c":{"d":"x"}}}',
    '{"a.b":1.50,"a.c.d":"x"}',
    '{"a":"{\\"b\\":1.50,\\"c\\":{\\"d\\":\\"x\\"}}"}',
  ],
  ['{"a":{ },"b":2}', '{"b":2}', '{"a":"{}","b":2}'],
  ['{"a":[ {"b" : "] }"} ]}', '{"a":"[{\\"b\\":\\"] }\\"}]"}', '{"a":"[{\\"b\\":\\"] }\\"}]"}'],
  ['{"a":[[1],2]}', '{"a":"[[1],2]"}', '{"a":"[[1],2]"}'],
  ['{"a\\u002e":{"\\"":1}}', '{"a..\\"":1}', '{"a.":"{\\"\\\\\\"\\":1}"}'],
  // Invalid JSON is refused where rows are read.
  ['{"a":{"b":1 2}}', '{"a":{"b":1 2}}', '{"a":{"b":1 2}}'],
  ['{"a":{"b":}}', '{"a":{"b":}}', '{"a":{"b":}}'],
  ['{"a":{"b" 1}}', '{"a":{"b" 1}}', '{"a":{"b" 1}}'],
])('%s', async (source, flat, text) => {
  expect(await textOf(source, 'flatten')).toBe(`${flat};`)
  expect(await textOf(source, 'text')).toBe(`${text};`)
})

test('an object that is null in some rows has no column itself', async () => {
  const source = '[{"id":1,"a":{"b":1}},{"id":2,"a":null},{"id":3,"c":null}]'
  const intake = await open(source, { format: 'json', nested: 'flatten' })

  expect(await readJson(source, { nested: 'flatten' })).toEqual([
    { id: 1, 'a.b': 1 },
    { id: 2 },
    { id: 3, c: null },
  ])
  for await (const _ of intake.runs);
  expect(intake.report.advice).toEqual([{ code: 'nested', column: 'a', line: 1, count: 1 }])
})

describe('what is refused', () => {
  const deep = `${'{"a":'.repeat(40)}1${'}'.repeat(40)}`
  test.each([
    [
      'a name and a path in one row',
      '{"a.b":1,"a":{"b":2}}',
      "two members become the column 'a.b'",
    ],
    [
      'a name and a path in two rows',
      '{"a.b":1}\n{"a":{"b":2}}',
      "two members become the column 'a.b'",
    ],
    ['a member that is there twice', '{"a":{"b":1,"b":2}}', "two members become the column 'a.b'"],
    ['objects that are too deep', deep, 'more than 32'],
    ['long names', `{"${'n'.repeat(200)}":{"${'m'.repeat(100)}":1}}`, 'more than 256 characters'],
    [
      'many columns',
      `{"a":${JSON.stringify(Object.fromEntries(Array.from({ length: 10_001 }, (_, i) => [i, 1])))}}`,
      'more than 10000 columns',
    ],
  ])('%s', async (_, source, problem) => {
    await expect(textOf(source, 'flatten')).rejects.toThrow(problem)
  })

  test('another way, and another format', async () => {
    await expect(open('[]', { format: 'json', nested: 'x' as Nested })).rejects.toThrow('nested')
    await expect(open('a\n', { format: 'csv', nested: 'text' })).rejects.toThrow('nested')
  })
})

test('every row has the members of its objects', async () => {
  const name = fc.constantFrom('a', 'b', 'c"', '\\', 'ü')
  const { row } = fc.letrec((tie) => ({
    row: fc.dictionary(name, tie('value'), { maxKeys: 3, depthIdentifier: 'row' }),
    value: fc.oneof(
      { maxDepth: 3, depthIdentifier: 'row' },
      fc.integer(),
      fc.string(),
      fc.array(fc.boolean()),
      tie('row'),
    ),
  }))
  const flat = (object: object, path: string): [string, unknown][] =>
    Object.entries(object).flatMap(([key, value]) => {
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
      return isObject ? flat(value, `${path}${key}.`) : [[path + key, value]]
    })
  await fc.assert(
    fc.asyncProperty(fc.array(row), fc.constantFrom(0, 2), async (rows, indent) => {
      const source = JSON.stringify(rows, null, indent)
      const expected = rows.map((one) => Object.fromEntries(flat(one as object, '')))

      expect(await readJson(source, { nested: 'flatten' })).toEqual(expected)
      const texts = (await readJson(source, { nested: 'text' })) as Record<string, unknown>[]
      const parsed = texts.map((one, i) =>
        Object.fromEntries(
          Object.entries(one).map(([key, value]) => {
            const was = (rows[i] as Record<string, unknown>)[key]
            return [
              key,
              typeof was === 'object' && !Array.isArray(was) ? JSON.parse(String(value)) : value,
            ]
          }),
        ),
      )
      expect(parsed).toEqual(rows)
    }),
    runOptions(300),
  )
})

test('the library and the client take the same option', async () => {
  const json = '[{"a":{"b":1}},{"a":{"b":2.50}}]'
  const key = 'a-key-for-the-tests'
  await using store = await openMemory()
  const team = store.team('t')
  const fetch = fetchHandler(store, { keys: [{ key, teamId: 't' }] })
  const client = createClient({
    url: 'http://x',
    key,
    fetch: (...args) => fetch(new Request(...args)),
  })
  const columnsOf = async (tableId: string) =>
    (await team.table(tableId).schema()).columns.map(({ id, type }) => `${id} ${type.kind}`)

  const made = await team.createTable({ name: 'A', rows: { json, nested: 'flatten' } })
  const sent = await client.importRows(new File([json], 'a.json'), { name: 'B', nested: 'text' })

  expect(await columnsOf(made.tableId)).toEqual(['a.b number'])
  expect(await columnsOf(sent.tableId)).toEqual(['a string'])
  expect(sent.read?.advice).toEqual([{ code: 'nested', column: 'a', line: 1, count: 2 }])
  await expect(team.createTable({ name: 'C', rows: { json } })).rejects.toThrow(
    'text, a number, a boolean or an array, not {',
  )
})
