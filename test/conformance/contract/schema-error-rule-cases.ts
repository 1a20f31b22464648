// CONTRACT.md, section 3, `onSchemaError`: what it does not change, versions, and new columns.
import assert from 'node:assert/strict'
import {
  type Api,
  type ContractCase,
  CSV,
  etagOf,
  invalidValue,
  NOT_UNIQUE,
  PRECONDITION,
  RESERVED,
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
import { pageText, rowTextsOf } from './schema-error-input.js'

const DROP = '?onSchemaError=dropColumns'
const UPDATE = '?onSchemaError=updateSchema'
const FORMS = [DROP, UPDATE] as const

function formOf(query: string): string {
  return query.slice(query.indexOf('=') + 1)
}

/** Refusals for other reasons than misfitting values: no form suppresses them. */
const REFUSED: readonly [
  rule: string,
  body: unknown,
  type: string | undefined,
  wanted: Readonly<{ status: number; type: string }>,
][] = [
  ['$stashID as a key of a row', [{ n: 1 }, { $stashID: 'x' }], undefined, RESERVED],
  ['$stashID as a header of CSV', 'n,$stashID\n1,2', CSV, RESERVED],
  ['a header twice in CSV', 'a,a\n1,2', CSV, NOT_UNIQUE],
  ['a header twice in TSV', 'a\ta\n1\t2', TSV, NOT_UNIQUE],
  ['a row that is no object', [{ n: 1 }, 5], undefined, VALIDATION],
  ['a record that is longer than its header', 'n\n1,2', CSV, VALIDATION],
  ['a stash without chunks', { $stashID: 'there-is-none' }, undefined, STASH_NOT_FOUND],
]

const refusals: ContractCase[] = REFUSED.flatMap(([rule, body, type, wanted]) =>
  FORMS.map((query) => ({
    name: `${formOf(query)} does not help against ${rule}`,
    run: async (api: Api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      const options = { body, ...(type && { type }) }
      await api.refused('POST', table.rows + query, options, wanted)
      await api.refused('PUT', table.path + query, options, wanted)
      assert.equal(await rowTextsOf(api, table), pageText(['{"n":1}']))
      assert.equal(await api.versionOf(table), 1)
    },
  })),
)

const rest: ContractCase[] = FORMS.flatMap((query): ContractCase[] => [
  {
    name: `${formOf(query)} does not help against a schema that is wrong`,
    run: async (api) => {
      const table = await api.createTable()
      const schema = { columns: [{ id: '$rowID', type: 'string' }] }
      await api.refused('PUT', table.path + query, { body: { schema, rows: [] } }, RESERVED)
      const body = { name: 'x', schema, rows: [] }
      await api.refused('POST', `/tables${query}`, { body }, RESERVED)
    },
  },
  {
    name: `${formOf(query)}: If-Match comes before what is wrong with data`,
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      await api.ok('POST', table.rows, { body: [{ n: 2 }] })
      const options = { body: [{ n: 'x' }], headers: { 'if-match': '"1"' } }
      await api.refused('PUT', table.path + query, options, PRECONDITION)
      assert.equal(await rowTextsOf(api, table), pageText(['{"n":1}', '{"n":2}']))
    },
  },
  {
    name: `${formOf(query)}: what fits goes in as with abort`,
    run: async (api) => {
      const table = await api.createTyped({ n: 'number', s: 'string' }, [{ n: 1 }])
      const [rowId] = table.rowIds
      await api.ok('POST', table.rows + query, { body: '[{"n":1.50,"s":"12"}]' })
      await api.ok('PATCH', `${table.rows}/${rowId}${query}`, { body: '{"n":2.50}' })
      await api.ok('POST', table.rows + query, { body: 'n,s\n3,12', type: CSV })
      const wanted = pageText(['{"n":2.50}', '{"n":1.50,"s":"12"}', '{"n":3,"s":"12"}'])
      assert.equal(await rowTextsOf(api, table), wanted)
      await api.refused('POST', table.rows, { body: [{ n: '1' }] }, invalidValue('n'))
      assert.equal(etagOf(await api.ok('GET', `${table.rows}/${rowId}`)), '"3"')
    },
  },
  {
    name: `${formOf(query)}: adding no rows makes no new version, and no new column`,
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      await api.ok('POST', table.rows + query, { body: [] })
      await api.ok('POST', table.rows + query, { body: 'n,u\n', type: CSV })
      assert.equal(await api.versionOf(table), 1)
      await api.refused('POST', table.rows, { body: [{ u: 1 }] }, unknownColumn('u'))
    },
  },
  {
    name: `${formOf(query)}: $rowID is ignored, and is never a column`,
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      await api.ok('POST', table.rows + query, { body: [{ $rowID: 'x', n: 2, u: 1 }] })
      await api.ok('POST', table.rows + query, { body: '$rowID,n\nx,3', type: CSV })
      const cells = formOf(query) === 'dropColumns' ? { n: 2 } : { n: 2, u: 1 }
      assert.deepEqual(await api.cellsOf(table), [{ n: 1 }, cells, { n: 3 }])
      const rowIds = (await api.rowsOf(table)).map(({ $rowID }) => $rowID)
      assert.equal(rowIds.includes('x'), false)
    },
  },
  {
    name: `${formOf(query)}: one misfit among thousands of rows of a body`,
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' })
      const rows = Array.from({ length: 2_500 }, (_, n) => ({ n: n === 1_234 ? 'x' : n }))
      await api.ok('POST', table.rows + query, { body: rows })
      const drops = formOf(query) === 'dropColumns'
      const wanted = rows.map(({ n }) => (drops ? (n === 'x' ? {} : { n }) : { n: String(n) }))
      assert.deepEqual(await api.cellsOf(table), wanted)
    },
  },
  {
    name: `${formOf(query)}: a stash is not consumed, and keeps the values that did not fit`,
    run: async (api) => {
      const stashId = uniqueName('s')
      await api.putChunk(stashId, '0', [{ n: 1 }, { n: 'x', u: 1 }])
      const body = { $stashID: stashId }
      const dropped = await api.createTyped({ n: 'number' })
      await api.ok('POST', dropped.rows + DROP, { body })
      const updated = await api.createTyped({ n: 'number' })
      await api.ok('POST', updated.rows + UPDATE, { body })
      const table = await api.createTyped({ n: 'number' })
      await api.ok('POST', table.rows + query, { body })
      await api.ok('POST', table.rows + query, { body })
      const drops = formOf(query) === 'dropColumns'
      const once = drops ? [{ n: 1 }, {}] : [{ n: '1' }, { n: 'x', u: 1 }]
      assert.deepEqual(await api.cellsOf(table), [...once, ...once])
      assert.deepEqual(await api.cellsOf(dropped), [{ n: 1 }, {}])
      assert.deepEqual(await api.cellsOf(updated), [{ n: '1' }, { n: 'x', u: 1 }])
    },
  },
])

