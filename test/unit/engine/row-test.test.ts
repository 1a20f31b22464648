// The look-ups of conditions, compared with plain loops: texts in a text, values in an order, escapes.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { concatBytes, utf8 } from '../../../src/base/bytes.js'
import { type Fold, foldText } from '../../../src/base/fold-case.js'
import { SkipSearch } from '../../../src/base/skip-search.js'
import type { CellTest, Condition } from '../../../src/engine/find/condition.js'
import { needlesOf } from '../../../src/engine/find/needles.js'
import { RowMatcher } from '../../../src/engine/find/row-matcher.js'
import { RowTest } from '../../../src/engine/find/row-test.js'
import { TextSearch } from '../../../src/engine/find/text-search.js'
import { NO_RANK, ValueRanks } from '../../../src/engine/find/value-ranks.js'
import { Frame } from '../../../src/format/segment-reader.js'
import { unescapeText } from '../../../src/format/unescape-text.js'
import { runOptions } from '../../support/fast-check-options.js'

const text = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '😀'), maxLength: 12 })

test('a search finds exactly the texts that another text contains', () => {
  const check = (needles: readonly string[], texts: readonly string[]): void => {
    const search = new TextSearch(needles.map(utf8))
    for (const whole of texts) {
      const bytes = utf8(`a${whole}b`)
      search.search(bytes, 1, bytes.length - 1)
      expect(needles.map((_, at) => search.has(at))).toEqual(
        needles.map((needle) => whole.includes(needle)),
      )
    }
  }
  const needle = text.filter((one) => one !== '')
  const needles = fc.array(needle, { minLength: 1, maxLength: 8 })
  fc.assert(fc.property(needles, fc.array(text, { maxLength: 4 }), check), runOptions(5_000))
})

test('a value has the rank of its place among the others', () => {
  const check = (values: readonly string[], value: string): void => {
    const sorted = [...new Set(values)].sort((a, b) => Buffer.compare(utf8(a), utf8(b)))
    const ranks = new ValueRanks('text', values.map(utf8))
    const bytes = utf8(value)
    const below = sorted.filter((one) => Buffer.compare(utf8(one), bytes) < 0).length
    expect(ranks.count).toBe(sorted.length)
    expect(ranks.rankOf(bytes, 0, bytes.length)).toBe(2 * below + Number(sorted.includes(value)))
  }
  fc.assert(fc.property(fc.array(text, { maxLength: 12 }), text, check), runOptions(5_000))
})

test('values that are written differently have one rank', () => {
  const ranks = new ValueRanks(
    'number',
    ['5', '50e-1', '5.0', '4.9', '5.00000000000000000001'].map(utf8),
  )
  const rankOf = (token: string): number => ranks.rankOf(utf8(token), 0, token.length)
  expect(ranks.count).toBe(3)
  expect(['4', '4.90', '4.95', '0.5e1', '5.000000000000000000005', '6'].map(rankOf)).toEqual([
    0, 1, 2, 3, 4, 6,
  ])
  const moments = new ValueRanks('dateTime', ['2024-01-01', '2024-01-01T01:00+01:00'].map(utf8))
  expect(moments.count).toBe(1)
  expect(moments.rankOf(utf8('no date'), 0, 7)).toBe(NO_RANK)
})

test('a text without its escapes is the one that JSON has', () => {
  const escaped = fc.oneof(
    fc.constantFrom('\\"', '\\\\', '\\/', '\\b', '\\f', '\\n', '\\r', '\\t', 'a', 'é', '😀'),
    fc.constantFrom('\\u0000', '\\u0061', '\\u00e9', '\\u20AC', '\\uffff', '\\ud83d\\ude00'),
    fc.constantFrom('\\ud83d', '\\ude00'),
  )
  const check = (parts: readonly string[]): void => {
    const token = `"${parts.join('')}"`
    const bytes = utf8(token)
    const target = new Uint8Array(bytes.length)
    const length = unescapeText(bytes, 1, bytes.length - 1, target)
    expect(target.subarray(0, length)).toEqual(utf8(String(JSON.parse(token))))
  }
  fc.assert(fc.property(fc.array(escaped, { maxLength: 10 }), check), runOptions(5_000))
})

function passes(condition: Condition, row: string): boolean {
  const bytes = utf8(row)
  return new RowTest(condition).passes(bytes, 0, bytes.length)
}

const cell = (test: CellTest, column = 'c'): Condition => ({ op: 'cell', column, ...test })
const any = (...conditions: Condition[]): Condition => ({ op: 'any', conditions })
const all = (...conditions: Condition[]): Condition => ({ op: 'all', conditions })
const not = (condition: Condition): Condition => ({ op: 'not', condition })
const equal = (...values: string[]): CellTest => ({ test: 'in', comparison: 'text', values })

