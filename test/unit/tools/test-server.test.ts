// The server that rowstash/testing gives to the tests of programs.
import { expect, onTestFinished, test } from 'vitest'
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

test('it is a server of the contract, and records what it is asked', async () => {
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

test('a rule lets the requests that it names meet a fault, so often as it says', async () => {
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
    .put('0', [{ a: 1 }]) // So that the next write is that of the create.
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

test('what was acknowledged survives crashes, and a new store serves it', async () => {
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
