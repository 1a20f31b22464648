import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { ALL_KINDS, COLUMN_KINDS, type ColumnType } from '../../../src/schema/column-kind.js'
import { type ColumnSummary, mergeSummary, SEEN } from '../../../src/schema/column-summary.js'
import {
  describeRule,
  needsTextForm,
  newSummary,
  summarizeText,
  summarizeToken,
  summaryFits,
  textFieldFits,
  tokenFits,
} from '../../../src/schema/summarize.js'
import { ALL_TYPES, cells, csvField, jsonToken } from '../../support/column-types.js'
import { runOptions } from '../../support/fast-check-options.js'
import { textFits } from './text-fits.js'

const EQUIVALENCE_RUNS = 6_000

function judged(tokens: readonly string[], fields: readonly string[] = []): ColumnSummary {
  const summary = newSummary('column')
  for (const token of tokens) summarizeToken(summary, token)
  for (const field of fields) summarizeText(summary, field)
  return summary
}

function seenNames({ seen }: ColumnSummary): string[] {
  return Object.entries(SEEN).flatMap(([name, bit]) => ((seen & bit) !== 0 ? [name] : []))
}

const STRING: ColumnType = { kind: 'string' }
const NUMBER: ColumnType = { kind: 'number' }
const DURATION: ColumnType = { kind: 'duration' }
const DATE: ColumnType = { kind: 'date' }
const URI: ColumnType = { kind: 'uri' }

function arrayOf(kind: ColumnType['kind']): ColumnType {
  if (kind === 'array') throw new Error('an array of arrays is no type')
  return { kind: 'array', items: { kind } }
}

/** Cheaper than `expect`, which would take most of the run time: there are 28 types per run. */
function sameVerdict(type: ColumnType, actual: boolean, expected: boolean): void {
  if (actual !== expected) expect.fail(`${JSON.stringify(type)}: ${actual}, not ${expected}`)
}

describe('a summary fits a type exactly when each of its values does', () => {
  const formatChecks = fc.boolean()

  it('for JSON', () => {
    fc.assert(
      fc.property(cells(jsonToken), formatChecks, (tokens, checks) => {
        const summary = judged(tokens)
        for (const type of ALL_TYPES) {
          const each = tokens.every((token) => tokenFits(type, token, checks))
          sameVerdict(type, summaryFits(type, summary, checks), each)
        }
      }),
      runOptions(EQUIVALENCE_RUNS),
    )
  })

  it('for CSV', () => {
    fc.assert(
      fc.property(cells(csvField), formatChecks, (fields, checks) => {
        const summary = judged([], fields)
        for (const type of ALL_TYPES) {
          const each = fields.every((field) => textFieldFits(type, field, checks))
          sameVerdict(type, summaryFits(type, summary, checks), each)
        }
      }),
      runOptions(EQUIVALENCE_RUNS),
    )
  })

  it('for chunks of both, merged in any order', () => {
    fc.assert(
      fc.property(
        cells(jsonToken),
        cells(csvField),
        formatChecks,
        fc.boolean(),
        (tokens, fields, checks, csvFirst) => {
          const parts = [judged(tokens), judged([], fields)]
          if (csvFirst) parts.reverse()
          const merged = newSummary('column')
          for (const part of parts) mergeSummary(merged, part)
          expect(merged).toEqual(judged(tokens, fields))
          for (const type of ALL_TYPES) {
            const each =
              tokens.every((token) => tokenFits(type, token, checks)) &&
              fields.every((field) => textFieldFits(type, field, checks))
            sameVerdict(type, summaryFits(type, merged, checks), each)
          }
        },
      ),
      runOptions(EQUIVALENCE_RUNS),
    )
  })
})

test('masks only lose bits, flags only gain bits, and the order of values does not matter', () => {
  fc.assert(
    fc.property(cells(jsonToken), cells(csvField), (tokens, fields) => {
      const summary = newSummary('column')
      for (const token of tokens) {
        const before = { ...summary }
        summarizeToken(summary, token)
        expect(summary.scalarMask & ~before.scalarMask).toBe(0)
        expect(summary.elementMask & ~before.elementMask).toBe(0)
        expect(before.seen & ~summary.seen).toBe(0)
      }
      expect(summary).toEqual(judged([...tokens].reverse()))
      expect(judged(tokens, fields)).toEqual(judged([...tokens].reverse(), [...fields].reverse()))
    }),
    runOptions(2_000),
  )
})

