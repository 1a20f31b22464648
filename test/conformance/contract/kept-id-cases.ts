// CONTRACT.md, section 5: an input row of an overwrite keeps its `$rowID` if a current row of the table has it.
import assert from 'node:assert/strict'
import {
  type Api,
  type ContractCase,
  CSV,
  ROW_NOT_FOUND,
  rowIdsOf,
  type TableAt,
  TSV,
  uniqueName,
} from './api.js'

const UNKNOWN_ID = 'AAAAAAAAAAAAAAAAAAAAAA'

async function threeRows(api: Api): Promise<readonly [TableAt, string, string, string]> {
  const table = await api.createTyped({ n: 'number' }, [{ n: 1 }, { n: 2 }, { n: 3 }])
  const [a = '', b = '', c = ''] = table.rowIds
  return [table, a, b, c]
}

const FORMS: readonly [
  what: string,
  overwrite: (api: Api, table: TableAt, a: string, c: string) => Promise<readonly string[]>,
][] = [
  [
    'JSON',
    async (api, table, a, c) =>
      rowIdsOf(
        await api.ok('PUT', table.path, {
          body: [{ $rowID: c, n: 30 }, { n: 40 }, { $rowID: a, n: 10 }],
        }),
      ),
  ],
  [
    'CSV',
    async (api, table, a, c) =>
      rowIdsOf(
        await api.ok('PUT', table.path, { body: `$rowID,n\n${c},30\n,40\n${a},10`, type: CSV }),
      ),
  ],
  [
    'TSV',
    async (api, table, a, c) =>
      rowIdsOf(
        await api.ok('PUT', table.path, { body: `n\t$rowID\n30\t${c}\n40\t\n10\t${a}`, type: TSV }),
      ),
  ],
  [
    'a stash',
    async (api, table, a, c) => {
      const stashId = uniqueName('s')
      await api.putChunk(stashId, '0', [{ $rowID: c, n: 30 }])
      await api.putChunk(stashId, '1', [{ n: 40 }, { $rowID: a, n: 10 }])
      return rowIdsOf(await api.ok('PUT', table.path, { body: { $stashID: stashId } }))
    },
  ],
]

const forms: ContractCase[] = FORMS.map(([what, overwrite]) => ({
  name: `an input row of ${what} that carries the $rowID of a row of the table keeps that ID`,
  run: async (api) => {
    const [table, a, b, c] = await threeRows(api)
    const rowIds = await overwrite(api, table, a, c)
    assert.deepEqual([rowIds[0], rowIds[2]], [c, a])
    assert.ok(![a, b, c].includes(rowIds[1] ?? ''))
    const rows = await api.rowsOf(table)
    assert.deepEqual(rows, [
      { $rowID: c, n: 30 },
      { $rowID: rowIds[1], n: 40 },
      { $rowID: a, n: 10 },
    ])
    const { json } = await api.ok('GET', `${table.rows}/${a}`)
    assert.deepEqual(json, { data: { $rowID: a, n: 10 } })
    await api.refused('GET', `${table.rows}/${b}`, {}, ROW_NOT_FOUND)
  },
}))

const rules: ContractCase[] = [
  {
    name: 'the same $rowID twice in one input: the first keeps it',
    run: async (api) => {
      const [table, a] = await threeRows(api)
      const body = [
        { $rowID: a, n: 10 },
        { $rowID: a, n: 11 },
      ]
      const [first, second] = rowIdsOf(await api.ok('PUT', table.path, { body }))
      assert.equal(first, a)
      assert.notEqual(second, a)
      assert.deepEqual(
        (await api.rowsOf(table)).map(({ $rowID, n }) => [$rowID, n]),
        [
          [a, 10],
          [second, 11],
        ],
      )
    },
  },
  {
    name: 'An unknown $rowID is ignored and a new ID given',
    run: async (api) => {
      const [table] = await threeRows(api)
      const other = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      const unknown = [UNKNOWN_ID, 'x', '', other.rowIds[0]]
      const body = unknown.map(($rowID) => ({ $rowID, n: 1 }))
      const rowIds = rowIdsOf(await api.ok('PUT', table.path, { body }))
      assert.equal(new Set(rowIds).size, unknown.length)
      assert.ok(!rowIds.some((rowId) => unknown.includes(rowId)))
    },
  },
  {
    name: 'a $rowID of a deleted row is not kept',
    run: async (api) => {
      const [table, a] = await threeRows(api)
      await api.ok('DELETE', `${table.rows}/${a}`)
      const [rowId] = rowIdsOf(await api.ok('PUT', table.path, { body: [{ $rowID: a, n: 1 }] }))
      assert.notEqual(rowId, a)
    },
  },
  {
    name: 'a $rowID of the generation before last is not kept',
    run: async (api) => {
      const [table, a] = await threeRows(api)
      await api.ok('PUT', table.path, { body: [{ n: 1 }] })
      const [rowId] = rowIdsOf(await api.ok('PUT', table.path, { body: [{ $rowID: a, n: 1 }] }))
      assert.notEqual(rowId, a)
    },
  },
  {
    name: 'an ID is kept through any number of overwrites',
    run: async (api) => {
      const [table, a] = await threeRows(api)
      for (let n = 0; n < 5; n++) {
        const body = [{ n: -1 }, { $rowID: a, n }, { n: -2 }]
        assert.equal(rowIdsOf(await api.ok('PUT', table.path, { body }))[1], a)
      }
      await api.ok('PATCH', `${table.rows}/${a}`, { body: { n: 99 } })
      const { json } = await api.ok('GET', `${table.rows}/${a}`)
      assert.deepEqual(json, { data: { $rowID: a, n: 99 } })
      await api.ok('DELETE', `${table.rows}/${a}`)
      await api.refused('GET', `${table.rows}/${a}`, {}, ROW_NOT_FOUND)
      assert.deepEqual(await api.cellsOf(table), [{ n: -1 }, { n: -2 }])
    },
  },
  {
    name: 'the batch update recipe: read all, change, stash, overwrite',
    run: async (api) => {
      const table = await api.createTable({
        rows: Array.from({ length: 2_500 }, (_, n) => ({ n })),
      })
      const rows = (await api.rowsOf(table)).map((row) => ({ ...row, n: Number(row['n']) + 1 }))
      const stashId = uniqueName('batch')
      await api.putChunk(stashId, '0', rows.slice(0, 1_500))
      await api.putChunk(stashId, '1', rows.slice(1_500))
      const reply = await api.ok('PUT', table.path, { body: { $stashID: stashId } })
      assert.deepEqual(rowIdsOf(reply), table.rowIds)
      assert.deepEqual(await api.rowsOf(table), rows)
    },
  },
  {
    name: 'create and add ignore $rowID',
    run: async (api) => {
      const [table, a] = await threeRows(api)
      const [added] = rowIdsOf(await api.ok('POST', table.rows, { body: [{ $rowID: a, n: 4 }] }))
      assert.notEqual(added, a)
      const copy = await api.createTable({ rows: [{ $rowID: a, n: 4 }] })
      assert.notEqual(copy.rowIds[0], a)
    },
  },
  {
    name: 'overwrite replaces every cell: there are no user-specific columns',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number', s: 'string' }, [{ n: 1, s: 'x' }])
      const [a] = table.rowIds
      await api.ok('PUT', table.path, { body: [{ $rowID: a, n: 2 }] })
      assert.deepEqual(await api.rowsOf(table), [{ $rowID: a, n: 2 }])
    },
  },
]

export const keptIdCases: readonly ContractCase[] = [...forms, ...rules]
