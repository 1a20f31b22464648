// Goal: the host's hooks see the requests that concern them, decide on them, and cannot break anything else.
import { runInNewContext } from 'node:vm'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createTell } from '../../../src/base/hooks.js'
import { ROUTES } from '../../../src/contract/routes.js'
import type { AuditEvent, ContractOptions, HookRequest, Store } from '../../../src/index.js'
import { createContract, fetchHandler, openMemory, StoreError } from '../../../src/index.js'

const KEY = 'a-key-of-the-team-to-be-seen-nowhere'
const ADMIN_KEY = 'a-key-of-whoever-runs-the-server'
const TABLE_MISSING = '00000000-0000-4000-8000-000000000000'

async function open(options: Partial<ContractOptions>) {
  const store = await openMemory()
  onTestFinished(() => store.close())
  const failures: unknown[] = []
  const contract = createContract(store, {
    keys: [{ key: KEY, teamId: 'team', keyId: 'k1' }],
    adminKeys: [ADMIN_KEY],
    onFailure: (failure) => void failures.push(failure),
    ...options,
  })
  const send = async (operation: string, body?: unknown, key = KEY) => {
    const [method = '', target = ''] = operation.split(' ')
    const [path = '', query = ''] = target.split('?')
    const text = body === undefined ? '' : JSON.stringify(body)
    const answer = await contract.handle({
      method,
      path,
      query,
      headers: [
        ['authorization', `Bearer ${key}`],
        ['content-type', 'application/json'],
        ['content-length', String(text.length)],
      ],
      origin: 'http://localhost',
      body: (async function* () {
        if (text !== '') yield Buffer.from(text)
      })(),
    })
    const json = typeof answer.body === 'string' ? JSON.parse(answer.body) : undefined
    return { status: answer.status, headers: answer.headers, error: json?.error, data: json?.data }
  }
  return { store, send, failures }
}

const made = (store: Store) => store.team('team').createTable({ name: 'T', rows: [{ n: 1 }] })

const routeOf = (operation: string): string =>
  operation.replace('{tableID}', TABLE_MISSING).replace(/\{\w+\}/g, 'x')

describe('rateLimit', () => {
  test('is asked before each operation, with what is known of it', async () => {
    const asked: HookRequest[] = []
    const { store, send } = await open({ rateLimit: (request) => void asked.push(request) })
    const { tableId } = await made(store)

    await send('GET /tables')
    await send(`POST /tables/${tableId}/rows`, [{ n: 2 }])
    await send('DELETE /stashes/s')

    const about = { teamId: 'team', keyId: 'k1', bodyBytes: 0 }
    expect(asked).toEqual([
      { ...about, operation: 'GET /tables' },
      { ...about, operation: 'POST /tables/{tableID}/rows', tableId, bodyBytes: 9 },
      { ...about, operation: 'DELETE /stashes/{stashID}' },
    ])
  })

  test.each([
    [0, '1'],
    [1, '1'],
    [1_001, '2'],
    [90_000, '90'],
  ])('a wait of %i ms is 429 with Retry-After %s, and nothing is done', async (ms, seconds) => {
    const { store, send } = await open({ rateLimit: async () => ({ retryAfterMs: ms }) })
    for (const [method, path] of ROUTES) {
      const { status, headers } = await send(routeOf(`${method} ${path}`), [{ n: 1 }])
      expect([status, headers['retry-after']]).toEqual([429, seconds])
    }
    const { error } = await send('POST /tables', { name: 'x', rows: [] })
    expect(error.type).toBe('rate_limited')
    expect(await store.team('team').tables()).toEqual([])
  })

  test('is not asked about refused keys, paths and methods, nor by routes without a team', async () => {
    let asked = 0
    const { send } = await open({ rateLimit: () => void asked++, quota: () => asked++ > 0 })
    await send('GET /tables', undefined, 'an-unknown-key')
    await send('GET /nothing')
    await send('DELETE /tables')
    await send('GET /healthz')
    await send('GET /admin/keys', undefined, ADMIN_KEY)

    expect(asked).toBe(0)
  })
})

