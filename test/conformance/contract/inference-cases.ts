// CONTRACT.md, section 3, Inference. The values that the table then accepts show the inferred type.
import assert from 'node:assert/strict'
import { type Api, type ContractCase, CSV, invalidValue, TSV, tableAt, uniqueName } from './api.js'

type Inference = Readonly<{
  rule: string
  /** JSON text of the rows, or CSV when `csv` is set. The column is `c`. */
  rows: string
  csv?: boolean
  /** JSON tokens of `c` in the table's rows, in order; null for an empty cell. */
  readBack?: readonly (string | null)[]
  /** JSON tokens that the column then accepts. */
  takes: readonly string[]
  refuses: readonly string[]
}>

const BOOLEAN = { takes: ['true', 'false'], refuses: ['"true"', '1'] }
const NUMBER = { takes: ['5', '1.5'], refuses: ['"5"', 'true'] }
const STRING = { takes: ['"x"', '""'], refuses: ['5', 'true'] }
const DATE = { takes: ['"2024-02-29"'], refuses: ['"x"', '"2024-02-29T10:00"', '5'] }
const DATE_TIME = { takes: ['"2024-02-29"', '"2024-02-29T10:00"'], refuses: ['"x"', '5'] }
const NUMBERS = { takes: ['[1]', '[]'], refuses: ['["a"]', '5', '[true]'] }
const STRINGS = { takes: ['["a"]', '[]'], refuses: ['[1]', '"a"'] }

const INFERENCES: readonly Inference[] = [
  { rule: 'booleans only → boolean', rows: '[{"c":true},{"c":false}]', ...BOOLEAN },
  {
    rule: 'numbers only → number',
    rows: '[{"c":1},{"c":-2.50}]',
    readBack: ['1', '-2.50'],
    ...NUMBER,
  },
  {
    rule: 'strings that are all date → date',
    rows: '[{"c":"2024-01-01"},{"c":"2024-01-02"}]',
    ...DATE,
  },
  {
    rule: 'strings that are all dateTime → dateTime',
    rows: '[{"c":"2024-01-01T10:00"},{"c":"2024-01-02 11:00Z"}]',
    ...DATE_TIME,
  },
  {
    rule: 'date and dateTime → dateTime',
    rows: '[{"c":"2024-01-01"},{"c":"2024-01-02T11:00"}]',
    ...DATE_TIME,
  },
  { rule: 'other strings → string', rows: '[{"c":"x"},{"c":"2024-01-01"}]', ...STRING },
  {
    rule: 'a mix → string, cells of another type stored as their JSON text',
    rows: '[{"c":"x"},{"c":12.50},{"c":true}]',
    readBack: ['"x"', '"12.50"', '"true"'],
    ...STRING,
  },
  {
    rule: 'numbers and booleans → string',
    rows: '[{"c":1},{"c":true}]',
    readBack: ['"1"', '"true"'],
    ...STRING,
  },
  {
    rule: 'JSON strings are never turned into numbers',
    rows: '[{"c":"1"},{"c":"2"}]',
    readBack: ['"1"', '"2"'],
    ...STRING,
  },
  { rule: 'JSON strings are never turned into booleans', rows: '[{"c":"true"}]', ...STRING },
  { rule: 'arrays of numbers → array of number', rows: '[{"c":[1,2]},{"c":[3]}]', ...NUMBERS },
  { rule: 'arrays of strings → array of string', rows: '[{"c":["x"]},{"c":[]}]', ...STRINGS },
  {
    rule: 'a column with only empty cells → string',
    rows: '[{"c":null},{}]',
    readBack: [null, null],
    ...STRING,
  },
  {
    rule: '"" is ignored among numbers',
    rows: '[{"c":""},{"c":1}]',
    readBack: [null, '1'],
    ...NUMBER,
  },
  { rule: '"" alone → string, kept', rows: '[{"c":""}]', readBack: ['""'], ...STRING },
  {
    rule: '"" is kept when the column becomes string',
    rows: '[{"c":""},{"c":"x"}]',
    readBack: ['""', '"x"'],
    ...STRING,
  },
  {
    rule: 'null is ignored among numbers',
    rows: '[{"c":null},{"c":1}]',
    readBack: [null, '1'],
    ...NUMBER,
  },
  {
    rule: 'CSV numbers → number',
    csv: true,
    rows: 'c\n1\n-2.50',
    readBack: ['1', '-2.50'],
    ...NUMBER,
  },
  {
    rule: 'CSV booleans → boolean',
    csv: true,
    rows: 'c\ntrue\nFALSE',
    readBack: ['true', 'false'],
    ...BOOLEAN,
  },
  { rule: 'CSV dates → date', csv: true, rows: 'c\n2024-01-01', ...DATE },
  { rule: 'CSV text → string', csv: true, rows: 'c\nx\n1', readBack: ['"x"', '"1"'], ...STRING },
  {
    rule: 'CSV leading zeros stay string',
    csv: true,
    rows: 'c\n007\n8',
    readBack: ['"007"', '"8"'],
    ...STRING,
  },
  {
    rule: 'CSV +1 stays string',
    csv: true,
    rows: 'c\n+1\n2',
    readBack: ['"+1"', '"2"'],
    ...STRING,
  },
  {
    rule: 'CSV integers of more than 15 digits stay string',
    csv: true,
    rows: 'c\n1234567890123456\n0.5',
    readBack: ['"1234567890123456"', '"0.5"'],
    ...STRING,
  },
  {
    rule: 'CSV decimals of more than 15 digits → number, as sent',
    csv: true,
    rows: 'c\n0.30000000000000004\n0.5\n1234567890123456.0\n1.234567890123456e1',
    readBack: ['0.30000000000000004', '0.5', '1234567890123456.0', '1.234567890123456e1'],
    ...NUMBER,
  },
  {
    rule: 'CSV decimals beyond a double stay string',
    csv: true,
    rows: 'c\n1.5e400\n0.5',
    readBack: ['"1.5e400"', '"0.5"'],
    ...STRING,
  },
  {
    rule: 'CSV integers of 15 digits → number',
    csv: true,
    rows: 'c\n123456789012345',
    readBack: ['123456789012345'],
    ...NUMBER,
  },
  {
    rule: 'CSV empty fields are ignored',
    csv: true,
    rows: 'c,d\n,x\n1,y',
    readBack: [null, '1'],
    ...NUMBER,
  },
]

