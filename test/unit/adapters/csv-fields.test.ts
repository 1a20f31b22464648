import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  detectDelimiter,
  fieldText,
  findFields,
  parseDelimiter,
  renderDelimiter,
  withCommas,
} from '../../../adapters/programs/csv-fields.js'
import { runOptions } from '../../support/fast-check-options.js'

const utf8 = new TextEncoder()

describe('the delimiter of a header', () => {
  test.each([
    ['a,b;c', ','],
    ['a;b;c', ';'],
    ['a\tb', '\t'],
    ['a|b', '|'],
    ['a', ','],
    ['', ','],
    ['a;b|c|d', '|'],
    ['a;b|c', ';'],
    ['"a;b;c"|d', '|'],
    ['"a,b";c', ';'],
    ['"a"";b"\tc', '\t'],
    ['"a|b"', ','],
    ['a:b:c', ','],
    ['ä;ö', ';'],
  ])('%j is %j', (header, delimiter) => {
    expect(detectDelimiter(utf8.encode(`${header}\r\n`))).toBe(delimiter.charCodeAt(0))
  })
})

describe('a delimiter on the command line', () => {
  test.each([
    ['comma', ','],
    ['semicolon', ';'],
    ['\\t', '\t'],
    ['tab', '\t'],
    ['pipe', '|'],
    [',', ','],
    [';', ';'],
    ['\t', '\t'],
    ['\u0001', '\u0001'],
    ['^', '^'],
    ['x', 'x'],
  ])('%j is taken', (text, char) => {
    expect(parseDelimiter(text)).toBe(char.charCodeAt(0))
  })

  test.each(['', '"', '\n', '\r', ';;', 'Tab', '\\n', '€', '\u0080', '😀', 'toString'])(
    '%j is not',
    (text) => {
      expect(parseDelimiter(text)).toBeUndefined()
    },
  )

  test('is shown by its name, or quoted', () => {
    expect([',', ';', '\t', '|', '^'].map((char) => renderDelimiter(char.charCodeAt(0)))).toEqual([
      'comma',
      'semicolon',
      'tab',
      'pipe',
      '"^"',
    ])
  })
})

const DELIMITERS = [',', ';', '\t', '|', '^', 'x']

/** A field and whether it is written with quotes although it needs none. */
const field = fc.tuple(
  fc.array(fc.constantFrom('', 'a', '1', ',', ';', '|', '\t', 'x', '"', '\n', '\r\n', 'é', ' '), {
    maxLength: 4,
  }),
  fc.boolean(),
)

function render(parts: readonly string[], isQuoted: boolean, delimiter: string): string {
  const text = parts.join('')
  const needsQuotes = isQuoted || text.includes(delimiter) || /["\r\n]/.test(text)
  return needsQuotes ? `"${text.replaceAll('"', '""')}"` : text
}

/** The source of a table of at least two columns, so that no record is an empty line. */
const source = fc
  .record({
    delimiter: fc.constantFrom(...DELIMITERS),
    lineBreak: fc.constantFrom('\n', '\r\n'),
    width: fc.integer({ min: 2, max: 4 }),
    endsOpen: fc.boolean(),
  })
  .chain(({ delimiter, lineBreak, width, endsOpen }) =>
    fc
      .array(fc.array(field, { minLength: width, maxLength: width }), { minLength: 1 })
      .map((rows) => {
        const lines = rows.map((row) =>
          row.map(([parts, isQuoted]) => render(parts, isQuoted, delimiter)).join(delimiter),
        )
        return {
          delimiter,
          lines,
          rows: rows.map((row) => row.map(([parts]) => parts.join(''))),
          text: lines.join(lineBreak) + (endsOpen ? '' : lineBreak),
        }
      }),
  )

test('records with commas say what they said with another delimiter', () => {
  fc.assert(
    fc.property(source, ({ delimiter, rows, text }) => {
      const found = Buffer.from(withCommas(utf8.encode(text), delimiter.charCodeAt(0)))

      expect(parse(found)).toEqual(rows)
    }),
    runOptions(300),
  )
})

test('the fields of a record are found with what they say', () => {
  fc.assert(
    fc.property(source, ({ delimiter, lines, rows }) => {
      const bounds: number[] = []
      for (const [i, line] of lines.entries()) {
        const bytes = utf8.encode(`x${line}\n`)
        const count = findFields(bytes, 1, bytes.length, delimiter.charCodeAt(0), bounds)
        const found = Array.from({ length: count }, (_, f) =>
          fieldText(bytes, bounds[2 * f] ?? 0, bounds[2 * f + 1] ?? 0),
        )

        expect(found).toEqual(rows[i])
      }
    }),
    runOptions(300),
  )
})

test.each(['a"b;c,d', '"a"b;c', '"a;b', 'a";"b'])(
  'quotes that are wrong in %j stay wrong',
  (text) => {
    expect(() => parse(text, { delimiter: ';' })).toThrow()
    expect(() => parse(Buffer.from(withCommas(utf8.encode(text), 0x3b)))).toThrow()
  },
)
