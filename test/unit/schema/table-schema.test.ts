import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { isStoreError } from '../../../src/base/store-error.js'
import { COLUMN_KINDS } from '../../../src/schema/column-kind.js'
import {
  checkSchemaSize,
  columnIndex,
  isColumnId,
  isReservedColumnId,
  parseStoredSchema,
  parseTableSchema,
} from '../../../src/schema/table-schema.js'
import { ALL_TYPES } from '../../support/column-types.js'
import { runOptions } from '../../support/fast-check-options.js'

/** The code and message of the refusal. */
function refusal(value: unknown, columnsMax?: number): { code: string; message: string } {
  try {
    parseTableSchema(value, columnsMax)
  } catch (failure) {
    if (isStoreError(failure)) return { code: failure.code, message: failure.message }
    throw failure
  }
  return { code: 'none', message: '' }
}

const oneColumn = (column: unknown) => ({ columns: [column] })
const oneType = (type: unknown) => oneColumn({ id: 'a', type })

describe('both spellings of a scalar type mean the same', () => {
  it.each(COLUMN_KINDS)('%s', (kind) => {
    const expected = { columns: [{ id: 'a', type: { kind } }] }
    expect(parseTableSchema(oneType(kind))).toEqual(expected)
    expect(parseTableSchema(oneType({ kind }))).toEqual(expected)
  })
})

test('an array type names the kind of its items', () => {
  for (const kind of COLUMN_KINDS) {
    const type = { kind: 'array', items: { kind } }
    expect(parseTableSchema(oneType(type))).toEqual({ columns: [{ id: 'a', type }] })
  }
})

test('a schema may have no columns', () => {
  expect(parseTableSchema({ columns: [] })).toEqual({ columns: [] })
})