test('tests of one cell that are combined are one test, with the outcome of each', () => {
  const between = all(
    cell({ test: 'gt', comparison: 'number', value: '1' }),
    cell({ test: 'lte', comparison: 'number', value: '3' }),
  )
  const condition = any(
    between,
    cell({ test: 'isEmpty' }),
    not(cell({ test: 'lt', comparison: 'number', value: '9' })),
  )
  expect(new RowTest(condition).count).toBe(1)
  const outcome = ['1', '1.5', '3', '3.1', '9', '10'].map((n) => passes(condition, `"c":${n}`))
  expect(outcome).toEqual([false, true, true, false, true, true])
  expect(passes(condition, '"d":1')).toBe(true)
})

test('texts are compared without their escapes, and by their beginnings', () => {
  const begins = (start: string): Condition => cell({ test: 'startsWith', text: start })
  expect(passes(begins('aé'), '"c":"\\u0061\\u00e9x"')).toBe(true)
  expect(passes(begins('aé'), '"c":"a"')).toBe(false)
  expect(passes(begins(''), '"c":""')).toBe(true)
  expect(passes(begins(''), '"c":5')).toBe(false)
  expect(passes(cell({ test: 'contains', text: '' }), '"c":""')).toBe(true)
  expect(passes(cell({ test: 'contains', text: '"' }), '"c":"a\\"b"')).toBe(true)
  expect(passes(cell(equal('a"b', 'x')), '"c":"a\\"b"')).toBe(true)
  expect(passes(cell(equal()), '"c":"a"')).toBe(false)
})

test('a duration is compared as the form that it has', () => {
  const one = cell({ test: 'in', comparison: 'duration', values: ['"PT1H"', '3600000'] })
  expect(['"PT1H"', '3.6e6', '"3600000"', '1'].map((token) => passes(one, `"c":${token}`))).toEqual(
    [true, true, false, false],
  )
})

test('what is searched for in frames is short', () => {
  const [needle] = needlesOf(cell(equal(`${'a'.repeat(10_000)}z`))) ?? []
  expect(needle?.bytes.length).toBeLessThan(250) // With longer ones, V8's search is not linear.
  expect(needle?.bytes.at(-2)).toBe('z'.charCodeAt(0))
})

/** Texts with and without characters that folding changes, raw or escaped. */
const folded = fc.string({
  unit: fc.constantFrom('a', 'B', 's', 'K', 'i', 'é', 'ſ', '\u212a', 'ß', 'ﬁ', '"', '\n'),
  maxLength: 8,
})

test('every row that matches without case is among the candidates, however it is written', () => {
  let searched = 0
  const check = (texts: readonly string[], wanted: string, fold: Fold | undefined): void => {
    const text = fold === undefined ? wanted : foldText(fold, wanted)
    const contains = { test: 'contains', text, ...(fold && { fold }) } as const
    const matcher = new RowMatcher(any(cell(contains), cell(contains, 'd')))
    const rows = [...texts, ...Array.from({ length: 40 }, () => 'x')].map((one, at) =>
      utf8(`"${at % 2 === 0 ? 'c' : 'd'}":${JSON.stringify(one)}`),
    )
    const ends = new DataView(new ArrayBuffer(4 * rows.length))
    rows.reduce((end, { length }, at) => {
      ends.setUint32(4 * at, end + length)
      return end + length
    }, 0)
    const frame = new Frame(rows.length, ends, concatBytes(rows))
    const found = matcher.candidates(frame, 0, rows.length)
    if (found === null) return
    searched++
    const candidates = new Set(found)
    for (const [row, bytes] of rows.entries()) {
      if (matcher.matches(bytes, 0, bytes.length)) expect(candidates).toContain(row)
    }
  }
  const fold = fc.constantFrom('noCase', 'noAccents', undefined)
  const wanted = folded.filter((one) => one.length >= 2)
  fc.assert(fc.property(fc.array(folded, { maxLength: 8 }), wanted, fold, check), runOptions(5_000))
  expect(searched).toBeGreaterThan(0)
})

test('a skipping search finds the same as indexOf; a loose search may also find an earlier text', () => {
  const bytes = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'A'), maxLength: 40 })
  const check = (whole: string, run: string, from: number): void => {
    const text = utf8(`${whole}${run}`)
    const limit = whole.length
    const exact = whole.indexOf(run, from)
    expect(new SkipSearch(utf8(run)).find(text, from, limit)).toBe(exact)
    const loose = new SkipSearch(utf8(run.toLowerCase()), true).find(text, from, limit)
    const first = whole.toLowerCase().indexOf(run.toLowerCase(), from)
    if (first < 0 && run.length > 5) return
    if (run.length <= 5) expect(loose).toBe(first)
    else expect(loose >= from && loose <= first).toBe(true)
  }
  const run = fc.string({ unit: fc.constantFrom('a', 'b', 'A'), minLength: 1, maxLength: 9 })
  fc.assert(fc.property(bytes, run, fc.nat(8), check), runOptions(5_000))
})
