// Section 5.
import assert from 'node:assert/strict'
import {
  type Api,
  type ContractCase,
  CSV,
  etagOf,
  invalidValue,
  PRECONDITION,
  RESERVED,
  type Reply,
  ROW_NOT_FOUND,
  rowIdsOf,
  STASH_NOT_FOUND,
  type TableAt,
  TSV,
  tableAt,
  uniqueName,
  unknownColumn,
  VALIDATION,
} from './api.js'

function createdTable(reply: Reply): TableAt {
  const { data } = reply.json as { data: { tableID: string; rowIDs: string[] } }
  return tableAt(data.tableID, data.rowIDs)
}

const listing: ContractCase[] = [
  {
    name: 'GET /tables: closed, complete, read-your-writes',
    run: async (api) => {
      const names = Array.from({ length: 30 }, () => uniqueName('many'))
      for (const name of names) {
        await api.createTable({ name })
        assert.equal(await api.tableCount(name), 1)
      }
      for (const name of names) assert.equal(await api.tableCount(name), 1)
    },
  },
  {
    name: 'GET /tables: order of creation',
    run: async (api) => {
      const prefix = uniqueName('order')
      for (const at of [3, 1, 2, 0]) await api.createTable({ name: `${prefix}-${at}` })
      const { json } = await api.ok('GET', '/tables')
      const { data } = json as { data: { name: string }[] }
      const found = data.map(({ name }) => name).filter((name) => name.startsWith(prefix))
      assert.deepEqual(
        found,
        [3, 1, 2, 0].map((at) => `${prefix}-${at}`),
      )
    },
  },
  {
    name: 'The same name twice makes two tables',
    run: async (api) => {
      const name = uniqueName('twin')
      const one = await api.createTable({ name })
      const two = await api.createTable({ name })
      assert.notEqual(one.id, two.id)
      assert.equal(await api.tableCount(name), 2)
    },
  },
  {
    name: 'a name of any text is listed as it was given',
    run: async (api) => {
      for (const name of ['Größe 📏 "x" \\ \n', '__proto__', ' spaces ', '0', 'x'.repeat(200)]) {
        const unique = name + uniqueName('')
        await api.createTable({ name: unique })
        assert.equal(await api.tableCount(unique), 1)
      }
    },
  },
]