describe('a schema of the wrong shape is refused with its place', () => {
  const column = { id: 'a', type: 'string' }
  it.each<[string, unknown, string]>([
    ['nothing', undefined, 'schema '],
    ['null', null, 'schema '],
    ['an array', [], 'schema '],
    ['a string', 'string', 'schema '],
    ['no columns', {}, 'schema.columns '],
    ['columns that are an object', { columns: {} }, 'schema.columns '],
    ['an unknown property', { columns: [], x: 1 }, "schema has an unknown property 'x'"],
    [
      '__proto__ as a property',
      JSON.parse('{"columns":[],"__proto__":{}}'),
      'schema has an unknown',
    ],
    [
      'columns by ID, which are for defineSchema',
      { columns: { a: 'number' } },
      "schema.columns must be an array of columns such as { id: 'total', type: 'number' }; defineSchema makes",
    ],
    ['a column that is null', oneColumn(null), 'schema.columns[0] '],
    ['a column that is a string', { columns: [column, 'b'] }, 'schema.columns[1] '],
    [
      'an unknown property of a column',
      oneColumn({ ...column, name: 'x' }),
      'schema.columns[0] has',
    ],
    ['no id', oneColumn({ type: 'string' }), 'schema.columns[0].id '],
    ['an id that is a number', oneColumn({ ...column, id: 1 }), 'schema.columns[0].id '],
    ['an empty id', oneColumn({ ...column, id: '' }), 'schema.columns[0].id '],
    ['a long id', oneColumn({ ...column, id: 'a'.repeat(257) }), 'schema.columns[0].id '],
    ['an ill-formed id', oneColumn({ ...column, id: 'a\ud800' }), 'schema.columns[0].id '],
    [
      'a display name of null',
      oneColumn({ ...column, displayName: null }),
      'schema.columns[0].displayName ',
    ],
    [
      'an ill-formed display name',
      oneColumn({ ...column, displayName: '\udc00' }),
      'schema.columns[0].displayName ',
    ],
    [
      'a long display name',
      oneColumn({ ...column, displayName: 'a'.repeat(1_001) }),
      'schema.columns[0].displayName ',
    ],
    ['no type', oneColumn({ id: 'a' }), 'schema.columns[0].type '],
    ['a type of null', oneType(null), 'schema.columns[0].type '],
    ['a type that is a list', oneType(['string']), 'schema.columns[0].type '],
    [
      'an unknown kind',
      { columns: [column, column, { id: 'b', type: 'text' }] },
      "schema.columns[2].type is the unknown kind 'text'; the kinds are string, markdown, ",
    ],
    ['a kind in another letter case', oneType('String'), 'schema.columns[0].type '],
    ['a kind that every object has', oneType('constructor'), 'schema.columns[0].type '],
    ['json as a name', oneType('json'), "schema.columns[0].type must not be 'json'"],
    ['json as a kind', oneType({ kind: 'json' }), "schema.columns[0].type.kind must not be 'json'"],
    [
      'json as items',
      oneType({ kind: 'array', items: { kind: 'json' } }),
      "schema.columns[0].type.items.kind must not be 'json'",
    ],
    [
      'array as a plain string',
      oneType('array'),
      "schema.columns[0].type must not be 'array' here",
    ],
    ['an array without items', oneType({ kind: 'array' }), 'schema.columns[0].type.items '],
    [
      'an array of arrays',
      oneType({ kind: 'array', items: { kind: 'array', items: { kind: 'string' } } }),
      'schema.columns[0].type.items has',
    ],
    [
      'an array of array',
      oneType({ kind: 'array', items: { kind: 'array' } }),
      'schema.columns[0].type.items.kind ',
    ],
    [
      'items as a plain string',
      oneType({ kind: 'array', items: 'string' }),
      'schema.columns[0].type.items ',
    ],
    [
      'items as a list',
      oneType({ kind: 'array', items: [{ kind: 'string' }] }),
      'schema.columns[0].type.items ',
    ],
    [
      'items of a scalar',
      oneType({ kind: 'string', items: { kind: 'string' } }),
      'schema.columns[0].type.items ',
    ],
    ['a type without kind', oneType({}), 'schema.columns[0].type.kind '],
    [
      'a kind that is an object',
      oneType({ kind: { kind: 'string' } }),
      'schema.columns[0].type.kind ',
    ],
    [
      'an unknown property of a type',
      oneType({ kind: 'string', of: 1 }),
      'schema.columns[0].type has',
    ],
  ])('%s', (_name, value, place) => {
    const { code, message } = refusal(value)
    expect(code).toBe('REQUEST_VALIDATION_ERROR')
    expect(message.startsWith(place), message).toBe(true)
  })
})

describe('a schema of more than 1 MiB as JSON', () => {
  const wide = (count: number, units = 1_000) => ({
    columns: Array.from({ length: count }, (_, index) => {
      return { id: `c${index}`, displayName: 'é'.repeat(units), type: { kind: 'string' as const } }
    }),
  })

  test('is refused', () => {
    expect(parseTableSchema(wide(500)).columns).toHaveLength(500)
    const { code, message } = refusal(wide(600))
    expect(code).toBe('REQUEST_VALIDATION_ERROR')
    expect(message).toMatch(/^schema has \d+ bytes as JSON; at most 1048576 /)
  })

  test('is read from a store, with a name of any length, and may stay but not grow', () => {
    const stored = parseStoredSchema(wide(10, 100_000), 10)
    expect(stored).toEqual(wide(10, 100_000))
    checkSchemaSize(stored, stored)
    expect(() => checkSchemaSize(wide(10, 100_001), stored)).toThrow(/bytes as JSON/)
  })
})

test('more columns than allowed are refused, by default more than 1,000', () => {
  const columns = (count: number) => ({
    columns: Array.from({ length: count }, (_, index) => ({ id: `c${index}`, type: 'string' })),
  })
  expect(parseTableSchema(columns(1_000)).columns).toHaveLength(1_000)
  expect(refusal(columns(1_001)).code).toBe('REQUEST_VALIDATION_ERROR')
  expect(refusal(columns(3), 2).code).toBe('REQUEST_VALIDATION_ERROR')
  expect(refusal(columns(2), 2).code).toBe('none')
})

