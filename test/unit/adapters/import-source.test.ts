import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { SourceFormat } from '../../../adapters/base/records.js'
import type { RowRun } from '../../../adapters/cli/import/import-source.js'
import { formatOfPath, RUN_BYTES_MAX } from '../../../adapters/cli/import/import-source.js'
import { anyCodePoint } from '../../support/code-points.js'
import { runOptions } from '../../support/fast-check-options.js'
import { bodyOf, contentTypeOf, cutRuns } from '../../support/intake-runs.js'

const utf8 = new TextEncoder()

async function* inPieces(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let at = 0
  for (let turn = 0; at < bytes.length; turn++) {
    const size = Math.max(1, sizes[turn % Math.max(1, sizes.length)] ?? bytes.length)
    yield bytes.slice(at, at + size)
    at += size
  }
}

async function cut(
  text: string | Uint8Array,
  format: SourceFormat,
  rowsMax: number,
  sizes: readonly number[] = [],
): Promise<RowRun[]> {
  const bytes = typeof text === 'string' ? utf8.encode(text) : text
  const runs: RowRun[] = []
  for await (const run of cutRuns(inPieces(bytes, sizes), format, rowsMax)) runs.push(run)
  return runs
}

function bodyText(run: RowRun): string {
  return Buffer.from(bodyOf(run, 0, run.starts.length)).toString('utf8')
}

async function bodies(...given: Parameters<typeof cut>): Promise<string[]> {
  return (await cut(...given)).map(bodyText)
}

const pieceSizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 8 })

describe('a JSON array', () => {
  test('is cut between its elements, whose bytes stay as they are', async () => {
    const text = ' [ {"a":[1,{"b":"]}"}]} ,\n{"a": 34.50},{"a":"\\"},{"}\t] \n'

    const found = await bodies(text, 'json', 2)

    expect(found).toEqual(['[{"a":[1,{"b":"]}"}]} ,\n{"a": 34.50}]', '[{"a":"\\"},{"}\t]'])
  })

  test('gives the same rows however its bytes arrive', async () => {
    const value = fc.dictionary(fc.string({ unit: anyCodePoint }), fc.jsonValue({ maxDepth: 3 }))
    await fc.assert(
      fc.asyncProperty(
        fc.array(value, { maxLength: 12 }),
        fc.constantFrom(0, 2),
        fc.integer({ min: 1, max: 5 }),
        pieceSizes,
        async (rows, indent, rowsMax, sizes) => {
          const text = JSON.stringify(rows, null, indent)
          const whole = await bodies(text, 'json', rowsMax)

          expect(await bodies(text, 'json', rowsMax, sizes)).toEqual(whole)

          const parsed = whole.map((body) => JSON.parse(body))
          expect(parsed.flat()).toEqual(JSON.parse(text))
          expect(parsed.every((chunk) => chunk.length <= rowsMax)).toBe(true)
        },
      ),
      runOptions(500),
    )
  })

  test('without elements is one run without rows', async () => {
    expect(await bodies('[]', 'json', 5)).toEqual(['[]'])
  })

  test.each([
    ['', 'the file is empty'],
    ['{"a":1}', 'the file is not a JSON array'],
    ['[{"a":1}', 'ends inside its JSON array'],
    ['[{"a":1},]', 'unexpected "]" at byte 10'],
    ['[{"a":1},,{"a":2}]', 'unexpected "," at byte 10'],
    ['[{"a":1}] {', 'unexpected "{" at byte 11'],
    ['[{"a":1}}]', 'unexpected "}" at byte 9'],
  ])('%j is refused', async (text, message) => {
    await expect(cut(text, 'json', 1)).rejects.toThrow(message)
  })
})

describe('NDJSON', () => {
  test('is joined by commas, blank lines aside', async () => {
    const text = '\ufeff{"a":"é"}\r\n\n{"a":2}\n   \n{"a":"\\n"}'

    const found = await bodies(text, 'ndjson', 2)

    expect(found.map((body) => JSON.parse(body))).toEqual([[{ a: 'é' }, { a: 2 }], [{ a: '\n' }]])
  })

  test('gives the same rows however its bytes arrive', async () => {
    const row = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }))
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(row, fc.constantFrom('\n', '\r\n', '\n\n', ' \n')), {
          minLength: 1,
          maxLength: 10,
        }),
        fc.integer({ min: 1, max: 4 }),
        pieceSizes,
        async (lines, rowsMax, sizes) => {
          const text = lines.map(([value, end]) => JSON.stringify(value) + end).join('')
          const found = await bodies(text, 'ndjson', rowsMax, sizes)

          const expected = lines.map(([value]) => JSON.parse(JSON.stringify(value)))
          expect(found.flatMap((body) => JSON.parse(body))).toEqual(expected)
        },
      ),
      runOptions(500),
    )
  })

  test.each([
    [' \n', 'the file is empty'],
    ['{"a":1},{"a":2}\n', 'unexpected "," at byte 8'],
    ['{"a":1', 'ends inside this JSON value'],
    ['{"a":"1', 'ends inside this JSON value'],
  ])('%j is refused', async (text, message) => {
    await expect(cut(text, 'ndjson', 1)).rejects.toThrow(message)
  })
})

