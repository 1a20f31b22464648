// CONTRACT.md, section 5: PUT /tables/{tableID}.
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
  TSV,
  uniqueName,
  unknownColumn,
  VALIDATION,
} from './api.js'

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

export const overwriteCases: readonly ContractCase[] = [...overwrite]
