// CONTRACT.md, section 4: the form of a body's rows. A file gives the same table by every way in, and impossible
// combinations are refused.
import assert from 'node:assert/strict'
import { encodeWestern, GERMAN_CSV, SOURCE_URLS } from '../fake-sources.js'
import {
  type Api,
  type ContractCase,
  CSV,
  invalidValue,
  type SendOptions,
  TSV,
  tableAt,
  UNSUPPORTED,
  uniqueName,
  VALIDATION,
} from './api.js'

const JSON_TYPE = 'application/json'
const WESTERN = `${CSV}; charset=windows-1252`

function queryOf(said: readonly (readonly [string, string])[]): string {
  return new URLSearchParams(said.map(([name, value]) => [name, value])).toString()
}

const SAID = [
  ['csv.delimiter', ';'],
  ['csv.decimal', ','],
  ['csv.thousands', '.'],
  ['csv.currency', '€'],
  ['csv.dates', 'dd.mm.yyyy'],
  ['csv.booleans', 'WAHR'],
  ['csv.booleans', 'FALSCH'],
  ['csv.nulls', 'n/a'],
  ['csv.nulls', 'k. A.'],
] as const

const GERMAN = queryOf(SAID)
const WHOLE_GERMAN = queryOf([...SAID, ['csv.skipLines', '2']])

const CELLS = [
  { Name: 'Müller GmbH', Preis: 1234.5, Tag: '2026-12-31', Aktiv: true, Rest: 1 },
  { Name: 'Groß; & Co', Preis: -7, Tag: '2026-02-01', Aktiv: false },
  { Name: 'Ärger', Tag: '2026-04-03', Aktiv: true },
]

const KINDS = { Name: 'string', Preis: 'number', Tag: 'date', Aktiv: 'boolean', Rest: 'number' }

const BODY: SendOptions = { body: encodeWestern(GERMAN_CSV), type: WESTERN }

type Read = Readonly<{
  format: string
  encoding: string
  delimiter?: string
  headerLine?: number
  rows: number
  advice: readonly Readonly<{ code: string; column?: string; count?: number; line?: number }>[]
}>

function readOf(json: unknown): Read {
  const { data } = json as { data: { read: Read } | { read: Read }[] }
  return Array.isArray(data) ? (data[0] as { read: Read }).read : data.read
}

async function created(api: Api, query: string, body: SendOptions) {
  const { json } = await api.ok('POST', `/tables?name=${uniqueName('d')}&${query}`, body)
  const { tableID } = (json as { data: { tableID: string } }).data
  return { table: tableAt(tableID), read: readOf(json) }
}

async function kindsOf(api: Api, path: string): Promise<Record<string, string>> {
  const { json } = await api.ok('GET', path)
  const { schema } = (json as { data: { schema: { columns: { id: string; type: object }[] } } })
    .data
  return Object.fromEntries(schema.columns.map(({ id, type }) => [id, Reflect.get(type, 'kind')]))
}

async function expectGerman(api: Api, table: ReturnType<typeof tableAt>): Promise<void> {
  assert.deepEqual(await api.cellsOf(table), CELLS)
  assert.deepEqual(await kindsOf(api, table.path), KINDS)
}

const ADVICE = [
  { code: 'nulls', count: 2, line: 6 },
  { code: 'numbers', column: 'Preis', count: 2, line: 4, example: '1.234,50 €' },
  { code: 'dates', column: 'Tag', count: 3, line: 4, example: '31.12.2026' },
  { code: 'booleans', column: 'Aktiv', count: 3, line: 4, example: 'WAHR' },
]

const REPORT = { format: 'csv', encoding: 'windows-1252', delimiter: ';', headerLine: 3, rows: 3 }

