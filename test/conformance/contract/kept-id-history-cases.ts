// CONTRACT.md, section 5: kept `$rowID`s of tables after updates, deletes and overwrites.
import assert from 'node:assert/strict'
import {
  type Api,
  type ContractCase,
  etagOf,
  invalidValue,
  PRECONDITION,
  ROW_NOT_FOUND,
  type Row,
  rowIdsOf,
  type SendOptions,
  type TableAt,
  uniqueName,
} from './api.js'

/**
 * Every row can be read by its ID as the page shows it. No two rows share an ID, and no other ID that the table ever
 * gave finds a row.
 */
export async function checkIds(api: Api, table: TableAt, given: readonly string[]): Promise<Row[]> {
  const rows = await api.rowsOf(table)
  const ids = new Set(rows.map(({ $rowID }) => $rowID))
  assert.equal(ids.size, rows.length)
  for (const row of rows) {
    const { json } = await api.ok('GET', `${table.rows}/${row.$rowID}`)
    assert.deepEqual(json, { data: row })
  }
  for (const rowId of given) {
    if (!ids.has(rowId)) await api.refused('GET', `${table.rows}/${rowId}`, {}, ROW_NOT_FOUND)
  }
  return rows
}

export async function overwrite(
  api: Api,
  table: TableAt,
  body: unknown,
  options: SendOptions & { query?: string } = {},
): Promise<readonly string[]> {
  const { query = '', ...rest } = options
  return rowIdsOf(await api.ok('PUT', table.path + query, { body, ...rest }))
}

export async function numbered(api: Api, count: number): Promise<TableAt> {
  const rows = Array.from({ length: count }, (_, n) => ({ n }))
  return api.createTyped({ n: 'number' }, rows)
}

