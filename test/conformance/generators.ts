// Random schemas and rows, for property tests of anything built on a store. fast-check is an argument, so that the
// package does not depend on it.
import type fastCheck from 'fast-check'
import { STORE_LIMITS } from '../../src/engine/arguments/resolve-options.js'
import {
  COLUMN_KINDS,
  type Column,
  type ColumnKind,
  type ColumnType,
  type TableSchema,
} from '../../src/index.js'
import { checkInteger, checkWord } from './argument-checks.js'

type FastCheck = typeof fastCheck
type Arbitrary<T> = fastCheck.Arbitrary<T>

/**
 * Column IDs that have broken programs: names of Object.prototype, numbers, odd characters.
 * @example
 * import { ODD_COLUMN_IDS } from 'rowstash/testing'
 *
 * console.log(ODD_COLUMN_IDS.includes('__proto__')) // true
 */
export const ODD_COLUMN_IDS: readonly string[] = Object.freeze([
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'valueOf',
  '0',
  ' ',
  'a.b',
  'a b',
  '"',
  '\\',
  'é',
  '🙂',
  'line\nbreak',
])

/**
 * Values of a kind, of every shape that it accepts.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR
 * @example
 * import fc from 'fast-check'
 * import { anyValueOfKind } from 'rowstash/testing'
 *
 * console.log(fc.sample(anyValueOfKind(fc, 'boolean'), 5).every((value) => typeof value === 'boolean')) // true
 */
export function anyValueOfKind(fc: FastCheck, kind: ColumnKind): Arbitrary<unknown> {
  const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  const two = (max: number, min = 0): Arbitrary<string> =>
    fc.integer({ min, max }).map((n) => String(n).padStart(2, '0'))
  const date = fc
    .tuple(fc.integer({ min: 1900, max: 2100 }), two(12, 1), two(28, 1))
    .map((parts) => parts.join('-'))
  const time = fc.tuple(two(23), two(59), two(59)).map((parts) => parts.join(':'))
  const name = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/)
  const uri = name.map((part) => `https://example.com/${part}`)
  const values: Record<ColumnKind, Arbitrary<unknown>> = {
    string: text,
    markdown: text.map((part) => `**${part}**`),
    uri,
    imageURI: uri.map((base) => `${base}.png`),
    audioURI: uri.map((base) => `${base}.mp3`),
    emailAddress: name.map((part) => `${part}@example.com`),
    phoneNumber: fc.integer({ min: 100_000, max: 999_999 }).map((n) => `+1 213 ${n}`),
    emoji: fc.constantFrom('🙂', '👩‍👩‍👧', '🇳🇱', '👍🏽'),
    date,
    time,
    dateTime: fc.tuple(date, time).map(([day, hour]) => `${day}T${hour}Z`),
    duration: fc.oneof(
      fc.nat(86_400_000),
      fc.nat(99).map((hours) => `PT${hours}H`),
    ),
    number: fc.oneof(
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => n + 0),
    ),
    boolean: fc.boolean(),
  }
  checkWord('kind', kind, COLUMN_KINDS)
  return values[kind]
}

/**
 * Every kind and every array of a kind.
 * @example
 * import fc from 'fast-check'
 * import { anyColumnType } from 'rowstash/testing'
 *
 * console.log(fc.sample(anyColumnType(fc), 5).length) // 5
 */
export function anyColumnType(fc: FastCheck): Arbitrary<ColumnType> {
  const kind = fc.constantFrom(...COLUMN_KINDS)
  return fc.oneof(
    { weight: 3, arbitrary: kind.map((name): ColumnType => ({ kind: name })) },
    {
      weight: 1,
      arbitrary: kind.map((name): ColumnType => ({ kind: 'array', items: { kind: name } })),
    },
  )
}

/**
 * A schema of up to `columnsMax` columns, some with odd IDs.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR
 * @example
 * import fc from 'fast-check'
 * import { anySchema } from 'rowstash/testing'
 *
 * console.log(fc.sample(anySchema(fc, 3), 5).every(({ columns }) => columns.length <= 3)) // true
 */
export function anySchema(fc: FastCheck, columnsMax = 8): Arbitrary<TableSchema> {
  checkInteger('columnsMax', columnsMax, 1, STORE_LIMITS.columnsMax.max)
  const id = fc.oneof(fc.constantFrom(...ODD_COLUMN_IDS), fc.stringMatching(/^[a-z]{1,6}$/))
  const column = fc.record({ id, type: anyColumnType(fc) }) as Arbitrary<Column>
  return fc
    .uniqueArray(column, { selector: ({ id: name }) => name, minLength: 1, maxLength: columnsMax })
    .map((columns) => ({ columns }))
}

/**
 * Rows that fit a schema, with empty cells. Names are own properties, `__proto__` too.
 * @example
 * import fc from 'fast-check'
 * import { openMemory } from 'rowstash'
 * import { anyRowOf, anySchema } from 'rowstash/testing'
 *
 * const store = await openMemory()
 * const anyTable = anySchema(fc).chain((schema) => {
 *   return fc.record({ schema: fc.constant(schema), rows: fc.array(anyRowOf(fc, schema), { maxLength: 5 }) })
 * })
 * await fc.assert(
 *   fc.asyncProperty(anyTable, async ({ schema, rows }) => {
 *     const { rowIds } = await store.team('acme').createTable({ name: 'T', schema, rows })
 *     if (rowIds.length !== rows.length) throw new Error('a row is missing')
 *   }),
 *   { numRuns: 10 },
 * )
 * console.log((await store.team('acme').tables()).length) // 10
 * await store.close()
 */
export function anyRowOf(
  fc: FastCheck,
  { columns }: TableSchema,
): Arbitrary<Record<string, unknown>> {
  const cells = columns.map(({ type }) => {
    const items = type.kind === 'array' ? type.items.kind : undefined
    const value =
      type.kind === 'array'
        ? fc.array(anyValueOfKind(fc, items ?? 'string'), { maxLength: 3 })
        : anyValueOfKind(fc, type.kind)
    return fc.option(value, { nil: undefined })
  })
  return fc.tuple(...cells).map((values) => {
    const entries = columns.map(({ id }, i): [string, unknown] => [id, values[i]])
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
  })
}
