// CONTRACT.md, section 6: one row. Section 10: versions and If-Match.
import assert from 'node:assert/strict'
import {
  type Api,
  type ContractCase,
  etagOf,
  invalidValue,
  PRECONDITION,
  RESERVED,
  ROW_NOT_FOUND,
  type TableAt,
  unknownColumn,
  VALIDATION,
} from './api.js'

async function oneRow(api: Api): Promise<Readonly<{ table: TableAt; row: string }>> {
  const table = await api.createTyped({ a: 'number', b: 'string' }, [{ a: 1, b: 'x' }])
  return { table, row: `${table.rows}/${table.rowIds[0]}` }
}

const versionIn = (etag: string) => Number(etag.slice(1, -1))

const updates: ContractCase[] = [
  {
    name: 'GET row → { data: row } with $rowID, ETag = row version',
    run: async (api) => {
      const { table, row } = await oneRow(api)
      const reply = await api.ok('GET', row)
      assert.deepEqual(reply.json, { data: { $rowID: table.rowIds[0], a: 1, b: 'x' } })
      assert.equal(etagOf(reply), `"${await api.versionOf(table)}"`)
    },
  },
  {
    name: 'PATCH: absent columns stay, null clears, $rowID ignored',
    run: async (api) => {
      const { table, row } = await oneRow(api)
      assert.equal((await api.ok('PATCH', row, { body: { a: 2 } })).text, '{}')
      assert.deepEqual(await api.cellsOf(table), [{ a: 2, b: 'x' }])
      await api.ok('PATCH', row, { body: { b: null } })
      assert.deepEqual(await api.cellsOf(table), [{ a: 2 }])
      await api.ok('PATCH', row, { body: { $rowID: 'other', b: 'y' } })
      assert.deepEqual(await api.rowsOf(table), [{ $rowID: table.rowIds[0], a: 2, b: 'y' }])
    },
  },
  {
    name: 'PATCH keeps the tokens of what it changes and of what it does not',
    run: async (api) => {
      const table = await api.createTyped({ a: 'number', b: 'number' })
      await api.ok('POST', table.rows, { body: '[{"a":1.50,"b":9007199254740993}]' })
      const [row] = await api.rowsOf(table)
      await api.ok('PATCH', `${table.rows}/${row?.$rowID}`, { body: '{ "a" : 34.50 }' })
      assert.match(await api.textOf(table), /"a":34\.50/)
      assert.match(await api.textOf(table), /"b":9007199254740993/)
    },
  },
  {
    name: 'PATCH of an unknown column: 422 column_id_not_found, nothing changed',
    run: async (api) => {
      const { table, row } = await oneRow(api)
      await api.refused('PATCH', row, { body: { a: 2, foo: 1 } }, unknownColumn('foo'))
      assert.deepEqual(await api.cellsOf(table), [{ a: 1, b: 'x' }])
    },
  },
  {
    name: 'PATCH of a value that does not fit: 422 column_has_invalid_value, nothing changed',
    run: async (api) => {
      const { table, row } = await oneRow(api)
      await api.refused('PATCH', row, { body: { b: 'y', a: 'x' } }, invalidValue('a'))
      assert.deepEqual(await api.cellsOf(table), [{ a: 1, b: 'x' }])
    },
  },
  {
    name: 'PATCH with $stashID as a key: 422 column_id_reserved',
    run: async (api) => {
      const { row } = await oneRow(api)
      await api.refused('PATCH', row, { body: { $stashID: 's' } }, RESERVED)
    },
  },
  {
    name: 'PATCH of an unknown column with null is still unknown',
    run: async (api) => {
      const { row } = await oneRow(api)
      await api.refused('PATCH', row, { body: { foo: null } }, unknownColumn('foo'))
    },
  },
  {
    name: 'PATCH: ETag = new table version',
    run: async (api) => {
      const { table, row } = await oneRow(api)
      const before = await api.versionOf(table)
      const reply = await api.ok('PATCH', row, { body: { a: 2 } })
      assert.equal(versionIn(etagOf(reply)), before + 1)
      assert.equal(await api.versionOf(table), before + 1)
    },
  },
  {
    name: 'DELETE row → 200 {}, gone afterwards, and again 200 {}',
    run: async (api) => {
      const { table, row } = await oneRow(api)
      const before = await api.versionOf(table)
      assert.equal(versionIn(etagOf(await api.ok('DELETE', row))), before + 1)
      await api.refused('GET', row, {}, ROW_NOT_FOUND)
      await api.refused('PATCH', row, { body: {} }, ROW_NOT_FOUND)
      assert.equal(versionIn(etagOf(await api.ok('DELETE', row))), before + 1)
      assert.deepEqual(await api.rowsOf(table), [])
    },
  },
  {
    name: 'parallel updates of one row all go in, one after the other',
    run: async (api) => {
      const table = await api.createTyped({ a: 'number', b: 'number', c: 'number' }, [{}])
      const row = `${table.rows}/${table.rowIds[0]}`
      const changes = [{ a: 1 }, { b: 2 }, { c: 3 }]
      const replies = await Promise.all(changes.map((body) => api.ok('PATCH', row, { body })))
      assert.equal(new Set(replies.map(etagOf)).size, 3)
      assert.deepEqual(await api.cellsOf(table), [{ a: 1, b: 2, c: 3 }])
    },
  },
]

