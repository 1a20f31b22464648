// Goal: a key may do what its scopes and its tables allow, on every route, and nothing else.
// Method: the table below states the requirements of each route. It is written by hand, not derived from the routes.
import { describe, expect, onTestFinished, test } from 'vitest'
import { ROUTES } from '../../../src/contract/routes.js'
import type { KeyRights } from '../../../src/engine/types/key-types.js'
import type { ContractKey, KeyScope, Store } from '../../../src/index.js'
import { createContract, openMemory, StoreError } from '../../../src/index.js'

const SCOPES: readonly KeyScope[] = ['read', 'write', 'upload']

const TABLE_MISSING = '00000000-0000-4000-8000-000000000000'

type Rule = Readonly<{ scopes: readonly KeyScope[]; also?: KeyScope; limited: boolean }>

/**
 * By route: the scopes of which one is required, another one that is also required, and whether a key limited to tables
 * may use the route.
 */
const RULES: Readonly<Record<string, Rule>> = {
  'GET /tables': { scopes: ['read'], limited: true },
  'POST /tables': { scopes: ['write'], limited: false },
  'POST /tables/import': { scopes: ['write'], limited: false },
  'PUT /tables/{tableID}': { scopes: ['write'], limited: true },
  'GET /tables/{tableID}': { scopes: ['read'], limited: true },
  'PATCH /tables/{tableID}': { scopes: ['write'], limited: true },
  'DELETE /tables/{tableID}': { scopes: ['write'], limited: true },
  'GET /tables/{tableID}/receipts/{version}': { scopes: ['read'], limited: true },
  'GET /tables/{tableID}/changes/{version}': { scopes: ['read'], limited: true },
  'POST /tables/{tableID}/merge': { scopes: ['write'], limited: true },
  'POST /tables/{tableID}/convert': { scopes: ['write'], also: 'read', limited: true },
  'GET /tables/{tableID}/rows': { scopes: ['read'], limited: true },
  'HEAD /tables/{tableID}/rows': { scopes: ['read'], limited: true },
  'POST /tables/{tableID}/rows': { scopes: ['write'], limited: true },
  'PATCH /tables/{tableID}/rows': { scopes: ['write'], limited: true },
  'DELETE /tables/{tableID}/rows': { scopes: ['write'], limited: true },
  'GET /tables/{tableID}/changes': { scopes: ['read'], limited: true },
  'HEAD /tables/{tableID}/changes': { scopes: ['read'], limited: true },
  'GET /tables/{tableID}/groups': { scopes: ['read'], limited: true },
  'GET /tables/{tableID}/count': { scopes: ['read'], limited: true },
  'GET /tables/{tableID}/by-key': { scopes: ['read'], limited: true },
  'GET /tables/{tableID}/export': { scopes: ['read'], limited: true },
  'HEAD /tables/{tableID}/export': { scopes: ['read'], limited: true },
  'GET /tables/{tableID}/rows/{rowID}': { scopes: ['read'], limited: true },
  'PATCH /tables/{tableID}/rows/{rowID}': { scopes: ['write'], limited: true },
  'DELETE /tables/{tableID}/rows/{rowID}': { scopes: ['write'], limited: true },
  'PUT /stashes/{stashID}/{serial}': { scopes: ['write'], limited: false },
  'GET /stashes': { scopes: ['write'], limited: false },
  'GET /jobs': { scopes: ['read', 'write'], limited: true },
  'GET /uploads': { scopes: ['read'], limited: false },
  'GET /files': { scopes: ['read'], limited: false },
  'DELETE /files/{fileID}': { scopes: ['write'], limited: false },
  'GET /stashes/{stashID}': { scopes: ['write'], limited: false },
  'DELETE /stashes/{stashID}': { scopes: ['write'], limited: false },
  'GET /jobs/{jobID}': { scopes: ['read', 'write'], limited: true },
  'POST /apps/{appID}/uploads': { scopes: ['upload'], limited: true },
  'POST /apps/{appID}/uploads/{uploadID}/complete': { scopes: ['upload'], limited: true },
}

