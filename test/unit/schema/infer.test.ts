import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import type { ColumnType } from '../../../src/schema/column-kind.js'
import { type ColumnSummary, mergeSummary, SEEN } from '../../../src/schema/column-summary.js'
import { inferType } from '../../../src/schema/infer.js'
import {
  needsTextForm,
  newSummary,
  summarizeText,
  summarizeToken,
  summaryFits,
} from '../../../src/schema/summarize.js'
import { cells, csvField, jsonToken } from '../../support/column-types.js'
import { runOptions } from '../../support/fast-check-options.js'

function fromJson(...tokens: string[]): ColumnSummary {
  const summary = newSummary('column')
  for (const token of tokens) summarizeToken(summary, token)
  return summary
}

function fromCsv(...fields: string[]): ColumnSummary {
  const summary = newSummary('column')
  for (const field of fields) summarizeText(summary, field)
  return summary
}

/** A type in one word: `date`, `date[]`, `none`. */
function inferred(summary: ColumnSummary): string {
  const type = inferType(summary)
  if (type === undefined) return 'none'
  return type.kind === 'array' ? `${type.items.kind}[]` : type.kind
}

describe('the type of a JSON column is inferred', () => {
  it.each<[string, string[], string]>([
    ['booleans only: boolean', ['true', 'false'], 'boolean'],
    ['numbers only: number', ['1', '2.5', '-0.0'], 'number'],
    ['long numbers of JSON: number', ['12345678901234567890'], 'number'],
    [
      'strings that are all dateTime: dateTime',
      ['"2024-01-01T10:00"', '"2024-01-01 10:00Z"'],
      'dateTime',
    ],
    ['strings that are all date: date', ['"2024-01-01"', '"2024-02-29"'], 'date'],
    ['dates and dateTimes: dateTime', ['"2024-01-01"', '"2024-01-01T10:00"'], 'dateTime'],
    ['other strings: string', ['"a"', '"b"'], 'string'],
    ['dates and other strings: string', ['"2024-01-01"', '"soon"'], 'string'],
    ['strings of digits are never turned into numbers: string', ['"12"', '"13"'], 'string'],
    ['strings of true are never turned into booleans: string', ['"true"'], 'string'],
    ['e-mail addresses: string', ['"a@example.com"'], 'string'],
    ['times: string', ['"10:00"'], 'string'],
    ['a mix of numbers and strings: string', ['12', '"a"'], 'string'],
    ['a mix of numbers and booleans: string', ['12', 'true'], 'string'],
    ['a mix of dates and numbers: string', ['"2024-01-01"', '12'], 'string'],
    ['a mix of dates and booleans: string', ['"2024-01-01"', 'true'], 'string'],
    ['arrays of numbers: number[]', ['[1,2]', '[]'], 'number[]'],
    ['arrays of booleans: boolean[]', ['[true]'], 'boolean[]'],
    ['arrays of dates: date[]', ['["2024-01-01"]'], 'date[]'],
    ['arrays of dateTimes: dateTime[]', ['["2024-01-01"]', '["2024-01-01T10:00"]'], 'dateTime[]'],
    ['arrays of strings: string[]', ['["a"]'], 'string[]'],
    ['arrays of a mix: string[]', ['[1,"a"]'], 'string[]'],
    ['arrays that differ from each other: string[]', ['[1]', '[true]'], 'string[]'],
    ['dates and numbers in arrays: string[]', ['["2024-01-01"]', '[1]'], 'string[]'],
    ['an empty text among dates in arrays: string[]', ['["2024-01-01",""]'], 'string[]'],
    ['arrays without elements: string[]', ['[]'], 'string[]'],
    ['arrays mixed with scalars: string', ['[1]', '1'], 'string'],
    ['arrays mixed with text: string', ['["a"]', '"a"'], 'string'],
    ['only empty cells: string', [], 'string'],
    ['only nulls: string', ['null'], 'string'],
    ['only empty text: string', ['""'], 'string'],
    ['empty text is ignored among dates', ['""', '"2024-01-01"'], 'date'],
    ['empty text is ignored among numbers', ['12', '""'], 'number'],
    ['empty text is ignored among arrays', ['""', '[1]'], 'number[]'],
    ['nulls are ignored', ['null', 'true'], 'boolean'],
    ['an object never fits', ['{}', '"a"'], 'none'],
    ['a number beyond a double never fits', ['1e400'], 'none'],
    ['a null in an array never fits', ['[null]'], 'none'],
    ['a lone surrogate never fits', ['"\\ud800"'], 'none'],
  ])('%s', (_rule, tokens, expected) => {
    expect(inferred(fromJson(...tokens))).toBe(expected)
  })
})

