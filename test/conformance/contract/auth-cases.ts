// CONTRACT.md, section 1, Authentication.
import assert from 'node:assert/strict'
import {
  type Api,
  type ContractCase,
  expectRefusal,
  REQUEST_ERROR,
  type SendOptions,
  STASH_NOT_FOUND,
  TABLE_NOT_FOUND,
  uniqueName,
} from './api.js'

const UNKNOWN_KEY = 'an-unknown-key-of-nobody'
const MASKED = 'API key not found, or duplicate an****dy'
const MASKED_WHOLE = 'API key not found, or duplicate ****'
const HINT = 'send Authorization: Bearer KEY'
const NO_HEADER = `${MASKED_WHOLE}: the request has no Authorization header; ${HINT}`
const NOT_BEARER = `${MASKED_WHOLE}: the Authorization header is not of the form "Bearer KEY"; ${HINT}`
const NO_ID = '00000000-0000-4000-8000-000000000000'

const OPERATIONS: readonly (readonly [method: string, path: string, body?: unknown])[] = [
  ['GET', '/tables'],
  ['POST', '/tables', { name: 'x', rows: [] }],
  ['POST', '/tables/import', { fromUrl: 'http://source.test/rows' }],
  ['PUT', `/tables/${NO_ID}`, []],
  ['GET', `/tables/${NO_ID}/rows`],
  ['HEAD', `/tables/${NO_ID}/rows`],
  ['POST', `/tables/${NO_ID}/rows`, []],
  ['GET', `/tables/${NO_ID}/rows/AAAAAAAAAAAAAAAAAAAAAA`],
  ['PATCH', `/tables/${NO_ID}/rows/AAAAAAAAAAAAAAAAAAAAAA`, {}],
  ['DELETE', `/tables/${NO_ID}/rows/AAAAAAAAAAAAAAAAAAAAAA`],
  ['PUT', '/stashes/s/0', []],
  ['GET', '/stashes'],
  ['HEAD', '/stashes'],
  ['GET', '/jobs'],
  ['HEAD', '/jobs'],
  ['GET', '/uploads'],
  ['HEAD', '/uploads'],
  ['GET', '/files'],
  ['HEAD', '/files'],
  ['DELETE', '/files/f'],
  ['POST', `/tables/${NO_ID}/convert`, { column: 'n', type: 'number' }],
  ['GET', '/stashes/s'],
  ['HEAD', '/stashes/s'],
  ['DELETE', '/stashes/s'],
  ['POST', '/apps/a/uploads', { contentType: 'image/png', fileName: 'a' }],
  ['POST', `/apps/a/uploads/${NO_ID}/complete`],
]

const unknownKey: ContractCase[] = OPERATIONS.map(([method, path, body]) => ({
  name: `Unknown or wrong key: 404 request_error on ${method} ${path}`,
  run: async (api) => {
    const reply = await api.send(method, path, { key: UNKNOWN_KEY, body })
    assert.equal(reply.status, 404)
    if (method !== 'HEAD') expectRefusal(reply, { ...REQUEST_ERROR, message: MASKED })
  },
}))

const HEADERS: readonly [what: string, options: SendOptions, message: string][] = [
  ['a missing header', { key: null }, NO_HEADER],
  ['another scheme', { key: null, headers: { authorization: 'Basic dXNlcjpwYXNz' } }, NOT_BEARER],
  ['no scheme', { key: null, headers: { authorization: UNKNOWN_KEY } }, NOT_BEARER],
  ['an empty token', { key: null, headers: { authorization: 'Bearer ' } }, NOT_BEARER],
  ['a scheme alone', { key: null, headers: { authorization: 'Bearer' } }, NOT_BEARER],
  ['an empty header', { key: null, headers: { authorization: '' } }, NOT_BEARER],
  ['a key shorter than 7 characters', { key: 'abcdef' }, MASKED_WHOLE],
  ['a key of one character', { key: 'a' }, MASKED_WHOLE],
  ['a key of 7 characters', { key: 'abcdefg' }, 'API key not found, or duplicate ab****fg'],
  [
    'a key of 8 KB',
    { key: `ab${'x'.repeat(8_000)}yz` },
    'API key not found, or duplicate ab****yz',
  ],
  ['a key called __proto__', { key: '__proto__' }, 'API key not found, or duplicate __****__'],
]

