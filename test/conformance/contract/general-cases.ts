// CONTRACT.md, section 1: paths, order of refusals, headers, closed objects.
import assert from 'node:assert/strict'
import {
  type Api,
  type ContractCase,
  etagOf,
  invalidValue,
  REQUEST_ERROR,
  rowIdsOf,
  TABLE_NOT_FOUND,
  tableAt,
  uniqueName,
  VALIDATION,
} from './api.js'

const NOWHERE = tableAt('00000000-0000-4000-8000-000000000000')
const NO_ROW = 'AAAAAAAAAAAAAAAAAAAAAA'

const trailingSlash: ContractCase[] = [
  ['GET /tables', async (api: Api) => api.ok('GET', '/tables/')],
  [
    'POST /tables',
    async (api: Api) => api.ok('POST', '/tables/', { body: { name: uniqueName('t'), rows: [] } }),
  ],
  [
    'PUT /tables/{tableID}',
    async (api: Api) => api.ok('PUT', `${(await api.createTable()).path}/`, { body: [] }),
  ],
  [
    'GET /tables/{tableID}/rows',
    async (api: Api) => api.ok('GET', `${(await api.createTable()).rows}/?limit=1`),
  ],
  [
    'HEAD /tables/{tableID}/rows',
    async (api: Api) => api.ok('HEAD', `${(await api.createTable()).rows}/`),
  ],
  [
    'POST /tables/{tableID}/rows',
    async (api: Api) => api.ok('POST', `${(await api.createTable()).rows}/`, { body: [] }),
  ],
  [
    'DELETE /tables/{tableID}/rows/{rowID}',
    async (api: Api) => api.ok('DELETE', `${(await api.createTable()).rows}/${NO_ROW}/`),
  ],
  [
    'PUT /stashes/{stashID}/{serial}',
    async (api: Api) => api.ok('PUT', `/stashes/${uniqueName('s')}/0/`, { body: [] }),
  ],
  [
    'DELETE /stashes/{stashID}',
    async (api: Api) => api.ok('DELETE', `/stashes/${uniqueName('s')}/`),
  ],
].map(([path, send]) => ({
  name: `a trailing slash is accepted: ${path as string}`,
  run: async (api) => void (await (send as (api: Api) => Promise<unknown>)(api)),
}))

const UNKNOWN = '?utm=1&limit[]=x&schema=1&__proto__=2&%ZZ=3&name2'