const IF_MATCH_REFUSED = [
  '*',
  'W/"1"',
  '1',
  '"1", "2"',
  '"1","2"',
  '""',
  '"a"',
  '"-1"',
  '"1.5"',
  "'1'",
  '" 1"',
  '"1"x',
  '"0x1"',
  '"١"',
]

const ifMatch: ContractCase[] = [
  ...IF_MATCH_REFUSED.filter((value) => /^[\x20-\x7e]*$/.test(value)).map((value) => ({
    name: `If-Match: ${value} is 400 on overwrite and update`,
    run: async (api: Api) => {
      const { table, row } = await oneRow(api)
      const headers = { 'if-match': value }
      const wanted = { ...VALIDATION, message: /^Invalid request headers: / }
      await api.refused('PUT', table.path, { body: [], headers }, wanted)
      await api.refused('PATCH', row, { body: { a: 2 }, headers }, wanted)
      assert.deepEqual(await api.cellsOf(table), [{ a: 1, b: 'x' }])
    },
  })),
  {
    name: 'If-Match of the current version passes',
    run: async (api) => {
      const { table, row } = await oneRow(api)
      const headers = { 'if-match': etagOf(await api.ok('GET', row)) }
      await api.ok('PATCH', row, { body: { a: 2 }, headers })
      const now = { 'if-match': etagOf(await api.ok('HEAD', table.rows)) }
      await api.ok('PUT', table.path, { body: [{ a: 3 }], headers: now })
    },
  },
  {
    name: 'Overwrite: 412 if the version of the table is greater than the one given',
    run: async (api) => {
      const { table, row } = await oneRow(api)
      const headers = { 'if-match': etagOf(await api.ok('HEAD', table.rows)) }
      await api.ok('PATCH', row, { body: { a: 2 } })
      const before = await api.versionOf(table)
      await api.refused('PUT', table.path, { body: [], headers }, PRECONDITION)
      assert.deepEqual(await api.cellsOf(table), [{ a: 2, b: 'x' }])
      assert.equal(await api.versionOf(table), before)
    },
  },
  {
    name: 'Update row: 412 if the version of the row is greater than the one given',
    run: async (api) => {
      const { table, row } = await oneRow(api)
      const headers = { 'if-match': etagOf(await api.ok('GET', row)) }
      await api.ok('PATCH', row, { body: { a: 2 } })
      await api.refused('PATCH', row, { body: { a: 3 }, headers }, PRECONDITION)
      assert.deepEqual(await api.cellsOf(table), [{ a: 2, b: 'x' }])
    },
  },
  {
    name: 'Update row: changes of other rows do not count',
    run: async (api) => {
      const { table, row } = await oneRow(api)
      const headers = { 'if-match': etagOf(await api.ok('GET', row)) }
      await api.ok('POST', table.rows, { body: [{ a: 5 }] })
      await api.ok('PATCH', row, { body: { a: 2 }, headers })
    },
  },
  ...[
    '"99999999999999999999999999999999999999"',
    `"${'9'.repeat(5_000)}"`,
    '"9007199254740993"',
  ].map((value) => ({
    name: `A value above the current version passes: ${value.slice(0, 30)}`,
    run: async (api: Api) => {
      const { table, row } = await oneRow(api)
      await api.ok('PATCH', row, { body: { a: 2 }, headers: { 'if-match': value } })
      await api.ok('PUT', table.path, { body: [], headers: { 'if-match': value } })
    },
  })),
  {
    name: 'Digits are compared as a number without leading zeros',
    run: async (api) => {
      const { table, row } = await oneRow(api)
      const zeros = '0'.repeat(300)
      const current = await api.versionOf(table)
      await api.ok('PATCH', row, {
        body: { a: 2 },
        headers: { 'if-match': `"${zeros}${current}"` },
      })
      const stale = { 'if-match': `"${zeros}${current}"` }
      await api.refused('PATCH', row, { body: { a: 3 }, headers: stale }, PRECONDITION)
      await api.refused(
        'PUT',
        table.path,
        { body: [], headers: { 'if-match': '"0"' } },
        PRECONDITION,
      )
      await api.refused(
        'PUT',
        table.path,
        { body: [], headers: { 'if-match': `"${zeros}"` } },
        PRECONDITION,
      )
    },
  },
  {
    name: 'If-Match on operations that do not take it is ignored',
    run: async (api) => {
      const { table, row } = await oneRow(api)
      const headers = { 'if-match': '*' }
      await api.ok('GET', table.rows, { headers })
      await api.ok('POST', table.rows, { body: [], headers })
      await api.ok('DELETE', row, { headers })
    },
  },
]

