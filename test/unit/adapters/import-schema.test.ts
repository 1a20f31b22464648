// Goal: the types that an import shows are those of the table, and asking for them changes nothing.
// Method: random rows are imported into a real server, whose store knows the types.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nodeHandler } from '../../../adapters/node.js'
import { ImportClient } from '../../../adapters/programs/import-client.js'
import { type FileImport, importFiles } from '../../../adapters/programs/import-files.js'
import { findOddColumns, type OddColumn } from '../../../adapters/programs/import-oddities.js'
import { ImportSample } from '../../../adapters/programs/import-sample.js'
import { inferredTypes } from '../../../adapters/programs/import-schema.js'
import { formatOfPath } from '../../../adapters/programs/import-source.js'
import { openMemory, type Store } from '../../../src/index.js'
import { type Asked, fakeServer } from '../../support/fake-server.js'
import { runOptions } from '../../support/fast-check-options.js'

const KEY = 'a-key-for-the-tests'

let folder: string
let store: Store
let url: string
let close: () => Promise<void>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowstash-schema-'))
  store = await openMemory({ sweepIntervalMs: 0 })
  const server = createServer(nodeHandler(store, { keys: [{ key: KEY, teamId: 't' }] }))
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  close = async () => {
    server.closeAllConnections()
    server.close()
    await store.close()
    await rm(folder, { recursive: true })
  }
})

afterAll(() => close())

type Seen = Readonly<{
  types: [string, string][]
  schema: [string, string][]
  odd: readonly OddColumn[]
}>

/** Imports files of these texts into a new table: what the import says of it, and what it is. */
async function importTexts(
  texts: Readonly<Record<string, string>>,
  chunkRowsMax = 100,
): Promise<Seen> {
  const files = Object.keys(texts).map((name) => ({
    path: join(folder, name),
    format: formatOfPath(name),
  }))
  for (const [name, text] of Object.entries(texts)) await writeFile(join(folder, name), text)
  const sample = new ImportSample()
  const signal = new AbortController().signal
  const given: FileImport = {
    files,
    url,
    key: KEY,
    target: { name: 'T' },
    chunkRowsMax,
    parallel: 2,
    signal,
    sample,
  }
  const { tableId } = await importFiles(given)
  const table = store.team('t').table(tableId)
  const before = { version: await table.version(), rows: (await table.page()).rows }

  const client = new ImportClient(given)
  const types = await inferredTypes(client, tableId, sample.columns)
  client.close()

  expect({ version: await table.version(), rows: (await table.page()).rows }).toEqual(before)
  const text = [...sample.columns].filter(([column]) => types.get(column) === 'string')
  const odd = await findOddColumns(new Map(text), files, chunkRowsMax, signal)
  const { columns } = await table.schema()
  return {
    types: [...sample.columns.keys()].map((column) => [column, types.get(column) ?? 'none']),
    schema: columns.map(({ id, type }) => [
      id,
      type.kind === 'array' ? `array of ${type.items.kind}` : type.kind,
    ]),
    odd,
  }
}

