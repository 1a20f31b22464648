import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fieldText, findFields } from '../../../src/intake/field-bounds.js'
import { runOptions } from '../../support/fast-check-options.js'

const utf8 = new TextEncoder()

const DELIMITERS = [',', ';', '\t', '|', '^', 'x']

/** A field, and whether it is quoted without need. */
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

test('the fields of a record are found with their texts', () => {
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
