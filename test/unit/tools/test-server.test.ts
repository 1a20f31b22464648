// The server that rowstash/testing offers to tests of programs.
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  createTestServer,
  type FaultRule,
  type TestServer,
  type TestServerOptions,
} from '../../conformance/testing.js'

async function start(options?: TestServerOptions): Promise<TestServer> {
  const server = await createTestServer(options)
  onTestFinished(() => server.close())
  return server
}

type Answer = Readonly<{ status: number; body: unknown; headers: Headers }>

async function send(
  { url, key }: TestServer,
  method: string,
  path: string,
  rows?: unknown,
): Promise<Answer> {
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(rows === undefined ? {} : { body: JSON.stringify(rows) }),
  })
  const text = await response.text()
  const body = text === '' ? undefined : (JSON.parse(text) as unknown)
  return { status: response.status, body, headers: response.headers }
}

function names({ body }: Answer): string[] {
  return (body as { data: { name: string }[] }).data.map(({ name }) => name)
}

const create = (server: TestServer, name: string) =>
  send(server, 'POST', '/tables', { name, rows: [{ a: 1 }] })

test('the test server is a server of the contract, and records its requests', async () => {
  const server = await start({ handler: { basePath: '/api' } })

  const { status } = await create(server, 'T')

  expect(status).toBe(201)
  expect(names(await send(server, 'GET', '/tables?x'))).toEqual(['T'])
  expect(await server.store.team('test').tables()).toMatchObject([{ name: 'T' }])
  expect(server.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'POST /api/tables',
    'GET /api/tables?x',
  ])
})

test('a rule gives its fault to the requests that it names, as often as it says', async () => {
  const server = await start()
  server.fail({
    method: 'GET',
    path: /^\/tables/,
    after: 1,
    times: 2,
    fault: { status: 503, type: 'storage_unavailable', headers: { 'retry-after': '1' } },
  })
  const found: number[] = []

  for (let i = 0; i < 4; i++) found.push((await send(server, 'GET', '/tables')).status)

  expect(found).toEqual([200, 503, 503, 200])
  expect(server.requests.map(({ fault }) => fault !== undefined)).toEqual([
    false,
    true,
    true,
    false,
  ])
})

test('a rule can be removed', async () => {
  const server = await start()
  const remove = server.fail({ fault: { status: 500 }, times: 10 })
  const before = await send(server, 'GET', '/tables')
  remove()

  expect([before.status, (await send(server, 'GET', '/tables')).status]).toEqual([500, 200])
  expect(before.body).toMatchObject({ error: { type: 'injected' } })
})

test.each<[FaultRule['fault'], string[]]>([
  [{ cut: 'request' }, []],
  [{ cut: 'answer' }, ['T']],
  [{ crash: 'before commit' }, []],
  [{ crash: 'before commit', of: 'machine' }, []],
  [{ crash: 'after commit' }, ['T']],
  [{ crash: 'after commit', of: 'machine' }, ['T']],
])('a create that meets %j gets no answer, and leaves %j', async (fault, left) => {
  const server = await start()
  await server.store
    .team('test')
    .stash('s')
    .put('0', [{ a: 1 }]) // so that the next write is the create's
  server.fail({ method: 'POST', path: '/tables', fault })

  await expect(
    send(server, 'POST', '/tables', { name: 'T', rows: { $stashID: 's' } }),
  ).rejects.toThrow('fetch failed')

  expect(names(await send(server, 'GET', '/tables'))).toEqual(left)
  expect((await create(server, 'U')).status).toBe(201)
})

test('a delay lets other requests pass', async () => {
  const server = await start()
  server.fail({ fault: { delayMs: 50 } })
  const order: string[] = []

  const late = send(server, 'GET', '/tables').then(() => order.push('late'))
  await send(server, 'GET', '/tables').then(() => order.push('next'))
  await late

  expect(order).toEqual(['next', 'late'])
})

test('acknowledged changes survive crashes, and a new store serves them', async () => {
  const server = await start()
  const before = server.store
  await create(server, 'T')

  await server.crash('machine')
  await server.crash()

  expect(server.store).not.toBe(before)
  expect(names(await send(server, 'GET', '/tables'))).toEqual(['T'])
})