describe('the types of a new table', () => {
  test('are told as they are, of JSON', async () => {
    const column = fc.constantFrom(
      ['n', [1, 2.5, -3]],
      ['b', [true, false]],
      ['s', ['x', '']],
      ['d', ['2024-02-29', '2023-01-01']],
      ['t', ['2024-02-29T10:00Z', '2023-01-01']],
      ['notDay', ['2024-02-30']],
      ['an', [[1], [2, 3], []]],
      ['as', [['x'], ['y']]],
      ['ad', [['2024-02-29']]],
      ['e', [null]],
      ['mix', [1, 'x', true, '2024-01-01']],
      ['__proto__', [1, 2]],
      ['constructor', ['x', 1]],
    ) as fc.Arbitrary<readonly [string, readonly unknown[]]>
    const odd = fc.constantFrom<unknown>('odd', 7, false, ['2024-01-01'], '2024-01-01', undefined)
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(column, { selector: ([id]) => id, minLength: 1, maxLength: 6 }),
        fc.integer({ min: 1, max: 60 }),
        fc.nat(),
        odd,
        fc.integer({ min: 1, max: 20 }),
        fc.infiniteStream(fc.nat()),
        async (columns, count, oddRow, oddValue, chunkRowsMax, random) => {
          const next = (limit: number) => (random.next().value ?? 0) % limit
          const rows = Array.from({ length: count }, (_, n) => {
            const cells = columns
              .filter(() => next(4) > 0)
              .map(([id, values]) => [id, values[next(values.length)]])
            const isOdd = n === oddRow % count && oddValue !== undefined
            return Object.fromEntries(isOdd ? [...cells, [columns[0]?.[0], oddValue]] : cells)
          })

          const { types, schema } = await importTexts(
            { 'any.json': JSON.stringify(rows) },
            chunkRowsMax,
          )

          expect(types).toEqual(schema)
        },
      ),
      runOptions(60),
    )
  })

  test('are told as they are, of CSV', async () => {
    const kinds = {
      n: ['1', '2.5', '-3e5', '0.12345678901234567'],
      long: ['1234567890123456'],
      b: ['true', 'FALSE'],
      s: ['x', '"a,b"', '007'],
      d: ['2024-02-29', '2023-01-01'],
      t: ['2024-02-29T10:00Z', '2023-01-01'],
      a: ['"[1,2]"'],
      e: [''],
    }
    const ids = fc.uniqueArray(fc.constantFrom(...(Object.keys(kinds) as (keyof typeof kinds)[])), {
      minLength: 1,
    })
    const odd = fc.constantFrom('', 'odd', '7', ' 7', 'true', '2024-01-01', '2024-13-01', '1e999')
    await fc.assert(
      fc.asyncProperty(
        ids,
        fc.integer({ min: 1, max: 60 }),
        fc.nat(),
        odd,
        fc.integer({ min: 1, max: 20 }),
        fc.infiniteStream(fc.nat()),
        async (columns, count, oddRow, oddValue, chunkRowsMax, random) => {
          const next = (limit: number) => (random.next().value ?? 0) % limit
          const lines = Array.from({ length: count }, (_, n) =>
            columns
              .map((id) => kinds[id][next(kinds[id].length)])
              .with(0, n === oddRow % count ? oddValue : kinds[columns[0] ?? 'n'][0])
              .join(),
          )
          const text = `${columns.join()},end\n${lines.map((line) => `${line},x\n`).join('')}`

          const { types, schema } = await importTexts({ 'any.csv': text }, chunkRowsMax)

          expect(types).toEqual(schema)
        },
      ),
      runOptions(60),
    )
  })

  test('are those of the columns of all files', async () => {
    const texts = { 'one.csv': 'a,b\n1,x\n', 'two.csv': 'c,b\ntrue,y\n', 'none.csv': 'd\n' }

    const { types, schema } = await importTexts(texts)

    expect(types).toEqual([
      ['a', 'number'],
      ['b', 'string'],
      ['c', 'boolean'],
      ['d', 'string'],
    ])
    expect(schema).toEqual(types)
  })

  test('hold a column that one row of many names', async () => {
    const rows = Array.from({ length: 500 }, (_, n) => (n === 333 ? { n, rare: true } : { n }))

    const { types, schema } = await importTexts({ 'rare.json': JSON.stringify(rows) })

    expect(types).toEqual(schema)
    expect(types).toContainEqual(['rare', 'boolean'])
  })

  test('take one request without dates, and a few more for each column with them', async () => {
    const asked: Asked[] = []
    const fake = await fakeServer((question) => {
      asked.push(question)
      const [cells] = JSON.parse(question.body) as [Record<string, unknown>]
      const fits = Object.entries(cells).every(([id, value]) => {
        return id.startsWith('day') ? value === '2000-01-01' : value === 1
      })
      const type = fits ? 'column_id_not_found' : 'column_has_invalid_value'
      return { status: 422, body: { error: { type, message: 'no' } } }
    })
    const sample = new ImportSample()
    const client = new ImportClient({
      url: fake.url,
      key: KEY,
      parallel: 1,
      signal: new AbortController().signal,
    })
    const tally = { number: 0, boolean: 0, date: 0, dateTime: 0, text: 0, array: 0 }
    const numbers = Array.from(
      { length: 300 },
      (_, n) => [`n${n}`, { ...tally, number: 1 }] as const,
    )

    await inferredTypes(client, 't', new Map(numbers))
    expect(asked).toHaveLength(1)
    await inferredTypes(client, 't', new Map([...numbers, ['day', { ...tally, date: 1 }]]))
    expect(asked).toHaveLength(5)
    expect(sample.columns.size).toBe(0)
    expect(new Set(asked.map(({ path }) => path))).toEqual(
      new Set(['/tables/t/rows?onSchemaError=abort']),
    )
    client.close()
  })
})

