// Goal: what an intake reports of columns that become text agrees with inference, however the rows arrive. Values are
// counted once, in passing.
// Method: generated columns with a few odd values at known lines, and single values of each class, compared with the
// inference.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Advice } from '../../../src/intake/advice.js'
import { classOfField } from '../../../src/intake/watched-values.js'
import { inferType, kindOfField, kindOfText } from '../../../src/schema/infer.js'
import { newSummary, summarizeText, summarizeToken } from '../../../src/schema/summarize.js'
import { runOptions } from '../../support/fast-check-options.js'
import { nearText } from '../../support/near-text.js'
import { NUMBERS, SAMPLES } from '../../support/value-samples.js'
import { open } from './support.js'

/** The codes of single lines, columns and rows, without advice on the whole source. */
async function adviceOf(
  source: string,
  how: Parameters<typeof open>[1] = {},
): Promise<readonly Advice[]> {
  const intake = await open(source, { detects: false, ...how })
  for await (const _ of intake.runs);
  return intake.report.advice
}

const near = nearText(
  [...SAMPLES.date.fits, ...SAMPLES.dateTime.fits, ...NUMBERS.fits, 'true', 'FALSE'],
  '0123456789-+.:TZeEtrufals ',
)

test('a value has the kind that inference gives a column with it alone', () => {
  fc.assert(
    fc.property(near, (text) => {
      fc.pre(text !== '')
      const [field, token] = [newSummary('a'), newSummary('a')]
      summarizeText(field, text)
      summarizeToken(token, JSON.stringify(text))

      expect(kindOfField(text)).toBe(inferType(field)?.kind)
      expect(kindOfText(text)).toBe(inferType(token)?.kind)
    }),
    runOptions(5_000),
  )
})

test('a decimal comma is seen by what stands before its decimals', () => {
  const comma = nearText(['1,5', '-0,25', '12,50', '1,5e3', '1.5', '1,234,5'], '0123456789-+.,eE ')
  fc.assert(
    fc.property(comma, (text) => {
      const isNumber =
        !text.includes('.') && kindOfField(text.trim().replace(',', '.')) === 'number'

      const isComma = /^(?:decimalComma|commasUnsure)$/.test(classOfField(text))
      expect(isComma).toBe(isNumber && text.includes(','))
    }),
    runOptions(5_000),
  )
})

test.each([
  ['1,234', 'commasUnsure'],
  ['-12,345', 'commasUnsure'],
  ['0,123', 'decimalComma'],
  ['1234,567', 'decimalComma'],
  ['1,5 €', 'text'],
  ['.5', 'looseNumber'],
  ['5.', 'looseNumber'],
  ['+5', 'looseNumber'],
  ['1,234,567.5', 'looseNumber'],
  ['012', 'paddedNumber'],
  ['-01.5', 'paddedNumber'],
  ['+49123', 'paddedNumber'],
  ['1.234.567', 'groupedNumber'],
  [' 12', 'spacedNumber'],
  ['1234567890123456', 'longInteger'],
  ['1e999', 'text'],
  ['31.12.2024', 'text'],
  ['-', 'text'],
])('%j is of the class %s', (text, found) => {
  expect(classOfField(text)).toBe(found)
})

/** Kinds of most values in a column, with values that do not fit, as CSV and JSON write them. */
const COLUMNS: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  ['numbers', ['1', '-0.5', '12345678901234'], ['x', 'true', '2024-01-01']],
  ['booleans', ['true', 'false'], ['yes', '1']],
  ['dates', ['2024-02-29', '2024-02-29T10:00', '0004-12-31'], ['2023-02-29', '7', 'soon']],
]

/** A value as a JSON token. */
function tokenOf(text: string): string {
  return /^(?:true|false|-?[0-9]+(?:\.[0-9]+)?)$/.test(text) ? text : JSON.stringify(text)
}

/** Rows of one column with a text in a second one. Each row of `broken` is followed by a quoted line break. */
const columns = fc.record({
  of: fc.constantFrom(...COLUMNS),
  count: fc.integer({ min: 101, max: 350 }),
  odd: fc.uniqueArray(fc.nat({ max: 349 }), { maxLength: 5 }),
  broken: fc.uniqueArray(fc.nat({ max: 349 }), { maxLength: 5 }),
  format: fc.constantFrom('csv', 'ndjson'),
  rowsMax: fc.integer({ min: 1, max: 400 }),
  size: fc.integer({ min: 1, max: 5_000 }),
})

test('odd values are counted, with the line of the first, however the rows come', async () => {
  await fc.assert(
    fc.asyncProperty(columns, async ({ of, count, odd, broken, format, rowsMax, size }) => {
      const [others, usual, unusual] = of
      const isJson = format === 'ndjson'
      let line = isJson ? 1 : 2
      let text = isJson ? '' : 'a,b\n'
      const expected: { line: number; example: string }[] = []
      for (let row = 0; row < count; row++) {
        const isOdd = odd.includes(row)
        const cell = (isOdd ? unusual[row % unusual.length] : usual[row % usual.length]) ?? ''
        if (isOdd) expected.push({ line, example: cell })
        const isBroken = broken.includes(row) && !isJson
        text += isJson
          ? `{"a":${tokenOf(cell)} , "b":"x{"}\n`
          : `${cell},${isBroken ? '"x\ny"' : 'x'}\n`
        line += isBroken ? 2 : 1
      }
      const advice = await adviceOf(text, { format, rowsMax, size })

      const isTold = expected.length > 0 && expected.length * 100 < count
      const of100 = {
        code: 'textColumn',
        column: 'a',
        others,
        values: count,
        count: expected.length,
      }
      const isOfTokens = [usual[0] ?? '', ...expected.map(({ example }) => example)].some(
        (cell) => !tokenOf(cell).startsWith('"'),
      )
      const isMixed = isJson && expected.length > 0 && !isTold && isOfTokens
      if (isTold) expect(advice).toEqual([{ ...of100, ...expected[0] }])
      else expect(advice.map(({ code }) => code)).toEqual(isMixed ? ['mixedTypes'] : [])
    }),
    runOptions(300),
  )
})

