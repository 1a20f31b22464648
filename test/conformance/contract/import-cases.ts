// CONTRACT.md, section 5: POST /tables/import.
import assert from 'node:assert/strict'
import { SOURCE_URLS } from '../fake-sources.js'
import {
  type Api,
  type ContractCase,
  expectRefusal,
  METHOD,
  TABLE_NOT_FOUND,
  type TableAt,
  tableAt,
  UNSUPPORTED,
  uniqueName,
  VALIDATION,
} from './api.js'
import { FILE_TOO_LARGE } from './upload-api.js'

const PATH = '/tables/import'

const ROWS = [{ a: 1, b: 'x\n' }, { a: 2 }, { a: 3, b: 'z' }]

type Imported = Readonly<{ tableID: string; rowIDs: string[]; linkedAppIDs?: string[] }>

async function imported(api: Api, body: object, query = ''): Promise<Imported> {
  const { json } = await api.ok('POST', PATH + query, { body })
  const { data } = json as { data: Imported[] }
  assert.equal(data.length, 1)
  return data[0] as Imported
}

function tableOf({ tableID, rowIDs }: Imported): TableAt {
  return tableAt(tableID, rowIDs)
}

async function nameOf(api: Api, { tableID }: Imported): Promise<string | undefined> {
  const { json } = await api.ok('GET', '/tables')
  const { data } = json as { data: { id: string; name: string }[] }
  return data.find(({ id }) => id === tableID)?.name
}

const FORMATS = ['csv', 'tsv', 'json', 'ndjson'] as const

const formats: ContractCase[] = FORMATS.map((format) => ({
  name: `POST /tables/import creates one table from ${format}, with its row IDs in input order`,
  run: async (api) => {
    const made = await imported(api, { fromUrl: SOURCE_URLS[format], displayName: 'Rows' })
    const rows = await api.rowsOf(tableOf(made))
    assert.deepEqual(
      rows.map(({ $rowID: _, ...cells }) => cells),
      ROWS,
    )
    assert.deepEqual(
      rows.map(({ $rowID }) => $rowID),
      made.rowIDs,
    )
    assert.equal(await nameOf(api, made), 'Rows')
  },
}))

const names: ContractCase[] = (
  [
    ['csv', 'My rows.v2'],
    ['tsv', 'Some rows'],
    ['json', 'rows'],
  ] as const
).map(([format, name]) => ({
  name: `POST /tables/import without displayName takes the name of the file: ${name}`,
  run: async (api) => {
    const made = await imported(api, { fromUrl: SOURCE_URLS[format] })
    assert.equal(await nameOf(api, made), name)
  },
}))

const WRONG_BODIES: readonly (readonly [what: string, body: unknown])[] = [
  ['an empty object', {}],
  ['an array', []],
  ['a text', '"x"'],
  ['broken JSON', '{"fromUrl":'],
  ['no fromUrl', { displayName: 'x' }],
  ['a fromUrl that is a number', { fromUrl: 1 }],
  ['a fromUrl that is null', { fromUrl: null }],
  ['fromURL', { fromURL: SOURCE_URLS.csv }],
  ['an unknown property', { fromUrl: SOURCE_URLS.csv, name: 'x' }],
  ['a displayName that is empty', { fromUrl: SOURCE_URLS.csv, displayName: '' }],
  ['a displayName that is null', { fromUrl: SOURCE_URLS.csv, displayName: null }],
  [
    'a displayName of 1,001 characters',
    { fromUrl: SOURCE_URLS.csv, displayName: 'x'.repeat(1001) },
  ],
  ['appsToLink that is a string', { fromUrl: SOURCE_URLS.csv, appsToLink: 'app-a' }],
]