test('a message repeats only the beginning of an unknown name', () => {
  expect(refusal({ columns: [], ['x'.repeat(100_000)]: 1 }).message.length).toBeLessThan(300)
  expect(refusal(oneType('x'.repeat(100_000))).message.length).toBeLessThan(300)
})

test('$rowID and $stashID are reserved', () => {
  for (const id of ['$rowID', '$stashID']) {
    expect(isReservedColumnId(id)).toBe(true)
    expect(refusal(oneColumn({ id, type: 'string' })).code).toBe('COLUMN_ID_RESERVED')
  }
  for (const id of ['$rowid', 'rowID', '$', 'constructor']) {
    expect(isReservedColumnId(id)).toBe(false)
    expect(refusal(oneColumn({ id, type: 'string' })).code).toBe('none')
  }
})

test('the same column ID twice is refused', () => {
  for (const id of ['a', '__proto__', '0']) {
    const column = { id, type: 'string' }
    expect(refusal({ columns: [column, { id: 'b', type: 'date' }, column] })).toEqual({
      code: 'COLUMN_ID_NOT_UNIQUE',
      message: `Column ID '${id}' is not unique`,
    })
  }
  const close = ['a', 'A', 'a ', '\u00e9', 'e\u0301'].map((id) => ({ id, type: 'string' }))
  expect(refusal({ columns: close }).code).toBe('none')
})

test('a wrong shape anywhere wins over a reserved or repeated ID', () => {
  const columns = [
    { id: '$rowID', type: 'string' },
    { id: 'a', type: 'json' },
  ]
  expect(refusal({ columns }).code).toBe('REQUEST_VALIDATION_ERROR')
})

const ODD_IDS = [
  '__proto__',
  'constructor',
  'toString',
  '0',
  '-1',
  'a b',
  'a.b',
  '😀',
  ' ',
  '\u0000',
  'a'.repeat(256),
]

test('odd column IDs survive', () => {
  const given = {
    columns: ODD_IDS.map((id) => ({ id, displayName: id, type: { kind: 'string' } })),
  }
  const schema = parseTableSchema(JSON.parse(JSON.stringify(given)))
  expect(schema).toEqual(given)
  const index = columnIndex(schema)
  expect([...index.keys()]).toEqual(ODD_IDS)
  for (const id of ODD_IDS) expect(index.get(id)?.id).toBe(id)
  expect(index.get('hasOwnProperty')).toBeUndefined()
  for (const id of ODD_IDS) expect(isColumnId(id)).toBe(true)
})

test('a schema that was written as JSON parses to the same schema', () => {
  const column = fc.record(
    {
      id: fc.oneof(
        fc.constantFrom(...ODD_IDS),
        fc.string({ minLength: 1, unit: 'grapheme', maxLength: 20 }),
      ),
      displayName: fc.string({ unit: 'grapheme' }),
      type: fc.constantFrom(...ALL_TYPES),
    },
    { requiredKeys: ['id', 'type'] },
  )
  const columns = fc.uniqueArray(column, { selector: ({ id }) => id })
  fc.assert(
    fc.property(columns, (list) => {
      const rendered = JSON.stringify({ columns: list })
      expect(parseTableSchema(JSON.parse(rendered))).toEqual({ columns: list })
    }),
    runOptions(1_000),
  )
})

test('no value makes the parser fail with anything but a store error', () => {
  const value = fc.oneof(
    fc.jsonValue(),
    fc.jsonValue().map((columns) => ({ columns })),
    fc
      .array(fc.record({ id: fc.jsonValue(), type: fc.jsonValue() }))
      .map((columns) => ({ columns })),
  )
  fc.assert(
    fc.property(value, (candidate) => {
      expect(['none', 'REQUEST_VALIDATION_ERROR']).toContain(refusal(candidate).code)
    }),
    runOptions(3_000),
  )
})
