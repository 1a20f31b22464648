import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ColumnType } from '../../../src/schema/column-kind.js'
import { type ColumnSummary, SEEN } from '../../../src/schema/column-summary.js'
import {
  newSummary,
  summarizeText,
  summarizeToken,
  summaryFits,
} from '../../../src/schema/summarize.js'
import { widenType } from '../../../src/schema/widen.js'
import { ALL_TYPES, cells, csvField, jsonToken } from '../../support/column-types.js'
import { runOptions } from '../../support/fast-check-options.js'

function fromJson(...tokens: string[]): ColumnSummary {
  const summary = newSummary('c')
  for (const token of tokens) summarizeToken(summary, token)
  return summary
}

function fromCsv(...fields: string[]): ColumnSummary {
  const summary = newSummary('c')
  for (const field of fields) summarizeText(summary, field)
  return summary
}

const array = (kind: 'number' | 'string' | 'date' | 'dateTime'): ColumnType => {
  return { kind: 'array', items: { kind } }
}

describe('widening', () => {
  test.each<[what: string, from: ColumnType, values: ColumnSummary, to: ColumnType]>([
    ['values that fit leave the type', { kind: 'number' }, fromJson('1', '""'), { kind: 'number' }],
    [
      'date + dateTime = dateTime',
      { kind: 'date' },
      fromJson('"2024-01-01T10:00"'),
      { kind: 'dateTime' },
    ],
    [
      'dateTime + date = dateTime',
      { kind: 'dateTime' },
      fromJson('"2024-01-01"'),
      { kind: 'dateTime' },
    ],
    ['date + text = string', { kind: 'date' }, fromJson('"soon"'), { kind: 'string' }],
    [
      'imageURI + uri = imageURI, whose rule is the same',
      { kind: 'imageURI' },
      fromJson('"https://a.example/b"'),
      { kind: 'imageURI' },
    ],
    ['audioURI + text = string', { kind: 'audioURI' }, fromJson('"x y"'), { kind: 'string' }],
    ['number + text = string', { kind: 'number' }, fromJson('"x"'), { kind: 'string' }],
    ['number + CSV text = string', { kind: 'number' }, fromCsv('7', 'x'), { kind: 'string' }],
    ['boolean + number = string', { kind: 'boolean' }, fromJson('1'), { kind: 'string' }],
    ['number + array = string', { kind: 'number' }, fromJson('[1]'), { kind: 'string' }],
    ['array + scalar = string', array('number'), fromJson('1'), { kind: 'string' }],
    ['array + CSV text that is none = string', array('number'), fromCsv('x'), { kind: 'string' }],
    [
      'arrays join their elements: date + dateTime',
      array('date'),
      fromJson('["2024-01-01T10:00"]'),
      array('dateTime'),
    ],
    [
      'arrays join their elements: number + text',
      array('number'),
      fromJson('["x"]'),
      array('string'),
    ],
    ['objects decide nothing', { kind: 'number' }, fromJson('{}', '1'), { kind: 'number' }],
  ])('%s', (_, from, values, to) => {
    expect(widenType(from, values, true)).toEqual(to)
  })

  test('gives the type itself exactly when the values fit it', () => {
    const anyValues = fc.oneof(
      cells(jsonToken).map((tokens) => fromJson(...tokens)),
      cells(csvField).map((fields) => fromCsv(...fields)),
    )
    fc.assert(
      fc.property(fc.constantFrom(...ALL_TYPES), anyValues, (type, values) => {
        const judged = { ...values, seen: values.seen & ~(SEEN.object | SEEN.misfit) }
        const isSame = JSON.stringify(widenType(type, values, true)) === JSON.stringify(type)
        const isText =
          type.kind === 'string' || (type.kind === 'array' && type.items.kind === 'string')

        expect(isSame).toBe(summaryFits(type, judged, true) || (isSame && isText))
      }),
      runOptions(3_000),
    )
  })

  test('widening twice with the same values changes nothing the second time', () => {
    fc.assert(
      fc.property(fc.constantFrom(...ALL_TYPES), cells(jsonToken), (type, tokens) => {
        const values = fromJson(...tokens)
        const once = widenType(type, values, true)

        expect(widenType(once, values, true)).toEqual(once)
      }),
      runOptions(3_000),
    )
  })
})
