// Goal: an import finds the columns that a few values turned into text, with the first of them.
// Method: files are imported into a real server, whose store knows the types.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type FileImport, importFiles } from '../../../adapters/cli/import/import-files.js'
import { findOddColumns, type OddColumn } from '../../../adapters/cli/import/import-oddities.js'
import { ImportSample } from '../../../adapters/cli/import/import-sample.js'
import { formatOfPath } from '../../../adapters/cli/import/import-source.js'
import { createTestServer, type TestServer } from '../../conformance/testing.js'

let folder: string
let server: TestServer

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowstash-oddities-'))
  server = await createTestServer({ store: { maintenance: { garbageCollectionIntervalMs: 0 } } })
})

afterAll(async () => {
  await server.close()
  await rm(folder, { recursive: true })
})

type Seen = Readonly<{ sampled: readonly string[]; odd: readonly OddColumn[] }>

/** Imports files of these texts into a new table: what the import says of it. */
async function importTexts(
  texts: Readonly<Record<string, string>>,
  chunkRowsMax = 100,
): Promise<Seen> {
  const files = Object.entries(texts).map(([name, text]) => ({
    path: join(folder, name),
    format: formatOfPath(name),
    detects: false,
    dialect: text.startsWith('a;') ? { delimiter: ';' } : {},
  }))
  for (const [name, text] of Object.entries(texts)) await writeFile(join(folder, name), text)
  const sample = new ImportSample()
  const signal = new AbortController().signal
  const given: FileImport = {
    files,
    url: server.url,
    key: server.key,
    target: { name: 'T' },
    chunkRowsMax,
    parallel: 2,
    signal,
    sample,
  }
  const { tableId } = await importFiles(given)
  const { columns } = await server.store.team('test').table(tableId).schema()
  const textIds = columns.filter(({ type }) => type.kind === 'string').map(({ id }) => id)
  const text = [...sample.columns].filter(([column]) => textIds.includes(column))
  const odd = await findOddColumns(new Map(text), files, chunkRowsMax, signal)
  return { sampled: [...sample.columns.keys()], odd }
}

