import { expect, test } from 'vitest'
import { mayBeThousands, withPoint } from '../../../adapters/cli/import/decimal-commas.js'

test.each([
  ['1,5', '1.5'],
  ['-0,25', '-0.25'],
  [' 12,50 ', ' 12.50 '],
  ['1,5e3', '1.5e3'],
  ['1,234', '1.234'],
  ['01,5', '01,5'],
  ['1.234,5', '1.234,5'],
  ['1,2,3', '1,2,3'],
  [',5', ',5'],
  ['1,', '1,'],
  ['+1,5', '+1,5'],
  ['1,5 €', '1,5 €'],
])('%j with a point is %j', (given, pointed) => {
  expect(withPoint(given)).toBe(pointed)
})

test.each([
  ['1,234', true],
  ['-12,345', true],
  ['0,123', false],
  ['1234,567', false],
  ['1,5', false],
  ['1,2345', false],
])('the comma of %j may separate thousands: %j', (given, may) => {
  expect(mayBeThousands(given)).toBe(may)
})