type Sent = Readonly<{ body?: unknown; query?: string; headers?: [string, string][] }>

function openContract(store: Store, rights: Readonly<Record<string, KeyRights>>) {
  const keys: ContractKey[] = Object.entries(rights).map(([key, of]) => ({
    key: longKey(key),
    teamId: 'team',
    ...of,
  }))
  const contract = createContract(store, { keys })
  return async (key: string, operation: string, { body, query = '', headers = [] }: Sent = {}) => {
    const [method = '', path = ''] = operation.split(' ')
    const text = body === undefined ? '' : JSON.stringify(body)
    const answer = await contract.handle({
      method,
      path,
      query,
      headers: [
        ['authorization', `Bearer ${longKey(key)}`],
        ['content-type', 'application/json'],
        ['content-length', String(text.length)],
        ...headers,
      ],
      origin: 'http://localhost',
      body: (async function* () {
        if (text !== '') yield Buffer.from(text)
      })(),
    })
    const json = typeof answer.body === 'string' ? JSON.parse(answer.body) : undefined
    return { status: answer.status, type: json?.error?.type, message: json?.error?.message, json }
  }
}

const longKey = (key: string): string => `${key}-of-sixteen-characters`

async function memory(): Promise<Store> {
  const store = await openMemory()
  onTestFinished(() => store.close())
  return store
}

test('the rules are about the routes', () => {
  const routes = ROUTES.map(([method, path]) => `${method} ${path}`)
  expect(Object.keys(RULES).sort()).toEqual(routes.sort())
})

describe.each(Object.entries(RULES))('%s', (route, { scopes, also, limited }) => {
  const operation = route.replace('{tableID}', TABLE_MISSING).replace(/\{\w+\}/g, 'x')

  test.each(SCOPES)('with the scope %s alone', async (scope) => {
    const send = openContract(await memory(), { one: { scopes: [scope] } })
    const { status, type, message } = await send('one', operation)
    if (scopes.includes(scope)) expect(type === 'scope_missing').toBe(also !== undefined)
    else if (route.startsWith('HEAD')) expect(status).toBe(403)
    else {
      const lacks = `The key lacks the scope ${scopes.join(' or ')}`
      expect([status, type, message]).toEqual([403, 'scope_missing', lacks])
    }
  })

  test('with no scope, and with all', async () => {
    const send = openContract(await memory(), { none: { scopes: [] }, all: {} })
    expect((await send('none', operation)).status).toBe(403)
    expect((await send('all', operation)).status).not.toBe(403)
  })

  test('with a key that is limited to tables', async () => {
    const send = openContract(await memory(), { limited: { tables: [] } })
    const { status } = await send('limited', operation)
    expect(status === 403).toBe(!limited)
  })
})

test('the scope comes after the path and the method, and before the query and the body', async () => {
  const send = openContract(await memory(), { reader: { scopes: ['read'] } })
  expect((await send('reader', 'POST /nowhere')).status).toBe(404)
  expect((await send('reader', 'DELETE /tables')).status).toBe(405)
  const query = 'name=a&name=b'
  expect((await send('reader', 'POST /tables', { query, body: 1 })).type).toBe('scope_missing')
  expect((await send('unknown', 'POST /tables')).type).toBe('request_error')
})

test('a key that may only write learns the columns, as the contract says, and no rows', async () => {
  const store = await memory()
  const { tableId } = await store.team('team').createTable({ name: 't', rows: [{ price: 12_345 }] })
  const send = openContract(store, { writer: { scopes: ['write'] } })
  const rows = `POST /tables/${tableId}/rows`
  const checked = await send('writer', rows, { body: [{ prise: 1 }], query: 'validate=only' })
  const refused = await send('writer', rows, { body: [{ prise: 1 }] })

  expect(checked.json.data.schema.columns).toMatchObject([{ id: 'price' }])
  expect(refused.message).toContain("'prise'")
  expect(refused.message).toContain('did you mean "price"?')
  expect((await send('writer', `GET /tables/${tableId}/rows`)).status).toBe(403)
  expect(JSON.stringify([checked, refused])).not.toContain('12345')
})