const versions: ContractCase[] = [
  {
    name: 'A table has a version, a positive integer that grows with every change by one',
    run: async (api) => {
      const { table, row } = await oneRow(api)
      let version = await api.versionOf(table)
      assert.ok(Number.isSafeInteger(version) && version > 0)
      const schema = {
        columns: [
          { id: 'a', type: 'number' },
          { id: 'b', type: 'string' },
        ],
      }
      const changes = [
        ['POST', table.rows, [{ a: 1 }]],
        ['PATCH', row, { a: 2 }],
        ['DELETE', row, undefined],
        ['PUT', table.path, [{ a: 5 }]],
        ['PUT', table.path, { schema, rows: [] }],
        ['PUT', table.path, []],
      ] as const
      for (const [method, path, body] of changes) {
        const reply = await api.ok(method, path, { body })
        assert.equal(versionIn(etagOf(reply)), ++version, `${method} ${path}`)
        assert.equal(await api.versionOf(table), version)
      }
    },
  },
  {
    name: 'ETag is on create, overwrite, add, page, row, update, delete and HEAD',
    run: async (api) => {
      const created = await api.ok('POST', '/tables', { body: { name: 'x', rows: [{ a: 1 }] } })
      const { data } = created.json as { data: { tableID: string; rowIDs: string[] } }
      const rows = `/tables/${data.tableID}/rows`
      const row = `${rows}/${data.rowIDs[0]}`
      assert.equal(etagOf(await api.ok('HEAD', rows)), etagOf(created))
      assert.equal(etagOf(await api.ok('GET', rows)), etagOf(created))
      assert.equal(etagOf(await api.ok('GET', row)), etagOf(created))
    },
  },
  {
    name: "A row's version is the table version at which the row last changed",
    run: async (api) => {
      const table = await api.createTyped({ a: 'number' }, [{ a: 1 }, { a: 2 }])
      const [one, two] = table.rowIds
      const created = await api.versionOf(table)
      const updated = versionIn(
        etagOf(await api.ok('PATCH', `${table.rows}/${two}`, { body: { a: 3 } })),
      )
      assert.equal(versionIn(etagOf(await api.ok('GET', `${table.rows}/${one}`))), created)
      assert.equal(versionIn(etagOf(await api.ok('GET', `${table.rows}/${two}`))), updated)
      const added = await api.ok('POST', table.rows, { body: [{ a: 4 }] })
      const { data } = added.json as { data: { rowIDs: string[] } }
      const third = await api.ok('GET', `${table.rows}/${data.rowIDs[0]}`)
      assert.equal(etagOf(third), etagOf(added))
    },
  },
  {
    name: 'PATCH {}, adding [] and deleting nothing make no new version',
    run: async (api) => {
      const { table, row } = await oneRow(api)
      const version = await api.versionOf(table)
      const noRow = `${table.rows}/AAAAAAAAAAAAAAAAAAAAAA`
      assert.equal(versionIn(etagOf(await api.ok('PATCH', row, { body: {} }))), version)
      assert.equal(versionIn(etagOf(await api.ok('POST', table.rows, { body: [] }))), version)
      assert.equal(versionIn(etagOf(await api.ok('DELETE', noRow))), version)
      assert.equal(await api.versionOf(table), version)
    },
  },
  {
    name: 'writing an equal value is a change',
    run: async (api) => {
      const { table, row } = await oneRow(api)
      const version = await api.versionOf(table)
      assert.equal(versionIn(etagOf(await api.ok('PATCH', row, { body: { a: 1 } }))), version + 1)
    },
  },
  {
    name: 'A failed write does not change the version',
    run: async (api) => {
      const { table, row } = await oneRow(api)
      const version = await api.versionOf(table)
      const stale = { 'if-match': '"0"' }
      await api.refused('PATCH', row, { body: { a: 'x' } }, invalidValue('a'))
      await api.refused('POST', table.rows, { body: [{ a: 1 }, { c: 1 }] }, unknownColumn('c'))
      await api.refused('PUT', table.path, { body: [{ a: 'x' }] }, invalidValue('a'))
      await api.refused('PUT', table.path, { body: [], headers: stale }, PRECONDITION)
      assert.equal(await api.versionOf(table), version)
    },
  },
  {
    name: 'PATCH {} with a stale If-Match is still 412',
    run: async (api) => {
      const { row } = await oneRow(api)
      await api.refused('PATCH', row, { body: {}, headers: { 'if-match': '"0"' } }, PRECONDITION)
    },
  },
]

export const updateCases: readonly ContractCase[] = [...updates, ...ifMatch, ...versions]
