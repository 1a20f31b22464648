// Goal: a number with both marks is read in one way, however few values a column has.
import { expect, test } from 'vitest'
import { codesOf, read } from './support.js'

test.each([
  ['1.234,50 €', '1234.50'],
  ['1.234,50', '1234.50'],
  ['1,234.50', '1234.50'],
  ["1'234.50", '1234.50'],
  ['-1.234.567,8', '-1234567.8'],
  ['1.23,450', '1.23,450'],
  ['1,23.450', '1,23.450'],
  [`${'1.234'.repeat(300)},5`, `${'1.234'.repeat(300)},5`],
])('%s alone is read as %s', async (text, cell) => {
  const { rows } = await read(`n;m\n${text};x\n`)
  expect(rows).toEqual([[cell, 'x']])
})

/**
 * More different prices than are needed to choose a conversion. The first ones have no thousands, as in a sorted list.
 */
const PRICES = Array.from({ length: 6_000 }, (_, n) => `${Math.floor(n / 10)},${n % 10}5`)

test.each([
  ['1.234,50', '1234.50', '5.95'],
  ['7,5', '7.5', '5.95'],
  ['auf Anfrage', 'auf Anfrage', '5,95'],
])(
  'beside many prices, %s near the end of the sample also decides how they are read',
  async (text, cell, other) => {
    const { rows } = await read(`n;m\n${PRICES.map((price) => `${price};x\n`).join('')}${text};x\n`)
    expect(rows.at(-1)).toEqual([cell, 'x'])
    expect(rows[59]).toEqual([other, 'x'])
  },
)

test('beside many numbers, a price with thousands at the end of the sample is read as a number', async () => {
  const text = `n;m\n${PRICES.map((price) => `${price};x\n`).join('')}1.234,50;x\n`
  const { rows } = await read(text, { kinds: { n: 'number' } })
  expect(rows.at(-1)).toEqual(['1234.50', 'x'])
})

test.each([
  ['a semicolon', 'n;m\n1.000;x\n', {}, true],
  ['a tab', 'n\tm\n1.000\tx\n', { format: 'tsv' }, true],
  ['a pipe', 'n|m\n-1.000|x\n', {}, true],
  ['a comma, as those write who have decimal points', 'n,m\n1.000,x\n', {}, false],
  ['a semicolon, and a zero tells that decimals follow', 'n;m\n1.000;x\n0.500;x\n', {}, false],
  ['a semicolon, and four digits do', 'n;m\n1.000;x\n1000;x\n', {}, false],
  ['a semicolon, and the points of another column do', 'n;m\n1.000;1\n2.500;2.5\n', {}, false],
  ['a semicolon, and a converted column does', 'n;m\n1.000;$1,500.5\n', {}, false],
  ['a semicolon, and texts with points do not', 'n;m\n1.000;v.1\n', {}, true],
  [
    'a semicolon, of a table whose column is text',
    'n;m\n1.000;x\n',
    { kinds: { n: 'string' } },
    false,
  ],
  [
    'a semicolon, of a table whose column is of numbers',
    'n;m\n1.000;x\n',
    { kinds: { n: 'number' } },
    true,
  ],
  ['a semicolon, and it is said', 'n;m\n1.000;x\n', { dialect: { decimal: '.' } }, false],
] as const)('of points before three digits between %s', async (_, text, how, isTold) => {
  expect(codesOf(await read(text, how)).includes('pointsUnsure')).toBe(isTold)
})

test('a point far behind in the sample tells that others are before decimals', async () => {
  const rows = Array.from(
    { length: 6_000 },
    (_, n) => `${1 + Math.floor(n / 1000)}.${String(n % 1000).padStart(3, '0')};x\n`,
  )
  expect(codesOf(await read(`n;m\n${rows.join('')}`))).toContain('pointsUnsure')
  expect(codesOf(await read(`n;m\n${rows.join('')}2.5;x\n`))).not.toContain('pointsUnsure')
})

test('the remedy of such points mends them, and is not told if it would contradict another column', async () => {
  const { report } = await read('n;m\n1.000;x\n')
  const remedy = report.advice.find(({ code }) => code === 'pointsUnsure')?.remedy
  expect(remedy).toEqual({ option: 'thousands', value: '.' })
  const { rows } = await read('n;m\n1.000;x\n', { dialect: { thousands: '.' } })
  expect(rows).toEqual([['1000', 'x']])
  const mixed = await read('n;m;o\n1.000;1,5;2.5\n')
  expect(mixed.report.advice.find(({ code }) => code === 'pointsUnsure')).toEqual({
    code: 'pointsUnsure',
    column: 'n',
    example: '1.000',
  })
})