describe('the sample of an import', () => {
  test('has the columns of all files', async () => {
    const texts = { 'one.csv': 'a,b\n1,x\n', 'two.csv': 'c,b\ntrue,y\n', 'none.csv': 'd\n' }

    expect((await importTexts(texts)).sampled).toEqual(['a', 'b', 'c', 'd'])
  })

  test('has a column that one row of many names', async () => {
    const rows = Array.from({ length: 500 }, (_, n) => (n === 333 ? { n, rare: true } : { n }))

    expect((await importTexts({ 'rare.json': JSON.stringify(rows) })).sampled).toContain('rare')
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
        isSample: false,
        valueCount: 1_200,
        odd: {
          count: 3,
          first: [101, 301, 501].map((n) => ({
            value: 'n/a',
            path: join(folder, 'second.csv'),
            line: 2 + n * 3 - (n > 101 ? (n - 101) / 100 : 0),
            unit: 'line',
          })),
        },
        oddShapes: new Set(['other']),
        asText: {
          decimalComma: { count: 0, first: [] },
          longInteger: { count: 0, first: [] },
          spacedNumber: { count: 0, first: [] },
          looseNumber: { count: 0, first: [] },
        },
        isMixed: false,
        tokens: { count: 0, first: [] },
        mayBeThousands: true,
      },
    ])
  })

  test.each([
    ['numbers', '1', 'x', 'other'],
    ['numbers', '12', '012', 'padded'],
    ['numbers', '12', '-01.5', 'padded'],
    ['numbers', '12', '+49123', 'padded'],
    ['numbers', '12', '1.234.567', 'grouped'],
    ['numbers', '12', '31.12.2024', 'other'],
    ['numbers', '12', '-', 'other'],
    ['booleans', 'true', 'yes', 'other'],
    ['booleans', 'true', '01', 'other'],
    ['dates', '2024-02-29', '2023-02-29', 'other'],
    ['dates', '2024-02-29T10:00', '29.2.2024', 'other'],
  ])('of %s like %j is found when it has %j', async (others, usual, value, shape) => {
    const text = `a,b\n${lines(400, (n) => `${n === 250 ? value : usual},x`)}`

    const { odd } = await importTexts({ 'odd.csv': text })

    expect(odd).toMatchObject([
      { column: 'a', others, valueCount: 400, odd: { count: 1, first: [{ value, line: 252 }] } },
    ])
    expect(odd[0]?.oddShapes).toEqual(new Set([shape]))
  })

  test.each([
    ['numbers', 1, 'x'],
    ['booleans', true, 1],
    ['arrays', [1], 'x'],
    ['dates', '2024-02-29', 'never'],
  ])('of %s like %j is found in JSON when it has %j', async (others, usual, value) => {
    const text = lines(400, (n) => JSON.stringify({ a: n === 250 ? value : usual, b: null }))

    const { odd } = await importTexts({ 'odd.ndjson': text })

    expect(odd).toMatchObject([
      { column: 'a', others, odd: { count: 1, first: [{ value, line: 251 }] } },
    ])
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

    expect(odd).toMatchObject([{ column: 'a', others: 'numbers' }])
    expect(odd[0]?.odd.first[0]).toMatchObject({ value: 'n/a', line })
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

describe('a column of numbers that are text to a server', () => {
  const lines = (cell: (n: number) => string): string =>
    Array.from({ length: 400 }, (_, n) => `${cell(n)};x\n`).join('')

  test.each([
    ['decimalComma', 'all are', (n: number) => `${n},5`, [400, 0]],
    ['decimalComma', 'a few are', (n: number) => (n % 200 === 7 ? '1,5' : '1'), [2, 0]],
    ['decimalComma', 'one is none', (n: number) => (n === 7 ? 'x' : '"1,5"'), [399, 1]],
    ['longInteger', 'one is', (n: number) => (n === 7 ? '9007199254740993' : '1'), [1, 0]],
    ['longInteger', 'all are', (n: number) => `-${2 ** 52 + n}`, [400, 0]],
    ['spacedNumber', 'one is', (n: number) => (n === 7 ? ' 12' : '1'), [1, 0]],
    ['spacedNumber', 'all are', (n: number) => ` ${n}.5 `, [400, 0]],
    ['looseNumber', 'all are', (n: number) => `.${n}7`, [400, 0]],
    ['looseNumber', 'half are', (n: number) => (n % 2 === 0 ? `${n}.` : '1'), [200, 0]],
    ['looseNumber', 'one is', (n: number) => (n === 7 ? '+5' : '1'), [1, 0]],
    ['looseNumber', 'some are', (n: number) => (n % 4 === 0 ? '1,234,567.5' : '1'), [100, 0]],
  ] as const)('is found: %s, %s', async (type, _, cell, [count, oddCount]) => {
    const { odd } = await importTexts({ 'numbers.csv': `a;b\n${lines(cell)}` })

    expect(odd).toMatchObject([
      { column: 'a', others: 'numbers', asText: { [type]: { count } }, odd: { count: oddCount } },
    ])
    const counts = Object.values(odd[0]?.asText ?? {}).map((seen) => seen.count)
    expect(counts.toSorted()).toEqual([0, 0, 0, count])
  })

  test('may have separators of thousands if each of them can be one', async () => {
    const { odd } = await importTexts({ 'thousands.csv': `a;b\n${lines((n) => `1,${100 + n}`)}` })
    const few = await importTexts({
      'few.csv': `a;b\n${lines((n) => (n === 7 ? '1,5' : '1,234'))}`,
    })

    expect(odd).toMatchObject([
      { column: 'a', asText: { decimalComma: { count: 400 } }, mayBeThousands: true },
    ])
    expect(few.odd).toMatchObject([{ mayBeThousands: false }])
  })
})