describe('quota', () => {
  const STORING = [
    'POST /tables',
    'PUT /tables/{tableID}',
    'POST /tables/import',
    'POST /tables/{tableID}/rows',
    'POST /tables/{tableID}/merge',
    'POST /tables/{tableID}/convert',
    'PATCH /tables/{tableID}/rows',
    'PATCH /tables/{tableID}/rows/{rowID}',
    'PUT /stashes/{stashID}/{serial}',
    'POST /apps/{appID}/uploads',
  ]

  test.each(ROUTES.map(([method, path]) => `${method} ${path}`))(
    '%s is asked about if and only if it may store more',
    async (operation) => {
      const asked: string[] = []
      const quota = (request: HookRequest) => {
        asked.push(request.operation)
        return false
      }
      const { send } = await open({ quota })
      const { status } = await send(routeOf(operation), [{ n: 1 }])

      const stores = STORING.includes(operation)
      expect(asked).toEqual(stores ? [operation] : [])
      expect(status === 402).toBe(stores)
    },
  )

  test.each(['POST /tables', 'PUT /tables/{tableID}', 'POST /tables/{tableID}/rows'])(
    '%s is not asked about if it only checks',
    async (operation) => {
      const asked: string[] = []
      const quota = (request: HookRequest) => asked.push(request.operation) > 0
      const { store, send } = await open({ quota })
      const { tableId } = await made(store)
      const line = operation.replace('{tableID}', tableId)
      const body = operation === 'POST /tables' ? { name: 'x', rows: [{ n: 2 }] } : [{ n: 2 }]

      const checked = await send(`${line}?validate=only`, body)
      const refused = await send(`${line}?validate=all`, body)

      expect([checked.status, checked.data.rows, refused.status]).toEqual([200, 1, 400])
      expect(asked).toEqual([])
      expect((await send(line, body)).status).toBeLessThan(300)
      expect(asked).toEqual([operation])
    },
  )

  test('an operation without a check is asked about, whatever it is sent with', async () => {
    const { store, send } = await open({ quota: () => false })
    const { tableId, rowIds } = await made(store)
    const lines = [
      `PATCH /tables/${tableId}/rows/${rowIds.get(0)}`,
      'PUT /stashes/s/0',
      'POST /tables/import',
      'POST /apps/a/uploads',
    ]
    for (const line of lines) expect((await send(`${line}?validate=only`, [])).status).toBe(402)
  })

  test('is asked before values of parameters are checked, and after the length of the query', async () => {
    const { send } = await open({ quota: () => false })
    expect((await send('POST /tables?onSchemaError=x', {})).status).toBe(402)
    expect((await send('POST /tables/import?onSchemaError=x', {})).status).toBe(402)
    expect((await send(`POST /tables?x=${'y'.repeat(65_536)}`, {})).status).toBe(400)
  })

  test('within the quota, the operation goes on; beyond it, deletes do', async () => {
    let isWithin = true
    const { store, send } = await open({ quota: async () => isWithin })
    const { tableId, rowIds } = await made(store)
    expect((await send(`POST /tables/${tableId}/rows`, [{ n: 2 }])).status).toBe(201)
    isWithin = false
    const refused = await send(`POST /tables/${tableId}/rows`, [{ n: 2 }])
    expect([refused.status, refused.error.type]).toEqual([402, 'payment_required'])
    expect((await send(`DELETE /tables/${tableId}/rows/${rowIds.get(0)}`)).status).toBe(200)
    expect((await store.team('team').table(tableId).page()).rows).toHaveLength(1)
  })

  test('is asked after rateLimit', async () => {
    const asked: string[] = []
    const { send } = await open({
      rateLimit: () => {
        asked.push('rateLimit')
        return { retryAfterMs: 1 }
      },
      quota: () => asked.push('quota') > 0,
    })
    await send('POST /tables', {})
    expect(asked).toEqual(['rateLimit'])
  })
})

