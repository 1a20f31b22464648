// CONTRACT.md, section 1: which rule a refusal names when a request breaks several.
import assert from 'node:assert/strict'
import {
  type ContractCase,
  CSV,
  METHOD,
  PRECONDITION,
  REQUEST_ERROR,
  ROW_NOT_FOUND,
  type SendOptions,
  TABLE_NOT_FOUND,
  tableAt,
  UNSUPPORTED,
  VALIDATION,
} from './api.js'

const NOWHERE = tableAt('00000000-0000-4000-8000-000000000000')
const N_COLUMN = { id: 'n', type: 'number' }
const NO_ROW = 'AAAAAAAAAAAAAAAAAAAAAA'

type Refusal = Readonly<{ status: number; type: string; message?: string | RegExp }>

/** One request that breaks two rules, and the rule that wins. */
const ORDER: readonly [rule: string, send: readonly [string, string, SendOptions?], Refusal][] = [
  [
    'a wrong key wins over an unknown path',
    ['GET', '/nowhere', { key: 'wrong-key' }],
    REQUEST_ERROR,
  ],
  [
    'a wrong key wins over a bad stash ID',
    ['PUT', '/stashes/_x/0', { key: 'wrong-key' }],
    REQUEST_ERROR,
  ],
  [
    'a wrong key wins over another method',
    ['PATCH', '/tables', { key: 'wrong-key' }],
    REQUEST_ERROR,
  ],
  [
    'a wrong key wins over a bad query',
    ['GET', `${NOWHERE.rows}?limit=0`, { key: 'wrong-key' }],
    REQUEST_ERROR,
  ],
  [
    'a wrong key wins over a broken body',
    ['POST', '/tables', { key: 'wrong-key', body: '{' }],
    REQUEST_ERROR,
  ],
  [
    'a wrong key wins over a body type',
    ['POST', '/tables', { key: 'wrong-key', body: 'x', type: 'text/plain' }],
    REQUEST_ERROR,
  ],
  ['an unknown path wins over the method', ['PATCH', '/nowhere', { body: {} }], REQUEST_ERROR],
  ['a bad path parameter wins over the method', ['GET', '/stashes/_x/0'], VALIDATION],
  [
    'a bad path parameter wins over the body',
    ['PUT', '/stashes/_x/0', { body: '{', type: 'text/plain' }],
    VALIDATION,
  ],
  ['the method wins over a bad query', ['PUT', `${NOWHERE.rows}?limit=0`], METHOD],
  ['a bad query wins over an unknown table', ['GET', `${NOWHERE.rows}?limit=0`], VALIDATION],
  [
    'a bad onSchemaError wins over an unknown table',
    ['POST', `${NOWHERE.rows}?onSchemaError=x`, { body: [] }],
    VALIDATION,
  ],
  [
    'a bad If-Match wins over an unknown table (overwrite)',
    ['PUT', NOWHERE.path, { body: [], headers: { 'if-match': '*' } }],
    VALIDATION,
  ],
  [
    'a bad If-Match wins over an unknown table (update)',
    ['PATCH', `${NOWHERE.rows}/${NO_ROW}`, { body: {}, headers: { 'if-match': '*' } }],
    VALIDATION,
  ],
  [
    'a bad x-glide-asynchronous wins over an unknown table',
    ['PUT', NOWHERE.path, { body: [], headers: { 'x-glide-asynchronous': '1' } }],
    VALIDATION,
  ],
  [
    'a bad Idempotency-Key wins over an unknown table',
    ['POST', NOWHERE.rows, { body: [], headers: { 'idempotency-key': 'x'.repeat(65) } }],
    VALIDATION,
  ],
  [
    'an unknown table wins over a broken body',
    ['POST', NOWHERE.rows, { body: '[{' }],
    TABLE_NOT_FOUND,
  ],
  ['an unknown table wins over a missing body', ['PUT', NOWHERE.path], TABLE_NOT_FOUND],
  ...['PATCH', 'DELETE'].flatMap((method): (typeof ORDER)[number][] => [
    [
      `a wrong key wins over a list of rows that is none (${method})`,
      [method, NOWHERE.rows, { key: 'wrong-key', body: '{' }],
      REQUEST_ERROR,
    ],
    [
      `an If-Match for many rows wins over an unknown table (${method})`,
      [method, NOWHERE.rows, { body: [], headers: { 'if-match': '"1"' } }],
      VALIDATION,
    ],
    [
      `an unknown table wins over a list of rows that is none (${method})`,
      [method, NOWHERE.rows, { body: '{' }],
      TABLE_NOT_FOUND,
    ],
    [
      `an unknown table wins over the rows of a list (${method})`,
      [
        method,
        NOWHERE.rows,
        { body: [{ rowID: NO_ROW, ...(method === 'PATCH' && { cells: {} }) }] },
      ],
      TABLE_NOT_FOUND,
    ],
  ]),
  [
    'a bad If-Match of a conversion wins over an unknown table',
    ['POST', `${NOWHERE.path}/convert`, { body: {}, headers: { 'if-match': '1' } }],
    VALIDATION,
  ],
  [
    'an unknown table wins over a conversion to no type',
    ['POST', `${NOWHERE.path}/convert`, { body: { column: 'n', type: 'none' } }],
    TABLE_NOT_FOUND,
  ],
  [
    'an unknown table wins over a body type',
    ['POST', NOWHERE.rows, { body: 'x', type: 'text/plain' }],
    TABLE_NOT_FOUND,
  ],
  [
    'an unknown table wins over a body that is too large',
    ['POST', NOWHERE.rows, { body: 'x'.repeat(17 << 20) }],
    TABLE_NOT_FOUND,
  ],
  [
    'an unknown table wins over an unknown row',
    ['GET', `${NOWHERE.rows}/${NO_ROW}`],
    TABLE_NOT_FOUND,
  ],
]

