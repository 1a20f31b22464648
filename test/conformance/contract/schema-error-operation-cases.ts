// CONTRACT.md, section 3, `onSchemaError`: each operation that takes rows, in each form, with rows that break several
// rules at once.
import assert from 'node:assert/strict'
import {
  type Api,
  type ContractCase,
  etagOf,
  expectRefusal,
  invalidValue,
  type Reply,
  rowIdsOf,
  type SendOptions,
  type TableAt,
  tableAt,
  uniqueName,
  unknownColumn,
} from './api.js'
import {
  arrange,
  type Form,
  pageText,
  type Rows,
  rowTextsOf,
  type Sendable,
  SHAPES,
  sendable,
} from './schema-error-input.js'

const SCHEMA = JSON.stringify({
  columns: [
    { id: 'n', type: 'number' },
    { id: 'd', type: { kind: 'date' } },
    { id: 's', type: 'string' },
  ],
})

const ROWS: Rows = {
  json: [
    '{"n":1.50,"d":"2024-01-02","s":"a"}',
    '{"n":"x","d":"2024-01-02T10:00","s":5,"u":1}',
    '{"n":null,"d":"","s":"","v":null}',
  ],
  csv: { header: 'n,d,s,u,v', records: ['1.50,2024-01-02,a,,', 'x,2024-01-02T10:00,5,1,', ',,,,'] },
}

const DROPPED = {
  json: ['{"n":1.50,"d":"2024-01-02","s":"a"}', '{}', '{"s":""}'],
  csv: ['{"n":1.50,"d":"2024-01-02","s":"a"}', '{"s":"5"}', '{}'],
}

const UPDATED = {
  json: [
    '{"n":"1.50","d":"2024-01-02","s":"a"}',
    '{"n":"x","d":"2024-01-02T10:00","s":"5","u":1}',
    '{"s":""}',
  ],
  csv: [
    '{"n":"1.50","d":"2024-01-02","s":"a"}',
    '{"n":"x","d":"2024-01-02T10:00","s":"5","u":1}',
    '{}',
  ],
}

const OLD = '{"n":34.50,"d":"2024-01-01","s":"old"}'
const OLD_UPDATED = '{"n":"34.50","d":"2024-01-01","s":"old"}'

type Shape = (typeof SHAPES)[number]

type Operation = Readonly<{
  what: string
  /** A row that exists before, in a table with this schema; null: no table exists. */
  before: readonly [schema: string, row: string] | null
  /** Whether the operation can send rows in this shape: CSV has no place for a schema. */
  takes(shape: Shape): boolean
  request(table: TableAt, sent: Sendable): [method: string, path: string, options: SendOptions]
  /** Whether existing rows remain. */
  adds: boolean
  /** The types of all forms are inferred, so there is no schema that rows could misfit. */
  infers: boolean
}>

const OTHER_SCHEMA = '{"columns":[{"id":"z","type":"number"}]}'

function withSchema(name: string | null, { rows }: Sendable): SendOptions {
  const named = name === null ? '' : `"name":${JSON.stringify(name)},`
  return { body: `{${named}"schema":${SCHEMA},"rows":${rows}}` }
}

function withoutRows({ rows: _, ...options }: Sendable): SendOptions {
  return options
}

const CREATED = 'created'

const OPERATIONS: readonly Operation[] = [
  {
    what: 'create table with schema',
    before: null,
    takes: ({ parts, isStash }) => isStash || parts === 'json',
    request: (_, sent) => ['POST', '/tables', withSchema(CREATED, sent)],
    adds: false,
    infers: false,
  },
  {
    what: 'create table without schema',
    before: null,
    takes: () => true,
    request: (_, sent) => {
      if (sent.rows === null) return ['POST', `/tables?name=${CREATED}`, withoutRows(sent)]
      return ['POST', '/tables', { body: `{"name":"${CREATED}","rows":${sent.rows}}` }]
    },
    adds: false,
    infers: true,
  },
  {
    what: 'overwrite table with schema',
    before: [OTHER_SCHEMA, '{"z":1}'],
    takes: ({ parts, isStash }) => isStash || parts === 'json',
    request: (table, sent) => ['PUT', table.path, withSchema(null, sent)],
    adds: false,
    infers: false,
  },
  {
    what: 'overwrite table without schema',
    before: [SCHEMA, OLD],
    takes: () => true,
    request: (table, sent) => ['PUT', table.path, withoutRows(sent)],
    adds: false,
    infers: false,
  },
  {
    what: 'add rows',
    before: [SCHEMA, OLD],
    takes: () => true,
    request: (table, sent) => ['POST', table.rows, withoutRows(sent)],
    adds: true,
    infers: false,
  },
]

