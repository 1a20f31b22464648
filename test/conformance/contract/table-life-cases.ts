// CONTRACT.md, section 5: a table's properties, renaming and deletion.
import assert from 'node:assert/strict'
import {
  type Api,
  type ContractCase,
  etagOf,
  NOT_UNIQUE,
  PRECONDITION,
  RESERVED,
  TABLE_NOT_FOUND,
  type TableAt,
  tableAt,
  UNSUPPORTED,
  uniqueName,
  VALIDATION,
} from './api.js'

const NO_TABLE = tableAt('00000000-0000-4000-8000-000000000000')

type TableInfo = Readonly<{
  id: string
  name: string
  schema: Readonly<{ columns: readonly Readonly<{ id: string; displayName?: string }>[] }>
  rowCount: number
  version: number
  createdAt: number | null
  updatedAt: number | null
  bytes: number
}>

async function infoOf(api: Api, { path }: TableAt): Promise<TableInfo> {
  const reply = await api.ok('GET', path)
  const { data } = reply.json as { data: TableInfo }
  assert.equal(etagOf(reply), `"${data.version}"`)
  return data
}

export const tableLifeCases: readonly ContractCase[] = [
  {
    name: 'a table says what it is, and how many rows it has',
    run: async (api) => {
      const name = uniqueName('life')
      const table = await api.createTable({ name, rows: [{ n: 1 }, { n: 2 }] })
      const { createdAt, updatedAt, bytes, ...rest } = await infoOf(api, table)

      const schema = { columns: [{ id: 'n', displayName: 'n', type: { kind: 'number' } }] }
      assert.deepEqual(rest, { id: table.id, name, schema, rowCount: 2, version: 1 })
      assert.ok(createdAt !== null && createdAt === updatedAt && bytes > 0)
      await api.ok('DELETE', `${table.rows}/${table.rowIds[0]}`)
      const { rowCount, version } = await infoOf(api, table)
      assert.deepEqual([rowCount, version], [1, 2])
      await api.refused('GET', NO_TABLE.path, {}, TABLE_NOT_FOUND)
    },
  },
  {
    name: 'a table gets another name, in a new version, if it is at the version expected',
    run: async (api) => {
      const table = await api.createTable({ rows: [{ n: 1 }] })
      const name = uniqueName('renamed ✓')
      const late = { body: { name: 'x' }, headers: { 'if-match': '"0"' } }
      await api.refused('PATCH', table.path, late, PRECONDITION)
      const renamed = await api.ok('PATCH', table.path, {
        body: { name },
        headers: { 'if-match': '"1"' },
      })
      assert.deepEqual([renamed.text, etagOf(renamed)], ['{}', '"2"'])
      assert.equal(etagOf(await api.ok('PATCH', table.path, { body: { name } })), '"2"')
      assert.equal((await infoOf(api, table)).name, name)
      assert.equal(await api.tableCount(name), 1)
    },
  },
  {
    name: 'a change of a table with a wrong body is refused, and of a missing table before its body is read',
    run: async (api) => {
      const table = await api.createTable()
      for (const body of ['', '[]', '{}', '{"name":""}', '{"name":3}', '{"name":"x","rows":[]}']) {
        await api.refused('PATCH', table.path, { body }, VALIDATION)
      }
      const validate = `${table.path}?validate=only`
      await api.refused('PATCH', validate, { body: { name: 'x' } }, VALIDATION)
      await api.refused('DELETE', validate, {}, VALIDATION)
      await api.refused('PATCH', table.path, { body: 'n', type: 'text/csv' }, UNSUPPORTED)
      await api.refused('PATCH', NO_TABLE.path, { body: '{' }, TABLE_NOT_FOUND)
      const odd = { body: { name: 'x' }, headers: { 'if-match': 'x' } }
      await api.refused('PATCH', table.path, odd, VALIDATION)
      assert.equal((await infoOf(api, table)).version, 1)
    },
  },
  {
    name: 'columns are added, dropped and named anew, and the rows stay',
    run: async (api) => {
      const kinds = { n: 'number', s: 'string' }
      const table = await api.createTyped(kinds, [{ n: 1, s: 'a' }, { n: 2 }])
      const columns = [
        { id: 'x', displayName: 'New', type: { kind: 'boolean' } },
        { id: 'n', displayName: 'Number', type: { kind: 'number' } },
      ]
      for (const drop of [undefined, [], ['n', 's'], ['s', 'z'], 's']) {
        await api.refused('PATCH', table.path, { body: { schema: { columns }, drop } }, VALIDATION)
      }
      await api.refused('PATCH', table.path, { body: { name: 'x', drop: ['z'] } }, VALIDATION)
      await api.refused('PATCH', table.path, { body: { drop: [] } }, VALIDATION)
      const body = { schema: { columns }, drop: ['s'] }
      const altered = await api.ok('PATCH', table.path, { body })
      assert.equal(etagOf(altered), '"2"')
      assert.deepEqual((await infoOf(api, table)).schema, { columns })
      assert.deepEqual(await api.cellsOf(table), [{ n: 1 }, { n: 2 }])
      const back = { columns: [...columns, { id: 's', type: { kind: 'string' } }] }
      await api.ok('PATCH', table.path, { body: { schema: back, name: 'both' } })
      assert.deepEqual(await api.cellsOf(table), [{ n: 1 }, { n: 2 }])
      await api.ok('PATCH', `${table.rows}/${table.rowIds[0]}`, { body: { s: 'b', x: true } })
      assert.deepEqual(await api.cellsOf(table), [{ n: 1, s: 'b', x: true }, { n: 2 }])

      const retyped = { columns: [{ id: 'n', type: 'string' }] }
      await api.refused('PATCH', table.path, { body: { schema: retyped } }, VALIDATION)
      const [column] = columns
      const twice = { schema: { columns: [column, column] } }
      await api.refused('PATCH', table.path, { body: twice }, NOT_UNIQUE)
      const reserved = { schema: { columns: [{ id: '$rowID', type: 'string' }] } }
      await api.refused('PATCH', table.path, { body: reserved }, RESERVED)
      assert.equal((await infoOf(api, table)).version, 4)
      await api.ok('PATCH', table.path, { body: { drop: ['s'] } })
      assert.deepEqual((await infoOf(api, table)).schema, { columns })
    },
  },
  {
    name: 'a deleted table is not found, whatever is asked of it, and is not listed',
    run: async (api) => {
      const name = uniqueName('deleted')
      const table = await api.createTable({ name, rows: [{ n: 1 }, { n: 2 }] })
      const { continuation = '' } = await api.pageOf(table, { limit: 1 })
      await api.refused('DELETE', table.path, { headers: { 'if-match': '"0"' } }, PRECONDITION)
      const deleted = await api.ok('DELETE', table.path, { headers: { 'if-match': '"1"' } })
      assert.deepEqual([deleted.text, etagOf(deleted)], ['{}', ''])

      assert.equal(await api.tableCount(name), 0)
      const row = `${table.rows}/${table.rowIds[0]}`
      const page = `${table.rows}?continuation=${encodeURIComponent(continuation)}`
      for (const path of [table.path, table.rows, page, row, `${table.path}/receipts/1`]) {
        await api.refused('GET', path, {}, TABLE_NOT_FOUND)
      }
      for (const [method, path, body] of [
        ['PUT', table.path, []],
        ['POST', table.rows, [{ n: 3 }]],
        ['PATCH', row, { n: 3 }],
        ['DELETE', row, undefined],
        ['PATCH', table.path, { name: 'x' }],
        ['DELETE', table.path, undefined],
      ] as const) {
        await api.refused(method, path, { body }, TABLE_NOT_FOUND)
      }
    },
  },
  {
    name: 'a create that is repeated after the end of its table makes none',
    run: async (api) => {
      const name = uniqueName('repeated')
      const headers = { 'idempotency-key': uniqueName('key') }
      const create = { body: { name, rows: [{ n: 1 }] }, headers }
      const first = await api.ok('POST', '/tables', create)
      const { data } = first.json as { data: { tableID: string } }
      await api.ok('DELETE', `/tables/${data.tableID}`)

      assert.equal((await api.ok('POST', '/tables', create)).text, first.text)
      assert.equal(await api.tableCount(name), 0)
    },
  },
]