describe('a key without the scope read', () => {
  const SECRET = 'hush-hush'

  async function open() {
    const store = await memory()
    const team = store.team('team')
    const rows = [1, 2, 3].map((n) => ({ n, text: SECRET }))
    const made = await team.createTable({ name: 't', rows, key: ['n', 'text'] })
    const twice = await team.createTable({ name: 'twice', rows: [{ n: 7 }, { n: 7 }] })
    await team.stash('staged').put('0', [{ n: SECRET, text: 'x' }])
    await team.stash('twice').put('0', [
      { n: 1, text: SECRET },
      { n: 1, text: SECRET },
    ])
    const send = openContract(store, { writer: { scopes: ['write'] }, all: {} })
    return { made, twice, send, team, path: `/tables/${made.tableId}` }
  }

  test('is told neither stored nor staged values, and no row ID, by errors and checks', async () => {
    const { made, twice, send, path } = await open()
    const [first, second] = [made.rowIds.get(0), made.rowIds.get(1)]
    const own = { n: 1, text: SECRET }
    const staged = { $stashID: 'staged' }
    const asked: readonly (readonly [operation: string, sent: Sent, type: string | undefined])[] = [
      [`POST ${path}/rows`, { body: [own] }, 'key_not_unique'],
      [`POST ${path}/rows`, { body: [own], query: 'validate=only' }, undefined],
      [`POST ${path}/rows`, { body: [own, own], query: 'validate=only' }, 'key_not_unique'],
      [`PATCH ${path}/rows/${second}`, { body: { n: 1 } }, 'key_not_unique'],
      [`PATCH ${path}/rows`, { body: [{ rowID: second, cells: { n: 1 } }] }, 'key_not_unique'],
      [`PUT ${path}`, { body: { $stashID: 'twice' } }, 'key_not_unique'],
      [
        `POST ${path}/merge`,
        { body: { $stashID: 'twice' }, query: 'key=n&key=text' },
        'key_not_unique',
      ],
      [
        `POST /tables/${twice.tableId}/merge`,
        { body: [{ n: 7 }], query: 'key=n' },
        'key_not_unique',
      ],
      [`POST ${path}/rows`, { body: staged }, 'column_has_invalid_value'],
      [`POST ${path}/rows`, { body: staged, query: 'validate=only' }, undefined],
      [`PUT ${path}`, { body: staged, query: 'validate=only' }, undefined],
      [
        `POST ${path}/rows`,
        {
          body: staged,
          query: 'onSchemaError=dropColumns',
          headers: [['prefer', 'return=receipt']],
        },
        undefined,
      ],
    ]
    const ids = [...made.rowIds, ...twice.rowIds]
    for (const [operation, sent, type] of asked) {
      const answer = await send('writer', operation, sent)
      expect([operation, answer.type]).toEqual([operation, type])
      const text = JSON.stringify(answer)
      for (const hidden of [SECRET, ...ids]) expect(text).not.toContain(hidden)
    }
    const { message } = await send('writer', `POST ${path}/rows`, { body: [{ n: 9 }, own] })
    expect(message).toBe(
      'The key is not unique in row 1 (counted from 0): must be a key that no other row has',
    )
    expect((await send('all', `POST ${path}/rows`, { body: [own] })).message).toContain(
      `'${first}'`,
    )
    const misfit = await send('writer', `POST ${path}/rows`, { body: staged })
    expect(misfit.message).toBe(
      "Invalid value for column 'n' in row 0 (counted from 0) of chunk '0': must be a finite number",
    )
  })

  test('is told the values that its own request brings', async () => {
    const { send, path } = await open()
    const refused = await send('writer', `POST ${path}/rows`, { body: [{ n: SECRET }] })
    expect(refused.message).toContain(SECRET)
    const query = 'validate=only'
    const checked = await send('writer', `POST ${path}/rows`, { body: [{ n: SECRET }], query })
    expect(checked.json.data.problems[0].value).toContain(SECRET)
  })

  test('compares no stored values without a trace', async () => {
    const { send, path, twice } = await open()
    const merge = `POST ${path}/merge`
    const body = [{ n: 1, text: SECRET }]
    for (const key of [['n'], null]) {
      expect((await send('writer', `PATCH ${path}`, { body: { key } })).type).toBe('scope_missing')
    }
    expect((await send('writer', `PATCH ${path}`, { body: { name: 'renamed' } })).status).toBe(200)
    const lossy = { body: { schema: { columns: [] } } }
    expect((await send('all', `PATCH /tables/${twice.tableId}`, lossy)).message).toContain(
      '"n" (cells that are not empty: 2). Name',
    )
    expect((await send('writer', `PATCH /tables/${twice.tableId}`, lossy)).message).toContain(
      'lose their cells: "n". Name',
    )
    const check = { body: [{ n: 1, text: SECRET }], query: 'validate=only' }
    expect((await send('writer', `POST ${path}/rows`, check)).status).toBe(200)
    expect((await send('all', `POST ${path}/rows`, check)).type).toBe('key_not_unique')
    const query = 'key=n&key=text&validate=only'
    expect((await send('writer', merge, { body, query })).message).toBe(
      'The key lacks the scope read, which a check of a merge needs',
    )
    expect((await send('all', merge, { body, query })).json.data.unchanged).toBe(1)
    const merged = await send('writer', merge, { body, query: 'key=n&key=text' })
    expect(merged.json.data).toMatchObject({ added: 0, unchanged: 1 })
  })

  test('sees the end of a job of another key without its values', async () => {
    const { twice, send, team } = await open()
    const rows = [{ n: SECRET }]
    const schema = { columns: [{ id: 'n', type: 'number' }] } as const
    const failing = await team.startJob({ overwrite: { tableId: twice.tableId, rows, schema } })
    expect((await failing.wait()).status).toBe('failed')
    const create = { name: 'c', rows, schema, onSchemaError: 'dropColumns', receipt: true } as const
    const dropping = await team.startJob({ create })
    expect((await dropping.wait()).status).toBe('succeeded')
    for (const { id } of [failing, dropping]) {
      expect(JSON.stringify(await send('all', `GET /jobs/${id}`))).toContain(SECRET)
      expect(JSON.stringify(await send('writer', `GET /jobs/${id}`))).not.toContain(SECRET)
    }
  })

  test('sees row IDs in the results of its own jobs only, and of others how many rows they have', async () => {
    const { made, send } = await open()
    const begin = async (key: string, operation: string, body: unknown) => {
      const headers: [string, string][] = [['x-glide-asynchronous', 'true']]
      const answer = await send(key, operation, { body, headers, query: 'appsToLink=app' })
      expect(answer.type).toBeUndefined()
      return answer.json.data
    }
    const create = { name: 'c', rows: [{ a: 1 }, { a: 2 }] }
    const overwrite = [{ n: 5, text: 'five' }]
    const created = {
      all: await begin('all', 'POST /tables', create),
      writer: await begin('writer', 'POST /tables', create),
    }
    const written = await begin('all', `PUT /tables/${made.tableId}`, overwrite)
    const [newest] = (await send('all', 'GET /jobs')).json.data
    const jobs = (await send('all', 'GET /jobs')).json.data as { id: string; tableID: string }[]
    const jobOf = (tableId: string) => jobs.find(({ tableID }) => tableID === tableId)?.id
    const result = async (key: string, id = '') => {
      return (await send(key, `GET /jobs/${id}`)).json.data.result
    }
    expect(newest.tableID).toBe(made.tableId)
    const [others, own] = [jobOf(created.all.tableID), jobOf(created.writer.tableID)]
    expect(await result('all', others)).toEqual(created.all)
    expect(await result('writer', own)).toEqual(created.writer)
    const { rowIDs: _, ...rest } = created.all
    expect(await result('writer', others)).toEqual({ ...rest, rows: 2 })
    expect(await result('all', newest.id)).toEqual(written)
    expect(await result('writer', newest.id)).toEqual({ rows: 1 })
  })

  test('gets the first result of an Idempotency-Key only if it sent the request itself', async () => {
    const { twice, send } = await open()
    const headers: [string, string][] = [['idempotency-key', 'nightly']]
    const add = (key: string) =>
      send(key, `POST /tables/${twice.tableId}/rows`, { body: { $stashID: 'numbers' }, headers })
    await send('all', 'PUT /stashes/numbers/0', { body: [{ n: 1 }] })
    const { json } = await add('all')
    expect((await add('all')).json).toEqual(json)
    expect((await add('writer')).type).toBe('request_validation_error')
  })
})