const ignored: ContractCase[] = [
  {
    name: 'unknown query parameters are ignored, also broken ones',
    run: async (api) => {
      const table = await api.createTyped({ a: 'number' }, [{ a: 1 }])
      await api.ok('GET', `/tables${UNKNOWN}`)
      await api.ok('GET', `${table.rows}${UNKNOWN}`)
      await api.ok('HEAD', `${table.rows}${UNKNOWN}`)
      await api.ok('GET', `${table.rows}/${table.rowIds[0]}${UNKNOWN}`)
      await api.ok('POST', `${table.rows}${UNKNOWN}`, { body: [{ a: 2 }] })
      await api.ok('PATCH', `${table.rows}/${table.rowIds[0]}${UNKNOWN}`, { body: { a: 3 } })
      await api.ok('DELETE', `${table.rows}/${table.rowIds[0]}${UNKNOWN}`)
      await api.ok('PUT', `${table.path}${UNKNOWN}`, { body: [] })
      await api.ok('PUT', `/stashes/${uniqueName('s')}/0${UNKNOWN}`, { body: [] })
    },
  },
  {
    name: 'unknown query parameters of routes that are not published are refused, with what is meant',
    run: async (api) => {
      const { path } = await api.createTyped({ a: 'number' }, [{ a: 1 }])
      const wrong = [
        ['GET', `${path}/count?wher={}`, "'wher' is not a parameter; did you mean 'where'?"],
        ['GET', `${path}/count?at=1`, "'at' is not a parameter; it takes where, search"],
        ['GET', `${path}/groups?by=a&sums=a`, "did you mean 'sum'?"],
        ['GET', `${path}/export?sorted=a`, "did you mean 'sort'?"],
        ['GET', `${path}/export?orderBy=a`, "'orderBy' is not a parameter"],
        ['GET', `${path}/changes?from=1`, 'it takes since, limit'],
        ['POST', `${path}/merge?keys=a`, "did you mean 'key'?"],
        ['POST', `${path}/merge?csv.delimeter=;`, "did you mean 'csv.delimiter'?"],
        ['DELETE', `${path}?validate=only`, "'validate' is not a parameter; it takes none"],
      ] as const
      for (const [method, target, message] of wrong) {
        const text = await api.refused(method, encodeURI(target), {}, VALIDATION)
        assert.ok(text.includes(message), text)
      }
    },
  },
  {
    name: 'a refusal names the parameter as it was given',
    run: async (api) => {
      const { path, rows } = await api.createTyped({ a: 'number', orderBy: 'duration' })
      const wrong = [
        [
          `${rows}?sort=a:desc`,
          'query: sort: the table has no column "a:desc"; it has "a", "orderBy"',
        ],
        [`${rows}?sort=orderBy`, 'query: sort: column "orderBy": durations have no order'],
        [`${rows}?sort=a,a`, 'query: sort names the column "a" twice'],
        [`${rows}?sort=[1]`, 'query: A column of sort must be an object'],
        [`${path}/export?sort=a&at=1`, 'query: at cannot be combined with sort'],
      ] as const
      for (const [target, message] of wrong) {
        const text = await api.refused('GET', encodeURI(target), {}, VALIDATION)
        assert.ok(text.includes(message), text)
      }
    },
  },
  {
    name: 'unknown headers are ignored',
    run: async (api) => {
      const headers = {
        'x-unknown': '1',
        'if-unmodified-since': 'Thu, 01 Jan 1970 00:00:00 GMT',
        accept: 'text/html',
        range: 'bytes=0-1',
      }
      const table = await api.createTable()
      await api.ok('GET', '/tables', { headers })
      await api.ok('GET', table.rows, { headers })
      await api.ok('POST', table.rows, { headers, body: [] })
    },
  },
  {
    name: 'Clients send Content-Type JSON with no body on GET, HEAD and DELETE: not an error',
    run: async (api) => {
      const table = await api.createTyped({ a: 'number' }, [{ a: 1 }])
      const type = 'application/json'
      await api.ok('GET', '/tables', { type })
      await api.ok('GET', table.rows, { type })
      await api.ok('HEAD', table.rows, { type })
      await api.ok('GET', `${table.rows}/${table.rowIds[0]}`, { type })
      await api.ok('DELETE', `${table.rows}/${table.rowIds[0]}`, { type })
      await api.ok('DELETE', `/stashes/${uniqueName('s')}`, { type })
    },
  },
  {
    name: 'Success and error bodies are JSON with charset utf-8',
    run: async (api) => {
      const right = await api.send('GET', '/tables')
      const wrong = await api.send('GET', NOWHERE.rows)
      assert.equal(right.headers.get('content-type'), 'application/json; charset=utf-8')
      assert.equal(wrong.headers.get('content-type'), 'application/json; charset=utf-8')
    },
  },
  {
    name: 'text outside of ASCII comes back as it was sent',
    run: async (api) => {
      const table = await api.createTyped({ 'größe 📏': 'string' }, [
        { 'größe 📏': '日本語 👩‍👩‍👧' },
      ])
      assert.deepEqual(await api.cellsOf(table), [{ 'größe 📏': '日本語 👩‍👩‍👧' }])
    },
  },
]