test('one value fits a type as the table in the contract says', () => {
  // A third implementation of the table, on parsed values.
  const fits = (type: ColumnType, value: unknown): boolean => {
    if (value === null || value === '') return true
    if (type.kind === 'array') {
      const { kind } = type.items
      return Array.isArray(value) && value.every((part) => part !== null && elementFits(kind, part))
    }
    return elementFits(type.kind, value)
  }
  const elementFits = (kind: Exclude<ColumnType['kind'], 'array'>, value: unknown): boolean => {
    if (kind === 'boolean') return value === true || value === false
    if (typeof value === 'number' && (kind === 'number' || kind === 'duration')) {
      return Math.abs(value) !== Number.POSITIVE_INFINITY
    }
    return kind !== 'number' && typeof value === 'string' && textFits(kind, value)
  }
  fc.assert(
    fc.property(jsonToken, (token) => {
      for (const type of ALL_TYPES) {
        sameVerdict(type, tokenFits(type, token, true), fits(type, JSON.parse(token)))
      }
    }),
    runOptions(EQUIVALENCE_RUNS),
  )
})

describe('without format checks', () => {
  it('any well-formed string fits the kinds from uri to emoji, and no number or boolean does', () => {
    const kinds = ['uri', 'imageURI', 'audioURI', 'emailAddress', 'phoneNumber', 'emoji'] as const
    for (const kind of kinds) {
      expect(tokenFits({ kind }, '"anything"', false)).toBe(true)
      expect(tokenFits({ kind }, '12', false)).toBe(false)
      expect(tokenFits({ kind }, 'true', false)).toBe(false)
      expect(tokenFits({ kind }, '"\\ud800"', false)).toBe(false)
      expect(tokenFits(arrayOf(kind), '["anything",""]', false)).toBe(true)
      expect(textFieldFits({ kind }, '12', false)).toBe(true)
    }
  })

  it('dates, times and durations are still checked', () => {
    for (const kind of ['date', 'time', 'dateTime', 'duration'] as const) {
      expect(tokenFits({ kind }, '"anything"', false)).toBe(false)
    }
  })
})

describe('single values', () => {
  it('null and the empty text are empty cells and fit every type', () => {
    for (const type of ALL_TYPES) {
      expect(tokenFits(type, 'null', true)).toBe(true)
      expect(tokenFits(type, '""', true)).toBe(true)
      expect(textFieldFits(type, '', true)).toBe(true)
    }
  })

  it('there is no coercion between JSON types', () => {
    expect(tokenFits(NUMBER, '"12"', true)).toBe(false)
    expect(tokenFits(STRING, '12', true)).toBe(false)
    expect(tokenFits(STRING, 'true', true)).toBe(false)
    expect(tokenFits({ kind: 'boolean' }, '"true"', true)).toBe(false)
  })

  it('a number is a duration in JSON and in CSV, a JSON string of digits is not', () => {
    expect(tokenFits(DURATION, '12', true)).toBe(true)
    expect(tokenFits(DURATION, '"12"', true)).toBe(false)
    expect(textFieldFits(DURATION, '12', true)).toBe(true)
    expect(textFieldFits(DURATION, ' 12', true)).toBe(false)
    expect(textFieldFits(DURATION, '1e400', true)).toBe(false)
  })

  it('CSV text is a number with spaces around it, and a boolean in any letter case', () => {
    expect(textFieldFits(NUMBER, ' 12 ', true)).toBe(true)
    for (const text of ['0x10', '1,5', '007', '+1', '1e400', ' ']) {
      expect(textFieldFits(NUMBER, text, true)).toBe(false)
    }
    expect(textFieldFits({ kind: 'boolean' }, 'TRUE', true)).toBe(true)
    expect(textFieldFits({ kind: 'boolean' }, '1', true)).toBe(false)
  })

  it('an element may not be null, nor an array, nor an object', () => {
    for (const token of ['[null]', '[[]]', '[{}]', '[1e400]', '["a",null]']) {
      for (const kind of COLUMN_KINDS) expect(tokenFits(arrayOf(kind), token, true)).toBe(false)
    }
  })

  it('an empty text as an element is text, not an empty cell', () => {
    expect(tokenFits(arrayOf('string'), '[""]', true)).toBe(true)
    expect(tokenFits(arrayOf('date'), '[""]', true)).toBe(false)
  })

  it('a number beyond a double fits nothing', () => {
    for (const type of ALL_TYPES) expect(tokenFits(type, '1e400', true)).toBe(false)
  })
})