const ways: ContractCase[] = [
  {
    name: 'a create reads CSV as its parameters say, and tells what it read',
    async run(api) {
      const { table, read } = await created(api, WHOLE_GERMAN, BODY)
      await expectGerman(api, table)
      assert.deepEqual(read, { ...REPORT, advice: ADVICE })
    },
  },
  {
    name: 'a create detects how CSV is written, and tells what it found',
    async run(api) {
      const { table, read } = await created(api, 'csv.dialect=detect&csv.nulls=n/a', {
        ...BODY,
        type: CSV,
      })
      await expectGerman(api, table)
      const { advice, ...report } = read
      assert.deepEqual(report, REPORT)
      const codes = advice.map(({ code }) => code)
      for (const code of ['encoding', 'delimiter', 'skippedLines', 'numbers', 'dates', 'booleans'])
        assert.ok(codes.includes(code), code)
    },
  },
  {
    name: 'an overwrite, an add and a merge read CSV as their parameters say',
    async run(api) {
      const table = await api.createTyped(KINDS)
      const put = await api.ok('PUT', `${table.path}?${WHOLE_GERMAN}`, BODY)
      await expectGerman(api, table)
      assert.deepEqual(readOf(put.json), { ...REPORT, advice: ADVICE })
      await api.ok('PUT', table.path, { body: [] })
      const added = await api.ok('POST', `${table.rows}?${WHOLE_GERMAN}`, BODY)
      await expectGerman(api, table)
      assert.equal(readOf(added.json).rows, 3)
      const path = `${table.path}/merge?key=Name&${WHOLE_GERMAN}`
      const check = await api.ok('POST', `${path}&validate=only`, BODY)
      assert.equal(readOf(check.json).rows, 3)
      const merged = await api.ok('POST', path, BODY)
      const { data } = merged.json as { data: { unchanged: number } }
      assert.deepEqual([data.unchanged, readOf(merged.json).rows], [3, 3])
    },
  },
  {
    name: 'chunks of a stash are read as the parameters of each say',
    async run(api) {
      const stashId = uniqueName('s')
      const [, , header = '', ...lines] = GERMAN_CSV.trimEnd().split('\n')
      for (const [serial, line] of lines.entries()) {
        const body = encodeWestern(`${header}\n${line}\n`)
        const path = `/stashes/${stashId}/${serial}?${GERMAN}`
        const { json } = await api.ok('PUT', path, { body, type: WESTERN })
        assert.deepEqual([readOf(json).rows, readOf(json).headerLine], [1, 1])
      }
      await expectGerman(api, await api.createTable({ rows: { $stashID: stashId } }))
    },
  },
  {
    name: 'an import of a URL reads CSV as its parameters say, and by the charset of its type',
    async run(api) {
      for (const [fromUrl, more] of [
        [SOURCE_URLS.german, '&csv.encoding=windows-1252'],
        [SOURCE_URLS.typedGerman, ''],
      ] as const) {
        const path = `/tables/import?${WHOLE_GERMAN}${more}`
        const { json } = await api.ok('POST', path, { body: { fromUrl } })
        const [made] = (json as { data: { tableID: string }[] }).data
        await expectGerman(api, tableAt(made?.tableID ?? ''))
        assert.deepEqual(readOf(json), { ...REPORT, advice: ADVICE })
      }
    },
  },
  {
    name: 'an import of a URL detects how a file is written: CSV, and where in JSON the rows are',
    async run(api) {
      const path = '/tables/import?csv.dialect=detect'
      const load = async (query: string, fromUrl: string) => {
        const { json } = await api.ok('POST', query, { body: { fromUrl } })
        const [made] = (json as { data: { tableID: string }[] }).data
        return { table: tableAt(made?.tableID ?? ''), read: readOf(json) }
      }
      await expectGerman(api, (await load(`${path}&csv.nulls=n/a`, SOURCE_URLS.german)).table)
      const { table, read } = await load(path, SOURCE_URLS.wrapped)
      assert.deepEqual(await api.cellsOf(table), [{ a: 1 }, { a: 2 }])
      assert.deepEqual(read.advice, [{ code: 'at', example: 'data' }])
      const { table: named } = await load('/tables/import?json.at=data', SOURCE_URLS.wrapped)
      assert.deepEqual(await api.cellsOf(named), [{ a: 1 }, { a: 2 }])
      const absent = await load('/tables/import?csv.dialect=plain', SOURCE_URLS.headerless)
      const cells = [
        { column1: 1, column2: 'x' },
        { column1: 2, column2: 'y' },
      ]
      assert.deepEqual(await api.cellsOf(absent.table), cells)
    },
  },
  {
    name: 'an import of a URL may be a job, which reads the file as the request says, and has no report',
    async run(api) {
      const path = `/tables/import?${WHOLE_GERMAN}`
      const headers = { 'x-glide-asynchronous': 'true' }
      const body = { fromUrl: SOURCE_URLS.typedGerman }
      const { json, status } = await api.ok('POST', path, { body, headers })
      assert.equal(status, 201)
      const [made] = (json as { data: { tableID: string; read?: unknown }[] }).data
      await expectGerman(api, tableAt(made?.tableID ?? ''))
      assert.equal(made?.read, undefined)
    },
  },
  {
    name: 'header=absent of the media type names the columns, unless the query does',
    async run(api) {
      const body = { body: '1,x\n2,y\n', type: `${CSV}; header=absent` }
      const { table, read } = await created(api, '', body)
      const cells = [
        { column1: 1, column2: 'x' },
        { column1: 2, column2: 'y' },
      ]
      assert.deepEqual(await api.cellsOf(table), cells)
      assert.deepEqual(read, {
        format: 'csv',
        encoding: 'utf-8',
        delimiter: ',',
        rows: 2,
        advice: [],
      })
      const named = await created(api, 'csv.header=n&csv.header=m', body)
      assert.deepEqual(await api.cellsOf(named.table), [
        { n: 1, m: 'x' },
        { n: 2, m: 'y' },
      ])
      const tabbed = await created(api, '', { body: '1\tx\n', type: `${TSV}; header=absent` })
      assert.deepEqual(await api.cellsOf(tabbed.table), cells.slice(0, 1))
    },
  },
  {
    name: 'json.at names the array of rows in an object',
    async run(api) {
      const body = { body: '{"result":{"items":[{"a":1},{"a":2}]}}', type: JSON_TYPE }
      const { table, read } = await created(api, 'json.at=result.items', body)
      assert.deepEqual(await api.cellsOf(table), [{ a: 1 }, { a: 2 }])
      assert.deepEqual(read, { format: 'json', encoding: 'utf-8', rows: 2, advice: [] })
    },
  },
  {
    name: 'json.nested makes columns or text of objects, of a body, a chunk and a file at a URL',
    async run(api) {
      const rows = [{ a: { b: 1, c: { d: 'x' } } }, { a: { b: 2 } }]
      const flat = [{ 'a.b': 1, 'a.c.d': 'x' }, { 'a.b': 2 }]
      const advice = [{ code: 'nested', column: 'a', line: 1, count: 3 }]
      const { table, read } = await created(api, 'json.nested=flatten', { body: rows })
      assert.deepEqual(await api.cellsOf(table), flat)
      assert.deepEqual(read, { format: 'json', encoding: 'utf-8', rows: 2, advice })
      const wrapped = { body: JSON.stringify({ data: rows }), type: JSON_TYPE }
      const text = await created(api, 'json.nested=text&json.at=data', wrapped)
      assert.deepEqual(await api.cellsOf(text.table), [
        { a: '{"b":1,"c":{"d":"x"}}' },
        { a: '{"b":2}' },
      ])
      const stashId = uniqueName('s')
      const how = 'json.nested=flatten'
      await api.ok('POST', `${table.path}/merge?key=a.b&${how}`, { body: rows })
      await api.ok('PUT', `${table.path}?${how}`, { body: rows.slice(0, 1) })
      await api.ok('POST', `${table.rows}?${how}`, { body: rows.slice(1) })
      await api.ok('PUT', `/stashes/${stashId}/0?${how}`, { body: rows })
      await api.ok('POST', table.rows, { body: { $stashID: stashId } })
      assert.deepEqual(await api.cellsOf(table), [...flat, ...flat])
      const nested = '/tables/import?json.nested=flatten'
      const { json } = await api.ok('POST', nested, { body: { fromUrl: SOURCE_URLS.objects } })
      assert.deepEqual(readOf(json).advice, [{ code: 'nested', column: 'o', line: 1, count: 1 }])
    },
  },
  {
    name: 'validate=only reads rows as the operation does, with the kinds of the table',
    async run(api) {
      const table = await api.createTyped({ n: 'number' })
      const body = { body: 'n\n"1,5"\nx\n', type: CSV }
      const path = `${table.rows}?csv.decimal=,`
      const { json } = await api.ok('POST', `${path}&validate=only`, body)
      const { problems } = (json as { data: { problems: { row: number; value: string }[] } }).data
      assert.deepEqual(
        problems.map(({ row, value }) => [row, value]),
        [[1, 'x']],
      )
      assert.equal(readOf(json).rows, 2)
      await api.ok('POST', `${path}&onSchemaError=dropColumns`, body)
      assert.deepEqual(await api.cellsOf(table), [{ n: 1.5 }, {}])
    },
  },
  {
    name: 'an Idempotency-Key belongs to one dialect, also to that of the media type',
    async run(api) {
      const table = await api.createTyped({ column1: 'string', column2: 'string' })
      const headers = { 'idempotency-key': uniqueName('k').slice(0, 64) }
      const body = 'column1,column2\nx,y\n'
      await api.ok('POST', table.rows, { body, type: CSV, headers })
      const other = { body, type: `${CSV}; header=absent`, headers }
      await api.refused('POST', table.rows, other, { ...VALIDATION, status: 422 })
      assert.deepEqual(await api.cellsOf(table), [{ column1: 'x', column2: 'y' }])
    },
  },
]

