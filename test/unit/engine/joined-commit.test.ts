import { expect, test } from 'vitest'
import { utf8 } from '../../../src/base/bytes.js'
import { JoinedCommit } from '../../../src/engine/commit/joined-commit.js'
import { emptyGeneration } from '../../../src/engine/read/generations.js'

const GENERATION = emptyGeneration(new Uint8Array(8), 0, 0)

type Values = Readonly<Record<string, string | null>>

const entriesOf = (values: Values) =>
  Object.entries(values).map(
    ([key, value]) => [utf8(key), value === null ? null : utf8(value)] as const,
  )

/** A change that checks some records and writes others. */
const change = (checked: Values, written: Values) => ({
  next: GENERATION,
  operation: 'update' as const,
  checks: entriesOf(checked).map(([key, equals]) => ({ key, equals })),
  puts: entriesOf(written).flatMap(([key, value]) =>
    value === null ? [] : [[key, value] as const],
  ),
  deletes: entriesOf(written).flatMap(([key, value]) => (value === null ? [key] : [])),
})

const newCommit = () => new JoinedCommit(1, utf8('head'), utf8('0'))

test('a change checks what an earlier one writes, and writes it again', () => {
  const joined = newCommit()

  expect(joined.add(change({ page: 'a', other: null }, { page: 'b', row: 'r' }), utf8('1'))).toBe(
    true,
  )
  expect(joined.add(change({ page: 'b', other: null }, { page: 'c', row: null }), utf8('2'))).toBe(
    true,
  )

  expect(joined.commit()).toEqual({
    checks: [
      { key: utf8('head'), equals: utf8('0') },
      { key: utf8('page'), equals: utf8('a') },
      { key: utf8('other'), equals: null },
    ],
    puts: [
      [utf8('page'), utf8('c')],
      [utf8('head'), utf8('2')],
    ],
    deletes: [utf8('row')],
  })
})

test.each([
  ['was checked to be another', { page: 'x' }, {}],
  ['was written as another', { row: 'x' }, {}],
  ['was written and must be absent', { row: null }, {}],
])('a change that checks a record which %s goes into another commit', (_, checked, written) => {
  const joined = newCommit()
  joined.add(change({ page: 'a' }, { row: 'r' }), utf8('1'))
  const before = joined.commit()

  expect(joined.add(change(checked, { ...written, more: 'm' }), utf8('2'))).toBe(false)
  expect(joined.commit()).toEqual(before)
})

test('a commit takes up 256 changes, and a mebibyte', () => {
  const many = newCommit()
  for (let i = 0; i < 256; i++)
    expect(many.add(change({}, { [`${i}`]: 'v' }), utf8('h'))).toBe(true)
  expect(many.add(change({}, { more: 'v' }), utf8('h'))).toBe(false)

  const large = newCommit()
  const value = 'v'.repeat(1024 * 1024)
  expect(large.add(change({}, { large: value }), utf8('h'))).toBe(true)
  expect(large.add(change({}, { small: 'v' }), utf8('h'))).toBe(false)
})
