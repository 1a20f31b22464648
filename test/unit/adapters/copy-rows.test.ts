// The binary form of COPY, as PostgreSQL's documentation specifies it.
import { expect, test } from 'vitest'
import { CopyDecoder, decodeInt8 } from '../../../adapters/postgres/copy-rows.js'

const HEADER = [...Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), 0, 0, 0, 0]
const NO_EXTENSION = [0, 0, 0, 0]
const NULL_CELL = [255, 255, 255, 255]
const END = [255, 255]

test('rows are decoded message by message, and a cell may be null or empty', () => {
  const decoder = new CopyDecoder()
  const first = Uint8Array.of(...HEADER, ...NO_EXTENSION, 0, 2, 0, 0, 0, 2, 7, 8, ...NULL_CELL)
  expect(decoder.rowsOf(first)).toEqual([[Uint8Array.of(7, 8), null]])
  expect(decoder.rowsOf(Uint8Array.of(0, 1, 0, 0, 0, 0))).toEqual([[new Uint8Array()]])
  expect(decoder.rowsOf(Uint8Array.of(...END))).toEqual([])
})

test('a header with an extension, in a message of its own, is passed over', () => {
  const decoder = new CopyDecoder()
  expect(decoder.rowsOf(Uint8Array.of(...HEADER, 0, 0, 0, 3, 1, 2, 3))).toEqual([])
  expect(decoder.rowsOf(Uint8Array.of(0, 1, 0, 0, 0, 1, 9))).toEqual([[Uint8Array.of(9)]])
})

test.each([
  ['in its cells', [0, 1, 0, 0, 0, 4, 1, 2, 3]],
  ['in the length of a cell', [0, 1, 0, 0]],
  ['in the number of its cells', [0]],
])('a row that is cut off %s is refused', (_, bytes) => {
  const decoder = new CopyDecoder()
  decoder.rowsOf(Uint8Array.of(...HEADER, ...NO_EXTENSION))
  expect(() => decoder.rowsOf(Uint8Array.from(bytes))).toThrow(RangeError)
})

test('an int8 is a number', () => {
  expect(decodeInt8(Uint8Array.of(0, 0, 0, 0, 0, 1, 0, 2))).toBe(65_538)
})