describe('a column that a few values have made text', () => {
  const lines = (count: number, line: (n: number) => string) =>
    Array.from({ length: count }, (_, n) => `${line(n)}\n`).join('')

  test('is found with the first of them, in the file and the line that it is in', async () => {
    const { odd } = await importTexts({
      'first.csv': `id,price\n${lines(600, (n) => `${n},${n / 4}`)}`,
      'second.csv': `price,note\n${lines(600, (n) => (n % 200 === 101 ? 'n/a,x' : `${n},"a\n\nb"`))}`,
    })

    expect(odd).toEqual([
      {
        column: 'price',
        others: 'numbers',
        found: {
          oddCount: 3,
          valueCount: 1_200,
          value: 'n/a',
          path: join(folder, 'second.csv'),
          line: 2 + 101 * 3,
        },
      },
    ])
  })

  test.each([
    ['numbers', '1', 'x'],
    ['numbers', '1.5', '1234567890123456'],
    ['numbers', '12', '012'],
    ['numbers', '12', ' 12'],
    ['booleans', 'true', 'yes'],
    ['dates', '2024-02-29', '2023-02-29'],
    ['dates', '2024-02-29T10:00', '29.2.2024'],
  ])('of %s like %j is found when it has %j', async (others, usual, value) => {
    const text = `a,b\n${lines(400, (n) => `${n === 250 ? value : usual},x`)}`

    const { odd } = await importTexts({ 'odd.csv': text })

    expect(odd).toMatchObject([
      { column: 'a', others, found: { oddCount: 1, valueCount: 400, value, line: 252 } },
    ])
  })

  test.each([
    ['numbers', 1, 'x'],
    ['booleans', true, 1],
    ['arrays', [1], 'x'],
    ['dates', '2024-02-29', 'never'],
  ])('of %s like %j is found in JSON when it has %j', async (others, usual, value) => {
    const text = lines(400, (n) => JSON.stringify({ a: n === 250 ? value : usual, b: null }))

    const { odd } = await importTexts({ 'odd.ndjson': text })

    expect(odd).toMatchObject([{ column: 'a', others, found: { oddCount: 1, value, line: 251 } }])
  })

  test.each([
    ['are the first of all', (n: number) => n < 80, 2],
    ['come with the first row of every other chunk', (n: number) => n % 200 === 0, 2],
    ['come with every 105th row', (n: number) => n % 105 === 7, 9],
    ['are in the last chunk', (n: number) => n > 9_930, 9_933],
  ] as const)('is found when they %s', async (_, isOdd, line) => {
    const cell = (n: number) => (isOdd(n) ? 'n/a' : String(n / 4))

    const { odd } = await importTexts({
      'rhythm.csv': `a,b\n${lines(10_001, (n) => `${cell(n)},x`)}`,
    })

    expect(odd).toMatchObject([{ column: 'a', others: 'numbers', found: { value: 'n/a', line } }])
  })

  test.each([
    ['one percent of its values', (n: number) => (n % 100 === 50 ? 'x' : '1')],
    ['no value that is odd', () => 'x'],
    ['values of all kinds', (n: number) => ['x', '1', 'true', '2024-01-01'][n % 4] ?? ''],
    ['empty cells', (n: number) => (n % 2 === 0 ? '' : '1')],
  ])('is not one with %s', async (_, cell) => {
    const { odd } = await importTexts({ 'even.csv': `a,b\n${lines(400, (n) => `${cell(n)},x`)}` })

    expect(odd).toEqual([])
  })
})