const ODD_IDS = ['__proto__', 'constructor', '0', ' ', 'a.b', '😀', '"']

const columns: ContractCase[] = [
  {
    name: 'updateSchema: odd column IDs are added like any other',
    run: async (api) => {
      const table = await api.createTable()
      const row = `{${ODD_IDS.map((id) => `${JSON.stringify(id)}:1`).join(',')}}`
      await api.ok('POST', table.rows + UPDATE, { body: `[${row}]` })
      assert.equal(await rowTextsOf(api, table), pageText([row]))
      await api.ok('POST', table.rows, { body: `[${row}]` })
      for (const id of ODD_IDS) {
        const body = `[{${JSON.stringify(id)}:"x"}]`
        await api.refused('POST', table.rows, { body }, invalidValue(id))
      }
    },
  },
  {
    name: 'a column ID that no schema may have: dropped by dropColumns, refused by updateSchema',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' })
      const body = '[{"":1,"n":1,"\\ud800":2}]'
      await api.refused('POST', table.rows + UPDATE, { body }, VALIDATION)
      await api.refused('POST', `/tables${UPDATE}&name=x`, { body }, VALIDATION)
      await api.ok('POST', table.rows + DROP, { body })
      const { json } = await api.ok('POST', `/tables${DROP}&name=x`, { body })
      const { data } = json as { data: { tableID: string } }
      for (const one of [table, tableAt(data.tableID)]) {
        assert.equal(await rowTextsOf(api, one), pageText(['{"n":1}']))
      }
    },
  },
  {
    name: 'updateSchema infers a column over all chunks of the stash',
    run: async (api) => {
      const table = await api.createTyped({ k: 'string' })
      const stashId = uniqueName('s')
      await api.putChunk(stashId, '0', [{ u: 1, d: '2024-01-01' }])
      await api.putChunk(stashId, '1', [{ k: 'x', d: '2024-01-01T10:00' }])
      await api.putChunk(stashId, '2', [{ u: 'y' }])
      await api.ok('POST', table.rows + UPDATE, { body: { $stashID: stashId } })
      assert.deepEqual(await api.cellsOf(table), [
        { u: '1', d: '2024-01-01' },
        { k: 'x', d: '2024-01-01T10:00' },
        { u: 'y' },
      ])
      await api.refused('POST', table.rows, { body: [{ u: 1 }] }, invalidValue('u'))
      await api.ok('POST', table.rows, { body: [{ d: '2024-01-01T10:00' }] })
    },
  },
  {
    name: 'updateSchema of an overwrite widens what the table declares, not what its old rows hold',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number', m: 'number' }, [{ n: 1, m: 1 }])
      await api.ok('PUT', table.path + UPDATE, { body: [{ n: 'x' }] })
      assert.deepEqual(await api.cellsOf(table), [{ n: 'x' }])
      await api.refused('POST', table.rows, { body: [{ n: 1 }] }, invalidValue('n'))
      await api.refused('POST', table.rows, { body: [{ m: 'x' }] }, invalidValue('m'))
      await api.ok('POST', table.rows, { body: [{ m: 1 }] })
    },
  },
  {
    name: 'updateSchema on update row adds the unknown column, of a null too, and keeps its type',
    run: async (api) => {
      const table = await api.createTyped({ k: 'string' }, [{ k: 'a' }])
      const at = `${table.rows}/${table.rowIds[0]}`
      await api.ok('PATCH', at + UPDATE, { body: '{"u":1.50,"v":null}' })
      assert.equal(await rowTextsOf(api, table), pageText(['{"k":"a","u":1.50}']))
      await api.ok('PATCH', at, { body: { u: 2, v: 'x' } })
      await api.refused('PATCH', at, { body: { u: 'x' } }, invalidValue('u'))
      await api.ok('PATCH', at + UPDATE, { body: { w: null } })
      assert.equal(await api.versionOf(table), 4)
      await api.ok('POST', table.rows, { body: [{ w: 'x' }] })
    },
  },
]

