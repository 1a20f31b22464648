// Goal: a number with both marks has one reading, however few values a column has.
import { expect, test } from 'vitest'
import { read } from './support.js'

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

/** As many different prices as choose a conversion, and more: without thousands at first, as in a sorted list. */
const PRICES = Array.from({ length: 6_000 }, (_, n) => `${Math.floor(n / 10)},${n % 10}5`)

test.each([
  ['1.234,50', '1234.50', '5.95'],
  ['7,5', '7.5', '5.95'],
  ['auf Anfrage', 'auf Anfrage', '5,95'],
])('of many prices, %s near the end of the sample decides with them', async (text, cell, other) => {
  const { rows } = await read(`n;m\n${PRICES.map((price) => `${price};x\n`).join('')}${text};x\n`)
  expect(rows.at(-1)).toEqual([cell, 'x'])
  expect(rows[59]).toEqual([other, 'x'])
})

test('of many numbers of a table, a price with thousands at the end of the sample is one', async () => {
  const text = `n;m\n${PRICES.map((price) => `${price};x\n`).join('')}1.234,50;x\n`
  const { rows } = await read(text, { kinds: { n: 'number' } })
  expect(rows.at(-1)).toEqual(['1234.50', 'x'])
})
