// Goal: what is sent for numbers with decimal commas reads as the same rows, with points in the chosen fields alone.
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { mayBeThousands, withPoint } from '../../../adapters/programs/decimal-commas.js'
import { bodyOf, contentTypeOf, cutRuns } from '../../../adapters/programs/import-source.js'
import { runOptions } from '../../support/fast-check-options.js'

async function* once(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}

const text = fc.oneof(
  fc.constantFrom('1,5', '-0,25', ' 12,50 ', '1,5e3', '1.234,5', '01,5', ',5', '1,', '1,2,3', '12'),
  fc.stringMatching(/^[0-9a-z,;\t\n" é]{0,6}$/),
)

/** As a spreadsheet writes it: with quotes where it needs them, or where it likes. */
function written(field: string, hasQuotes: boolean): string {
  return hasQuotes || /[,;\t\n"]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field
}

function recordsOf(body: Uint8Array): string[][] {
  return parse(Buffer.from(body), { relax_column_count: true })
}

test('only chosen fields change, and only numbers in them', async () => {
  const record = fc.tuple(fc.tuple(text, fc.boolean()), fc.tuple(text, fc.boolean()))
  const property = fc.asyncProperty(
    fc.array(record, { minLength: 1, maxLength: 5 }),
    fc.constantFrom(',', ';', '\t'),
    fc.constantFrom('\n', '\r\n'),
    fc.constantFrom('strict' as const, 'relaxed' as const),
    fc.subarray([0, 1]),
    async (rows, delimiter, lineBreak, quotes, chosen) => {
      const lines = rows.map((fields) =>
        ['x', ...fields.map(([field, hasQuotes]) => written(field, hasQuotes))].join(delimiter),
      )
      const file = ['n', '"1,5"', 'b'].join(delimiter) + [``, ...lines, ''].join(lineBreak)
      const expected = rows.map((fields) => [
        'x',
        ...fields.map(([field], i) => (chosen.includes(i) ? withPoint(field) : field)),
      ])
      const options = { delimiter: delimiter.charCodeAt(0), quotes }

      const found: string[][] = []
      for await (const run of cutRuns(once(file), 'csv', 2, options)) {
        const marked = { ...run, commaFields: new Set(chosen.map((i) => i + 1)) }
        expect(contentTypeOf(marked)).toBe('text/csv; charset=utf-8')
        const [header, ...records] = recordsOf(bodyOf(marked, 0, run.starts.length))
        expect(header).toEqual(['n', '1,5', 'b'])
        found.push(...records)
      }
      expect(found).toEqual(expected)
    },
  )
  await fc.assert(property, runOptions(500))
})

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
