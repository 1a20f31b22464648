// CONTRACT.md, section 11, Limits; section 12, How clients behave; and names that break JavaScript programs.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import {
  type Api,
  type ContractCase,
  CSV,
  METHOD,
  type Reply,
  rowIdsOf,
  TABLE_NOT_FOUND,
  tableAt,
  uniqueName,
  unknownColumn,
  VALIDATION,
} from './api.js'

const columnsOf = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ id: `c${at}`, type: 'number' }))

const rowOf = (count: number) => Object.fromEntries(columnsOf(count).map(({ id }, at) => [id, at]))

const MIB = 1 << 20

const limits: ContractCase[] = [
  {
    name: 'Columns per table: 1,000 are taken, 1,001 are not (schema)',
    run: async (api) => {
      await api.createTable({ schema: { columns: columnsOf(1_000) } })
      const body = { name: 'x', schema: { columns: columnsOf(1_001) }, rows: [] }
      await api.refused('POST', '/tables', { body }, VALIDATION)
    },
  },
  {
    name: 'Columns per table: 1,000 are taken, 1,001 are not (rows, CSV, stash)',
    run: async (api) => {
      const table = await api.createTable({ rows: [rowOf(1_000)] })
      assert.deepEqual(await api.cellsOf(table), [rowOf(1_000)])
      const rows = [rowOf(1_001)]
      const csv = Object.keys(rowOf(1_001)).join()
      await api.refused('POST', '/tables', { body: { name: 'x', rows } }, VALIDATION)
      await api.refused('POST', '/tables?name=x', { body: csv, type: CSV }, VALIDATION)
      await api.refused('PUT', `/stashes/${uniqueName('s')}/0`, { body: rows }, VALIDATION)
    },
  },
  {
    name: 'Columns of a table made from a stash are counted over all chunks',
    run: async (api) => {
      const stashId = uniqueName('s')
      await api.putChunk(stashId, '0', [rowOf(1_000)])
      await api.putChunk(stashId, '1', [{ another: 1 }])
      const body = { name: 'x', rows: { $stashID: stashId } }
      await api.refused('POST', '/tables', { body }, VALIDATION)
    },
  },
  {
    name: 'Names of tables and columns: 1,000 UTF-16 units are taken, more are 400',
    run: async (api) => {
      const named = (units: number) => `${'é'.repeat(units - 2)}🚀`
      const schemaOf = (units: number) => ({
        columns: [{ id: 'a', displayName: named(units), type: 'number' }],
      })
      await api.ok('POST', '/tables', {
        body: { name: named(1_000), schema: schemaOf(1_000), rows: [] },
      })
      const table = await api.createTyped({ a: 'number' })
      await api.ok('PUT', table.path, { body: { schema: schemaOf(1_000), rows: [] } })

      const wide = { schema: schemaOf(1_001), rows: [] }
      await api.refused('POST', '/tables', { body: { name: 'x', ...wide } }, VALIDATION)
      await api.refused('PUT', table.path, { body: wide }, VALIDATION)
      await api.refused('POST', '/tables', { body: { name: named(1_001), rows: [] } }, VALIDATION)
      const name = encodeURIComponent(named(1_001))
      await api.refused('POST', `/tables?name=${name}`, { body: [] }, VALIDATION)
    },
  },
  {
    name: 'A schema of more than 1 MiB is 400: given, inferred, or widened',
    run: async (api) => {
      const wideSchema = (count: number) => ({
        columns: columnsOf(count).map((column) => ({ ...column, displayName: 'é'.repeat(1_000) })),
      })
      const wideRow = (count: number) =>
        Object.fromEntries(columnsOf(count).map(({ id }) => [id.padEnd(256, 'é'), 1]))
      const table = await api.createTable({ schema: wideSchema(500), rows: [{ c0: 1 }] })

      for (const body of [
        { name: 'x', schema: wideSchema(700), rows: [] },
        { name: 'x', rows: [wideRow(1_000)] },
      ]) {
        await api.refused('POST', '/tables', { body }, VALIDATION)
      }
      const given = { schema: wideSchema(700), rows: [] }
      await api.refused('PUT', table.path, { body: given }, VALIDATION)
      const query = '?onSchemaError=updateSchema'
      const rows = [wideRow(100)]
      await api.refused('POST', `${table.rows}${query}`, { body: rows }, VALIDATION)
      await api.refused('PUT', `${table.path}${query}`, { body: { rows } }, VALIDATION)
      const row = `${table.rows}/${table.rowIds[0]}${query}`
      await api.refused('PATCH', row, { body: rows[0] }, VALIDATION)
      assert.deepEqual(await api.cellsOf(table), [{ c0: 1 }])
      await api.ok('PATCH', row, { body: { c0: 2, new: 3 } })
    },
  },
  {
    name: 'Text of one row 4 MiB: more is 400, also after an update',
    run: async (api) => {
      const table = await api.createTyped({ a: 'string', b: 'string' })
      const large = 'x'.repeat(3 * MIB)
      const [rowId] = rowIdsOf(await api.ok('POST', table.rows, { body: [{ a: large }] }))
      await api.refused('POST', table.rows, { body: [{ a: large, b: large }] }, VALIDATION)
      await api.refused('PATCH', `${table.rows}/${rowId}`, { body: { b: large } }, VALIDATION)
      assert.deepEqual(
        (await api.cellsOf(table)).map((row) => Object.keys(row)),
        [['a']],
      )
    },
  },
]

