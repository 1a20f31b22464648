// CONTRACT.md, section 2: errors of data: columns, values, schemas, and the chunks of a stash.
import assert from 'node:assert/strict'
import {
  type Api,
  type ContractCase,
  CSV,
  invalidValue,
  NOT_UNIQUE,
  RESERVED,
  STASH_NOT_FOUND,
  TSV,
  uniqueName,
  unknownColumn,
  VALIDATION,
} from './api.js'

type DataCase = readonly [rule: string, body: unknown, type: string | undefined, refusal: object]

/** Bodies of rows for a table with the one number column `n`. */
const DATA: readonly DataCase[] = [
  [
    "422 column_id_not_found: beginning with Unknown column ID 'foo'",
    [{ foo: 1 }],
    undefined,
    unknownColumn('foo'),
  ],
  [
    "422 column_id_not_found from CSV: beginning with Unknown column ID 'foo'",
    'foo\n1',
    CSV,
    unknownColumn('foo'),
  ],
  [
    "422 column_id_not_found from TSV: beginning with Unknown column ID 'foo'",
    'n\tfoo\n1\t2',
    TSV,
    unknownColumn('foo'),
  ],
  [
    "422 column_has_invalid_value: beginning with Invalid value for column 'n'",
    [{ n: 'x' }],
    undefined,
    invalidValue('n'),
  ],
  [
    "422 column_has_invalid_value from CSV: beginning with Invalid value for column 'n'",
    'n\nx',
    CSV,
    invalidValue('n'),
  ],
  ['422 column_id_reserved: $stashID as a key of a row', [{ $stashID: 'x' }], undefined, RESERVED],
  ['422 column_id_reserved: $stashID as a CSV header', '$stashID\nx', CSV, RESERVED],
  ['422 column_id_reserved: $stashID as a TSV header', 'n\t$stashID\n1\tx', TSV, RESERVED],
  ['422 column_id_not_unique: the same ID twice in a CSV header', 'n,n\n1,2', CSV, NOT_UNIQUE],
  ['422 column_id_not_unique: the same ID twice in a TSV header', 'n\tn\n1\t2', TSV, NOT_UNIQUE],
  ['400 goes first: the same ID twice, and a long record', 'n,n\n1,2\n1,2,3', CSV, VALIDATION],
  [
    '400 goes first: a reserved ID, and text that is no JSON',
    '[{"$stashID":1},{]',
    undefined,
    VALIDATION,
  ],
  [
    'an unknown column named like a prototype member is unknown',
    [{ toString: 1 }],
    undefined,
    unknownColumn('toString'),
  ],
  [
    'an unknown column __proto__ is unknown',
    '[{"__proto__":1}]',
    undefined,
    unknownColumn('__proto__'),
  ],
  [
    'the first misfit is that of the lowest row',
    [{ n: 1 }, { n: 'x' }, { m: 1 }],
    undefined,
    invalidValue('n'),
  ],
  [
    'the first misfit is that of the first column in row order',
    '[{"m":1,"n":"x"}]',
    undefined,
    unknownColumn('m'),
  ],
  [
    'the first misfit is that of the first column in row order, turned around',
    '[{"n":"x","m":1}]',
    undefined,
    invalidValue('n'),
  ],
]

const data: ContractCase[] = DATA.flatMap(([rule, body, type, refusal]) =>
  (['add', 'overwrite'] as const).map((operation) => ({
    name: `${rule} (${operation})`,
    run: async (api: Api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      const before = await api.textOf(table)
      const version = await api.versionOf(table)
      const [method, path] = operation === 'add' ? ['POST', table.rows] : ['PUT', table.path]
      const wanted = refusal as { status: number; type: string }
      await api.refused(method ?? '', path ?? '', { body, ...(type && { type }) }, wanted)
      assert.equal(await api.textOf(table), before)
      assert.equal(await api.versionOf(table), version)
    },
  })),
)

type PlaceCase = readonly [
  what: string,
  body: unknown,
  type: string | undefined,
  refusal: ReturnType<typeof invalidValue | typeof unknownColumn>,
  message: RegExp,
]

/** Errors of rows for a table with the one number column `n`. Rows are counted from 0, lines from 1. */
const PLACES: readonly PlaceCase[] = [
  [
    'a value of JSON: its row, its text and the rule',
    [{ n: 1 }, { n: 2 }, { n: 'two' }],
    undefined,
    invalidValue('n'),
    /^Invalid value for column 'n' .*row 2\b.*number.*"two"/,
  ],
  [
    'a value of CSV: its row, its line, its text and the rule',
    'n\n1\n2\ntwo\n',
    CSV,
    invalidValue('n'),
    /^Invalid value for column 'n' .*row 2\b.*line 4\b.*number.*two/,
  ],
  [
    'an unknown column: the first row that has it',
    [{ n: 1 }, { m: null }],
    undefined,
    unknownColumn('m'),
    /^Unknown column ID 'm' .*row 1\b/,
  ],
  [
    'a value that could forge a line of a log: without its line breaks',
    'n\n"x\r\ny"',
    CSV,
    invalidValue('n'),
    /^Invalid value for column 'n' \P{Cc}*row 0\b\P{Cc}*$/u,
  ],
]

