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