/** A value of each parameter. */
const EVERY = [
  ...SAID,
  ['csv.dialect', 'plain'],
  ['csv.header', 'present'],
  ['csv.skipLines', '0'],
  ['csv.comment', '#'],
  ['csv.quote', '"'],
  ['csv.quotes', 'relaxed'],
  ['csv.escape', 'double'],
  ['csv.trim', 'false'],
  ['csv.encoding', 'utf-8'],
  ['csv.blankLines', 'skip'],
  ['csv.extraFields', 'drop'],
  ['csv.columns', '{"n":{"decimal":"."}}'],
] as const

const every: ContractCase = {
  name: 'every operation that takes rows takes every parameter',
  async run(api) {
    const body = { body: 'n;m\n1.5;x\n\n#\n2;y;z\n', type: CSV }
    const query = queryOf(EVERY)
    const table = await api.createTyped({ n: 'number', m: 'string' })
    const ways: readonly (readonly [method: string, path: string])[] = [
      ['POST', `/tables?name=${uniqueName('e')}`],
      ['PUT', `${table.path}?`],
      ['POST', `${table.rows}?`],
      ['POST', `${table.path}/merge?key=n`],
      ['PUT', `/stashes/${uniqueName('s')}/0?`],
    ]
    for (const [i, [method, path]] of ways.entries()) {
      const { json } = await api.ok(method, `${path}&${query}`, body)
      assert.equal(readOf(json).rows, 2)
      const at = { body: `{"data":[{"n":${7 + i},"m":"x"}]}`, type: JSON_TYPE }
      assert.equal(readOf((await api.ok(method, `${path}&json.at=data`, at)).json).rows, 1)
    }
    const imports = queryOf(EVERY.filter(([name]) => name !== 'csv.columns'))
    const fromUrl = SOURCE_URLS.german
    const more = 'csv.columns=%7B%22Preis%22:%7B%22decimal%22:%22,%22%7D%7D'
    const path = `/tables/import?${imports}&${more}`.replace('encoding=utf-8', 'encoding=latin1')
    await api.ok('POST', path.replace('skipLines=0', 'skipLines=2'), { body: { fromUrl } })
  },
}

