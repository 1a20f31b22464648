// Goal: the validator that compares answers with the OpenAPI document finds every violation, and skips nothing.
import { expect, test } from 'vitest'
import { problemsOf, type Schema, unknownKeywords } from '../../support/json-schema.js'

const NAME: Schema = { type: 'string', minLength: 2, maxLength: 3, pattern: '^a' }
const resolve = (ref: string): Schema => {
  if (ref === '#/name') return NAME
  throw new Error(`${ref} is not there`)
}

test.each<[schema: Schema, good: unknown, bad: unknown]>([
  [{ type: 'string' }, '', 1],
  [{ type: ['string', 'null'] }, null, false],
  [{ type: 'integer' }, 2, 2.5],
  [{ type: 'number' }, 2.5, '2'],
  [{ type: 'boolean' }, false, 0],
  [{ type: 'array' }, [], {}],
  [{ type: 'object' }, {}, []],
  [{ type: 'object' }, {}, null],
  [{ const: 'x' }, 'x', 'y'],
  [{ enum: ['x', 'y'] }, 'y', 'z'],
  [{ minLength: 1 }, '😀', ''],
  [{ maxLength: 1 }, '😀', '😀😀'],
  [{ pattern: '^a+$' }, 'aa', 'ab'],
  [{ minimum: 0 }, 0, -1],
  [{ items: { type: 'number' } }, [1, 2], [1, '2']],
  [{ maxItems: 1 }, [1], [1, 2]],
  [{ properties: { a: { type: 'number' } } }, { a: 1, b: '' }, { a: '' }],
  [{ required: ['a'] }, { a: undefined }, {}],
  [{ required: ['toString'] }, { toString: 1 }, {}],
  [{ properties: { a: {} }, additionalProperties: false }, { a: 1 }, { a: 1, b: 2 }],
  [{ additionalProperties: false }, {}, JSON.parse('{ "__proto__": 1 }')],
  [{ additionalProperties: { type: 'number' } }, { a: 1 }, { a: '1' }],
  [{ oneOf: [{ type: 'string' }, { type: 'number' }] }, 1, null],
  [{ oneOf: [{ type: 'integer' }, { type: 'number' }] }, 1.5, 1],
  [{ anyOf: [{ type: 'integer' }, { type: 'number' }] }, 1, '1'],
  [{ $ref: '#/name' }, 'ab', 'b'],
  [{ $ref: '#/name', maxLength: 2 }, 'ab', 'abc'],
])('%j takes %j and refuses %j', (schema, good, bad) => {
  expect(problemsOf(good, schema, resolve)).toEqual([])
  expect(problemsOf(bad, schema, resolve)).not.toEqual([])
})

test('a keyword, a type and a reference that are not known are errors', () => {
  expect(() => problemsOf(1, { multipleOf: 1 }, resolve)).toThrow('multipleOf')
  expect(() => problemsOf(1, { type: 'float' }, resolve)).toThrow('float')
  expect(() => problemsOf(1, { $ref: '#/other' }, resolve)).toThrow('#/other')
  const deep = {
    properties: { a: { oneOf: [{ items: { not: {} } }] } },
    'x-own': 1,
    description: '',
  }
  expect(unknownKeywords(deep)).toEqual(['not'])
})