describe('a hook that fails', () => {
  const broken = new Error('the database of the host is away')
  const fails = () => {
    throw broken
  }

  test.each<[what: string, options: object, cause: unknown]>([
    ['rateLimit throws', { rateLimit: fails }, broken],
    ['rateLimit rejects', { rateLimit: async () => fails() }, broken],
    ['rateLimit gives no time', { rateLimit: () => ({}) }, undefined],
    ['rateLimit gives a wrong time', { rateLimit: () => ({ retryAfterMs: Infinity }) }, undefined],
    ['quota throws', { quota: fails }, broken],
    ['quota rejects', { quota: async () => fails() }, broken],
    ['quota says nothing', { quota: () => undefined }, undefined],
  ])('%s: 503, and nothing is done', async (_, options, cause) => {
    const { store, send, failures } = await open(options)
    const { status, headers, error } = await send('POST /tables', { name: 'x', rows: [] })

    expect([status, headers['retry-after'], error.type]).toEqual([503, '1', 'storage_unavailable'])
    expect(error.message).toContain('nothing was changed')
    expect(error.message).not.toContain('host')
    expect(failures).toMatchObject([{ code: 'STORAGE_UNAVAILABLE', outcome: 'unchanged' }])
    expect((failures[0] as Error).cause).toBe(cause)
    expect(await store.team('team').tables()).toEqual([])
  })

  test.each([
    ['throws', fails],
    ['rejects', async () => fails()],
  ])('audit %s: the answer is the same, and onFailure is told', async (_, audit) => {
    const { send, failures } = await open({ audit })
    expect((await send('POST /tables', { name: 'x', rows: [] })).status).toBe(201)
    await new Promise((resolve) => setImmediate(resolve))
    expect(failures).toEqual([broken])
  })
})

describe('audit', () => {
  test('is told what was changed, by which key, and no secret', async () => {
    const events: AuditEvent[] = []
    const before = Date.now()
    const { store, send } = await open({ audit: (event) => void events.push(event) })
    const { data } = await send('POST /tables', { name: 'T', rows: [{ n: 1 }, { n: 2 }] })
    const { tableID: tableId, rowIDs } = data
    const path = `/tables/${tableId}`
    await send(`POST ${path}/rows`, [{ n: 3 }])
    await send(`PATCH ${path}/rows/${rowIDs[0]}`, { n: 4 })
    await send(`DELETE ${path}/rows/${rowIDs[0]}`)
    await send(`DELETE ${path}/rows/${rowIDs[0]}`)
    await send(`PUT ${path}`, [{ n: 5 }])
    await send('PUT /stashes/s/0', [{ n: 6 }, { n: 7 }])
    const added = await send('POST /admin/keys', { teamID: 'team' }, ADMIN_KEY)
    await send(`DELETE /admin/keys/${added.data.keyID}`, undefined, ADMIN_KEY)

    const told = events.map(({ at, ms, ...event }) => {
      expect(at).toBeGreaterThanOrEqual(before)
      expect(ms).toBeGreaterThanOrEqual(0)
      return event
    })
    const by = { teamId: 'team', keyId: 'k1', tableId }
    const ofRow = { ...by, rowId: rowIDs[0] }
    const oneRow = '/tables/{tableID}/rows/{rowID}'
    const chunk = { teamId: 'team', keyId: 'k1', operation: 'PUT /stashes/{stashID}/{serial}' }
    const operator = { keyId: expect.stringMatching(/^[0-9a-f]{32}$/) }
    expect(told).toEqual([
      { ...by, operation: 'POST /tables', rows: 2, version: 1, status: 201 },
      { ...by, operation: 'POST /tables/{tableID}/rows', rows: 1, version: 2, status: 201 },
      { ...ofRow, operation: `PATCH ${oneRow}`, rows: 1, version: 3, status: 200 },
      { ...ofRow, operation: `DELETE ${oneRow}`, rows: 1, version: 4, status: 200 },
      { ...ofRow, operation: `DELETE ${oneRow}`, rows: 0, version: 4, status: 200 },
      { ...by, operation: 'PUT /tables/{tableID}', rows: 1, version: 5, status: 200 },
      { ...chunk, rows: 2, status: 200 },
      { ...operator, operation: 'POST /admin/keys', status: 201 },
      { ...operator, operation: 'DELETE /admin/keys/{keyID}', status: 200 },
    ])
    const text = JSON.stringify(events)
    for (const secret of [KEY, ADMIN_KEY, added.data.key]) expect(text).not.toContain(secret)
    expect((await store.team('team').table(tableId).page()).rows).toHaveLength(1)
  })

  test('is not told of reads, nor of refused requests', async () => {
    const events: AuditEvent[] = []
    const { store, send } = await open({ audit: (event) => void events.push(event) })
    const { tableId } = await made(store)
    await send('GET /tables')
    await send(`HEAD /tables/${tableId}/rows`)
    await send('POST /tables', { name: 1 })
    await send(`PUT /tables/${TABLE_MISSING}`, [])
    await send('POST /tables', { name: 'x', rows: [] }, 'an-unknown-key')
    await send('GET /admin/keys', undefined, ADMIN_KEY)
    const checked = await send(`POST /tables/${tableId}/rows?validate=only`, [{ n: 2 }])

    expect(checked.data).toMatchObject({ rows: 1 })
    expect(events).toEqual([])
  })

  test('is told of a failure, after which the change may be there', async () => {
    const events: AuditEvent[] = []
    const { store, send } = await open({ audit: (event) => void events.push(event) })
    const { tableId } = await made(store)
    const team = store.team('team')
    const table = team.table(tableId)
    table.deleteRow = async () => {
      throw new StoreError('STORAGE_UNAVAILABLE', 'as the test wants it', { outcome: 'unknown' })
    }
    team.table = (() => table) as unknown as typeof team.table
    await send(`DELETE /tables/${tableId}/rows/x`)

    expect(events).toMatchObject([{ tableId, rowId: 'x', status: 503 }])
    expect(events[0]).not.toHaveProperty('rows')
  })
})