async function createdTable(api: Api, body: string): Promise<TableAt> {
  const { json } = await api.ok('POST', '/tables', { body })
  const { data } = json as { data: { tableID: string; rowIDs: string[] } }
  return tableAt(data.tableID, data.rowIDs)
}

type Sent = Readonly<{ reply: Reply; before: TableAt | null; after: TableAt }>

async function perform(
  api: Api,
  { before, request }: Operation,
  shape: Shape,
  form: Form,
): Promise<Sent> {
  const sent = await sendable(api, shape, ROWS)
  const table =
    before === null
      ? null
      : await createdTable(api, `{"name":"t","schema":${before[0]},"rows":[${before[1]}]}`)
  const [method, path, options] = request(table ?? tableAt('none'), sent)
  const query = `${path.includes('?') ? '&' : '?'}onSchemaError=${form}`
  const reply = await api.send(method, path + query, options)
  const { data } = (reply.json ?? {}) as { data?: { tableID?: string } }
  return { reply, before: table, after: table ?? tableAt(data?.tableID ?? '') }
}

/** Cells whose acceptance shows the type of each column. */
const AFTER_DROPPED = {
  takes: '{"n":5,"d":"2024-02-29","s":"z"}',
  refuses: [
    ['{"n":"5"}', invalidValue('n')],
    ['{"d":"2024-02-29T10:00"}', invalidValue('d')],
    ['{"s":5}', invalidValue('s')],
    ['{"u":5}', unknownColumn('u')],
    ['{"v":null}', unknownColumn('v')],
  ],
} as const

const AFTER_UPDATED = {
  takes: '{"n":"y","d":"2024-02-29T10:00","s":"z","u":5,"v":"t"}',
  refuses: [
    ['{"n":5}', invalidValue('n')],
    ['{"d":"x"}', invalidValue('d')],
    ['{"s":5}', invalidValue('s')],
    ['{"u":"5"}', invalidValue('u')],
    ['{"v":5}', invalidValue('v')],
    ['{"w":1}', unknownColumn('w')],
  ],
} as const

async function checkDone(
  api: Api,
  { reply, after }: Sent,
  rows: readonly string[],
  types: typeof AFTER_DROPPED | typeof AFTER_UPDATED,
): Promise<void> {
  assert.equal(await rowTextsOf(api, after), pageText(rows))
  assert.equal(etagOf(reply), `"${await api.versionOf(after)}"`)
  const read = await api.rowsOf(after)
  const given = rowIdsOf(reply)
  assert.deepEqual(read.map(({ $rowID }) => $rowID).slice(read.length - given.length), given)
  for (const [row, wanted] of types.refuses) {
    await api.refused('POST', after.rows, { body: `[${row}]` }, wanted)
  }
  await api.ok('POST', after.rows, { body: `[${types.takes}]` })
}

const done: ContractCase[] = OPERATIONS.flatMap((operation) =>
  SHAPES.filter(operation.takes).flatMap((shape) =>
    (['dropColumns', 'updateSchema'] as const).map((form) => ({
      name: `${form}, ${operation.what}, ${shape.what}: rows that do not fit in several ways`,
      run: async (api: Api) => {
        const sent = await perform(api, operation, shape, form)
        assert.ok(sent.reply.status < 300, sent.reply.text)
        const drops = form === 'dropColumns' && !operation.infers
        const { json, csv } = drops ? DROPPED : UPDATED
        const old = operation.adds ? [drops ? OLD : OLD_UPDATED] : []
        const rows = [...old, ...arrange(shape, json, csv)]
        const types = drops ? AFTER_DROPPED : AFTER_UPDATED
        assert.equal(etagOf(sent.reply), sent.before === null ? '"1"' : '"2"')
        await checkDone(api, sent, rows, types)
      },
    })),
  ),
)