describe('a column with advice', () => {
  const lines = (cell: (n: number) => string, count = 400) =>
    `a,b\n${Array.from({ length: count }, (_, n) => `"${cell(n)}",x\n`).join('')}`

  test.each([
    ['decimalComma', 'all', (n: number) => `${n},5`, [['decimalComma', 400]]],
    ['decimalComma', 'a few', (n: number) => (n % 200 === 7 ? '1,5' : '1'), [['decimalComma', 2]]],
    [
      'decimalComma',
      'beside a text',
      (n: number) => (n === 7 ? 'x' : '1,5'),
      [
        ['decimalComma', 399],
        ['textColumn', 1],
      ],
    ],
    ['commasUnsure', 'all', (n: number) => `1,${100 + n}`, [['commasUnsure', 400]]],
    [
      'commasUnsure',
      'one is sure',
      (n: number) => (n === 7 ? '1,5' : '1,234'),
      [['decimalComma', 400]],
    ],
    [
      'longInteger',
      'one',
      (n: number) => (n === 7 ? '9007199254740993' : '1'),
      [['longInteger', 1]],
    ],
    ['spacedNumber', 'all', (n: number) => ` ${n}.5 `, [['spacedNumber', 400]]],
    ['looseNumber', 'half', (n: number) => (n % 2 === 0 ? `${n}.` : '1'), [['looseNumber', 200]]],
    ['paddedNumber', 'one', (n: number) => (n === 7 ? '012' : '12'), [['paddedNumber', 1]]],
    ['paddedNumber', 'many, which are codes', (n: number) => (n < 4 ? '012' : '12'), []],
    ['groupedNumber', 'one', (n: number) => (n === 7 ? '1.234.567' : '12'), [['groupedNumber', 1]]],
    ['nothing', 'text', () => 'x', []],
    ['nothing', 'all kinds', (n: number) => ['x', '1', 'true', '2024-01-01'][n % 4] ?? '', []],
    ['nothing', 'empty cells', (n: number) => (n % 2 === 0 ? '' : '1'), []],
    ['nothing', 'late numbers', (n: number) => (n < 5 ? 'x' : '1'), []],
  ] as const)('%s: %s', async (_, _of, cell, codes) => {
    const advice = await adviceOf(lines(cell))

    expect(advice.map(({ code, count }) => [code, count])).toEqual(codes)
  })

  test('has a remedy if the remedy reads all values and is not already given', async () => {
    const remedy = { option: 'decimal', value: ',' }
    const commas = lines((n) => `${n},5`, 5)
    const remedyOf = async (source: string, dialect = {}) =>
      (await adviceOf(source, { dialect })).map((advice) => advice.remedy)

    expect(await remedyOf(commas)).toEqual([remedy])
    expect(await remedyOf(lines((n) => (n === 3 ? '1.5' : '1,5'), 5))).toEqual([undefined])
    expect(await remedyOf(lines((n) => (n === 3 ? '+5' : '1,5'), 5))).toEqual([
      undefined,
      undefined,
    ])
    expect(await remedyOf(commas, { decimal: '.' })).toEqual([])
    expect(await remedyOf(commas, { columns: { a: { decimal: '.' } } })).toEqual([])
    expect(await remedyOf(commas, { columns: { b: { decimal: ',' } } })).toEqual([remedy])
  })

  test('is a column of a new table, not of a table with known kinds', async () => {
    const source = ` a,$rowID\n${'1,x\n'.repeat(200)}x,y\n`

    const codes = (await adviceOf(source)).map(({ code }) => code)
    expect(codes).toEqual(['rowIDs', 'spacedNames', 'textColumn'])
    expect(await adviceOf(source, { kinds: { ' a': 'string' } })).toEqual([])
  })

  test('is judged without the rows that have too many fields', async () => {
    expect(await adviceOf(`a,b\n${'1,x\n'.repeat(200)}x,y,z\n`)).toEqual([])
  })
})

test.each([
  ['csv', 'a,b\n1,x\n\n2\n3,y\n4', { count: 2, line: 4 }],
  ['tsv', 'a\tb\r\n"1\r\n"\tx\r\n2\r\n', { count: 1, line: 4 }],
] as const)('lines with fewer fields are counted: %s', async (format, source, short) => {
  const dialect = { blankLines: 'skip' } as const
  const advice = await adviceOf(source, { format, dialect, rowsMax: 1 })

  expect(advice.filter(({ code }) => code === 'shortLines')).toEqual([
    { code: 'shortLines', ...short },
  ])
})

test.each([
  ['{"a":1 2}\n3\n"x"\n{"a"}\n{"a":}\n{"a":"\n'],
  ['[1,{"a":[1,{"b":"]}"}]},{"a":{"c":[2]}}]'],
])('what is no row is not looked at: %j', async (source) => {
  const format = source.startsWith('[') ? 'json' : 'ndjson'

  await expect(adviceOf(source, { format }).catch(() => [])).resolves.toEqual([])
})
