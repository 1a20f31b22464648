import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createRouter } from '../../../src/contract/http/router.js'
import { headRows } from '../../../src/contract/operations/rows.js'
import { ROUTES } from '../../../src/contract/routes.js'
import { anyCodePoint } from '../../support/code-points.js'
import { runOptions } from '../../support/fast-check-options.js'
import { readText } from '../../support/project.js'

const match = createRouter<unknown>(
  ROUTES.map(([method, path, , operation]) => [method, path, operation]),
)

describe('known paths', () => {
  test.each<readonly [path: string, known: string, ...parameters: string[]]>([
    ['/tables', '/tables'],
    ['/tables/', '/tables'],
    ['/tables/a', '/tables/{tableID}', 'a'],
    ['/tables/a%20b/', '/tables/{tableID}', 'a b'],
    ['/tables/a/rows', '/tables/{tableID}/rows', 'a'],
    ['/tables/rows/rows/rows', '/tables/{tableID}/rows/{rowID}', 'rows', 'rows'],
    ['/tables/a/rows/%C3%A4', '/tables/{tableID}/rows/{rowID}', 'a', 'ä'],
    ['/stashes/', '/stashes'],
    ['/files/f', '/files/{fileID}', 'f'],
    ['/stashes/s', '/stashes/{stashID}', 's'],
    ['/stashes/s/0/', '/stashes/{stashID}/{serial}', 's', '0'],
    ['/stashes/%73/0', '/stashes/{stashID}/{serial}', 's', '0'],
    ['/apps/a%2Fb/uploads', '/apps/{appID}/uploads', 'a/b'],
    ['/apps/a/uploads/u/complete/', '/apps/{appID}/uploads/{uploadID}/complete', 'a', 'u'],
  ])('%s', (given, path, ...parameters) => {
    expect(match(given)).toMatchObject({ path, parameters })
  })
})

describe('the routes', () => {
  test('are those of the contract', () => {
    const section =
      readText('src/contract/CONTRACT.md').split('### Routes')[1]?.split('\n- ')[0] ?? ''
    const told = [
      ...section.matchAll(
        /^\| `([A-Z]+) (\/(?:tables|stashes|jobs|apps|uploads|files)[^`]*)` \|/gm,
      ),
    ]
    const named = told.map(([, method, path]) => `${method} ${path}`)

    expect(named.length).toBeGreaterThan(0)
    expect(ROUTES.map(([method, path]) => `${method} ${path}`).sort()).toEqual(named.sort())
  })

  const taken = ROUTES.map(([method, path, , operation]) => [method, path, operation] as const)
  test.each(taken)('%s %s takes the parameters of its path', (_, path, operation) => {
    expect(operation).toHaveLength(1 + path.split('{').length - 1)
  })

  test('a path that can be read answers HEAD, by its own route or as GET', () => {
    const methods = (path: string) => match(path).methods
    expect([...methods('/tables').keys()]).toEqual(['GET', 'POST', 'HEAD'])
    expect(methods('/tables').get('HEAD')).toBe(methods('/tables').get('GET'))
    const ofRows = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE']
    expect([...methods('/tables/a/rows').keys()]).toEqual(ofRows)
    expect(methods('/tables/a/rows').get('HEAD')).toBe(headRows)
    expect([...methods('/tables/a').keys()]).toEqual(['PUT', 'GET', 'PATCH', 'DELETE', 'HEAD'])
    expect([...methods('/stashes/s').keys()]).toEqual(['GET', 'DELETE', 'HEAD'])
    expect([...methods('/stashes/s/0').keys()]).toEqual(['PUT'])
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
  '/stashes/s/0/1',
  '/files/f/name',
  '/uploads/u',
  '/apps',
  '/apps/a/upload',
  '/apps/a/uploads/u',
  '/apps/a/uploads/u/completed',
  '/toString',
  '/tables/a/rows//',
  `/tables${'/a'.repeat(10_000)}`,
])('the path %s is unknown', (path) => {
  expect(() => match(path)).toThrow(expect.objectContaining({ code: 'REQUEST_ERROR' }))
})

test.each(['/tables/%', '/tables/%ZZ/rows', '/tables/a/rows/%ff', '/stashes/%E0%80/0'])(
  'broken percent-encoding in %s breaks a rule',
  (path) => {
    expect(() => match(path)).toThrow(expect.objectContaining({ code: 'REQUEST_VALIDATION_ERROR' }))
  },
)

test('IDs of any text come through percent-encoding as they were', () => {
  const id = fc
    .string({ unit: anyCodePoint, minLength: 1 })
    .filter((text) => !/^\.{0,2}$/.test(text))
  fc.assert(
    fc.property(id, id, (tableId, rowId) => {
      const path = `/tables/${encodeURIComponent(tableId)}/rows/${encodeURIComponent(rowId)}`
      expect(match(path).parameters).toEqual([tableId, rowId])
    }),
    runOptions(500),
  )
})

/** The text of a path segment, raw or percent-encoded. */
const pathCharacter = fc.oneof(
  fc.stringMatching(/^[A-Za-z0-9._~!$&'()*+,;=:@-]$/),
  anyCodePoint.map(encodeURIComponent),
)
const anyPath = fc
  .array(fc.string({ unit: pathCharacter }), { maxLength: 6 })
  .map((segments) => segments.map((segment) => `/${segment}`).join(''))

test('any path at all has a route or one of two errors', () => {
  fc.assert(
    fc.property(anyPath, fc.string(), (path, tail) => {
      try {
        expect(match(path + tail)).toHaveProperty('parameters')
      } catch (failure) {
        const { code } = failure as { code: string }
        expect(['REQUEST_ERROR', 'REQUEST_VALIDATION_ERROR']).toContain(code)
      }
    }),
    runOptions(500),
  )
})