const places: ContractCase[] = [
  ...PLACES.map(([what, body, type, refusal, message]) => ({
    name: `the message of a 422 says where: ${what}`,
    run: async (api: Api) => {
      const table = await api.createTyped({ n: 'number' })
      const sent = { body, ...(type && { type }) }
      await api.refused('POST', table.rows, sent, { ...refusal, message })
      await api.refused('PUT', table.path, sent, { ...refusal, message })
    },
  })),
  {
    name: 'the message of a 422 says where: the chunk of a stash',
    run: async (api) => {
      const stashId = uniqueName('s')
      const table = await api.createTyped({ n: 'number' })
      await api.putChunk(stashId, '0', [{ n: 1 }, { n: 2 }])
      await api.putChunk(stashId, '1', [{ n: 3 }, { n: true }])
      const message = /^Invalid value for column 'n' .*row 1\b.*chunk '1'.*number.*true/
      const wanted = { ...invalidValue('n'), message }
      await api.refused('POST', table.rows, { body: { $stashID: stashId } }, wanted)
    },
  },
  {
    name: 'the message of a 422 of a row update names no row: the path does',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      const message = /^Invalid value for column 'n'(?!.*row \d).*number.*"x"/
      const wanted = { ...invalidValue('n'), message }
      await api.refused('PATCH', `${table.rows}/${table.rowIds[0]}`, { body: { n: 'x' } }, wanted)
    },
  },
]

const schemas: ContractCase[] = [
  ...['$stashID', '$rowID'].map((id) => ({
    name: `422 column_id_reserved: ${id} as a column in a schema`,
    run: async (api: Api) => {
      const schema = { columns: [{ id, type: 'string' }] }
      const table = await api.createTable()
      const name = uniqueName('t')
      await api.refused('POST', '/tables', { body: { name, schema, rows: [] } }, RESERVED)
      await api.refused('PUT', table.path, { body: { schema, rows: [] } }, RESERVED)
      assert.equal(await api.tableCount(name), 0)
    },
  })),
  {
    name: '422 column_id_not_unique: the same ID twice in schema.columns',
    run: async (api) => {
      const columns = [
        { id: 'a', type: 'string' },
        { id: 'b', type: 'string' },
        { id: 'a', type: 'number' },
      ]
      const table = await api.createTable()
      await api.refused(
        'POST',
        '/tables',
        { body: { name: 'x', schema: { columns }, rows: [] } },
        NOT_UNIQUE,
      )
      await api.refused('PUT', table.path, { body: { schema: { columns }, rows: [] } }, NOT_UNIQUE)
    },
  },
]

const STASH_PUT: readonly [rule: string, body: unknown, type?: string][] = [
  ['$stashID as a key', [{ $stashID: 'x' }]],
  ['$stashID as a CSV header', '$stashID\nx', CSV],
  ['a duplicate CSV header', 'a,a\n1,2', CSV],
  ['a duplicate TSV header', 'a\ta\n1\t2', TSV],
  ['broken rows: a row that is no object', [1]],
  ['broken rows: null as a row', [null]],
  ['broken rows: an array as a row', [[]]],
  ['broken rows: JSON that breaks off', '[{"a":1}'],
  ['broken rows: text after the array', '[] x'],
  ['a stash reference', { $stashID: 's' }],
  ['an object of rows', { rows: [] }],
  ['an unclosed quote in CSV', 'a\n"x', CSV],
  ['a CSV record longer than its header', 'a\n1,2', CSV],
]

const stashPut: ContractCase[] = STASH_PUT.map(([rule, body, type]) => ({
  name: `400 request_validation_error on PUT of a stash chunk: ${rule}`,
  run: async (api) => {
    const stashId = uniqueName('s')
    await api.refused('PUT', `/stashes/${stashId}/0`, { body, ...(type && { type }) }, VALIDATION)
    const use = { name: uniqueName('t'), rows: { $stashID: stashId } }
    await api.refused('POST', '/tables', { body: use }, STASH_NOT_FOUND)
  },
}))

export const dataErrorCases: readonly ContractCase[] = [...data, ...places, ...schemas, ...stashPut]