const creation: ContractCase[] = [
  {
    name: 'POST /tables → 201 with row IDs in input order',
    run: async (api) => {
      const table = await api.createTable({ rows: [{ a: 1 }, { a: 2 }, { a: 3 }] })
      const rows = await api.rowsOf(table)
      assert.deepEqual(
        rows.map(({ $rowID }) => $rowID),
        table.rowIds,
      )
      assert.deepEqual(
        rows.map(({ a }) => a),
        [1, 2, 3],
      )
      assert.equal(new Set(table.rowIds).size, 3)
    },
  },
  ...(
    [
      ['a bare array of rows', '[{"a":1},{"a":2}]', 'application/json'],
      ['CSV', 'a\n1\n2', CSV],
      ['TSV', 'a\n1\n2', TSV],
    ] as const
  ).map(([what, body, type]) => ({
    name: `create from ${what}: the name comes from ?name=`,
    run: async (api: Api) => {
      const name = `${uniqueName('q')} & ü+x`
      const query = new URLSearchParams({ name })
      const table = createdTable(await api.ok('POST', `/tables?${query}`, { body, type }))
      assert.equal(await api.tableCount(name), 1)
      assert.deepEqual(await api.cellsOf(table), [{ a: 1 }, { a: 2 }])
      await api.refused('POST', '/tables', { body, type }, VALIDATION)
    },
  })),
  {
    name: 'create from { "$stashID" } in rows',
    run: async (api) => {
      const stashId = uniqueName('s')
      await api.putChunk(stashId, '0', [{ a: 1 }])
      const table = await api.createTable({ rows: { $stashID: stashId } })
      assert.deepEqual(await api.cellsOf(table), [{ a: 1 }])
      assert.deepEqual(
        (await api.rowsOf(table)).map(({ $rowID }) => $rowID),
        table.rowIds,
      )
    },
  },
  {
    name: 'A name in both query and body: 400',
    run: async (api) => {
      const name = uniqueName('both')
      await api.refused('POST', `/tables?name=${name}`, { body: { name, rows: [] } }, VALIDATION)
      assert.equal(await api.tableCount(name), 0)
    },
  },
  {
    name: 'a name given twice in the query: 400',
    run: async (api) =>
      void (await api.refused('POST', '/tables?name=a&name=b', { body: [] }, VALIDATION)),
  },
  ...(
    [
      ['no name', { rows: [] }],
      ['no rows', { name: 'x' }],
      ['neither', {}],
      ['a name that is no string', { name: 5, rows: [] }],
      ['a name that is null', { name: null, rows: [] }],
      ['a name that is not well-formed', { name: '\ud800', rows: [] }],
      ['rows that are null', { name: 'x', rows: null }],
      ['rows that are a text', { name: 'x', rows: 'a' }],
      ['rows that are an object', { name: 'x', rows: {} }],
      ['a bare stash reference', { $stashID: 's' }],
      ['a stash ID that is no string', { name: 'x', rows: { $stashID: 5 } }],
      ['a stash ID against the rule', { name: 'x', rows: { $stashID: '_x' } }],
      ['appsToLink that is no array', { name: 'x', rows: [], appsToLink: 'a' }],
      ['appsToLink of something else', { name: 'x', rows: [], appsToLink: [5] }],
      ['a schema that is null', { name: 'x', rows: [], schema: null }],
    ] as const
  ).map(([what, body]) => ({
    name: `create is refused with 400: ${what}`,
    run: async (api: Api) =>
      void (await api.refused(
        'POST',
        '/tables',
        { body },
        { ...VALIDATION, message: /^Invalid request/ },
      )),
  })),
  {
    name: 'On any error no table is left',
    run: async (api) => {
      const name = uniqueName('never')
      const schema = { columns: [{ id: 'n', type: 'number' }] }
      const bodies = [
        { name, schema, rows: [{ n: 'x' }] },
        { name, schema, rows: [{ m: 1 }] },
        { name, schema, rows: [{ $stashID: 1 }] },
        { name, schema, rows: { $stashID: uniqueName('nothing') } },
        { name, schema: { columns: [{ id: 'n', type: 'json' }] }, rows: [] },
      ]
      for (const body of bodies)
        assert.ok((await api.send('POST', '/tables', { body })).status >= 400)
      await api.refused(
        'POST',
        `/tables?name=${name}`,
        { body: 'a,a\n', type: CSV },
        { status: 422, type: 'column_id_not_unique' },
      )
      await api.refused('POST', `/tables?name=${name}`, { body: 'a\n1,2', type: CSV }, VALIDATION)
      assert.equal(await api.tableCount(name), 0)
    },
  },
  {
    name: 'create with a schema checks the rows of a stash against it',
    run: async (api) => {
      const stashId = uniqueName('s')
      const name = uniqueName('t')
      await api.putChunk(stashId, '0', [{ n: 1 }, { n: 'x' }])
      const schema = { columns: [{ id: 'n', type: 'number' }] }
      const body = { name, schema, rows: { $stashID: stashId } }
      await api.refused('POST', '/tables', { body }, invalidValue('n'))
      assert.equal(await api.tableCount(name), 0)
    },
  },
]

const apps: ContractCase[] = [
  {
    name: 'linkedAppIDs only when appsToLink was given',
    run: async (api) => {
      const without = await api.ok('POST', '/tables', { body: { name: 'x', rows: [] } })
      assert.ok(!without.text.includes('linkedAppIDs'))
      const body = { name: 'x', rows: [], appsToLink: [] }
      const empty = await api.ok('POST', '/tables', { body })
      assert.deepEqual((empty.json as { data: object }).data, {
        tableID: createdTable(empty).id,
        rowIDs: [],
        linkedAppIDs: [],
      })
    },
  },
  ...(
    [
      ['in the body', '/tables', { name: 'x', rows: [], appsToLink: ['app-a', 'app-b'] }],
      [
        'repeated in the query',
        '/tables?appsToLink=app-a&appsToLink=app-b',
        { name: 'x', rows: [] },
      ],
      ['comma-separated in the query', '/tables?appsToLink=app-a,app-b', { name: 'x', rows: [] }],
      ['in the query of a bare array', '/tables?name=x&appsToLink=app-a,app-b', []],
    ] as const
  ).map(([what, path, body]) => ({
    name: `appsToLink ${what}: linkedAppIDs lists those apps that exist`,
    run: async (api: Api) => {
      const { json } = await api.ok('POST', path, { body })
      const { linkedAppIDs } = (json as { data: { linkedAppIDs: string[] } }).data
      assert.ok(linkedAppIDs.every((appId) => ['app-a', 'app-b'].includes(appId)))
      assert.equal(new Set(linkedAppIDs).size, linkedAppIDs.length)
    },
  })),
]