describe('the type of a CSV column is inferred', () => {
  it.each<[string, string[], string]>([
    ['number tokens only: number', ['1', '2.50', '-3', '1e5'], 'number'],
    ['integers of 15 digits: number', ['123456789012345'], 'number'],
    ['integers of more than 15 digits: string', ['1234567890123456', '0.5'], 'string'],
    ['decimals of any number of digits: number', ['0.30000000000000004', '0.5'], 'number'],
    ['an exponent after any number of digits: number', ['1234567890123456e-9', '1'], 'number'],
    ['leading zeros: string', ['007', '12'], 'string'],
    ['a plus sign: string', ['+1', '12'], 'string'],
    ['spaces around a number: string', [' 12', '13'], 'string'],
    ['a number beyond a double: string', ['1e400', '1'], 'string'],
    ['booleans in any letter case: boolean', ['true', 'FALSE'], 'boolean'],
    ['booleans and numbers: string', ['true', '1'], 'string'],
    ['dates: date', ['2024-01-01'], 'date'],
    ['dates and dateTimes: dateTime', ['2024-01-01', '2024-01-01T10:00'], 'dateTime'],
    ['dates and numbers: string', ['2024-01-01', '12'], 'string'],
    ['other text: string', ['a'], 'string'],
    ['text that looks like an array: string', ['[1,2]', '[3]'], 'string'],
    ['only empty fields: string', [], 'string'],
  ])('%s', (_rule, fields, expected) => {
    expect(inferred(fromCsv(...fields))).toBe(expected)
  })
})

test('a decimal of a chunk stashed as long text by an earlier version stays text', () => {
  const earlier = fromCsv('0.30000000000000004')
  earlier.seen |= SEEN.longInteger
  mergeSummary(earlier, fromCsv('0.5'))
  expect(inferred(earlier)).toBe('string')
})

test('the type is inferred over all chunks, of JSON and CSV together', () => {
  const merged = (...parts: ColumnSummary[]) => {
    const whole = newSummary('column')
    for (const part of parts) mergeSummary(whole, part)
    return inferred(whole)
  }
  expect(merged(fromJson('1'), fromCsv('2'))).toBe('number')
  expect(merged(fromJson('1'), fromCsv('12345678901234567'))).toBe('string')
  expect(merged(fromJson('true'), fromCsv('TRUE'))).toBe('boolean')
  expect(merged(fromJson('"2024-01-01"'), fromCsv('2024-01-01T10:00'))).toBe('dateTime')
  expect(merged(fromJson('[1]'), fromCsv('[1]'))).toBe('string')
  expect(merged(fromJson('1'), fromJson('"a"'))).toBe('string')
})

test('without the flags of what never fits, the type of the other values is inferred', () => {
  const summary = fromJson('{}', '1e400', '[1,null]', '"2024-01-01"')
  summary.seen &= ~(SEEN.object | SEEN.misfit)
  expect(inferred(summary)).toBe('date')
})

test('an inferred type other than string fits its values, or a reader must quote some of them', () => {
  const isPlain = (type: ColumnType) =>
    type.kind === 'string' || (type.kind === 'array' && type.items.kind === 'string')
  fc.assert(
    fc.property(cells(jsonToken), cells(csvField), (tokens, fields) => {
      for (const summary of [fromJson(...tokens), fromCsv(...fields)]) {
        const type = inferType(summary)
        if (type === undefined || summaryFits(type, summary, true)) continue
        expect(isPlain(type) && needsTextForm(type, summary)).toBe(true)
      }
    }),
    runOptions(5_000),
  )
})
