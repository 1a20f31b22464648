// CONTRACT.md, section 5.
import assert from 'node:assert/strict'
import {
  type Api,
  type ContractCase,
  CSV,
  invalidValue,
  type Reply,
  type SendOptions,
  TABLE_NOT_FOUND,
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

const names: ContractCase[] = ['', 'x'.repeat(1_001)].map((name) => ({
  name: `a name of ${name.length} characters is 400, of the query and of the body`,
  run: async (api) => {
    const inQuery = { ...VALIDATION, message: /^Invalid request query: name / }
    await api.refused('POST', `/tables?name=${name}`, { body: [] }, inQuery)
    const inBody = { ...VALIDATION, message: /^Invalid request body: name / }
    await api.refused('POST', '/tables', { body: { name, rows: [] } }, inBody)
  },
}))

const WITHOUT_ROWS: readonly (readonly [what: string, options: SendOptions])[] = [
  ['an empty array', { body: [] }],
  ['an empty array with white space', { body: ' [ \n ] ' }],
  ['an object whose rows are empty', { body: { rows: [] } }],
  ['a schema and rows that are empty', { body: { schema: { columns: [] }, rows: [] } }],
  ['a CSV header alone', { body: 'n', type: CSV }],
  ['a CSV header line alone', { body: '\ufeffn\r\n', type: CSV }],
  ['a TSV header alone', { body: 'n\tm\n', type: TSV }],
]

const stashInQuery: ContractCase[] = [
  ...WITHOUT_ROWS.map(([what, options]) => ({
    name: `stashID in the query of an overwrite: 400 that names $stashID if it has no rows: ${what}`,
    run: async (api: Api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      const stashId = uniqueName('s')
      await api.putChunk(stashId, '0', [{ n: 2 }])
      const wanted = { ...VALIDATION, message: /^Invalid request query: stashID .*"\$stashID"/ }
      for (const query of [`stashID=${stashId}`, 'a=b&stashID=']) {
        await api.refused('PUT', `${table.path}?${query}`, options, wanted)
      }
      const headers = { 'if-match': '"0"' }
      await api.refused('PUT', `${table.path}?stashID=x`, { ...options, headers }, wanted)
      assert.deepEqual(await api.cellsOf(table), [{ n: 1 }])
      assert.equal(await api.versionOf(table), 1)
      await api.ok('PUT', `${table.path}?stash=${stashId}`, options)
      assert.deepEqual(await api.cellsOf(table), [])
    },
  })),
  {
    name: 'stashID in the query is ignored where it does no harm',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      const stashId = uniqueName('s')
      await api.putChunk(stashId, '0', [{ n: 2 }])
      const query = `?stashID=${stashId}`
      const written: readonly (readonly [SendOptions, object[]])[] = [
        [{ body: [{ n: 3 }] }, [{ n: 3 }]],
        [{ body: [{}] }, [{}]],
        [{ body: { rows: [{ n: 4 }] } }, [{ n: 4 }]],
        [{ body: 'n\n5', type: CSV }, [{ n: 5 }]],
        [{ body: { $stashID: stashId } }, [{ n: 2 }]],
        [{ body: { rows: { $stashID: stashId } } }, [{ n: 2 }]],
      ]
      for (const [options, cells] of written) {
        await api.ok('PUT', table.path + query, options)
        assert.deepEqual(await api.cellsOf(table), cells)
      }
      await api.ok('POST', table.rows + query, { body: [] })
      await api.ok('POST', `/tables${query}`, { body: { name: uniqueName('t'), rows: [] } })
      await api.refused(
        'PUT',
        `/tables/${uniqueName('none')}${query}`,
        { body: [] },
        TABLE_NOT_FOUND,
      )
      for (const body of ['[{"n":', '[1]', '[{"m":1}]']) {
        const reply = await api.send('PUT', table.path + query, { body })
        assert.ok(reply.status >= 400 && !reply.text.includes('stashID'), reply.text)
      }
    },
  },
]

export const tableCases: readonly ContractCase[] = [
  ...names,
  ...stashInQuery,
  ...listing,
  ...creation,
  ...apps,
  ...asynchronous,
]