const CSV_BODY = { body: 'n\n1\n', type: CSV }

const REFUSED: readonly (readonly [query: string, body: SendOptions, message: RegExp])[] = [
  ['csv.delimeter=;', CSV_BODY, /query: 'csv.delimeter' is not a parameter.*'csv.delimiter'/],
  ['csv.=;', CSV_BODY, /query: 'csv.' is not a parameter/],
  ['csv.at=x', CSV_BODY, /query: 'csv.at' is not a parameter/],
  ['csv.onReport=x', CSV_BODY, /query: 'csv.onReport' is not a parameter/],
  ['csv.__proto__=x', CSV_BODY, /query: 'csv.__proto__' is not a parameter/],
  ['json.path=x', CSV_BODY, /query: 'json.path' is not a parameter/],
  ['csv.delimiter=ab', CSV_BODY, /query: csv.delimiter must be one character/],
  ['csv.delimiter=;&csv.delimiter=;', CSV_BODY, /query: 'csv.delimiter' is given more than once/],
  ['csv.delimiter=%ff', CSV_BODY, /query: .*percent-encoding/],
  ['csv.decimal=.&csv.thousands=.', CSV_BODY, /query: csv.thousands must not be the same/],
  ['csv.skipLines=1e2', CSV_BODY, /query: csv.skipLines must be an integer from 0 to 1000/],
  ['csv.skipLines=1001', CSV_BODY, /query: csv.skipLines must be an integer from 0 to 1000/],
  ['csv.trim=yes', CSV_BODY, /query: csv.trim must be true or false/],
  ['csv.dates=d.m.y', CSV_BODY, /query: csv.dates must be one of dd.mm.yyyy/],
  ['csv.booleans=yes', CSV_BODY, /query: csv.booleans must be the words for true and false/],
  ['csv.nulls=', CSV_BODY, /query: csv.nulls must be up to 32 texts/],
  ['csv.encoding=x-none', CSV_BODY, /query: csv.encoding must be a name such as/],
  ['csv.columns=x', CSV_BODY, /query: csv.columns must be JSON/],
  ['csv.columns=%7B%22n%22:1%7D', CSV_BODY, /query: csv.columns must be options by column/],
  ['csv.dialect=guess', CSV_BODY, /query: csv.dialect must be plain or detect/],
  ['csv.quote=%09', { body: 'n\n1\n', type: TSV }, /query: csv.delimiter must not be the same/],
  ['csv.delimiter=;', { body: [{ n: 1 }] }, /query: csv.delimiter is only for CSV and TSV bodies/],
  ['csv.dialect=plain', { body: [{ n: 1 }] }, /query: csv.dialect is only for CSV and TSV bodies/],
  ['json.at=data', CSV_BODY, /query: json.at is only for JSON bodies/],
  ['json.nested=flatten', CSV_BODY, /query: json.nested is only for JSON bodies/],
  ['json.nested=columns', { body: [{ n: 1 }] }, /query: json.nested must be flatten or text/],
  ['json.nested=text', { body: { rows: [{ n: 1 }] } }, /body: .*not a JSON array/],
  ['json.at=data', { body: { rows: [{ n: 1 }] } }, /body: .*no array of objects at data/],
  ['csv.columns=%7B%22m%22:%7B%7D%7D', CSV_BODY, /body: the header has no column "m"/],
  ['csv.delimiter=;', { body: ' \n', type: CSV }, /body: it is empty/],
  ['csv.encoding=utf-16le', { ...CSV_BODY, body: 'n\n1' }, /body: not valid utf-16le/],
  ['csv.delimiter=;', { body: 'n;m\n1;2;3\n', type: CSV }, /body: .*line 2/],
]