describe('a key that is limited to one table', () => {
  async function open() {
    const store = await memory()
    const team = store.team('team')
    const mine = await team.createTable({ name: 'mine', rows: [{ n: 1 }] })
    const other = await team.createTable({ name: 'other', rows: [{ n: 2 }], receipt: true })
    const send = openContract(store, { one: { tables: [mine.tableId] }, all: {} })
    return { mine, other, send, store }
  }

  test('lists its table only, and reads and changes it', async () => {
    const { mine, send } = await open()
    const { json } = await send('one', 'GET /tables')
    expect(json.data).toEqual([{ id: mine.tableId, name: 'mine' }])
    const row = `/tables/${mine.tableId}/rows/${mine.rowIds.get(0)}`
    expect((await send('one', `GET ${row}`)).json.data.n).toBe(1)
    expect((await send('one', `PATCH ${row}`, { body: { n: 3 } })).status).toBe(200)
    const rows = `/tables/${mine.tableId}/rows`
    expect((await send('one', `POST ${rows}`, { body: [{ n: 4 }] })).status).toBe(201)
    expect((await send('one', `DELETE ${row}`)).status).toBe(200)
    expect((await send('one', `PUT /tables/${mine.tableId}`, { body: [] })).status).toBe(200)
  })

  test('sees another table exactly like one that does not exist', async () => {
    const { other, send, store } = await open()
    const row = other.rowIds.get(0) ?? ''
    for (const [operation, body] of [
      ['PUT /tables/{tableID}', []],
      ['GET /tables/{tableID}/receipts/1', undefined],
      ['GET /tables/{tableID}/changes/1', undefined],
      ['GET /tables/{tableID}/rows', undefined],
      ['HEAD /tables/{tableID}/rows', undefined],
      ['POST /tables/{tableID}/rows', [{ n: 1 }]],
      [`GET /tables/{tableID}/rows/${row}`, undefined],
      [`PATCH /tables/{tableID}/rows/${row}`, { n: 9 }],
      [`DELETE /tables/{tableID}/rows/${row}`, undefined],
    ] as const) {
      const answerOf = (id: string) => send('one', operation.replace('{tableID}', id), { body })
      const [foreign, missing] = [await answerOf(other.tableId), await answerOf(TABLE_MISSING)]
      expect(foreign.status).toBe(404)
      expect(JSON.stringify(foreign).replaceAll(other.tableId, TABLE_MISSING)).toBe(
        JSON.stringify(missing),
      )
    }
    expect((await store.team('team').table(other.tableId).page()).rows).toHaveLength(1)
    const late = await send('one', `PUT /tables/${other.tableId}`, {
      body: [],
      headers: [['x-glide-asynchronous', 'true']],
    })
    expect(late.type).toBe('table_not_found')
  })

  test('uses no stash, whichever team-mate filled it', async () => {
    const { mine, send } = await open()
    expect((await send('all', 'PUT /stashes/s/0', { body: [{ n: 5 }] })).status).toBe(200)
    const body = { $stashID: 's' }
    for (const operation of [`PUT /tables/${mine.tableId}`, `POST /tables/${mine.tableId}/rows`]) {
      expect((await send('one', operation, { body })).type).toBe('scope_missing')
    }
  })

  test('reads the jobs of its table only', async () => {
    const { mine, other, send, store } = await open()
    const team = store.team('team')
    const idOf = async (tableId: string) =>
      (await team.startJob({ overwrite: { tableId, rows: [] } })).id
    const [seen, hidden] = [await idOf(mine.tableId), await idOf(other.tableId)]
    expect((await send('one', `GET /jobs/${seen}`)).status).toBe(200)
    expect((await send('one', `GET /jobs/${hidden}`)).message).toBe(
      `Job with ID '${hidden}' not found`,
    )
    expect((await send('one', 'GET /jobs/x')).type).toBe('job_not_found')
  })
})