const CLOSED: readonly [
  what: string,
  method: string,
  path: 'tables' | 'table' | 'rows',
  body: object,
][] = [
  ['create', 'POST', 'tables', { name: 'x', rows: [], colour: 1 }],
  [
    'create with the name of a prototype member',
    'POST',
    'tables',
    { name: 'x', rows: [], constructor: 1 },
  ],
  ['overwrite', 'PUT', 'table', { rows: [], colour: 1 }],
  ['overwrite with a name', 'PUT', 'table', { rows: [], name: 'x' }],
  ['overwrite with appsToLink', 'PUT', 'table', { rows: [], appsToLink: [] }],
  ['add rows', 'POST', 'rows', { rows: [] }],
  ['add rows with a stash and more', 'POST', 'rows', { $stashID: 's', rows: [] }],
  ['overwrite with a stash and more', 'PUT', 'table', { $stashID: 's', schema: { columns: [] } }],
  [
    'a stash reference in rows',
    'POST',
    'tables',
    { name: 'x', rows: { $stashID: 's', colour: 1 } },
  ],
  ['a schema', 'PUT', 'table', { schema: { columns: [], colour: 1 }, rows: [] }],
  [
    'a column',
    'PUT',
    'table',
    { schema: { columns: [{ id: 'a', type: 'string', colour: 1 }] }, rows: [] },
  ],
  [
    'a column type',
    'PUT',
    'table',
    { schema: { columns: [{ id: 'a', type: { kind: 'string', colour: 1 } }] }, rows: [] },
  ],
  [
    'the items of an array type',
    'PUT',
    'table',
    {
      schema: {
        columns: [{ id: 'a', type: { kind: 'array', items: { kind: 'string', colour: 1 } } }],
      },
      rows: [],
    },
  ],
  [
    'a scalar type with items',
    'PUT',
    'table',
    {
      schema: { columns: [{ id: 'a', type: { kind: 'string', items: { kind: 'string' } } }] },
      rows: [],
    },
  ],
]

const closedObjects: ContractCase[] = CLOSED.map(([what, method, at, body]) => ({
  name: `Request objects are closed: ${what}`,
  run: async (api) => {
    const table = await api.createTable()
    const path = at === 'tables' ? '/tables' : at === 'table' ? table.path : table.rows
    await api.refused(method, path, { body }, { ...VALIDATION, message: /^Invalid request body: / })
  },
}))

const others: ContractCase[] = [
  {
    name: 'an invalid stash ID with no body at all answers with the stash-ID message',
    run: async (api) =>
      void (await api.refused(
        'PUT',
        '/stashes/-x/0',
        {},
        { ...VALIDATION, message: /Stash ID must be/ },
      )),
  },
  {
    name: 'Paths carry no version and no /api prefix',
    run: async (api) => {
      for (const path of ['/v2/tables', '/api/tables', '/2/tables', '/']) {
        await api.refused('GET', path, {}, REQUEST_ERROR)
      }
    },
  },
  {
    name: 'HEAD answers as GET does, without its body',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      const row = `${table.rows}/${table.rowIds[0]}`
      assert.equal((await api.ok('HEAD', '/tables')).text, '')
      assert.equal(etagOf(await api.ok('HEAD', row)), etagOf(await api.ok('GET', row)))
      assert.equal((await api.send('HEAD', `${table.rows}/${NO_ROW}`)).status, 404)
    },
  },
  {
    name: 'a refused operation leaves its connection usable for the next',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' })
      for (let i = 0; i < 5; i++) {
        await api.refused('POST', table.rows, { body: [{ n: 'x' }] }, invalidValue('n'))
        await api.refused('POST', NOWHERE.rows, { body: [{ n: 1 }] }, TABLE_NOT_FOUND)
        const added = await api.ok('POST', table.rows, { body: [{ n: i }] })
        assert.equal(rowIdsOf(added).length, 1)
      }
    },
  },
]

export const generalCases: readonly ContractCase[] = [
  ...trailingSlash,
  ...ignored,
  ...closedObjects,
  ...others,
]
