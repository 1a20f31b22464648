// Rows as CSV made from bytes equal those made from texts.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fromUtf8, utf8 } from '../../../src/base/bytes.js'
import { CsvBytes } from '../../../src/format/csv-bytes.js'
import { csvRows } from '../../../src/format/rows-writer.js'
import { runOptions } from '../../support/fast-check-options.js'

const unit = fc.constantFrom(
  'a',
  ',',
  '\t',
  ' ',
  '"',
  '\\',
  '\n',
  'é',
  '\u00a0',
  '\ufeff',
  '😀',
  ']',
)
const text = fc.string({ unit, maxLength: 5 })
const scalar = fc.oneof(text, fc.integer(), fc.boolean())
const id = fc.constantFrom('a', 'b', 'c', 'd,', 'e"', '$rowID', '')
const row = fc.dictionary(id, fc.oneof(scalar, fc.array(scalar, { maxLength: 3 })))

test('rows of CSV made from bytes equal those made from texts', () => {
  const check = (rows: readonly object[], ids: readonly string[], delimiter: ',' | '\t'): void => {
    const columns = ids.map((one) => ({ id: one, type: { kind: 'string' } as const }))
    const lines = rows.map((cells) => JSON.stringify(cells))
    const { line } = csvRows({ columns }, delimiter)
    const csv = new CsvBytes({ columns }, delimiter).rows(
      utf8(lines.map((one) => `${one}\n`).join('')),
    )
    expect(fromUtf8(csv)).toBe(lines.map((one) => line(one.slice(1, -1))).join(''))
  }
  const ids = fc.uniqueArray(id, { maxLength: 7 })
  const rows = fc.array(row, { maxLength: 5 })
  const delimiter = fc.constantFrom(',' as const, '\t' as const)
  fc.assert(fc.property(rows, ids, delimiter, check), runOptions(5_000))
})
