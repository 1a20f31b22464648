// Goal: an import judges values as the inference of the store does.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { SourceFormat } from '../../../adapters/base/records.js'
import type { RowRun } from '../../../adapters/cli/import/import-source.js'
import {
  type Cell,
  classifyValue,
  HeaderReader,
  NUMBERS_AS_TEXT,
  readRecordCells,
} from '../../../adapters/cli/import/import-values.js'
import { inferType } from '../../../src/schema/infer.js'
import { newSummary, summarizeText, summarizeToken } from '../../../src/schema/summarize.js'
import { runOptions } from '../../support/fast-check-options.js'
import { cutRuns } from '../../support/intake-runs.js'
import { nearText } from '../../support/near-text.js'
import { NUMBERS, SAMPLES } from '../../support/value-samples.js'

/** The kind that inference gives a column with this one value. */
function inferredField(text: string): string | undefined {
  const summary = newSummary('a')
  summarizeText(summary, text)
  return inferType(summary)?.kind
}

function inferredToken(token: string): string | undefined {
  const summary = newSummary('a')
  summarizeToken(summary, token)
  return inferType(summary)?.kind
}

const KIND_OF: Readonly<Record<string, string>> = {
  text: 'string',
  ...Object.fromEntries(NUMBERS_AS_TEXT.map((name) => [name, 'string'])),
}

function kindOf(value: unknown, isField: boolean): string | undefined {
  const found = classifyValue(value, isField)
  return found === undefined ? undefined : (KIND_OF[found] ?? found)
}

const samples = [...SAMPLES.date.fits, ...SAMPLES.dateTime.fits, ...NUMBERS.fits, 'true', 'FALSE']
const near = nearText(samples, '0123456789-+.:TZeEtrufals ')

const edges = ['2024-02-29', '2023-02-29', '1900-02-29', '2000-02-29', '0000-02-29', '0004-02-29']

describe('a value of CSV', () => {
  test.each([...edges, '123456789012345', '1234567890123456', '0.1234567890123456', '1e5', ' 1'])(
    '%j is seen as it is inferred',
    (text) => {
      expect(kindOf(text, true)).toBe(inferredField(text))
    },
  )

  test('is seen as it is inferred, whatever it is', () => {
    fc.assert(
      fc.property(near, (text) => {
        fc.pre(text !== '')

        expect(kindOf(text, true)).toBe(inferredField(text))
      }),
      runOptions(5_000),
    )
  })
})

describe('a number of CSV with a decimal comma', () => {
  const comma = nearText(
    ['1,5', '-0,25', '12,50', '1,5e3', '1.5', '1,234,5', '15'],
    '0123456789-+.,eE ',
  )

  test('is seen by what stands before its decimals, whatever it is', () => {
    fc.assert(
      fc.property(comma, (text) => {
        fc.pre(text !== '')
        const pointed = text.replace(',', '.')
        const isNumber = !text.includes('.') && inferredField(pointed) === 'number'

        expect(classifyValue(text, true) === 'decimalComma').toBe(isNumber && text !== pointed)
      }),
      runOptions(5_000),
    )
  })
})

describe('a value of JSON', () => {
  test('is seen as it is inferred, whatever it is', () => {
    const value = fc.oneof(near, fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean())
    fc.assert(
      fc.property(value, (given) => {
        fc.pre(given !== '')

        expect(kindOf(given, false)).toBe(inferredToken(JSON.stringify(given)))
      }),
      runOptions(2_000),
    )
  })

  test.each([[null], ['']])('%j is an empty cell', (value) => {
    expect(classifyValue(value, false)).toBeUndefined()
  })

  test('is an array', () => {
    expect(classifyValue([1], false)).toBe('array')
  })
})

async function* once(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text)
}

const DETECTED = { detects: true }

async function allCells(text: string, format: SourceFormat): Promise<(readonly Cell[])[]> {
  const found: (readonly Cell[])[] = []
  const headers = new HeaderReader()
  for await (const run of cutRuns(once(text), format, 2, DETECTED)) {
    for (const record of run.starts.keys())
      found.push(readRecordCells(run, headers.read(run), record))
  }
  return found
}

describe('the cells of a record', () => {
  test.each<[SourceFormat, string]>([
    ['csv', 'a,$rowID,"b\n"\n1,x,"""2""\n"\n\n\n3\n'],
    ['tsv', 'a\t$rowID\t"b\n"\n1\tx\t"""2""\n"\n\n\n3'],
    ['csv', 'a;$rowID;"b\n"\r\n1;x;"""2""\n"\r\n\r\n3\r\n'],
    ['json', '[{"a":"1","$rowID":"x","b\\n":"\\"2\\"\\n"} , \n {"a":"3"}]'],
    ['ndjson', '{"a":"1","$rowID":"x","b\\n":"\\"2\\"\\n"}\n\n{"a":"3"}\n'],
  ])('of %s are read from its bytes: %j', async (format, text) => {
    const rows = (await allCells(text, format)).map((cells) =>
      cells.map(({ column, value }) => [column, value]),
    )

    expect(rows).toEqual([
      [
        ['a', '1'],
        ['b\n', '"2"\n'],
      ],
      [['a', '3']],
    ])
  })

  test('that cannot be read are none', async () => {
    expect(await allCells('{"a":1 2}\n3\n', 'ndjson')).toEqual([[], []])
  })
})

test('the first record that names a column is known, however the bytes arrive', async () => {
  const row = fc.dictionary(
    fc.constantFrom('a', 'b', 'c', 'd"', 'é', '\\', ''),
    fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant({ a: [{ x: 1 }, 'y'], z: 'a' })),
  )
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { minLength: 1, maxLength: 12 }),
      fc.constantFrom<SourceFormat>('json', 'ndjson'),
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 20 }),
      async (rows, format, rowsMax, pieceBytes) => {
        const lines = rows.map((each) => JSON.stringify(each))
        const text = format === 'json' ? `[${lines.join(' ,\n')}]` : lines.join('\n')
        const bytes = new TextEncoder().encode(text)
        async function* inPieces(): AsyncGenerator<Uint8Array> {
          for (let at = 0; at < bytes.length; at += pieceBytes) {
            yield bytes.subarray(at, at + pieceBytes)
          }
        }
        const seen = new Set<string>()
        const expected = rows.map((each) => {
          const before = seen.size
          for (const name of Object.keys(each)) seen.add(name)
          return seen.size > before
        })
        const runs: RowRun[] = []
        for await (const run of cutRuns(inPieces(), format, rowsMax)) runs.push(run)
        const found = runs.flatMap(({ starts, namingRecords }) =>
          starts.map((_, record) => namingRecords.includes(record)),
        )

        expect(found).toEqual(expected)
      },
    ),
    runOptions(500),
  )
})