test('the clock stands still until it is set forward', async () => {
  const server = await start({ now: Date.UTC(2030, 0, 1) })
  const upload = () =>
    send(server, 'POST', '/apps/a/uploads', { contentType: 'image/png', fileName: 'a.png' })
  const { uploadLocation } = ((await upload()).body as { data: { uploadLocation: string } }).data

  server.clock.pass(3_600_000)
  const late = await fetch(uploadLocation, {
    method: 'PUT',
    headers: { 'content-type': 'image/png' },
    body: 'x',
  })

  expect(server.clock.now()).toBe(Date.UTC(2030, 0, 1, 1))
  expect(late.status).toBeGreaterThanOrEqual(400)
})

test('an unknown option is refused', async () => {
  await expect(createTestServer({ port: 1 } as TestServerOptions)).rejects.toThrow(
    'Option "port" is not an option of createTestServer',
  )
})

describe('what means nothing is refused, so that no test tests something else:', () => {
  test.each<[unknown, string]>([
    [
      { metod: 'GET', fault: { status: 418 } },
      'fail takes no "metod"; it takes fault, method, path, after, times',
    ],
    [
      { method: 'PSOT', fault: { status: 418 } },
      'method must be one of "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", not "PSOT"',
    ],
    [{ method: 'get', fault: { status: 418 } }, 'method must be one of "GET"'],
    [{ path: 'tables', fault: { status: 418 } }, 'path must begin with a slash'],
    [
      { path: '/tables?x', fault: { status: 418 } },
      'path must begin with a slash and have no query',
    ],
    [{ after: -1, fault: { status: 418 } }, 'after must be an integer from 0'],
    [{ times: 0, fault: { status: 418 } }, 'times must be an integer from 1'],
    [{}, 'fault takes an object, not undefined'],
    [{ fault: {} }, 'fault must have one of status, delayMs, cut, crash; it has 0'],
    [{ fault: { status: 418, cut: 'answer' } }, 'fault must have one of'],
    [{ fault: { staus: 418 } }, 'fault takes no "staus"; it takes status, type'],
    [{ fault: { cut: 'answer', of: 'machine' } }, 'fault with "cut" takes no "of"; it takes cut'],
    [{ fault: { cut: 'sideways' } }, 'cut must be one of "request", "answer", not "sideways"'],
    [{ fault: { crash: 'commit' } }, 'crash must be one of "before commit", "after commit"'],
    [{ fault: { crash: 'after commit', of: 'disk' } }, 'of must be one of "process", "machine"'],
    [{ fault: { status: 99 } }, 'status must be an integer from 200 to 599, not 99'],
    [{ fault: { status: 503, type: 1 } }, 'type must be a string'],
    [{ fault: { status: 503, headers: { a: 1 } } }, 'The header "a" must be a string'],
    [{ fault: { delayMs: -1 } }, 'delayMs must be an integer from 0'],
  ])('the rule %j', async (rule, message) => {
    const server = await start()

    const adding = () => server.fail(rule as FaultRule)

    expect(adding).toThrow(message)
    expect(adding).toThrow(expect.objectContaining({ code: 'REQUEST_VALIDATION_ERROR' }))
    expect((await send(server, 'GET', '/tables')).status).toBe(200)
  })

  test.each<[unknown, string]>([
    [{ now: 'today' }, 'Option "now" must be an integer'],
    [{ seed: -1 }, 'Option "seed" must be an integer'],
    [{ store: 1 }, 'store takes an object of options'],
    [{ store: { clock: {} } }, 'Option "clock" is not an option of store'],
    [{ store: { colour: 1 } }, 'Option "colour"'],
    [{ handler: { keys: [] } }, 'Option "keys" is not an option of handler'],
    [{ handler: { colour: 1 } }, 'Option "colour"'],
  ])('the options %j', async (options, message) => {
    await expect(createTestServer(options as TestServerOptions)).rejects.toThrow(message)
    await expect(createTestServer(options as TestServerOptions)).rejects.toMatchObject({
      code: 'OPTION_NOT_ALLOWED',
    })
  })

  test('what ends in a crash, and a time', async () => {
    const server = await start()

    await expect(server.crash('disk' as 'machine')).rejects.toThrow('of must be one of')
    expect(() => server.clock.pass('1' as unknown as number)).toThrow('pass takes a number')
    expect((await send(server, 'GET', '/tables')).status).toBe(200)
  })
})

test('a pattern with the flag g fits each request', async () => {
  const server = await start()
  server.fail({ path: /tables/g, fault: { status: 418 }, times: 3 })
  const found: number[] = []

  for (let i = 0; i < 3; i++) found.push((await send(server, 'GET', '/tables')).status)

  expect(found).toEqual([418, 418, 418])
})
