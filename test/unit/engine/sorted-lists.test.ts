import { expect, test } from 'vitest'
import { SORTED_ROWS_MAX, SortedLists } from '../../../src/engine/caches/sorted-lists.js'

const KIB = 1_024

const listOf = (rows: number) => ({ places: new Float64Array(rows), total: rows })

test('lists are kept within the bytes of the cache; the one not asked for longest goes first', () => {
  const lists = new SortedLists(3 * KIB)
  for (const key of ['a', 'b', 'c']) lists.set(key, listOf(50))
  expect(lists.get('a')?.total).toBe(50)
  lists.set('d', listOf(50))
  const kept = ['a', 'b', 'c', 'd'].filter((key) => lists.get(key) !== undefined)

  expect(kept).toEqual(['a', 'c', 'd'])
  expect(lists.bytes).toBeLessThanOrEqual(3 * KIB)
  expect([lists.hits, lists.misses]).toEqual([4, 1])
})

test('a list that does not fit is not kept, and takes the place of none but its own', () => {
  const lists = new SortedLists(3 * KIB)
  lists.set('a', listOf(50))
  lists.set('b', listOf(50))
  lists.set('a', listOf(500))

  expect(lists.get('a')).toBe(undefined)
  expect(lists.get('b')?.total).toBe(50)
})

test.each([
  [0, 1_048_576],
  [16 * KIB * KIB, 2_097_102],
  [KIB ** 3, SORTED_ROWS_MAX],
])('with %i bytes, lists of %i rows are made for pages', (bytes, rows) => {
  expect(new SortedLists(bytes).rowsMax).toBe(rows)
})
