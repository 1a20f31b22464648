// The cells of a row: what is read from its end on is what is read from its beginning on.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { utf8 } from '../../../src/base/bytes.js'
import { RowCells } from '../../../src/format/row-cells.js'
import { runOptions } from '../../support/fast-check-options.js'

/** Texts and IDs that look like parts of a row. */
const id = fc.oneof(
  fc.constantFrom('a', 'b', '', ':[', ',5,', '],', 'a,', ',', ':1', 'x"', '\\', 'é'),
  fc.string({ unit: fc.constantFrom(',', '"', ':', '[', ']', 'a', '5', '\\'), maxLength: 4 }),
)
const scalar = fc.oneof(id, fc.integer({ min: 0, max: 60 }), fc.boolean())
const row = fc.dictionary(id, fc.oneof(scalar, fc.array(scalar, { maxLength: 3 })), { maxKeys: 6 })

test('a single column is found as it is among others', () => {
  const check = (rows: readonly object[], only: string): void => {
    const single = new RowCells([only])
    for (const cells of rows) {
      const bytes = utf8(JSON.stringify(cells).slice(1, -1))
      const both = new RowCells([only, 'not there'])
      both.read(bytes, 0, bytes.length)
      single.read(bytes, 0, bytes.length)
      const shown = ({ start, from, to, isEscaped, count }: RowCells): unknown => {
        return count === 0 ? null : [start[0], from[0], to[0], isEscaped[0]]
      }
      expect(shown(single)).toEqual(shown(both))
    }
  }
  fc.assert(fc.property(fc.array(row, { maxLength: 20 }), id, check), runOptions(2_000))
})

test.each([
  [':[', '"foo,":[":x"],"z":1'],
  [',5,', '"s":["a,",5,":x"],"z":1'],
  ['],', '"t":["a,"],":x":1'],
  ['n', '"s":",\\"n\\":5","t":[",","n"]'],
])('what looks like the key of %j is none', (only, text) => {
  const cells = new RowCells([only])
  cells.read(utf8(text), 0, text.length)
  expect(cells.count).toBe(0)
})

test('a column that comes to stand at the end of rows late is found there', () => {
  const cells = new RowCells(['n'])
  const rows = [...Array.from({ length: 40 }, () => `"n":5,"s":"${'x'.repeat(60)}"`), '"s":1,"n":7']
  for (const text of rows) {
    cells.read(utf8(text), 0, text.length)
    expect(text.slice(cells.from[0], cells.to[0])).toMatch(/^[57]$/)
  }
})