describe('flags', () => {
  it.each([
    ['12', ['number', 'scalarToken']],
    ['true', ['boolean', 'scalarToken']],
    ['"a"', ['text', 'scalarToken']],
    ['""', ['emptyText']],
    ['null', []],
    ['{"a":1}', ['object']],
    ['[]', ['array']],
    ['[1,true,""]', ['array', 'elementNumber', 'elementBoolean', 'elementText']],
    ['1e400', ['misfit']],
    ['"\\ud800"', ['misfit']],
    ['"\ud800"', ['misfit']],
    ['[1,null]', ['misfit']],
    ['[1,-1e400]', ['misfit']],
  ])('of the JSON token %s', (token, names) => {
    expect(seenNames(judged([token]))).toEqual(names)
  })

  it.each([
    ['12', ['number', 'fromText']],
    ['12345678901234567', ['number', 'fromText', 'longInteger']],
    ['-1234567890123456', ['number', 'fromText', 'longInteger']],
    ['0.30000000000000004', ['number', 'fromText']],
    ['1234567890123456e0', ['number', 'fromText']],
    [' 12', ['text', 'fromText']],
    ['1e400', ['text', 'fromText']],
    ['TRUE', ['boolean', 'fromText']],
    ['[1]', ['text', 'fromText']],
    ['[1e400]', ['text', 'fromText']],
    ['a', ['text', 'fromText']],
  ])('of the CSV field %s', (field, names) => {
    expect(seenNames(judged([], [field]))).toEqual(names)
  })

  it('an array and an empty text leave the kinds of scalars alone', () => {
    expect(judged(['["a"]', '""']).scalarMask).toBe(ALL_KINDS)
  })

  it('a lone surrogate is seen in a column that is plain text already', () => {
    expect(seenNames(judged(['"plain text"', '"\\uD800"']))).toContain('misfit')
    expect(seenNames(judged(['"plain text"', '"a\ud800"']))).toContain('misfit')
    expect(seenNames(judged(['"plain text"', '"\\ud83d\\ude00 \\\\ud800"']))).not.toContain(
      'misfit',
    )
  })
})

describe('a reader must quote', () => {
  it.each<[string, ColumnType, string[], boolean]>([
    ['numbers in a string column', STRING, ['12', '"a"'], true],
    ['booleans in a string column', STRING, ['true', '"a"'], true],
    ['arrays in a string column', STRING, ['[1]', '"a"'], true],
    ['no strings in a string column', STRING, ['"a"', '""'], false],
    ['no numbers in a number column', NUMBER, ['12'], false],
    ['no numbers in a duration column', DURATION, ['12', '"PT1H"'], false],
    ['numbers in an array of strings', arrayOf('string'), ['[1,"a"]'], true],
    ['no strings in an array of dates', arrayOf('date'), ['["2024-01-01"]'], false],
    ['no numbers in an array of durations', arrayOf('duration'), ['[1]'], false],
    ['no strings in a date column', DATE, ['"2024-01-01"'], false],
  ])('%s', (_name, type, tokens, expected) => {
    expect(needsTextForm(type, judged(tokens))).toBe(expected)
  })

  it('CSV cells only where they are stored as tokens', () => {
    const numbers = judged([], ['12', '13'])
    expect(needsTextForm(STRING, numbers)).toBe(false)
    expect(needsTextForm(STRING, { ...numbers, seen: numbers.seen | SEEN.storedNumbers })).toBe(
      true,
    )
    const booleans = judged([], ['true'])
    expect(needsTextForm(URI, { ...booleans, seen: booleans.seen | SEEN.storedBooleans })).toBe(
      true,
    )
    expect(needsTextForm(DURATION, { ...numbers, seen: numbers.seen | SEEN.storedNumbers })).toBe(
      false,
    )
  })
})

test('every type has a rule in words', () => {
  expect(describeRule(DATE, false)).toBe('a calendar day as YYYY-MM-DD')
  expect(describeRule(URI, false)).toContain('a port up to 65535') // True of http://h:99999/, too.
  const numbers = arrayOf('number')
  expect(describeRule(numbers, false)).toBe('an array whose every element is a finite number')
  expect(describeRule(numbers, true)).toBe('a JSON array whose every element is a finite number')
  expect(describeRule(NUMBER, true)).toBe('a finite number as JSON writes it')
  for (const type of ALL_TYPES) {
    expect(describeRule(type, false)).not.toBe('')
    expect(describeRule(type, true)).not.toBe('')
  }
})