const refusals: ContractCase[] = [
  {
    name: 'parameters that are unknown, not allowed or of another format are 400, and change nothing',
    async run(api) {
      const table = await api.createTyped({ n: 'number' })
      const stashId = uniqueName('s')
      const ways: readonly (readonly [method: string, path: string])[] = [
        ['POST', table.rows],
        ['PUT', table.path],
        ['PUT', `/stashes/${stashId}/0`],
      ]
      for (const [query, body, message] of REFUSED) {
        for (const [method, path] of ways) {
          await api.refused(method, `${path}?${query}`, body, { ...VALIDATION, message })
        }
      }
      assert.equal(await api.versionOf(table), 1)
      const rows = { $stashID: stashId }
      await api.refused(
        'POST',
        table.rows,
        { body: rows },
        { status: 400, type: 'stash_not_found' },
      )
    },
  },
  {
    name: 'a chunk of a stash has no detection: 400 that says what to do',
    async run(api) {
      const path = `/stashes/${uniqueName('s')}/0?csv.dialect=detect`
      const message = /query: csv.dialect=detect cannot be used for a chunk.*for each chunk/
      await api.refused('PUT', path, CSV_BODY, { ...VALIDATION, message })
    },
  },
  {
    name: 'charsets that name no encoding, and a header that is no word of RFC 4180, are 415',
    async run(api) {
      const table = await api.createTyped({ n: 'number' })
      for (const type of [
        'text/csv; charset=x-none',
        'text/csv; charset=utf-7',
        'text/csv; charset=latin1',
        'text/csv; charset=utf-16',
        'text/csv; charset=replacement',
        'application/json; charset=windows-1252',
      ]) {
        const wanted = { ...UNSUPPORTED, message: /^Charset '.*' is not supported: send UTF-8/ }
        await api.refused('POST', table.rows, { body: 'n\n1\n', type }, wanted)
      }
      const odd = { body: 'n\n1\n', type: 'text/csv; header=none' }
      const wanted = { ...UNSUPPORTED, message: /header must be present or absent, not 'none'/ }
      await api.refused('POST', table.rows, odd, wanted)
    },
  },
  {
    name: 'an import refuses what is said of another format, and a charset that there is not',
    async run(api) {
      const path = '/tables/import?'
      for (const [query, fromUrl, message] of [
        ['csv.delimiter=;', SOURCE_URLS.json, /no delimiter, which is only for csv and tsv/],
        ['json.at=data', SOURCE_URLS.csv, /no at, which is only for json/],
        ['json.nested=text', SOURCE_URLS.csv, /no nested, which is only for json and ndjson/],
        ['csv.dialect=detect', SOURCE_URLS.oddCharset, /charset "x-none"/],
        ['csv.delimeter=;', SOURCE_URLS.csv, /'csv.delimeter' is not a parameter/],
        ['csv.skipLines=2', SOURCE_URLS.typedGerman, /2 fields for 1 columns/],
      ] as const) {
        const displayName = uniqueName('import')
        const body = { fromUrl, displayName }
        await api.refused('POST', path + query, { body }, { ...VALIDATION, message })
        assert.equal(await api.tableCount(displayName), 0)
      }
    },
  },
]