const clients: ContractCase[] = [
  {
    name: 'Find a table by exact name in GET /tables right after creating it',
    run: async (api) => {
      const name = uniqueName('find me')
      const table = await api.createTable({ name })
      const { json } = await api.ok('GET', '/tables')
      const { data } = json as { data: { id: string; name: string }[] }
      assert.equal(data.find((entry) => entry.name === name)?.id, table.id)
    },
  },
  ...(
    [
      ['a UUID', () => randomUUID()],
      ['a date', () => `2024-01-01-${Date.now()}`],
      ['32 hex digits', () => randomUUID().replaceAll('-', '')],
    ] as const
  ).map(([what, stashIdOf]) => ({
    name: `an import with ${what} as stash ID, serials from 0, 1,500 rows a chunk, the stash deleted in a finally`,
    run: async (api: Api) => {
      const stashId = stashIdOf()
      const chunk = (serial: number) =>
        Array.from({ length: 1_500 }, (_, at) => ({ n: serial * 1_500 + at, s: `row ${at}` }))
      let table = tableAt('')
      try {
        for (let serial = 0; serial < 4; serial++) {
          await api.putChunk(stashId, String(serial), chunk(serial))
        }
        table = await api.createTable({ rows: { $stashID: stashId } })
      } finally {
        await api.ok('DELETE', `/stashes/${stashId}`)
      }
      const rows = await api.rowsOf(table)
      assert.deepEqual(
        rows.map(({ $rowID }) => $rowID),
        table.rowIds,
      )
      assert.ok(rows.every(({ n }, at) => n === at))
      assert.equal(rows.length, 6_000)
    },
  })),
  {
    name: 'Loop do … while (continuation) with a limit that shrinks to the number of rows still wanted',
    run: async (api) => {
      const table = await api.createTable({ rows: Array.from({ length: 20 }, (_, n) => ({ n })) })
      const wanted = 12
      const rows: unknown[] = []
      let continuation: string | undefined
      do {
        const limit = Math.min(5, wanted - rows.length)
        const page = await api.pageOf(table, { limit, continuation })
        rows.push(...page.data.map(({ n }) => n))
        continuation = page.continuation
      } while (continuation !== undefined && rows.length < wanted)
      assert.deepEqual(
        rows,
        Array.from({ length: wanted }, (_, n) => n),
      )
    },
  },
  {
    name: 'a mirror keyed on row["$rowID"] sends rows back with it',
    run: async (api) => {
      const table = await api.createTable({ rows: [{ n: 1 }, { n: 2 }] })
      const mirror = new Map((await api.rowsOf(table)).map((row) => [row.$rowID, row]))
      for (const row of mirror.values()) {
        await api.ok('PATCH', `${table.rows}/${row.$rowID}`, {
          body: { ...row, n: Number(row['n']) * 10 },
        })
      }
      assert.deepEqual(await api.cellsOf(table), [{ n: 10 }, { n: 20 }])
    },
  },
  {
    name: 'Show error.message to people; read the error body as JSON whatever the status',
    run: async (api) => {
      const replies: Reply[] = [
        await api.send('GET', '/nowhere'),
        await api.send('DELETE', '/tables'),
        await api.send('POST', '/tables', { body: '{' }),
        await api.send('POST', '/tables', { body: 'x', type: 'text/plain' }),
        await api.send('GET', '/tables/x/rows'),
      ]
      assert.deepEqual(
        replies.map(({ status }) => status),
        [404, METHOD.status, 400, 415, TABLE_NOT_FOUND.status],
      )
      for (const { json } of replies) {
        const { error } = json as { error: { message: string } }
        assert.ok(error.message.length > 3)
      }
    },
  },
]

const TRAPS = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'valueOf',
  'isPrototypeOf',
  '__defineGetter__',
  'then',
  'toJSON',
  'length',
  'prototype',
  'name',
]

const traps: ContractCase[] = TRAPS.flatMap((id) => [
  {
    name: `a column called ${id} is plain data`,
    run: async (api: Api) => {
      const rows = `[{${JSON.stringify(id)}:1},{"other":2}]`
      const created = await api.ok('POST', '/tables?name=x', { body: rows })
      const { data } = created.json as { data: { tableID: string; rowIDs: string[] } }
      const table = tableAt(data.tableID, data.rowIDs)
      assert.ok((await api.textOf(table)).includes(`${JSON.stringify(id)}:1}`))
      await api.ok('PATCH', `${table.rows}/${data.rowIDs[1]}`, {
        body: `{${JSON.stringify(id)}:3}`,
      })
      assert.ok(
        (await api.textOf(table)).includes(
          `{"$rowID":"${data.rowIDs[1]}","other":2,${JSON.stringify(id)}:3}`,
        ),
      )
      assert.equal(({} as Record<string, unknown>)['polluted'], undefined)
    },
  },
  {
    name: `a column called ${id} that the table lacks is 422 column_id_not_found`,
    run: async (api: Api) => {
      const table = await api.createTyped({ a: 'number' }, [{ a: 1 }])
      const body = `{${JSON.stringify(id)}:{"polluted":1}}`
      await api.refused('POST', table.rows, { body: `[${body}]` }, unknownColumn(id))
      await api.refused('PATCH', `${table.rows}/${table.rowIds[0]}`, { body }, unknownColumn(id))
      await api.refused('POST', table.rows, { body: `"${id}"\n1`, type: CSV }, unknownColumn(id))
    },
  },
])

export const clientCases: readonly ContractCase[] = [...limits, ...clients, ...traps]
