// The cells of a row: reading some in one pass gives the same as searching for each.
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

/** With these, there are more columns than are searched for one at a time. */
const OTHERS = Array.from({ length: 4 }, (_, at) => `not there ${at}`)

test('a few columns are found the same as among many', () => {
  const check = (rows: readonly object[], ids: readonly string[]): void => {
    const few = new RowCells(ids)
    const many = new RowCells([...ids, ...OTHERS])
    for (const cells of rows) {
      const bytes = utf8(`"before":1${JSON.stringify(cells).slice(1, -1)}"behind":1`)
      const to = bytes.length - 10
      few.read(bytes, 10, to)
      many.read(bytes, 10, to)
      const shown = ({ start, from, to, isEscaped }: RowCells): unknown[] => {
        const at = ids.map((_, column) => column)
        return at.map((one) => to[one] && [start[one], from[one], to[one], isEscaped[one]])
      }
      expect(shown(few)).toEqual(shown(many))
      expect(few.count).toBe(many.count)
    }
  }
  const ids = fc.uniqueArray(id, { minLength: 1, maxLength: 4 })
  fc.assert(fc.property(fc.array(row, { maxLength: 20 }), ids, check), runOptions(4_000))
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

test('a column that moves is found in its new place, and a missing one is not found', () => {
  const cells = new RowCells(['n', 'm'])
  const far = 'x'.repeat(60)
  const texts = [
    `"s":"${far}","n":5,"m":6`,
    '"n":5,"s":1,"m":6',
    `"m":6,"s":"${far}","n":5`,
    '"s":1',
  ]
  const nearer = Array.from({ length: 60 }, (_, at) => `"s":"${'x'.repeat(60 - at)}","n":5,"m":6`)
  const rows = [...texts, ...nearer].flatMap((text) => Array.from({ length: 40 }, () => text))
  for (const text of [...rows, ...rows.toReversed(), ...texts, ...texts]) {
    cells.read(utf8(text), 0, text.length)
    const found = [0, 1].map((at) => text.slice(cells.from[at], cells.to[at]))
    expect(found).toEqual(text === '"s":1' ? ['', ''] : ['5', '6'])
  }
})