const asynchronous: ContractCase[] = [
  ...['true', 'false'].map((value) => ({
    name: `x-glide-asynchronous: ${value}: 201 and 200 stay legal`,
    run: async (api: Api) => {
      const headers = { 'x-glide-asynchronous': value }
      const body = { name: uniqueName('t'), rows: [{ a: 1 }] }
      const created = await api.ok('POST', '/tables', { body, headers })
      await api.ok('PUT', createdTable(created).path, { body: [{ a: 2 }], headers })
    },
  })),
  ...['TRUE', '1', '', 'yes', 'true, true'].map((value) => ({
    name: `x-glide-asynchronous: '${value}' is 400`,
    run: async (api: Api) => {
      const headers = { 'x-glide-asynchronous': value }
      const wanted = { ...VALIDATION, message: /^Invalid request headers: / }
      await api.refused('POST', '/tables', { body: { name: 'x', rows: [] }, headers }, wanted)
    },
  })),
  ...['', 'Abort', 'drop', 'abort,abort', 'abort&onSchemaError=abort'].map((value) => ({
    name: `onSchemaError=${value} is 400 on create, overwrite, add rows and update row`,
    run: async (api: Api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      const query = `?onSchemaError=${value}`
      const wanted = { ...VALIDATION, message: /^Invalid request query: / }
      await api.refused('POST', `/tables${query}`, { body: { name: 'x', rows: [] } }, wanted)
      await api.refused('PUT', table.path + query, { body: [] }, wanted)
      await api.refused('POST', table.rows + query, { body: [] }, wanted)
      await api.refused('PATCH', `${table.rows}/${table.rowIds[0]}${query}`, { body: {} }, wanted)
      assert.deepEqual(await api.cellsOf(table), [{ n: 1 }])
    },
  })),
  {
    name: 'onSchemaError=abort is the default: nothing happens, the first misfit decides the 422',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      const query = '?onSchemaError=abort'
      await api.refused(
        'POST',
        table.rows + query,
        { body: [{ n: 2 }, { n: 'x' }] },
        invalidValue('n'),
      )
      await api.refused(
        'PUT',
        table.path + query,
        { body: [{ n: 2 }, { m: 1 }] },
        unknownColumn('m'),
      )
      await api.ok('POST', table.rows + query, { body: [{ n: 2 }] })
      assert.deepEqual(await api.cellsOf(table), [{ n: 1 }, { n: 2 }])
    },
  },
]

const overwriteForms: readonly [what: string, body: (stashId: string) => unknown, type?: string][] =
  [
    ['{ rows }', () => ({ rows: [{ n: 2 }, { n: 3 }] })],
    ['a bare array', () => [{ n: 2 }, { n: 3 }]],
    ['a bare { "$stashID" }', ($stashID) => ({ $stashID })],
    ['{ rows: { "$stashID" } }', ($stashID) => ({ rows: { $stashID } })],
    ['CSV', () => 'n\n2\n3', CSV],
    ['TSV', () => 'n\n2\n3', TSV],
    [
      '{ schema, rows }',
      () => ({ schema: { columns: [{ id: 'n', type: 'number' }] }, rows: [{ n: 2 }, { n: 3 }] }),
    ],
  ]