test('a key that is limited to tables leaves as much room for jobs as it takes', async () => {
  let letGo = (): void => undefined
  const hold = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const gone = new StoreError('SOURCE_URL_FAILED', 'not there')
  const fetch = () => hold.then(() => Promise.reject(gone))
  const store = await openMemory({
    maintenance: { garbageCollectionIntervalMs: 0 },
    jobsInFlightMax: 1,
    sources: { fetch },
  })
  onTestFinished(() => store.close())
  const team = store.team('team')
  const { tableId } = await team.createTable({ name: 't', rows: [] })
  const send = openContract(store, { limited: { tables: [tableId] } })
  const body = { rows: [] }
  const headers: [string, string][] = [['x-glide-asynchronous', 'true']]
  expect((await send('limited', `PUT /tables/${tableId}`, { body, headers })).status).toBe(200)
  const [{ note } = { note: '' }] = await team.jobs()
  // All others wait while this job holds the place of running jobs.
  const held = await team.startJob({ import: { fromUrl: 'http://source.test/' } })
  const overwrite = { tableId, rows: [] }
  await Promise.all(Array.from({ length: 50 }, () => team.startJob({ overwrite, note })))
  await expect(team.startJob({ overwrite, note })).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  const last = await team.startJob({ overwrite })
  letGo()
  expect([(await held.wait()).status, (await last.wait()).status]).toEqual(['failed', 'succeeded'])
})

