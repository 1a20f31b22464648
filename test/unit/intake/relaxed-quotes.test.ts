// Quotes inside fields that do not begin with one, as spreadsheets write them.
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RowRun } from '../../../adapters/cli/import/import-source.js'
import { runOptions } from '../../support/fast-check-options.js'
import { bodyOf, contentTypeOf, cutRuns } from '../../support/intake-runs.js'

async function* piecesOf(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function runsOf(text: string, options: Parameters<typeof cutRuns>[3], size = 7, rows = 2) {
  const runs: RowRun[] = []
  const pieces = piecesOf(Buffer.from(text), size)
  for await (const run of cutRuns(pieces, 'csv', rows, options)) runs.push(run)
  return runs
}

const RELAXED = { dialect: { quotes: 'relaxed' }, detects: true } as const

/** A field as written and as read, for any delimiter of these tests. */
const field = fc.oneof(
  fc.stringMatching(/^[a-z ][a-z "]{0,6}$/).map((text) => ({ written: text, text })),
  fc.stringMatching(/^[a-z",;\t\n]{0,6}$/).map((text) => {
    return { written: `"${text.replaceAll('"', '""')}"`, text }
  }),
)

describe('with relaxed quotes', () => {
  test('all fields are read as intended, wherever pieces and chunks end', async () => {
    const records = fc.array(fc.tuple(field, field), { minLength: 1, maxLength: 6 })
    const cuts = [fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 3 })] as const
    const breaks = fc.constantFrom('\n', '\r\n', '\r')
    const delimiters = fc.constantFrom(',', ';', '\t')
    const property = fc.asyncProperty(
      records,
      delimiters,
      breaks,
      ...cuts,
      async (rows, delimiter, lineBreak, size, rowsMax) => {
        const lines = rows.map((row) => row.map(({ written }) => written).join(delimiter))
        const text = [`x${delimiter}y`, ...lines, ''].join(lineBreak)
        const how = { ...RELAXED, dialect: { ...RELAXED.dialect, delimiter } }
        const runs = await runsOf(text, how, size, rowsMax)
        const found = runs.flatMap((run) => {
          expect(contentTypeOf(run)).toMatch(/^text\/csv/)
          const body = Buffer.from(bodyOf(run, 0, run.starts.length))
          const [header, ...read] = parse(body, { relax_column_count: true }) as string[][]
          expect(header).toEqual(['x', 'y'])
          return read
        })

        expect(found).toEqual(rows.map((row) => row.map(({ text: read }) => read)))
      },
    )
    await fc.assert(property, runOptions(300))
  })

  test("the delimiter is the header's, even if the header has quotes inside fields", async () => {
    const [run] = await runsOf('5" pipe;n\n"a;b";3" x\n', RELAXED)

    expect(Buffer.from(bodyOf(run as RowRun, 0, 1)).toString()).toBe(
      '"5"" pipe",n\n"a;b","3"" x"\n',
    )
  })

  test('text after a closing quote stays unchanged, and so is refused', async () => {
    const [run] = await runsOf('a,b\n"x"y,1\n', RELAXED)

    expect(Buffer.from(bodyOf(run as RowRun, 0, 1)).toString()).toBe('a,b\n"x"y,1\n')
    await expect(runsOf('a,b\n"x,1\n', RELAXED)).rejects.toThrow(
      'inside a quoted field of this record',
    )
  })
})

test('without it, a quote inside of a field stays a fault', async () => {
  const [run] = await runsOf('a;b\nx"y";"1"\n', {})

  expect(() => parse(Buffer.from(bodyOf(run as RowRun, 0, 1)))).toThrow()
})