const overwrite: ContractCase[] = [
  ...overwriteForms.map(([what, bodyOf, type]) => ({
    name: `PUT /tables/{tableID} takes ${what} and replaces all rows`,
    run: async (api: Api) => {
      const stashId = uniqueName('s')
      await api.putChunk(stashId, '0', [{ n: 2 }, { n: 3 }])
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      const reply = await api.ok('PUT', table.path, {
        body: bodyOf(stashId),
        ...(type && { type }),
      })
      assert.deepEqual(
        (await api.rowsOf(table)).map(({ $rowID }) => $rowID),
        rowIdsOf(reply),
      )
      assert.deepEqual(await api.cellsOf(table), [{ n: 2 }, { n: 3 }])
    },
  })),
  {
    name: 'overwrite with schema replaces the schema too',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      const schema = { columns: [{ id: 's', type: 'string' }] }
      await api.ok('PUT', table.path, { body: { schema, rows: [{ s: 'x' }] } })
      assert.deepEqual(await api.cellsOf(table), [{ s: 'x' }])
      await api.refused('POST', table.rows, { body: [{ n: 1 }] }, unknownColumn('n'))
    },
  },
  {
    name: 'overwrite without schema: the old schema stays',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      await api.ok('PUT', table.path, { body: [] })
      await api.refused('POST', table.rows, { body: [{ m: 1 }] }, unknownColumn('m'))
      await api.ok('POST', table.rows, { body: [{ n: 2 }] })
    },
  },
  {
    name: 'overwrite with a schema that its rows do not fit changes nothing, the schema neither',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      const schema = { columns: [{ id: 'n', type: 'string' }] }
      await api.refused(
        'PUT',
        table.path,
        { body: { schema, rows: [{ n: 5 }] } },
        invalidValue('n'),
      )
      assert.deepEqual(await api.cellsOf(table), [{ n: 1 }])
      await api.refused('POST', table.rows, { body: [{ n: 'x' }] }, invalidValue('n'))
    },
  },
  ...(
    [
      ['a name in the body', { name: 'x', rows: [] }, VALIDATION],
      ['no rows', { schema: { columns: [] } }, VALIDATION],
      ['an empty object', {}, VALIDATION],
      ['a stash ID that is no string', { $stashID: null }, VALIDATION],
      ['a stash ID against the rule', { $stashID: '-x' }, VALIDATION],
      ['a stash that holds no chunk', { $stashID: 'nothing-in-here' }, STASH_NOT_FOUND],
      ['$stashID as a key of a row', [{ $stashID: 'x' }], RESERVED],
    ] as const
  ).map(([what, body, refusal]) => ({
    name: `overwrite is refused: ${what}`,
    run: async (api: Api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      await api.refused('PUT', table.path, { body }, refusal)
      assert.deepEqual(await api.cellsOf(table), [{ n: 1 }])
    },
  })),
  {
    name: "Old rows' IDs are gone after an overwrite: 404 row_not_found",
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      await api.ok('PUT', table.path, { body: [{ n: 1 }] })
      await api.refused('GET', `${table.rows}/${table.rowIds[0]}`, {}, ROW_NOT_FOUND)
      await api.refused(
        'PATCH',
        `${table.rows}/${table.rowIds[0]}`,
        { body: { n: 2 } },
        ROW_NOT_FOUND,
      )
      await api.ok('DELETE', `${table.rows}/${table.rowIds[0]}`)
      assert.deepEqual(await api.cellsOf(table), [{ n: 1 }])
    },
  },
  {
    name: 'overwrite with [] leaves an empty table',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      assert.deepEqual(rowIdsOf(await api.ok('PUT', table.path, { body: [] })), [])
      assert.deepEqual(await api.rowsOf(table), [])
    },
  },
  {
    name: 'overwrite is atomic: readers see all old rows or all new rows',
    run: async (api) => {
      const rowsOf = (n: number) => Array.from({ length: 300 }, () => ({ n }))
      const table = await api.createTyped({ n: 'number' }, rowsOf(0))
      const writes = (async () => {
        for (let n = 1; n <= 5; n++) await api.ok('PUT', table.path, { body: rowsOf(n) })
      })()
      for (let i = 0; i < 30; i++) {
        const { data } = await api.pageOf(table)
        assert.equal(data.length, 300)
        assert.equal(new Set(data.map(({ n }) => n)).size, 1)
      }
      await writes
    },
  },
  {
    name: 'of parallel overwrites with the same If-Match exactly one wins',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 0 }])
      const headers = { 'if-match': `"${await api.versionOf(table)}"` }
      const replies = await Promise.all(
        [1, 2, 3, 4].map((n) => api.send('PUT', table.path, { body: [{ n }], headers })),
      )
      const statuses = replies.map(({ status }) => status).toSorted()
      assert.deepEqual(statuses, [
        200,
        PRECONDITION.status,
        PRECONDITION.status,
        PRECONDITION.status,
      ])
      const won = replies.findIndex(({ status }) => status === 200) + 1
      assert.deepEqual(await api.cellsOf(table), [{ n: won }])
      assert.equal(etagOf(replies[won - 1] as Reply), `"${await api.versionOf(table)}"`)
    },
  },
]

export const tableCases: readonly ContractCase[] = [
  ...listing,
  ...creation,
  ...apps,
  ...asynchronous,
  ...overwrite,
]