/** A field that does not fit a kind, and queries, each of which makes it fit. */
const REMEDIES: readonly (readonly [kind: string, field: string, queries: readonly string[]])[] = [
  ['boolean', 'ja', ['csv.booleans=yes&csv.booleans=no']],
  ['date', '31.12.2024', ['csv.dates=dd.mm.yyyy']],
  ['date', '01/02/2024', ['csv.dates=dd/mm/yyyy', 'csv.dates=mm/dd/yyyy']],
  ['date', '31.12.2024 10:00', []],
  ['dateTime', '31.12.2024 10:00', ['csv.dates=dd.mm.yyyy']],
  ['date', 'soon', []],
  ['number', '1,5', ['csv.decimal=,']],
  ['number', '1,500', ['csv.decimal=,', 'csv.thousands=,']],
  ['number', '1.000.000', ['csv.thousands=.']],
  ['number', '1.000,5', ['csv.thousands=.']],
  ['number', '1 000', ['csv.thousands=%20']],
  ['number', '1 000,5', ['csv.decimal=,&csv.thousands=%20']],
  ['number', '1,000.5', ['csv.thousands=,']],
  ['number', '\u20ac5', ['csv.currency=%E2%82%AC']],
  ['number', '5,00 EUR', ['csv.decimal=,&csv.currency=EUR']],
  ['number', 'x', []],
  ['number', '+5', []],
]

const remedies: ContractCase[] = REMEDIES.map(([kind, field, queries]) => ({
  name: `A field ${field} that is no ${kind} names what would read it: ${queries.join(' or ') || 'nothing'}`,
  async run(api) {
    const table = await api.createTyped({ x: kind, s: 'string' })
    const options = { body: `x,s\n"${field}",a\n`, type: CSV }
    const message = await api.refused('POST', table.rows, options, invalidValue('x'))
    const [, told = ''] = message.split(`, not "${field}"`)
    if (kind === 'boolean') {
      assert.equal(told, `; ${queries[0]} sets the words for true and false`)
      const read = 'csv.booleans=ja&csv.booleans=nein'
      return void (await api.ok('POST', `${table.rows}?${read}`, options))
    }
    assert.equal(told, queries.length === 0 ? '' : `; ${queries.join(' or ')} reads it`)
    for (const query of queries) {
      await api.ok('POST', `${table.rows}?${query}`, options)
      const [name = ''] = query.split('=')
      const other = `${table.rows}?${name}=${name === 'csv.dates' ? 'yyyy/mm/dd' : "'"}`
      const said = await api.send('POST', other, options)
      assert.ok(!said.text.includes(`${name}=`), said.text)
    }
    const json = { body: [{ x: field }] }
    const ofJson = await api.refused('POST', table.rows, json, invalidValue('x'))
    assert.ok(!ofJson.includes('csv.'))
  },
}))

export const dialectCases: readonly ContractCase[] = [...ways, every, ...refusals, ...remedies]