const aborted: ContractCase[] = OPERATIONS.flatMap((operation) =>
  SHAPES.filter(operation.takes).map((shape) => ({
    name: `abort, ${operation.what}, ${shape.what}: ${
      operation.infers ? 'nothing can misfit' : 'nothing happens, the first misfit decides'
    }`,
    run: async (api: Api) => {
      const tables = await api.tableCount(CREATED)
      const sent = await perform(api, operation, shape, 'abort')
      if (operation.infers) {
        assert.equal(etagOf(sent.reply), '"1"')
        await checkDone(api, sent, arrange(shape, UPDATED.json, UPDATED.csv), AFTER_UPDATED)
        return
      }
      // The first CSV row has all columns of the header, including the unknown `u`.
      const wanted = shape.parts === 'json' ? invalidValue('n') : unknownColumn('u')
      expectRefusal(sent.reply, wanted)
      if (sent.before === null) return assert.equal(await api.tableCount(CREATED), tables)
      assert.equal(await rowTextsOf(api, sent.before), pageText([operation.before?.[1] ?? '']))
      assert.equal(await api.versionOf(sent.before), 1)
    },
  })),
)

/** Values that fit no type. */
const UNFIT: readonly [what: string, token: string][] = [
  ['an object', '{"a":1}'],
  ['an empty object', '{}'],
  ['a number beyond a double', '-1e400'],
  ['a lone surrogate', '"\\ud800"'],
  ['an array with null', '[1,null]'],
  ['an array of arrays', '[["x"]]'],
  ['an array of objects', '[{}]'],
  ['an array with a number beyond a double', '[1e400]'],
]

const UNFIT_REQUESTS: readonly [
  what: string,
  method: string,
  /** @param row - A row of the table `{ c, k }`. */
  request: (
    table: TableAt,
    rows: string,
  ) => readonly [path: string, body: string, name: string | null],
][] = [
  [
    'create table with schema',
    'POST',
    (_, rows) => {
      const name = uniqueName('t')
      const columns = '[{"id":"c","type":"number"},{"id":"k","type":"string"}]'
      return ['/tables', `{"name":"${name}","schema":{"columns":${columns}},"rows":${rows}}`, name]
    },
  ],
  [
    'create table without schema',
    'POST',
    (_, rows) => {
      const name = uniqueName('t')
      return ['/tables', `{"name":"${name}","rows":${rows}}`, name]
    },
  ],
  ['overwrite table', 'PUT', (table, rows) => [table.path, rows, null]],
  ['add rows', 'POST', (table, rows) => [table.rows, rows, null]],
]

const unfit: ContractCase[] = UNFIT_REQUESTS.flatMap(([what, method, request]) => [
  {
    name: `updateSchema, ${what}: 422 for values that no type holds, and nothing happens`,
    run: async (api: Api) => {
      const table = await api.createTyped({ c: 'number', k: 'string' }, [{ c: 1, k: 'old' }])
      for (const [, token] of UNFIT) {
        const rows = `[{"k":"a","c":"x"},{"k":"b","c":${token}}]`
        const [path, body, name] = request(table, rows)
        await api.refused(method, `${path}?onSchemaError=updateSchema`, { body }, invalidValue('c'))
        if (name !== null) assert.equal(await api.tableCount(name), 0)
      }
      assert.equal(await rowTextsOf(api, table), pageText(['{"c":1,"k":"old"}']))
      assert.equal(await api.versionOf(table), 1)
      await api.refused('POST', table.rows, { body: [{ c: 'x' }] }, invalidValue('c'))
    },
  },
  ...UNFIT.map(([value, token]) => ({
    name: `dropColumns, ${what}: ${value} is left out, the rest of the row goes in`,
    run: async (api: Api) => {
      const table = await api.createTyped({ c: 'number', k: 'string' })
      const rows = `[{"c":1.50,"k":"a"},{"k":"b","c":${token}},{"c":${token},"k":"c"}]`
      const [path, body] = request(table, rows)
      const reply = await api.ok(method, `${path}?onSchemaError=dropColumns`, { body })
      const { data } = reply.json as { data: { tableID?: string } }
      const wanted = pageText(['{"c":1.50,"k":"a"}', '{"k":"b"}', '{"k":"c"}'])
      assert.equal(await rowTextsOf(api, tableAt(data.tableID ?? table.id)), wanted)
    },
  })),
])

export const schemaErrorOperationCases: readonly ContractCase[] = [...done, ...aborted, ...unfit]
