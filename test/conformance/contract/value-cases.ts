// CONTRACT.md, section 3: kinds and the values that fit them.
import assert from 'node:assert/strict'
import {
  type Api,
  type ContractCase,
  CSV,
  invalidValue,
  type TableAt,
  TSV,
  VALIDATION,
} from './api.js'
import { ARRAY_VALUES, KIND_VALUES } from './value-table.js'

/** The tokens of the column `c` in row order, as the page shows them; null for an empty cell. */
async function tokensOf(api: Api, table: TableAt): Promise<readonly (string | null)[]> {
  const text = await api.textOf(table)
  const rows = text.slice('{"data":['.length, -']}'.length).split(/(?<=\}),(?=\{"\$rowID")/)
  return rows.map((row) => /^\{"\$rowID":"[^"]+"(?:,"c":(.*))?\}$/s.exec(row)?.[1] ?? null)
}

async function refuseEach(
  api: Api,
  type: unknown,
  bodies: readonly string[],
  as?: string,
): Promise<void> {
  const table = await api.createTyped({ c: type })
  for (const body of bodies) {
    await api.refused('POST', table.rows, { body, ...(as && { type: as }) }, invalidValue('c'))
  }
  assert.deepEqual(await api.rowsOf(table), [])
}

function csvField(text: string): string {
  return /[",\n\r]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

const jsonRows = (tokens: readonly string[]) =>
  `[${tokens.map((token) => `{"c":${token}}`).join()}]`

const kinds: ContractCase[] = KIND_VALUES.flatMap(
  ({ kind, fits, misfits, textFits, textMisfits }) => [
    {
      name: `JSON values that fit ${kind} come back to the token`,
      run: async (api: Api) => {
        const table = await api.createTyped({ c: kind })
        await api.ok('POST', table.rows, { body: jsonRows(fits) })
        assert.deepEqual(await tokensOf(api, table), fits)
      },
    },
    {
      name: `JSON values that do not fit ${kind} are 422 column_has_invalid_value`,
      run: (api: Api) =>
        refuseEach(
          api,
          kind,
          misfits.map((token) => jsonRows([token])),
        ),
    },
    {
      name: `CSV text that fits ${kind} comes back as its value`,
      run: async (api: Api) => {
        const table = await api.createTyped({ c: kind })
        for (const [field] of textFits) {
          await api.ok('POST', table.rows, { body: `c\n${csvField(field)}`, type: CSV })
        }
        assert.deepEqual(
          await tokensOf(api, table),
          textFits.map(([, token]) => token),
        )
      },
    },
    {
      name: `CSV text that fits ${kind} comes back as its value from one body too`,
      run: async (api: Api) => {
        const table = await api.createTyped({ c: kind })
        const body = `c\r\n${textFits.map(([field]) => csvField(field)).join('\r\n')}\r\n`
        await api.ok('POST', table.rows, { body, type: CSV })
        assert.deepEqual(
          await tokensOf(api, table),
          textFits.map(([, token]) => token),
        )
      },
    },
    ...(textMisfits.length === 0
      ? []
      : [
          {
            name: `CSV text that does not fit ${kind} is 422 column_has_invalid_value`,
            run: (api: Api) =>
              refuseEach(
                api,
                kind,
                textMisfits.map((text) => `c\n${csvField(text)}`),
                CSV,
              ),
          },
        ]),
    {
      name: `a value that does not fit ${kind} is refused in PATCH too`,
      run: async (api: Api) => {
        const table = await api.createTyped({ c: kind }, [{}])
        const [token = ''] = misfits
        const row = `${table.rows}/${table.rowIds[0]}`
        await api.refused('PATCH', row, { body: `{"c":${token}}` }, invalidValue('c'))
      },
    },
  ],
)

const arrays: ContractCase[] = ARRAY_VALUES.flatMap(([items, fits, misfits]) => {
  const type = { kind: 'array', items: { kind: items } }
  return [
    {
      name: `array of ${items}: a JSON array whose every element fits, to the token`,
      run: async (api: Api) => {
        const table = await api.createTyped({ c: type })
        await api.ok('POST', table.rows, { body: jsonRows(fits) })
        assert.deepEqual(await tokensOf(api, table), fits)
      },
    },
    {
      name: `array of ${items}: anything else is 422 (an element may not be null)`,
      run: (api: Api) =>
        refuseEach(
          api,
          type,
          misfits.map((token) => jsonRows([token])),
        ),
    },
    {
      name: `array of ${items}: in CSV a JSON array text`,
      run: async (api: Api) => {
        const table = await api.createTyped({ c: type })
        const body = `c\n${fits.map(csvField).join('\n')}`
        await api.ok('POST', table.rows, { body, type: CSV })
        assert.deepEqual(await tokensOf(api, table), fits)
        for (const text of ['1,2', '[', '[1', 'a', '[null]', '[] []']) {
          await api.refused(
            'POST',
            table.rows,
            { body: `c\n${csvField(text)}`, type: CSV },
            invalidValue('c'),
          )
        }
      },
    },
  ]
})

const TYPES_REFUSED: readonly [what: string, type: unknown][] = [
  ['json is not allowed', 'json'],
  ['json is not allowed as an object', { kind: 'json' }],
  ['json is not allowed as items', { kind: 'array', items: { kind: 'json' } }],
  ['"array" as a plain string', 'array'],
  ['an array without items', { kind: 'array' }],
  ['an array of arrays', { kind: 'array', items: { kind: 'array', items: { kind: 'string' } } }],
  ['items as a plain string', { kind: 'array', items: 'string' }],
  ['an unknown kind', 'integer'],
  ['a kind in another letter case', 'String'],
  ['a kind named like a prototype member', 'constructor'],
  ['a kind object of a prototype member', { kind: 'toString' }],
  ['no type', undefined],
  ['null', null],
  ['a number', 1],
  ['an empty object', {}],
  ['an array', ['string']],
]

const types: ContractCase[] = [
  ...TYPES_REFUSED.map(([what, type]) => ({
    name: `a column type is refused with 400: ${what}`,
    run: async (api: Api) => {
      const schema = { columns: [{ id: 'a', type }] }
      const table = await api.createTable()
      const wanted = { ...VALIDATION, message: /^Invalid request body: / }
      await api.refused('POST', '/tables', { body: { name: 'x', schema, rows: [] } }, wanted)
      await api.refused('PUT', table.path, { body: { schema, rows: [] } }, wanted)
    },
  })),
  ...KIND_VALUES.map(({ kind, fits, misfits }) => ({
    name: `both spellings of a scalar mean the same: ${kind}`,
    run: async (api: Api) => {
      const table = await api.createTyped({ c: { kind } })
      await api.ok('POST', table.rows, { body: jsonRows(fits) })
      await api.refused(
        'POST',
        table.rows,
        { body: jsonRows([misfits[0] ?? '']) },
        invalidValue('c'),
      )
    },
  })),
]

const ODD_IDS = [
  ' ',
  'a b',
  'a.b',
  '😀',
  'constructor',
  '__proto__',
  'toString',
  'hasOwnProperty',
  'valueOf',
  '0',
  '1',
  '-',
  "'",
  '"',
  'a,b',
  'a\nb',
  'x'.repeat(256),
  '$id',
  'rowID',
  'é',
  'e\u0301',
]

const columnIds: ContractCase[] = [
  {
    name: 'Odd IDs are legal and must survive',
    run: async (api) => {
      const rows = `[{${ODD_IDS.map((id, at) => `${JSON.stringify(id)}:${at}`).join()}}]`
      const columns = ODD_IDS.map((id) => ({ id, type: 'number' }))
      const table = await api.createTable({ schema: { columns } })
      await api.ok('POST', table.rows, { body: rows })
      assert.ok((await api.textOf(table)).includes(rows.slice(2, -2)))
    },
  },
  {
    name: 'Odd IDs survive in CSV headers, inferred',
    run: async (api) => {
      const header = ODD_IDS.map((id) => `"${id.replaceAll('"', '""')}"`).join()
      const body = `${header}\n${ODD_IDS.map((_, at) => at).join()}`
      const created = await api.ok('POST', '/tables?name=odd', { body, type: CSV })
      const { data } = created.json as { data: { tableID: string } }
      const page = await api.ok('GET', `/tables/${data.tableID}/rows`)
      for (const [at, id] of ODD_IDS.entries()) {
        assert.ok(page.text.includes(`${JSON.stringify(id)}:${at}`), id)
      }
    },
  },
  ...(
    [
      ['empty', ''],
      ['of more than 256 UTF-16 units', 'x'.repeat(257)],
      ['not well-formed', '\ud800'],
      ['a number', 5],
      ['null', null],
      ['missing', undefined],
    ] as const
  ).map(([what, id]) => ({
    name: `a column ID is refused with 400: ${what}`,
    run: async (api: Api) => {
      const schema = { columns: [{ id, type: 'string' }] }
      await api.refused('POST', '/tables', { body: { name: 'x', schema, rows: [] } }, VALIDATION)
    },
  })),
  ...(
    [
      ['no object', 5],
      ['null', null],
      ['an array', []],
      ['without columns', {}],
      ['columns that are no array', { columns: {} }],
      ['a column that is no object', { columns: ['a'] }],
      [
        'a display name that is no string',
        { columns: [{ id: 'a', type: 'string', displayName: 5 }] },
      ],
    ] as const
  ).map(([what, schema]) => ({
    name: `a schema is refused with 400: ${what}`,
    run: async (api: Api) => {
      await api.refused('POST', '/tables', { body: { name: 'x', schema, rows: [] } }, VALIDATION)
    },
  })),
  {
    name: 'a host beyond ASCII has at most 253 characters, as JSON and as CSV',
    run: async (api) => {
      const list = { kind: 'array', items: { kind: 'uri' } }
      const kinds = { u: 'uri', i: 'imageURI', a: 'audioURI', l: list }
      const table = await api.createTyped(kinds)
      const uriOf = (units: number) => `https://${'ü'.repeat(units)}:80/`
      const long = uriOf(253)
      const row = { u: long, i: long, a: long, l: [long] }
      await api.ok('POST', table.rows, { body: [row] })
      await api.ok('POST', table.rows, { body: `u\n${long}`, type: CSV })
      for (const [column, value] of Object.entries(row)) {
        const longer = Array.isArray(value) ? [uriOf(254)] : uriOf(254)
        const body = [{ [column]: longer }]
        await api.refused('POST', table.rows, { body }, invalidValue(column))
      }
      const csv = `u\n${uriOf(254)}`
      await api.refused('POST', table.rows, { body: csv, type: CSV }, invalidValue('u'))
    },
  },
  {
    name: 'displayName is optional and may be any string',
    run: async (api) => {
      const columns = [
        { id: 'a', type: 'number', displayName: '' },
        { id: 'b', type: 'number', displayName: 'Größe 📏' },
        { id: 'c', type: 'number' },
      ]
      const table = await api.createTable({ schema: { columns }, rows: [{ a: 1, b: 2, c: 3 }] })
      assert.deepEqual(await api.cellsOf(table), [{ a: 1, b: 2, c: 3 }])
    },
  },
]

const tokens: ContractCase[] = [
  ...KIND_VALUES.map(({ kind }) => ({
    name: `null, and in CSV an empty field, is an empty cell of ${kind}: it fits and is absent when read back`,
    run: async (api: Api) => {
      const table = await api.createTyped({ c: kind, other: 'string' })
      await api.ok('POST', table.rows, { body: [{ c: null, other: 'x' }] })
      await api.ok('POST', table.rows, { body: 'c,other\n,x', type: CSV })
      await api.ok('POST', table.rows, { body: 'c\tother\n\tx', type: TSV })
      const cells = await api.cellsOf(table)
      assert.deepEqual(cells, [{ other: 'x' }, { other: 'x' }, { other: 'x' }])
    },
  })),
  {
    name: '"" is kept in string and markdown columns and is an empty cell in every other kind',
    run: async (api) => {
      const types = Object.fromEntries(KIND_VALUES.map(({ kind }) => [kind, kind]))
      const row = Object.fromEntries(KIND_VALUES.map(({ kind }) => [kind, '']))
      const table = await api.createTyped(types, [row])
      assert.deepEqual(await api.cellsOf(table), [{ string: '', markdown: '' }])
      await api.ok('PATCH', `${table.rows}/${table.rowIds[0]}`, { body: row })
      assert.deepEqual(await api.cellsOf(table), [{ string: '', markdown: '' }])
    },
  },
  {
    name: 'No coercion between JSON types',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number', s: 'string', b: 'boolean' })
      await api.refused('POST', table.rows, { body: [{ n: '12' }] }, invalidValue('n'))
      await api.refused('POST', table.rows, { body: [{ s: 12 }] }, invalidValue('s'))
      await api.refused('POST', table.rows, { body: [{ b: 'true' }] }, invalidValue('b'))
      await api.refused('POST', table.rows, { body: [{ b: 1 }] }, invalidValue('b'))
    },
  },
  {
    name: 'Of duplicate keys in a row the last wins',
    run: async (api) => {
      const table = await api.createTyped({ a: 'number', b: 'number' })
      await api.ok('POST', table.rows, {
        body: '[{"a":1,"b":2,"a":3},{"a":1,"a":null},{"a":"x","a":4}]',
      })
      assert.deepEqual(await api.cellsOf(table), [{ a: 3, b: 2 }, {}, { a: 4 }])
    },
  },
  {
    name: '-0 reads back as 0',
    run: async (api) => {
      const table = await api.createTyped({ c: 'number' })
      await api.ok('POST', table.rows, { body: '[{"c":-0},{"c":0}]' })
      assert.deepEqual(await tokensOf(api, table), ['0', '0'])
    },
  },
  {
    name: 'Integers above 2^53 are stored and sent as written',
    run: async (api) => {
      const table = await api.createTyped({ c: 'number' }, [{}])
      await api.ok('PATCH', `${table.rows}/${table.rowIds[0]}`, { body: '{"c":9007199254740993}' })
      assert.deepEqual(await tokensOf(api, table), ['9007199254740993'])
    },
  },
  {
    name: 'a CSV number may have spaces around it',
    run: async (api) => {
      const table = await api.createTyped({ c: 'number' })
      await api.ok('POST', table.rows, { body: 'c\n 7 \n"  8"\n9', type: CSV })
      assert.deepEqual(await api.cellsOf(table), [{ c: 7 }, { c: 8 }, { c: 9 }])
    },
  },
  {
    name: 'a CSV number fits duration as milliseconds',
    run: async (api) => {
      const table = await api.createTyped({ c: 'duration' })
      await api.ok('POST', table.rows, { body: 'c\n1500\nPT1S', type: CSV })
      assert.equal((await api.rowsOf(table)).length, 2)
    },
  },
  {
    name: 'unusual spellings of the same key are the same column',
    run: async (api) => {
      const table = await api.createTyped({ a: 'number' })
      await api.ok('POST', table.rows, { body: '[{"\\u0061":1}]' })
      assert.deepEqual(await api.cellsOf(table), [{ a: 1 }])
    },
  },
]

export const valueCases: readonly ContractCase[] = [
  ...kinds,
  ...arrays,
  ...types,
  ...columnIds,
  ...tokens,
]