export const keptIdHistoryCases: readonly ContractCase[] = [
  {
    name: 'one ID for each row: a row that kept its ID has no other',
    run: async (api) => {
      const table = await numbered(api, 6)
      const given = [...table.rowIds]
      const [a, b, c, d, e, f] = table.rowIds
      const orders = [
        [f, e, d, c, b, a],
        [undefined, a, undefined, b],
        [b, undefined, a],
        [a, b],
      ]
      for (const order of orders) {
        const body = order.map(($rowID, n) => ($rowID === undefined ? { n } : { $rowID, n }))
        given.push(...(await overwrite(api, table, body)))
        const rows = await checkIds(api, table, given)
        assert.deepEqual(
          rows.map(({ n }) => n),
          order.map((_, n) => n),
        )
      }
      assert.deepEqual(
        (await api.rowsOf(table)).map(({ $rowID }) => $rowID),
        [a, b],
      )
    },
  },
  {
    name: 'a row that was updated keeps its ID, with the cells of the input alone',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number', s: 'string' }, [{ n: 1, s: 'x' }])
      const [a = ''] = table.rowIds
      await api.ok('PATCH', `${table.rows}/${a}`, { body: { n: 2 } })
      assert.deepEqual(await overwrite(api, table, [{ n: 0 }, { $rowID: a, n: 3 }]), [
        (await api.rowsOf(table))[0]?.$rowID,
        a,
      ])
      await api.ok('PATCH', `${table.rows}/${a}`, { body: { s: 'y' } })
      const rows = await checkIds(api, table, table.rowIds)
      assert.deepEqual(rows[1], { $rowID: a, n: 3, s: 'y' })
    },
  },
  {
    name: 'a row that kept its ID and was deleted then is gone: its ID is not kept again',
    run: async (api) => {
      const table = await numbered(api, 3)
      const [a, b, c] = table.rowIds
      await overwrite(api, table, [{ $rowID: c, n: 2 }, { $rowID: b, n: 1 }, { n: 9 }])
      await api.ok('DELETE', `${table.rows}/${c}`)
      const rowIds = await overwrite(api, table, [
        { $rowID: c, n: 2 },
        { $rowID: b, n: 1 },
        { $rowID: a, n: 0 },
      ])
      assert.equal(rowIds[1], b)
      assert.equal(rowIds.includes(c ?? ''), false)
      assert.equal(rowIds.includes(a ?? ''), false)
      await checkIds(api, table, table.rowIds)
    },
  },
  {
    name: 'deletes between the rows that keep their IDs change nothing for these',
    run: async (api) => {
      const table = await numbered(api, 10)
      for (const n of [0, 3, 4, 9]) await api.ok('DELETE', `${table.rows}/${table.rowIds[n]}`)
      const body = table.rowIds.map(($rowID, n) => ({ $rowID, n: n + 100 }))
      const rowIds = await overwrite(api, table, body)
      const kept = table.rowIds.map((rowId, n) => rowIds[n] === rowId)
      assert.deepEqual(kept, [false, true, true, false, false, true, true, true, true, false])
      const rows = await checkIds(api, table, table.rowIds)
      assert.deepEqual(
        rows.map(({ n }) => n),
        body.map(({ n }) => n),
      )
    },
  },
  {
    name: 'a $rowID of another table is not kept, and its row there stays',
    run: async (api) => {
      const [table, other] = [await numbered(api, 2), await numbered(api, 2)]
      const body = other.rowIds.map(($rowID) => ({ $rowID, n: 5 }))
      const rowIds = await overwrite(api, table, body)
      assert.equal(
        rowIds.some((rowId) => other.rowIds.includes(rowId)),
        false,
      )
      await checkIds(api, table, [...table.rowIds, ...other.rowIds])
      assert.deepEqual(await api.cellsOf(other), [{ n: 0 }, { n: 1 }])
    },
  },
  {
    name: 'rows that were added one by one, and those of a stash, keep their IDs',
    run: async (api) => {
      const table = await numbered(api, 1)
      const given = [...table.rowIds]
      for (const n of [1, 2]) {
        given.push(...rowIdsOf(await api.ok('POST', table.rows, { body: [{ n }] })))
      }
      const stashId = uniqueName('s')
      await api.putChunk(stashId, '0', [{ n: 3 }, { n: 4 }])
      await api.putChunk(stashId, '1', [{ n: 5 }])
      const body = { $stashID: stashId }
      given.push(...rowIdsOf(await api.ok('POST', table.rows, { body })))
      given.push(...rowIdsOf(await api.ok('POST', table.rows, { body: [{ n: 6 }] })))
      const reversed = [...given].reverse()
      const sent = reversed.map(($rowID, n) => ({ $rowID, n }))
      assert.deepEqual(await overwrite(api, table, sent), reversed)
      await checkIds(api, table, given)
      const again = given.map(($rowID, n) => ({ $rowID, n }))
      assert.deepEqual(await overwrite(api, table, again), given)
      await checkIds(api, table, given)
    },
  },
  {
    name: 'rows that are added after an overwrite have new IDs, and keep them in the next one',
    run: async (api) => {
      const table = await numbered(api, 2)
      const [a, b] = table.rowIds
      await overwrite(api, table, [
        { $rowID: b, n: 1 },
        { $rowID: a, n: 0 },
      ])
      const [c] = rowIdsOf(await api.ok('POST', table.rows, { body: [{ $rowID: a, n: 2 }] }))
      assert.equal([a, b].includes(c), false)
      const body = [c, a, b].map(($rowID, n) => ({ $rowID, n }))
      assert.deepEqual(await overwrite(api, table, body), [c, a, b])
      await checkIds(api, table, [a ?? '', b ?? '', c ?? ''])
    },
  },
  {
    name: 'an overwrite that fails leaves every row with its ID',
    run: async (api) => {
      const table = await numbered(api, 3)
      const [a, b] = table.rowIds
      await overwrite(api, table, [{ $rowID: b, n: 1 }, { $rowID: a, n: 0 }, { n: 2 }])
      const before = await api.rowsOf(table)
      const body = [
        { $rowID: a, n: 5 },
        { $rowID: b, n: 'x' },
      ]
      await api.refused('PUT', table.path, { body }, invalidValue('n'))
      const headers = { 'if-match': '"1"' }
      await api.refused('PUT', table.path, { body: [{ $rowID: a }], headers }, PRECONDITION)
      assert.deepEqual(await checkIds(api, table, table.rowIds), before)
    },
  },
  {
    name: 'a row that keeps its ID has changed: its version is that of the overwrite',
    run: async (api) => {
      const table = await numbered(api, 2)
      const [a] = table.rowIds
      await overwrite(api, table, [{ n: 9 }, { $rowID: a, n: 0 }])
      const at = `${table.rows}/${a}`
      assert.equal(etagOf(await api.ok('GET', at)), '"2"')
      const body = { n: 5 }
      await api.refused('PATCH', at, { body, headers: { 'if-match': '"1"' } }, PRECONDITION)
      await api.ok('PATCH', at, { body, headers: { 'if-match': '"2"' } })
      assert.deepEqual(await api.cellsOf(table), [{ n: 9 }, { n: 5 }])
    },
  },
  {
    name: 'a walk over kept rows gives them their IDs on every page',
    run: async (api) => {
      const table = await numbered(api, 9)
      const order = [8, 2, 5, 0, 7]
      const body = order.flatMap((n) => [{ $rowID: table.rowIds[n], n }, { n: n + 100 }])
      const rowIds = await overwrite(api, table, body)
      for (const limit of [1, 2, 3, 10]) {
        const rows = await api.rowsOf(table, limit)
        assert.deepEqual(
          rows.map(({ $rowID, n }) => [$rowID, n]),
          body.map(({ n }, i) => [rowIds[i], n]),
        )
      }
    },
  },
  {
    name: 'a walk that began before an overwrite shows the IDs as they were then',
    run: async (api) => {
      const table = await numbered(api, 4)
      const [a, b, c, d] = table.rowIds
      await overwrite(
        api,
        table,
        [d, c, b, a].map(($rowID, n) => ({ $rowID, n })),
      )
      const { continuation } = await api.pageOf(table, { limit: 1 })
      await overwrite(
        api,
        table,
        [a, d].map(($rowID, n) => ({ $rowID, n })),
      )
      const rest = await api.pageOf(table, { continuation })
      assert.deepEqual(
        rest.data.map(({ $rowID, n }) => [$rowID, n]),
        [
          [c, 1],
          [b, 2],
          [a, 3],
        ],
      )
      await checkIds(api, table, table.rowIds)
    },
  },
  {
    name: 'a $rowID that is no string is ignored, and of a key twice the last one counts',
    run: async (api) => {
      const table = await numbered(api, 2)
      const [a, b] = table.rowIds
      const body = `[{"$rowID":5,"n":1},{"$rowID":null,"n":2},{"$rowID":["${a}"],"n":3},{"$rowID":"${a}","$rowID":"${b}","n":4}]`
      const rowIds = await overwrite(api, table, body)
      assert.equal(rowIds[3], b)
      assert.equal(rowIds.includes(a ?? ''), false)
      await checkIds(api, table, table.rowIds)
    },
  },
  {
    name: 'the same $rowID in two chunks of a stash: the first in the order of the chunks keeps it',
    run: async (api) => {
      const table = await numbered(api, 2)
      const [a] = table.rowIds
      const stashId = uniqueName('s')
      await api.putChunk(stashId, '10', [{ $rowID: a, n: 10 }])
      await api.putChunk(stashId, '9', [{ n: 8 }, { $rowID: a, n: 9 }])
      const rowIds = await overwrite(api, table, { $stashID: stashId })
      assert.deepEqual(
        rowIds.map((rowId) => rowId === a),
        [false, true, false],
      )
      const rows = await checkIds(api, table, table.rowIds)
      assert.deepEqual(
        rows.map(({ n }) => n),
        [8, 9, 10],
      )
    },
  },
  {
    name: 'a stash with $rowIDs that is used twice keeps them twice',
    run: async (api) => {
      const table = await numbered(api, 3)
      const stashId = uniqueName('s')
      const body = [...table.rowIds].reverse().map(($rowID, n) => ({ $rowID, n }))
      await api.putChunk(stashId, '0', body)
      for (let times = 0; times < 2; times++) {
        const rowIds = await overwrite(api, table, { $stashID: stashId })
        assert.deepEqual(rowIds, [...table.rowIds].reverse())
        await checkIds(api, table, table.rowIds)
      }
    },
  },
]