async function etagsOf(api: Api, table: TableAt, rowIds: readonly string[]): Promise<string[]> {
  const etags: string[] = []
  for (const rowId of rowIds) etags.push(etagOf(await api.ok('GET', `${table.rows}/${rowId}`)))
  return etags
}

const versions: ContractCase[] = [
  {
    name: 'a widening is a change of every row: If-Match of the version before fails',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }, { n: 2 }])
      await api.ok('POST', table.rows + UPDATE, { body: [{ n: 'x' }] })
      assert.deepEqual(await etagsOf(api, table, table.rowIds), ['"2"', '"2"'])
      const at = `${table.rows}/${table.rowIds[0]}`
      const body = { n: 'new' }
      await api.refused('PATCH', at, { body, headers: { 'if-match': '"1"' } }, PRECONDITION)
      const reply = await api.ok('PATCH', at, { body, headers: { 'if-match': '"2"' } })
      assert.equal(etagOf(reply), '"3"')
      assert.deepEqual(await etagsOf(api, table, table.rowIds), ['"3"', '"2"'])
    },
  },
  {
    name: 'a widening by update row is a change of every row too',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }, { n: 2 }])
      const [a, b] = table.rowIds.map((rowId) => `${table.rows}/${rowId}`)
      const headers = { 'if-match': '"1"' }
      await api.ok('PATCH', a + UPDATE, { body: { n: 'x' }, headers })
      await api.refused('PATCH', b + UPDATE, { body: { n: 'y' }, headers }, PRECONDITION)
      assert.deepEqual(await api.cellsOf(table), [{ n: 'x' }, { n: '2' }])
    },
  },
  {
    name: 'a new column is no change of the rows that are there: their versions stay',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      const added = rowIdsOf(await api.ok('POST', table.rows + UPDATE, { body: [{ u: 1 }] }))
      assert.deepEqual(await etagsOf(api, table, [...table.rowIds, ...added]), ['"1"', '"2"'])
    },
  },
  {
    name: 'update row whose cells are all dropped changes nothing',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      const at = `${table.rows}/${table.rowIds[0]}`
      const reply = await api.ok('PATCH', at + DROP, { body: { n: 'x', u: 1, v: null } })
      assert.equal(etagOf(reply), '"1"')
      assert.deepEqual(await api.cellsOf(table), [{ n: 1 }])
      await api.ok('PATCH', at + UPDATE, { body: {} })
      assert.equal(await api.versionOf(table), 1)
    },
  },
  {
    name: 'update row with updateSchema: 422 for what no type holds, 404 for no row, and nothing happens',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      const at = `${table.rows}/${table.rowIds[0]}`
      await api.refused('PATCH', at + UPDATE, { body: { u: 1, n: {} } }, invalidValue('n'))
      await api.refused('PATCH', at + UPDATE, { body: { n: 'x', u: [null] } }, invalidValue('u'))
      await api.refused('PATCH', at + UPDATE, { body: { n: 'x', $stashID: 's' } }, RESERVED)
      const nowhere = `${table.rows}/AAAAAAAAAAAAAAAAAAAAAA`
      await api.refused('PATCH', nowhere + UPDATE, { body: { n: 'x' } }, ROW_NOT_FOUND)
      assert.deepEqual(await api.cellsOf(table), [{ n: 1 }])
      assert.equal(await api.versionOf(table), 1)
      await api.refused('PATCH', at, { body: { n: 'x' } }, invalidValue('n'))
    },
  },
]

export const schemaErrorRuleCases: readonly ContractCase[] = [
  ...refusals,
  ...rest,
  ...columns,
  ...versions,
]