async function check(
  api: Api,
  table: ReturnType<typeof tableAt>,
  inference: Inference,
): Promise<void> {
  const { readBack, takes, refuses } = inference
  if (readBack !== undefined) {
    const values = readBack.map((token) => (token === null ? undefined : JSON.parse(token)))
    assert.deepEqual(
      (await api.cellsOf(table)).map(({ c }) => c),
      values,
    )
    const text = await api.textOf(table)
    for (const token of readBack)
      if (token !== null) assert.ok(text.includes(`"c":${token}`), token)
  }
  for (const token of refuses) {
    await api.refused('POST', table.rows, { body: `[{"c":${token}}]` }, invalidValue('c'))
  }
  for (const token of takes) await api.ok('POST', table.rows, { body: `[{"c":${token}}]` })
}

const inferences: ContractCase[] = INFERENCES.flatMap((inference) => {
  const { rule, rows, csv } = inference
  const type = csv ? CSV : 'application/json'
  return [
    {
      name: `Inference: ${rule}`,
      run: async (api: Api) => {
        const created = await api.ok('POST', '/tables?name=inferred', { body: rows, type })
        const { data } = created.json as { data: { tableID: string } }
        await check(api, tableAt(data.tableID), inference)
      },
    },
    {
      name: `Inference from a stash: ${rule}`,
      run: async (api: Api) => {
        const stashId = uniqueName('s')
        await api.ok('PUT', `/stashes/${stashId}/0`, { body: rows, type })
        await check(api, await api.createTable({ rows: { $stashID: stashId } }), inference)
      },
    },
  ]
})

const others: ContractCase[] = [
  {
    name: 'Inference: over all values of the column in all chunks',
    run: async (api) => {
      const stashId = uniqueName('s')
      await api.putChunk(stashId, '0', [{ c: 1, d: 1, e: '2024-01-01' }])
      await api.putChunk(stashId, '1', [{ c: 'x', d: 2, e: '2024-01-01T10:00' }])
      const table = await api.createTable({ rows: { $stashID: stashId } })
      assert.deepEqual(await api.cellsOf(table), [
        { c: '1', d: 1, e: '2024-01-01' },
        { c: 'x', d: 2, e: '2024-01-01T10:00' },
      ])
      await api.refused('POST', table.rows, { body: [{ c: 5 }] }, invalidValue('c'))
      await api.refused('POST', table.rows, { body: [{ d: 'x' }] }, invalidValue('d'))
      await api.ok('POST', table.rows, { body: [{ e: '2024-01-01T10:00' }] })
    },
  },
  {
    name: 'Inference: a CSV chunk of numbers and one of text make a string column, to the character',
    run: async (api) => {
      const stashId = uniqueName('s')
      await api.ok('PUT', `/stashes/${stashId}/0`, { body: 'c\n1.50\n2', type: CSV })
      await api.ok('PUT', `/stashes/${stashId}/1`, { body: 'c\nx', type: TSV })
      const table = await api.createTable({ rows: { $stashID: stashId } })
      assert.deepEqual(await api.cellsOf(table), [{ c: '1.50' }, { c: '2' }, { c: 'x' }])
    },
  },
  {
    name: 'Inference: objects never fit, 422 for abort, no table is left',
    run: async (api) => {
      const name = uniqueName('t')
      await api.refused(
        'POST',
        '/tables',
        { body: { name, rows: [{ c: { a: 1 } }] } },
        invalidValue('c'),
      )
      assert.equal(await api.tableCount(name), 0)
    },
  },
  {
    name: 'Inference: rows without any column make a table without columns',
    run: async (api) => {
      const table = await api.createTable({ rows: [{}, {}] })
      assert.deepEqual(await api.cellsOf(table), [{}, {}])
    },
  },
  {
    name: 'Without schema an overwrite keeps the old schema: nothing is inferred',
    run: async (api) => {
      const table = await api.createTyped({ c: 'string' })
      await api.refused('PUT', table.path, { body: [{ c: 1 }] }, invalidValue('c'))
    },
  },
]

export const inferenceCases: readonly ContractCase[] = [...inferences, ...others]
