// Goal: nothing between a client and its server changes an answer unnoticed: a call works, or fails with a ClientError.
// Method: answers of proxies and of broken connections instead of the server's.
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  type Client,
  ClientError,
  type ClientOptions,
  createClient,
} from '../../../src/client/client.js'
import { createTestServer } from '../../conformance/testing.js'

// Pauses between attempts take no time here.
vi.mock('../../../src/base/pause.js', () => ({ pause: async () => undefined }))

const URL_OF_API = 'http://127.0.0.1:8080/api'

type Given = Readonly<{ client: Client; tries: () => number }>

/** A client whose answers are given; the last one repeats. */
function answered(
  answers: readonly (() => Response)[],
  options: Partial<ClientOptions> = {},
): Given {
  let tries = 0
  const fetch = async () => {
    const answer = answers[Math.min(tries++, answers.length - 1)]
    return answer?.() ?? Response.error()
  }
  const client = createClient({ url: URL_OF_API, key: 'k', fetch, ...options })
  return { client, tries: () => tries }
}

const utf8 = (text: string) => new TextEncoder().encode(text)
const HTML = { headers: { 'content-type': 'text/html' } }
const PORTAL = '<!doctype html><html><script>let a={b:{}}</script>Sign in</html>'
const TABLES = '{"data":[{"id":"t","name":"T"}]}'

/** A body in pieces that then is cut, stalls, or never ends. */
function streamed(text: string, then: 'cut' | 'silent' | 'endless', init?: ResponseInit): Response {
  let isSent = false
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (isSent && then === 'cut') return controller.error(new TypeError('terminated'))
      if (isSent && then === 'silent') return new Promise<void>(() => undefined)
      isSent = true
      return controller.enqueue(utf8(text))
    },
  })
  return new Response(body, init)
}

const BAD: readonly (readonly [what: string, answer: () => Response])[] = [
  ['the page of a portal', () => new Response(PORTAL, HTML)],
  ['an answer that is cut', () => streamed('{"data":', 'cut')],
  ['JSON that ends in the middle', () => new Response('{"data":[{"id":"t"')],
  ['no content', () => new Response(null, { status: 204 })],
  ['an empty body', () => new Response('')],
  ['null', () => new Response('null')],
  ['the JSON of another program', () => Response.json({ ok: true })],
  ['an error with status 200', () => Response.json({ error: { type: 'x', message: 'No' } })],
  ['a list', () => Response.json([1])],
  ['an empty 502', () => new Response('', { status: 502 })],
  ['an error of bytes', () => new Response(new Uint8Array([0x1f, 0x8b, 8, 0]), { status: 500 })],
  ['an error without end', () => streamed('x'.repeat(1_000), 'endless', { status: 500 })],
  ['an error that is cut', () => streamed('{"error":', 'cut', { status: 503 })],
]

async function all(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of items);
}

const CALLS: Readonly<Record<string, (client: Client) => Promise<unknown>>> = {
  tables: (client) => client.tables(),
  tableByName: (client) => client.tableByName('T'),
  stashes: (client) => client.stashes(),
  stashChunks: (client) => client.stashChunks('s'),
  upload: (client) => client.upload(new Blob(['x']), { appId: 'a' }),
  info: (client) => client.table('t').info(),
  version: (client) => client.table('t').version(),
  page: (client) => client.table('t').page(),
  rows: (client) => all(client.table('t').scan()),
  toCSV: (client) => all(client.table('t').toCSV()),
  toNDJSON: (client) => all(client.table('t').toNDJSON()),
  get: (client) => client.table('t').get('r'),
  addRows: (client) => client.table('t').addRows([{ n: 1 }]),
  deleteRows: (client) => client.table('t').deleteRows(['r']),
  checkConversion: (client) =>
    client.table('t').checkConversion({ column: 'n', type: 'date', ifMatch: '1' }),
  'updateRow by a function': (client) => client.table('t').updateRow('r', () => ({ n: 1 })),
  create: (client) => client.importRows([{ n: 1 }], { name: 'T' }),
  add: (client) => client.importRows([{ n: 1 }], { tableId: 't', mode: 'add' }),
  overwrite: (client) => client.importRows([{ n: 1 }], { tableId: 't', mode: 'overwrite' }),
  merge: (client) => client.importRows([{ n: 1 }], { tableId: 't', mode: 'merge', key: ['n'] }),
  checkRows: (client) => client.checkRows([{ n: 1 }], { name: 'T' }),
}

/** Their answers have no data, so an empty body or data of another kind is fine. */
const WITHOUT_DATA: typeof CALLS = {
  rename: (client) => client.table('t').rename('U'),
  delete: (client) => client.table('t').delete(),
  updateRow: (client) => client.table('t').updateRow('r', { n: 1 }),
  'updateRow with ifMatch': (client) => client.table('t').updateRow('r', {}, { ifMatch: '1' }),
  deleteRow: (client) => client.table('t').deleteRow('r'),
  updateRows: (client) => client.table('t').updateRows([{ rowId: 'r', cells: {}, ifMatch: '1' }]),
  convertColumn: (client) => client.table('t').convertColumn({ column: 'n', type: 'date' }),
  deleteStash: (client) => client.deleteStash('s'),
}

test.each(BAD)('%s is a ClientError of every call', async (what, answer) => {
  const isObject = what === 'no content' || what === 'the JSON of another program'
  for (const [name, call] of Object.entries({ ...CALLS, ...(!isObject && WITHOUT_DATA) })) {
    const { client } = answered([answer], { triesMax: 1 })

    const failure: unknown = await call(client).catch((reason: unknown) => reason)

    expect([name, failure]).toEqual([name, expect.any(ClientError)])
    const { status, type } = failure as ClientError
    const isRead = status >= 200 && status < 300
    expect([name, type]).toEqual([name, isRead ? expect.stringMatching(/^answer_/) : ''])
  }
})