describe('CSV', () => {
  test('carries its header into every run', async () => {
    const text = '\ufeffa,b\r\n1,"x\n""y"""\r\n2,z\r\n3,é'

    const found = await bodies(text, 'csv', 2)

    expect(found).toEqual(['a,b\r\n1,"x\n""y"""\r\n2,z\r\n', 'a,b\r\n3,é'])
  })

  test('keeps an empty line as a row of its own, before the row that follows it', async () => {
    expect(await bodies('a\n1\n\n2\n3\n', 'csv', 1)).toEqual(['a\n1\n', 'a\n""\n2\n', 'a\n3\n'])
  })

  test('may end its lines with CR alone', async () => {
    expect(await bodies('a\r1\r2\r\r\n3\r', 'csv', 1)).toEqual(['a\r1\r', 'a\r2\r', 'a\r""\n3\n'])
  })

  test('with a header alone is one run without rows', async () => {
    expect(await bodies('a,b', 'csv', 5)).toEqual(['a,b'])
    expect(await bodies('a,b\n', 'csv', 5)).toEqual(['a,b\n'])
  })

  test('is put together again by its runs, however its bytes arrive', async () => {
    const field = fc.oneof(
      fc.stringMatching(/^[a-zé€😀 ]{0,4}$/u),
      fc.stringMatching(/^["\r\n,a😀]{0,5}$/u).map((text) => `"${text.replaceAll('"', '""')}"`),
    )
    const record = fc.tuple(field, field, fc.constantFrom('\n', '\r\n', '\r'))
    await fc.assert(
      fc.asyncProperty(
        fc.array(record, { maxLength: 12 }),
        fc.integer({ min: 1, max: 4 }),
        pieceSizes,
        async (records, rowsMax, sizes) => {
          const lines = records.map(([left, right, end]) => `${left},${right}${end}`)
          const found = await bodies(`a,b\n${lines.join('')}`, 'csv', rowsMax, sizes)

          const expected: string[] = []
          for (let i = 0; i < Math.max(1, lines.length); i += rowsMax) {
            expected.push(`a,b\n${lines.slice(i, i + rowsMax).join('')}`)
          }
          expect(found).toEqual(expected)
        },
      ),
      runOptions(500),
    )
  })

  test.each([
    ['', 'the file is empty'],
    ['a\n"1', 'ends inside a quoted field'],
  ])('%j is refused', async (text, message) => {
    await expect(cut(text, 'csv', 1)).rejects.toThrow(message)
  })
})

describe('a run', () => {
  test('never makes a body above its bound', async () => {
    const row = `{"a":"${'x'.repeat(3 * 1024 * 1024)}"}`
    const runs = await cut(`[${[row, row, row].join(',')}]`, 'json', 1000, [65_536])

    expect(runs.map((run) => run.starts.length)).toEqual([2, 1])
    expect(Math.max(...runs.map((run) => bodyText(run).length))).toBeLessThan(RUN_BYTES_MAX)
  })

  test('of one row that is above the bound is refused, whatever memory there is', async () => {
    const text = `[{"a":1},{"a":"${'x'.repeat(RUN_BYTES_MAX)}"}]`

    await expect(cut(text, 'json', 1, [1024 * 1024])).rejects.toThrow('this row is larger than')
  })

  test('makes a body of any of its rows', async () => {
    const [run] = await cut('a,b\n1,x\n2,y\n3,z\n', 'csv', 1000)
    const parts = [
      [0, 1],
      [1, 3],
      [3, 3],
    ].map(([first = 0, limit = 0]) => {
      return run && Buffer.from(bodyOf(run, first, limit)).toString('utf8')
    })

    expect(parts).toEqual(['a,b\n1,x\n', 'a,b\n2,y\n3,z\n', 'a,b\n'])
  })
})

test('a file name announces its format', async () => {
  const formats = [
    'x.csv',
    'a.b/x.TSV',
    'x.tab',
    'x.json',
    'x.ndjson',
    'x.jsonl',
    'x.csv.gz',
    'x.jsonl.zst',
  ].map(formatOfPath)
  const [run] = await cut('a\n', 'csv', 1)

  expect(formats).toEqual(['csv', 'tsv', 'tsv', 'json', 'ndjson', 'ndjson', 'csv', 'ndjson'])
  expect(() => formatOfPath('a.csv/x')).toThrow('--format')
  expect(run && contentTypeOf(run)).toMatch(/^text\/csv/)
})