test('a hook that is no function is refused at start', async () => {
  for (const name of ['rateLimit', 'quota', 'audit']) {
    await expect(open({ [name]: 'x' })).rejects.toMatchObject({ code: 'OPTION_NOT_ALLOWED' })
  }
})

describe('a hook that fails and decides nothing', () => {
  const fail = (): never => {
    throw new Error('of the host')
  }
  const reject = async (): Promise<never> => fail()

  test.each([
    ['throws', fail],
    ['rejects', reject],
  ])('and is only told something does not change the answer: it %s', async (_, hook) => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    onTestFinished(() => warn.mockRestore())
    const audit = { audit: hook, onFailure: hook }
    const { store, handle } = await openFailing({ ...audit, logger: all(hook) }, hook)

    expect((await handle('POST', { name: 'T', rows: [{ n: 1 }] })).status).toBe(201)
    expect((await handle('POST', {})).status).toBe(400)
    await new Promise((turned) => setImmediate(turned))
    expect(await store.team('team').tables()).toHaveLength(1)
    const warned = warn.mock.calls.map(([message]) => String(message).split(' ')[0])
    expect(warned.sort()).toEqual(['logger', 'onAnswered', 'onFailure', 'onKey'])
  })

  test('with an error of another realm is warned of with its message', () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    onTestFinished(() => warn.mockRestore())

    createTell()('onKey', () => runInNewContext('throw new Error("of the host")'))
    createTell()('onKey', () => runInNewContext('throw "a text"'))

    const warned = warn.mock.calls.map(([message]) => String(message))
    expect(warned).toEqual([
      'onKey failed: of the host (further failures are not reported)',
      'onKey failed: string (further failures are not reported)',
    ])
  })

  test('and is asked who sends a request is answered with 500, whatever it throws', async () => {
    const failures: unknown[] = []
    const onFailure = (failure: unknown) => void failures.push(failure)
    const missing = new StoreError('TABLE_NOT_FOUND', 'of another store')
    const authenticate = async () => Promise.reject(missing)
    const { handle } = await openFailing({ keys: undefined, authenticate, onFailure })
    expect((await handle('POST', { name: 'T', rows: [] })).status).toBe(500)

    const store = await openMemory()
    onTestFinished(() => store.close())
    for (const clientOf of [fail, reject as unknown as () => string]) {
      const answer = fetchHandler(store, { keys: KEYS, onFailure, clientOf })
      expect((await answer(new Request('http://localhost/tables'))).status).toBe(500)
    }
    expect(failures).toHaveLength(3)
    expect(failures[0]).toMatchObject({ cause: missing })
  })

  const KEYS = [{ key: KEY, teamId: 'team' }]

  const all = (hook: () => unknown) => ({ info: hook, warn: hook, error: hook }) as never

  async function openFailing(options: Partial<ContractOptions>, hook?: () => void) {
    const store = await openMemory()
    onTestFinished(() => store.close())
    const contract = createContract(store, { keys: KEYS, ...options })
    const handle = (method: string, body: unknown) => {
      const text = JSON.stringify(body)
      return contract.handle({
        ...{ method, path: '/tables', query: '', origin: 'http://localhost' },
        headers: [
          ['authorization', `Bearer ${KEY}`],
          ['content-type', 'application/json'],
          ['content-length', String(text.length)],
        ],
        body: (async function* () {
          yield Buffer.from(text)
        })(),
        ...(hook && { onKey: hook, onAnswered: hook }),
      })
    }
    return { store, handle }
  }
})