const oddHeaders: ContractCase[] = HEADERS.map(([what, options, message]) => ({
  name: `${what}: 404 request_error, its message masked`,
  run: async (api) =>
    void (await api.refused('GET', '/tables', options, { ...REQUEST_ERROR, message })),
}))

const keyVariants: ContractCase[] = [
  {
    name: 'a known key with a character more or less, or in another case, is unknown',
    run: async (api) => {
      const { key } = api.server
      for (const near of [`${key}x`, key.slice(0, -1), key.toUpperCase(), `x${key}`]) {
        if (near === key) continue
        await api.refused('GET', '/tables', { key: near }, REQUEST_ERROR)
      }
    },
  },
  {
    name: 'the scheme Bearer has any letter case',
    run: async (api) => {
      const headers = { authorization: `bEARER ${api.server.key}` }
      await api.ok('GET', '/tables', { key: null, headers })
    },
  },
  {
    name: 'the message never shows seven characters of the key in a row',
    run: async (api) => {
      const message = await api.refused('GET', '/tables', { key: UNKNOWN_KEY }, REQUEST_ERROR)
      for (let at = 0; at + 7 <= UNKNOWN_KEY.length; at++) {
        assert.ok(!message.includes(UNKNOWN_KEY.slice(at, at + 7)))
      }
    },
  },
]

/** Requests to a table of another team. Each must answer as if the table did not exist. */
const FOREIGN: readonly [
  method: string,
  path: (table: string, rowId: string) => string,
  body?: unknown,
][] = [
  ['PUT', (table) => table, []],
  ['GET', (table) => `${table}/rows`],
  ['POST', (table) => `${table}/rows`, [{ n: 1 }]],
  ['GET', (table, row) => `${table}/rows/${row}`],
  ['PATCH', (table, row) => `${table}/rows/${row}`, { n: 2 }],
  ['DELETE', (table, row) => `${table}/rows/${row}`],
]

const isolation: ContractCase[] = FOREIGN.map(([method, pathOf, body]) => ({
  name: `another team's table answers exactly like one that does not exist: ${method} ${pathOf('/tables/{tableID}', '{rowID}')}`,
  run: async (api) => {
    const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
    const [rowId = ''] = table.rowIds
    const before = await api.textOf(table)
    const key = api.server.otherKey
    const foreign = await api.send(method, pathOf(table.path, rowId), { key, body })
    const missing = await api.send(method, pathOf(`/tables/${NO_ID}`, rowId), { key, body })
    expectRefusal(foreign, TABLE_NOT_FOUND)
    assert.equal(foreign.status, missing.status)
    assert.equal(foreign.text.replace(table.id, NO_ID), missing.text)
    assert.equal(await api.textOf(table), before)
  },
}))

async function tableNames(api: Api, key: string): Promise<readonly string[]> {
  const { json } = await api.ok('GET', '/tables', { key })
  return (json as { data: { name: string }[] }).data.map(({ name }) => name)
}

const teams: ContractCase[] = [
  {
    name: "a team's tables are listed to it alone",
    run: async (api) => {
      const name = uniqueName('mine')
      await api.createTable({ name })
      assert.ok((await tableNames(api, api.server.key)).includes(name))
      assert.ok(!(await tableNames(api, api.server.otherKey)).includes(name))
    },
  },
  {
    name: 'HEAD of the rows of another team is 404 without an ETag',
    run: async (api) => {
      const table = await api.createTable()
      const reply = await api.send('HEAD', table.rows, { key: api.server.otherKey })
      assert.deepEqual([reply.status, reply.headers.get('etag')], [404, null])
    },
  },
  {
    name: 'Stashes are private to the team: the same ID is another stash for another team',
    run: async (api) => {
      const stashId = uniqueName('s')
      const key = api.server.otherKey
      await api.putChunk(stashId, '0', [{ a: 1 }])
      const body = { name: uniqueName('t'), rows: { $stashID: stashId } }
      await api.refused('POST', '/tables', { body, key }, STASH_NOT_FOUND)
      await api.ok('DELETE', `/stashes/${stashId}`, { key })
      const table = await api.createTable({ rows: { $stashID: stashId } })
      assert.deepEqual(await api.cellsOf(table), [{ a: 1 }])
    },
  },
]

export const authCases: readonly ContractCase[] = [
  ...unknownKey,
  ...oddHeaders,
  ...keyVariants,
  ...isolation,
  ...teams,
]
