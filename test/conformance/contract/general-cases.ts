// Section 1: paths, order of refusals, headers, closed objects.
import assert from 'node:assert/strict'
import {
  type Api,
  type ContractCase,
  CSV,
  etagOf,
  invalidValue,
  METHOD,
  PRECONDITION,
  REQUEST_ERROR,
  ROW_NOT_FOUND,
  rowIdsOf,
  type SendOptions,
  TABLE_NOT_FOUND,
  tableAt,
  UNSUPPORTED,
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
    name: 'unknown headers are ignored',
    run: async (api) => {
      const headers = {
        'x-unknown': '1',
        'if-none-match': '"1"',
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

type Refusal = Readonly<{ status: number; type: string; message?: string | RegExp }>

/** One request that breaks two rules, and the rule that wins. */
const ORDER: readonly [rule: string, send: readonly [string, string, SendOptions?], Refusal][] = [
  [
    'a wrong key wins over an unknown path',
    ['GET', '/nowhere', { key: 'wrong-key' }],
    REQUEST_ERROR,
  ],
  [
    'a wrong key wins over a bad stash ID',
    ['PUT', '/stashes/_x/0', { key: 'wrong-key' }],
    REQUEST_ERROR,
  ],
  [
    'a wrong key wins over another method',
    ['PATCH', '/tables', { key: 'wrong-key' }],
    REQUEST_ERROR,
  ],
  [
    'a wrong key wins over a bad query',
    ['GET', `${NOWHERE.rows}?limit=0`, { key: 'wrong-key' }],
    REQUEST_ERROR,
  ],
  [
    'a wrong key wins over a broken body',
    ['POST', '/tables', { key: 'wrong-key', body: '{' }],
    REQUEST_ERROR,
  ],
  [
    'a wrong key wins over a body type',
    ['POST', '/tables', { key: 'wrong-key', body: 'x', type: 'text/plain' }],
    REQUEST_ERROR,
  ],
  ['an unknown path wins over the method', ['PATCH', '/nowhere', { body: {} }], REQUEST_ERROR],
  ['a bad path parameter wins over the method', ['GET', '/stashes/_x/0'], VALIDATION],
  [
    'a bad path parameter wins over the body',
    ['PUT', '/stashes/_x/0', { body: '{', type: 'text/plain' }],
    VALIDATION,
  ],
  ['the method wins over a bad query', ['DELETE', `${NOWHERE.rows}?limit=0`], METHOD],
  ['a bad query wins over an unknown table', ['GET', `${NOWHERE.rows}?limit=0`], VALIDATION],
  [
    'a bad onSchemaError wins over an unknown table',
    ['POST', `${NOWHERE.rows}?onSchemaError=x`, { body: [] }],
    VALIDATION,
  ],
  [
    'a bad If-Match wins over an unknown table (overwrite)',
    ['PUT', NOWHERE.path, { body: [], headers: { 'if-match': '*' } }],
    VALIDATION,
  ],
  [
    'a bad If-Match wins over an unknown table (update)',
    ['PATCH', `${NOWHERE.rows}/${NO_ROW}`, { body: {}, headers: { 'if-match': '*' } }],
    VALIDATION,
  ],
  [
    'a bad x-glide-asynchronous wins over an unknown table',
    ['PUT', NOWHERE.path, { body: [], headers: { 'x-glide-asynchronous': '1' } }],
    VALIDATION,
  ],
  [
    'a bad Idempotency-Key wins over an unknown table',
    ['POST', NOWHERE.rows, { body: [], headers: { 'idempotency-key': 'x'.repeat(65) } }],
    VALIDATION,
  ],
  [
    'an unknown table wins over a broken body',
    ['POST', NOWHERE.rows, { body: '[{' }],
    TABLE_NOT_FOUND,
  ],
  ['an unknown table wins over a missing body', ['PUT', NOWHERE.path], TABLE_NOT_FOUND],
  [
    'an unknown table wins over a body type',
    ['POST', NOWHERE.rows, { body: 'x', type: 'text/plain' }],
    TABLE_NOT_FOUND,
  ],
  [
    'an unknown table wins over a body that is too large',
    ['POST', NOWHERE.rows, { body: 'x'.repeat(17 << 20) }],
    TABLE_NOT_FOUND,
  ],
  [
    'an unknown table wins over an unknown row',
    ['GET', `${NOWHERE.rows}/${NO_ROW}`],
    TABLE_NOT_FOUND,
  ],
]

const order: ContractCase[] = ORDER.map(([rule, [method, path, options = {}], refusal]) => ({
  name: `Order of refusals: ${rule}`,
  run: async (api) => void (await api.refused(method, path, options, refusal)),
}))

/** As above, for rules that need a table of one number column. */
const ORDER_IN_TABLE: readonly [
  rule: string,
  send: (rows: string, rowId: string, table: string) => readonly [string, string, SendOptions],
  Refusal,
][] = [
  [
    'a broken body wins over an unknown row',
    (rows) => ['PATCH', `${rows}/${NO_ROW}`, { body: '{' }],
    VALIDATION,
  ],
  [
    'a body type wins over an unknown row',
    (rows) => ['PATCH', `${rows}/${NO_ROW}`, { body: 'n\n1', type: CSV }],
    UNSUPPORTED,
  ],
  [
    'an unknown row wins over If-Match',
    (rows) => ['PATCH', `${rows}/${NO_ROW}`, { body: { n: 2 }, headers: { 'if-match': '"0"' } }],
    ROW_NOT_FOUND,
  ],
  [
    'an unknown row wins over a value that does not fit',
    (rows) => ['PATCH', `${rows}/${NO_ROW}`, { body: { n: 'x' } }],
    ROW_NOT_FOUND,
  ],
  [
    'a broken body wins over If-Match (update)',
    (rows, row) => ['PATCH', `${rows}/${row}`, { body: '{"n":', headers: { 'if-match': '"0"' } }],
    VALIDATION,
  ],
  [
    'If-Match wins over a value that does not fit (update)',
    (rows, row) => [
      'PATCH',
      `${rows}/${row}`,
      { body: { n: 'x' }, headers: { 'if-match': '"0"' } },
    ],
    PRECONDITION,
  ],
  [
    'a broken body wins over If-Match (overwrite)',
    (_, __, table) => ['PUT', table, { body: '[{"n":', headers: { 'if-match': '"0"' } }],
    VALIDATION,
  ],
  [
    'If-Match wins over a value that does not fit (overwrite)',
    (_, __, table) => ['PUT', table, { body: [{ n: 'x' }], headers: { 'if-match': '"0"' } }],
    PRECONDITION,
  ],
  [
    'a broken row wins over an earlier value that does not fit',
    (rows) => ['POST', rows, { body: '[{"n":"x"},{"n":]' }],
    VALIDATION,
  ],
  [
    'a row that is no object wins over an earlier unknown column',
    (rows) => ['POST', rows, { body: '[{"m":1},5]' }],
    VALIDATION,
  ],
]

const orderInTable: ContractCase[] = ORDER_IN_TABLE.map(([rule, sending, refusal]) => ({
  name: `Order of refusals: ${rule}`,
  run: async (api) => {
    const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
    const before = await api.textOf(table)
    const [method, path, options] = sending(table.rows, table.rowIds[0] ?? '', table.path)
    await api.refused(method, path, options, refusal)
    assert.equal(await api.textOf(table), before)
  },
}))

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
  ...order,
  ...orderInTable,
  ...closedObjects,
  ...others,
]
