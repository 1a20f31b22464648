import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { matchRoute } from '../../../src/contract/router.js'

describe('known paths', () => {
  test.each([
    ['/tables', { name: 'tables' }],
    ['/tables/', { name: 'tables' }],
    ['/tables/a', { name: 'table', tableId: 'a' }],
    ['/tables/a%20b/', { name: 'table', tableId: 'a b' }],
    ['/tables/a/rows', { name: 'rows', tableId: 'a' }],
    ['/tables/rows/rows/rows', { name: 'row', tableId: 'rows', rowId: 'rows' }],
    ['/tables/a/rows/%C3%A4', { name: 'row', tableId: 'a', rowId: 'ä' }],
    ['/stashes/s', { name: 'stash', stashId: 's' }],
    ['/stashes/s/0/', { name: 'chunk', stashId: 's', serial: '0' }],
    ['/stashes/%73/0', { name: 'chunk', stashId: 's', serial: '0' }],
  ])('%s', (path, route) => {
    expect(matchRoute(path)).toEqual(route)
  })
})

test.each([
  '',
  '/',
  'tables',
  '//tables',
  '/tables//',
  '/tables//rows',
  '/tables/a/columns',
  '/tables/a/rows/b/c',
  '/tables/./rows',
  '/tables/%2e%2E/rows',
  '/tables/.%2e',
  '/%74ables',
  '/stashes',
  '/stashes/s/0/1',
  '/toString',
  '/tables/a/rows//',
  `/tables${'/a'.repeat(10_000)}`,
])('the path %s is unknown', (path) => {
  expect(() => matchRoute(path)).toThrow(expect.objectContaining({ code: 'REQUEST_ERROR' }))
})

test.each(['/tables/%', '/tables/%ZZ/rows', '/tables/a/rows/%ff', '/stashes/%E0%80/0'])(
  'broken percent-encoding in %s breaks a rule',
  (path) => {
    expect(() => matchRoute(path)).toThrow(
      expect.objectContaining({ code: 'REQUEST_VALIDATION_ERROR' }),
    )
  },
)

test('IDs of any text come through percent-encoding as they were', () => {
  const id = fc.string({ unit: 'binary', minLength: 1 }).filter((text) => !/^\.{0,2}$/.test(text))
  fc.assert(
    fc.property(id, id, (tableId, rowId) => {
      const path = `/tables/${encodeURIComponent(tableId)}/rows/${encodeURIComponent(rowId)}`
      expect(matchRoute(path)).toEqual({ name: 'row', tableId, rowId })
    }),
  )
})

test('any path at all has a route or one of two errors', () => {
  fc.assert(
    fc.property(fc.webPath(), fc.string(), (path, tail) => {
      try {
        expect(matchRoute(path + tail)).toHaveProperty('name')
      } catch (failure) {
        const { code } = failure as { code: string }
        expect(['REQUEST_ERROR', 'REQUEST_VALIDATION_ERROR']).toContain(code)
      }
    }),
  )
})
