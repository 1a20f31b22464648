import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  parseLimit,
  parseOnSchemaError,
  parseQuery,
  queryValue,
  queryValues,
} from '../../../src/contract/http/query.js'
import { runOptions } from '../../support/fast-check-options.js'

const INVALID = expect.objectContaining({ code: 'REQUEST_VALIDATION_ERROR' })

test('parameters are read as URLSearchParams writes them', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.string(), fc.string())), (pairs) => {
      const query = parseQuery(new URLSearchParams(pairs).toString())
      for (const [name] of pairs) {
        const values = pairs.filter(([other]) => other === name).map(([, value]) => value)
        expect(queryValues(query, name)).toEqual(values)
      }
    }),
    runOptions(500),
  )
})

test('broken percent-encoding matters only in a parameter that is asked for', () => {
  const query = parseQuery('a=%ZZ&%ZZ=1&b=2')
  expect(queryValue(query, 'b')).toBe('2')
  expect(() => queryValue(query, 'a')).toThrow(INVALID)
})

test('a parameter given twice breaks the rule, also with equal values', () => {
  expect(() => queryValue(parseQuery('a=1&a=1'), 'a')).toThrow(INVALID)
})

test('names like prototype members are names', () => {
  expect(queryValue(parseQuery('x=1'), 'toString')).toBeUndefined()
  expect(queryValue(parseQuery('__proto__=1'), '__proto__')).toBe('1')
})

test('a limit is a positive integer, and never more than the cap', () => {
  const limit = (text: string) => parseLimit(parseQuery(`limit=${text}`), 100)
  expect(parseLimit(parseQuery(''), 100)).toBeUndefined()
  expect(limit('1')).toBe(1)
  expect(limit('0099')).toBe(99)
  expect(limit('101')).toBe(100)
  expect(limit('9'.repeat(1_000))).toBe(100)
  for (const text of ['', '0', '-1', '1.0', '1e1', '0x1', '%201', '١', 'NaN']) {
    expect(() => limit(text)).toThrow(INVALID)
  }
})

test('onSchemaError takes three words and no other', () => {
  for (const word of ['abort', 'dropColumns', 'updateSchema']) {
    expect(parseOnSchemaError(parseQuery(`onSchemaError=${word}`))).toBe(word)
  }
  for (const word of ['', 'Abort', 'drop', 'constructor']) {
    expect(() => parseOnSchemaError(parseQuery(`onSchemaError=${word}`))).toThrow(INVALID)
  }
})

test('a query that is too long is refused', () => {
  expect(() => parseQuery('a'.repeat(65_537))).toThrow(INVALID)
})
