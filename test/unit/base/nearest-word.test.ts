// Goal: a message suggests the most likely intended word, or none, in bounded time.
import { expect, test } from 'vitest'
import { nearestWord } from '../../../src/base/nearest-word.js'

const COMMANDS = ['serve', 'open', 'import', 'export', 'tables', 'table-id', 'table', 'rows', 'key']

test.each([
  ['imprt', 'import'],
  ['exprot', 'export'],
  ['tabel', 'table'],
  ['tables', 'tables'],
  ['TABLES', 'tables'],
  ['table_id', 'table-id'],
  ['tableid', 'table-id'],
  ['sevre', 'serve'],
  ['opne', 'open'],
  ['rowss', 'rows'],
  ['kye', 'key'],
])('%s means %s', (word, meant) => {
  expect(nearestWord(word, COMMANDS)).toBe(meant)
})

test.each(['', 'x', 'ky', 'list', 'rabel-no', 'impossible', 'delete', 'mpr'])(
  '%j is near to no known word',
  (word) => {
    expect(nearestWord(word, COMMANDS)).toBeUndefined()
  },
)

test('the nearest of several is taken, and the first of those that are equally near', () => {
  expect(nearestWord('amount2', ['amount', 'amount1', 'amount22'])).toBe('amount')
  expect(nearestWord('amount', ['amounts', 'amount'])).toBe('amount')
})

test('otherwise the only word with this beginning is taken, if the beginning is long enough', () => {
  expect(nearestWord('tries', ['url', 'triesMax', 'fetch'])).toBe('triesMax')
  expect(nearestWord('Tries', ['triesMax', 'triesMin'])).toBeUndefined()
  expect(nearestWord('tri', ['url', 'triesMax'])).toBeUndefined()
  expect(nearestWord('tables', ['table', 'tablesOfTeam'])).toBe('table')
})

test('long words, and words beyond the first 16 KiB of them, are not compared', () => {
  const long = 'a'.repeat(64)
  expect(nearestWord(`${long.slice(1)}b`, [long])).toBe(long)
  expect(nearestWord(`${long}b`, [long])).toBeUndefined()
  const many = Array.from({ length: 1_024 }, () => 'x'.repeat(15))
  expect(nearestWord('amont', [...many.slice(1), 'amount'])).toBe('amount')
  expect(nearestWord('amont', [...many, 'amount'])).toBeUndefined()
})