const bodies: ContractCase[] = [
  ...WRONG_BODIES.map(([what, body]) => ({
    name: `POST /tables/import with ${what}: 400`,
    run: async (api: Api) => {
      const wanted = { ...VALIDATION, message: /^Invalid request body: / }
      await api.refused('POST', PATH, { body }, wanted)
    },
  })),
  {
    name: 'POST /tables/import with CSV as its body: 415',
    run: async (api) => {
      await api.refused('POST', PATH, { body: 'a\n1\n', type: 'text/csv' }, UNSUPPORTED)
    },
  },
  {
    name: 'POST /tables/import reads onSchemaError and x-glide-asynchronous; bad ones are 400',
    run: async (api) => {
      const body = { fromUrl: SOURCE_URLS.csv }
      await api.ok('POST', PATH, { body, headers: { 'x-glide-asynchronous': 'false' } })
      await api.refused('POST', `${PATH}?onSchemaError=x`, { body }, VALIDATION)
      await api.refused(
        'POST',
        PATH,
        { body, headers: { 'x-glide-asynchronous': '1' } },
        VALIDATION,
      )
    },
  },
]

const FAILURES = [
  ['a URL that is not allowed', 'http://127.0.0.1/x.csv', 400, 'source_url_not_allowed', /URL/],
  ['a source that breaks off', SOURCE_URLS.brokenCsv, 400, 'source_url_failed', /broke off/],
  ['a source that is too slow', SOURCE_URLS.slow, 408, 'source_url_timeout', /./],
  ['a file of no known format', SOURCE_URLS.named, 400, 'request_validation_error', /extension/],
  ['a charset that is not UTF-8', SOURCE_URLS.latin1, 400, 'request_validation_error', /charset/],
  ['a quote that is not closed', SOURCE_URLS.unclosed, 400, 'request_validation_error', /line 3/],
  ['a reserved column', SOURCE_URLS.reserved, 422, 'column_id_reserved', /stashID/],
  ['a column twice', SOURCE_URLS.twice, 422, 'column_id_not_unique', /line 1/],
  ['an object as a value', SOURCE_URLS.objects, 422, 'column_has_invalid_value', /row 0/],
] as const

const failures: ContractCase[] = FAILURES.map(([what, fromUrl, status, type, message]) => ({
  name: `POST /tables/import of ${what}: ${status}, and no table is left`,
  run: async (api) => {
    const displayName = uniqueName('import')
    const wanted = { status, type, message }
    await api.refused('POST', PATH, { body: { fromUrl, displayName } }, wanted)
    assert.equal(await api.tableCount(displayName), 0)
  },
}))

const others: ContractCase[] = [
  {
    name: 'POST /tables/import with onSchemaError=dropColumns drops what fits no type',
    run: async (api) => {
      const body = { fromUrl: SOURCE_URLS.objects }
      const made = await imported(api, body, '?onSchemaError=dropColumns')
      assert.deepEqual(await api.cellsOf(tableOf(made)), [{ a: 1 }])
    },
  },
  {
    name: 'POST /tables/import of a file that is too large: 413',
    run: async (api) => {
      await api.refused('POST', PATH, { body: { fromUrl: SOURCE_URLS.endlessCsv } }, FILE_TOO_LARGE)
    },
  },
  {
    name: 'POST /tables/import with appsToLink, in the body and the query: linkedAppIDs',
    run: async (api) => {
      const body = { fromUrl: SOURCE_URLS.csv, appsToLink: ['app-a'] }
      const made = await imported(api, body, '?appsToLink=app-b')
      assert.deepEqual(made.linkedAppIDs?.toSorted(), ['app-a', 'app-b'])
    },
  },
  {
    name: 'other methods on /tables/import are as on any table; 405 allows POST besides',
    run: async (api) => {
      await api.refused('PUT', PATH, { body: [] }, TABLE_NOT_FOUND)
      for (const method of ['GET', 'DELETE', 'PATCH']) {
        await api.refused(method, PATH, {}, TABLE_NOT_FOUND)
      }
      const reply = await api.send('OPTIONS', PATH)
      expectRefusal(reply, METHOD)
      assert.equal(reply.headers.get('allow'), 'PUT, GET, PATCH, DELETE, HEAD, POST')
    },
  },
]

export const importCases: readonly ContractCase[] = [
  ...formats,
  ...names,
  ...bodies,
  ...failures,
  ...others,
]