describe('an answer that cannot be read', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    return () => void vi.useRealTimers()
  })

  const silentText = () => streamed('{"data":', 'silent')
  const silentError = () => streamed('{"error":', 'silent', { status: 503 })

  test.each([...BAD, ['silence', silentText], ['an error that goes silent', silentError]] as const)(
    'is asked for again: %s',
    async (_, answer) => {
      const { client, tries } = answered([answer, answer, () => new Response(TABLES)])

      const tables = client.tables()
      await vi.runAllTimersAsync()

      expect(await tables).toEqual([{ id: 't', name: 'T' }])
      expect(tries()).toBe(3)
    },
  )

  test('is not asked for again where a repeat may do harm', async () => {
    const { client, tries } = answered([() => streamed('{', 'cut', { headers: { etag: '"2"' } })])

    const change = client.table('t').updateRow('r', {}, { ifMatch: '1' })
    const failure = expect(change).rejects.toMatchObject({ status: 200, type: 'answer_cut' })
    await vi.runAllTimersAsync()
    await failure

    expect(tries()).toBe(1)
  })

  test('is given up after three tries if it never was one of the contract', async () => {
    const { client, tries } = answered([() => new Response(PORTAL, HTML)])

    const failure = expect(client.tables()).rejects.toMatchObject({
      status: 200,
      type: 'answer_invalid',
      message: expect.stringMatching(
        /^The answer of the server \(status 200\) does not come from the API: "<!doctype html>.*" \(gave up after 3 tries/,
      ),
    })
    await vi.runAllTimersAsync()
    await failure

    expect(tries()).toBe(3)
  })
})

test('a connection that breaks within a body is a ClientError', async () => {
  const server = createServer((socket) => {
    socket.once('data', () => {
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\netag: "1"\r\n\r\n{"data":[')
    })
    socket.on('error', () => undefined)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => void server.close())
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : 0
  const client = createClient({ url: `http://127.0.0.1:${port}`, key: 'k', triesMax: 2 })

  await expect(client.table('t').page()).rejects.toMatchObject({
    name: 'ClientError',
    status: 200,
    type: 'answer_cut',
  })
})

test.each(['info', 'version', 'page', 'get'])('%s needs a version', async (name) => {
  const row = { $rowID: 'r' }
  const data = { info: { schema: { columns: [] } }, get: row }[name] ?? [row]
  const { client } = answered([() => Response.json({ data })], { triesMax: 1 })

  await expect(CALLS[name]?.(client)).rejects.toMatchObject({
    type: 'answer_invalid',
    message: expect.stringContaining('has no version'),
  })
})

test('the version of a portal is none', async () => {
  const headers = { ...HTML.headers, etag: '"5"' }
  const { client } = answered([() => new Response(null, { headers })], { triesMax: 1 })

  await expect(client.table('t').version()).rejects.toMatchObject({ type: 'answer_invalid' })
})

test.each([
  ['nginx, Cloudflare', (etag: string) => `W/${etag}`],
  ['Apache', (etag: string) => etag.replace(/"$/, '-gzip"')],
  ['Jetty', (etag: string) => etag.replace(/"$/, '--gzip"')],
])('versions pass a proxy that compresses: %s', async (_, changed) => {
  const server = await createTestServer()
  onTestFinished(() => server.close())
  const throughProxy: typeof fetch = async (...request) => {
    const answer = await fetch(...request)
    const headers = new Headers(answer.headers)
    const etag = headers.get('etag')
    if (etag !== null) headers.set('etag', changed(etag))
    return new Response(answer.body, { status: answer.status, headers })
  }
  const client = createClient({ url: server.url, key: server.key, fetch: throughProxy })
  const made = await client.importRows([{ n: 1 }], { name: 'T', receipt: true })
  const table = client.table(made.tableId)
  const [row] = (await table.page()).rows

  expect(made).toMatchObject({ version: await table.version(), receipt: { rows: 1 } })
  await table.updateRow(row?.$rowID ?? '', ({ n }) => ({ n: Number(n) + 1 }))
  const { version } = await table.info()
  await table.updateRow(row?.$rowID ?? '', { n: 3 }, { ifMatch: version })
  expect((await table.page()).rows).toMatchObject([{ n: 3 }])
})

test('a page on plain HTTP, which has no secure context, imports and adds rows', async () => {
  const { getRandomValues } = globalThis.crypto
  const getRandom = getRandomValues.bind(globalThis.crypto)
  vi.stubGlobal('crypto', { getRandomValues: getRandom })
  vi.stubGlobal('isSecureContext', false)
  onTestFinished(() => void vi.unstubAllGlobals())
  const server = await createTestServer()
  onTestFinished(() => server.close())
  const client = createClient({ url: server.url, key: server.key })

  const { tableId } = await client.importRows([{ n: 1 }], { name: 'T' })
  await client.table(tableId).addRows([{ n: 2 }])

  expect((await client.table(tableId).page()).rows).toMatchObject([{ n: 1 }, { n: 2 }])
})

test('a loop of redirects is followed once', async () => {
  const server = createHttpServer((_, response) => {
    response.writeHead(302, { location: '/again' }).end()
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => void server.close())
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
  const onRetry = () => {
    throw new Error('It was repeated')
  }

  await expect(createClient({ url, key: 'k', onRetry }).tables()).rejects.toMatchObject({
    status: 0,
    message: 'The server did not answer: redirect count exceeded',
  })
})