describe('the Idempotency-Key of a key that is limited to tables', () => {
  const headers: [string, string][] = [['idempotency-key', 'nightly']]

  async function open() {
    const store = await memory()
    const { tableId } = await store.team('team').createTable({ name: 't', rows: [] })
    const limited = { tables: [tableId] }
    const send = openContract(store, { one: limited, other: limited, all: {} })
    const add = async (key: string, n: number) => {
      const { type, json } = await send(key, `POST /tables/${tableId}/rows`, {
        body: [{ n }],
        query: 'onSchemaError=updateSchema',
        headers,
      })
      return type ?? json.data.rowIDs
    }
    return { store, tableId, add }
  }

  test('takes no key of its team, nor of another limited key', async () => {
    const { add } = await open()
    const ids = [await add('one', 1), await add('other', 2), await add('all', 3)]
    expect(new Set(ids.flat()).size).toBe(3)
    expect(await add('one', 2)).toBe('request_validation_error')
    const repeats = [await add('one', 1), await add('other', 2), await add('all', 3)]
    expect(repeats).toEqual(ids)
  })

  test('leaves the records of the team as they were: the key itself', async () => {
    const { store, tableId, add } = await open()
    await add('one', 1)
    const table = store.team('team').table(tableId)
    await table.addRows([{ n: 2 }], { idempotencyKey: 'nightly' })
    expect(await add('all', 3)).toBe('request_validation_error')
    expect(await add('one', 1)).toHaveLength(1)
  })
})