const order: ContractCase[] = ORDER.map(([rule, [method, path, options = {}], refusal]) => ({
  name: `Order of refusals: ${rule}`,
  run: async (api) => void (await api.refused(method, path, options, refusal)),
}))

/** The same, for rules that need a table with one number column. */
const ORDER_IN_TABLE: readonly [
  rule: string,
  send: (rows: string, rowId: string, table: string) => readonly [string, string, SendOptions],
  Refusal,
][] = [
  [
    'a broken body wins over an unknown row',
    (rows) => ['PATCH', `${rows}/${NO_ROW}`, { body: '{' }],
    VALIDATION,
  ],
  [
    'a body type wins over an unknown row',
    (rows) => ['PATCH', `${rows}/${NO_ROW}`, { body: 'n\n1', type: CSV }],
    UNSUPPORTED,
  ],
  [
    'an unknown row wins over If-Match',
    (rows) => ['PATCH', `${rows}/${NO_ROW}`, { body: { n: 2 }, headers: { 'if-match': '"0"' } }],
    ROW_NOT_FOUND,
  ],
  [
    'an unknown row wins over a value that does not fit',
    (rows) => ['PATCH', `${rows}/${NO_ROW}`, { body: { n: 'x' } }],
    ROW_NOT_FOUND,
  ],
  [
    'a broken body wins over If-Match (update)',
    (rows, row) => ['PATCH', `${rows}/${row}`, { body: '{"n":', headers: { 'if-match': '"0"' } }],
    VALIDATION,
  ],
  [
    'If-Match wins over a value that does not fit (update)',
    (rows, row) => [
      'PATCH',
      `${rows}/${row}`,
      { body: { n: 'x' }, headers: { 'if-match': '"0"' } },
    ],
    PRECONDITION,
  ],
  [
    'a broken body wins over If-Match (overwrite)',
    (_, __, table) => ['PUT', table, { body: '[{"n":', headers: { 'if-match': '"0"' } }],
    VALIDATION,
  ],
  [
    'If-Match wins over a value that does not fit (overwrite)',
    (_, __, table) => ['PUT', table, { body: [{ n: 'x' }], headers: { 'if-match': '"0"' } }],
    PRECONDITION,
  ],
  [
    'a broken row wins over an earlier value that does not fit',
    (rows) => ['POST', rows, { body: '[{"n":"x"},{"n":]' }],
    VALIDATION,
  ],
  [
    'a row that is no object wins over an earlier unknown column',
    (rows) => ['POST', rows, { body: '[{"m":1},5]' }],
    VALIDATION,
  ],
]

/** Rows of an overwrite with wrong data, each sent with If-Match of an older version. */
const LATE_OVERWRITES: readonly [what: string, body: unknown, type?: string][] = [
  ['a CSV header with a column twice', 'n,n\n1,2', CSV],
  ['a row with the key $stashID', [{ $stashID: 1, n: 1 }]],
  ['a schema with a column twice', { schema: { columns: [N_COLUMN, N_COLUMN] }, rows: [] }],
  ['a value that does not fit', [{ n: 'x' }]],
]

const ORDER_OF_OVERWRITES: typeof ORDER_IN_TABLE = LATE_OVERWRITES.flatMap(([what, body, type]) =>
  ['false', 'true'].map((asynchronous): (typeof ORDER_IN_TABLE)[number] => [
    `If-Match wins over ${what} (overwrite, asynchronous: ${asynchronous})`,
    (_, __, table) => {
      const headers = { 'if-match': '"0"', 'x-glide-asynchronous': asynchronous }
      return ['PUT', table, { body, headers, ...(type !== undefined && { type }) }]
    },
    PRECONDITION,
  ]),
)

const orderInTable: ContractCase[] = [...ORDER_IN_TABLE, ...ORDER_OF_OVERWRITES].map(
  ([rule, sending, refusal]) => ({
    name: `Order of refusals: ${rule}`,
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      const before = await api.textOf(table)
      const [method, path, options] = sending(table.rows, table.rowIds[0] ?? '', table.path)
      await api.refused(method, path, options, refusal)
      assert.equal(await api.textOf(table), before)
    },
  }),
)

export const orderCases: readonly ContractCase[] = [...order, ...orderInTable]
