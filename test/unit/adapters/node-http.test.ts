// Goal: the adapter delivers the contract's answers, whatever the client or the surrounding framework does.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { hardenServer, nodeHandler, serverOptions } from '../../../adapters/http/node-http.js'
import { openMemory, type RowIds, type Store } from '../../../src/index.js'
import { atRest, until } from '../../support/until.js'

const KEY = 'a-key-of-the-team'
const HEADERS = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
const OPTIONS = { keys: [{ key: KEY, teamId: 'team' }] }

const opened: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of opened.splice(0)) await close()
})

async function listen(listener: RequestListener): Promise<string> {
  const server: Server = hardenServer(createServer(serverOptions, listener))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  opened.push(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function memory(): Promise<Store> {
  const store = await openMemory()
  opened.push(() => store.close())
  return store
}

describe('after a body parser of a framework', () => {
  /** A body parser: reads everything, sets `request.body`, then calls the next handler. */
  function parsedBy(parse: (text: Buffer) => unknown, next: RequestListener): RequestListener {
    return async (request, response) => {
      const pieces: Buffer[] = []
      for await (const piece of request) pieces.push(piece)
      Object.assign(request, { body: parse(Buffer.concat(pieces)) })
      next(request, response)
    }
  }

  test.each([
    ['an object', (bytes: Buffer) => JSON.parse(bytes.toString())],
    ['a text', (bytes: Buffer) => bytes.toString()],
    ['a Buffer', (bytes: Buffer) => bytes],
  ])('%s in request.body is taken', async (_, parse) => {
    const url = await listen(parsedBy(parse, nodeHandler(await memory(), OPTIONS)))
    const body = JSON.stringify({ name: 'x', rows: [{ a: 1 }, { a: 2 }] })
    const response = await fetch(`${url}/tables`, { method: 'POST', headers: HEADERS, body })
    expect(response.status).toBe(201)
  })

  test('a body that cannot be written as JSON again is 400, not a crash', async () => {
    const url = await listen(parsedBy(() => ({ a: 1n }), nodeHandler(await memory(), OPTIONS)))
    const response = await fetch(`${url}/tables`, { method: 'POST', headers: HEADERS, body: '{}' })
    expect(response.status).toBe(400)
  })

  test('a request that an async middleware held back is still read', async () => {
    const handler = nodeHandler(await memory(), OPTIONS)
    const url = await listen((request, response) =>
      setTimeout(() => handler(request, response), 20),
    )
    const body = JSON.stringify({ name: 'x', rows: [] })
    const response = await fetch(`${url}/tables`, { method: 'POST', headers: HEADERS, body })
    expect(response.status).toBe(201)
  })
})

describe('keys', () => {
  test.each([null, undefined, '', 'null', 'undefined'])(
    'a handler whose key is %j is not made, so that nobody is let in by it',
    async (key) => {
      const store = await memory()
      const options = { keys: [{ key, teamId: 'team' }] } as unknown as typeof OPTIONS

      expect(() => nodeHandler(store, options)).toThrow(
        expect.objectContaining({ code: 'OPTION_NOT_ALLOWED' }),
      )
    },
  )

  test('a key that can be guessed is a warning of the process', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockReturnValue()
    onTestFinished(() => warned.mockRestore())
    const store = await memory()
    nodeHandler(store, { keys: [{ key: 'short', teamId: 'team' }] })

    expect(warned.mock.calls).toEqual([
      [expect.stringContaining('can be guessed'), { type: 'RowstashWarning' }],
    ])

    nodeHandler(store, OPTIONS)
    expect(warned).toHaveBeenCalledOnce()
  })
})

test('hardenServer gives the server it was given, to go on with', () => {
  const server = createServer()

  expect(hardenServer(server)).toBe(server)
})

describe('a base path', () => {
  test('only what is below it is served', async () => {
    const url = await listen(nodeHandler(await memory(), { ...OPTIONS, basePath: '/api/v2' }))
    const statusOf = async (path: string) => (await fetch(url + path, { headers: HEADERS })).status
    expect(await statusOf('/api/v2/tables')).toBe(200)
    for (const path of ['/tables', '/api/v2', '/api/v2/', '/api/v2tables', '/API/v2/tables']) {
      expect(await statusOf(path)).toBe(404)
    }
  })

  test.each(['api', '/api/', '/', '/a?b', '/a b'])('%s is refused', async (basePath) => {
    const store = await memory()
    expect(() => nodeHandler(store, { ...OPTIONS, basePath })).toThrow(
      expect.objectContaining({ code: 'OPTION_NOT_ALLOWED' }),
    )
  })
})

/** Row IDs that count how many were created. */
function countedIds(length: number): { ids: RowIds; made: () => number } {
  let made = 0
  const ids: RowIds = {
    length,
    get: () => 'A'.repeat(22),
    at: () => 'A'.repeat(22),
    *[Symbol.iterator]() {
      for (; made < length; made++) yield 'A'.repeat(22)
    },
  }
  return { ids, made: () => made }
}

function storeAnswering(rowIds: RowIds): Store {
  const table = { version: async () => 1, addRows: async () => ({ version: 2, rowIds }) }
  const limits = { pageRowsMax: 10, pageBytesMax: 1 }
  return { team: () => ({ table: () => table }), limits } as unknown as Store
}

describe('row IDs of millions of rows', () => {
  test('come as one well-formed answer', async () => {
    const { ids } = countedIds(300_000)
    const url = await listen(nodeHandler(storeAnswering(ids), OPTIONS))
    const response = await fetch(`${url}/tables/x/rows`, {
      method: 'POST',
      headers: HEADERS,
      body: '[]',
    })
    const { data } = (await response.json()) as { data: { rowIDs: string[] } }
    expect(data.rowIDs).toHaveLength(300_000)
    expect(response.headers.get('etag')).toBe('"2"')
  })

  test.each([0, 1, 2_599, 2_600, 2_601, 5_200])('%i of them too', async (count) => {
    const url = await listen(nodeHandler(storeAnswering(countedIds(count).ids), OPTIONS))
    const response = await fetch(`${url}/tables/x/rows`, {
      method: 'POST',
      headers: HEADERS,
      body: '[]',
    })
    const { data } = (await response.json()) as { data: { rowIDs: string[] } }
    expect(data.rowIDs).toHaveLength(count)
  })

  test('are made no faster than the client reads, and no longer than it is there', async () => {
    const { ids, made } = countedIds(8_000_000)
    const url = await listen(nodeHandler(storeAnswering(ids), OPTIONS))
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    opened.push(async () => socket.destroy())
    const lines = [
      'POST /tables/x/rows HTTP/1.1',
      'Host: x',
      `Authorization: Bearer ${KEY}`,
      'Content-Type: application/json',
      'Content-Length: 2',
    ]
    socket.pause()
    socket.write(`${lines.join('\r\n')}\r\n\r\n[]`)
    await until(() => made() > 0)
    const madeUnread = await atRest(made)
    expect(madeUnread).toBeLessThan(1_000_000)
    socket.destroy()
    expect(await atRest(made)).toBeLessThan(madeUnread + 100_000)
  })
})

test('a body that breaks off while it is made breaks off the answer too', async () => {
  const ids: RowIds = {
    length: 100_000,
    get: () => '',
    at: () => undefined,
    *[Symbol.iterator]() {
      for (let i = 0; i < 50_000; i++) yield 'A'.repeat(22)
      throw new Error('broken')
    },
  }
  const url = await listen(nodeHandler(storeAnswering(ids), OPTIONS))
  const response = await fetch(`${url}/tables/x/rows`, {
    method: 'POST',
    headers: HEADERS,
    body: '[]',
  })
  await expect(response.text()).rejects.toThrow()
})

test('requests of one connection that come in together are served one after the other', async () => {
  let running = 0
  let most = 0
  const table = {
    version: async () => {
      most = Math.max(most, ++running)
      await new Promise((resolve) => setTimeout(resolve, 10))
      running--
      return 1
    },
  }
  const store = {
    team: () => ({ table: () => table }),
    limits: { pageRowsMax: 1, pageBytesMax: 1 },
  }
  const url = await listen(nodeHandler(store as unknown as Store, OPTIONS))
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  opened.push(async () => socket.destroy())
  const request = `HEAD /tables/x/rows HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n\r\n`
  let received = ''
  socket.on('data', (bytes: Buffer) => {
    received += bytes.toString()
  })
  socket.write(request.repeat(5))
  await expect.poll(() => received.match(/HTTP\/1.1 200/g)?.length).toBe(5)
  expect(most).toBe(1)
})

test.each([
  ['?appsToLink=app-a,app-x&appsToLink=app-b,,app-a', undefined, ['app-a', 'app-b']],
  ['', ['app-b', 'app-x', 'app-b'], ['app-b']],
  ['?appsToLink=app-a', ['app-b'], ['app-a', 'app-b']],
  ['?appsToLink=', undefined, []],
])(
  'linkedAppIDs lists the apps that exist, each once: %s %j',
  async (query, appsToLink, linked) => {
    const store = await memory()
    const url = await listen(nodeHandler(store, { ...OPTIONS, apps: ['app-a', 'app-b'] }))
    const body = JSON.stringify({ name: 'x', rows: [], appsToLink })
    const response = await fetch(`${url}/tables${query}`, {
      method: 'POST',
      headers: HEADERS,
      body,
    })
    const { data } = (await response.json()) as { data: { linkedAppIDs: string[] } }
    expect(data.linkedAppIDs).toEqual(linked)
  },
)

test('security headers are on every answer', async () => {
  const url = await listen(nodeHandler(await memory(), OPTIONS))
  for (const path of ['/tables', '/nowhere', '//x']) {
    const { headers } = await fetch(url + path, { headers: HEADERS })
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('cache-control')).toBe('no-cache')
  }
})

test('a hardened server has its limits set', async () => {
  const server = createServer(serverOptions)
  hardenServer(server)
  expect(server.headersTimeout).toBe(10_000)
  expect(server.requestTimeout).toBe(86_400_000)
  expect(server.maxConnections).toBe(2_000)
  expect(server.maxRequestsPerSocket).toBe(10_000)
})

test('a mistake of the host in onFailure ends neither the process nor the answer', async () => {
  const store = {
    team: () => {
      throw new Error('broken')
    },
    limits: { pageRowsMax: 1, pageBytesMax: 1 },
  }
  const onFailure = () => {
    throw new Error('broken too')
  }
  const url = await listen(nodeHandler(store as unknown as Store, { ...OPTIONS, onFailure }))
  expect((await fetch(`${url}/tables`, { headers: HEADERS })).status).toBe(500)
})

test('an unread request of a client that never ends it is cut off in bounded time', async () => {
  const url = await listen(nodeHandler(await memory(), OPTIONS))
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  opened.push(async () => socket.destroy())
  let received = ''
  socket.on('data', (bytes: Buffer) => {
    received += bytes.toString()
  })
  const closed = once(socket, 'close')
  socket.write('POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nx')
  await expect.poll(() => received).toContain('404')
  expect(received.toLowerCase()).toContain('connection: close')
  expect(socket.closed).toBe(false)
  vi.advanceTimersByTime(5_000)
  await closed
})

test('the type of a handler fits frameworks', () => {
  const handler: (request: IncomingMessage, response: never) => void = nodeHandler(
    storeAnswering(countedIds(0).ids),
    OPTIONS,
  )
  expect(handler).toBeTypeOf('function')
})

test('the bytes of answers are counted as they are sent, in characters beyond ASCII too', async () => {
  const adminKey = 'a-key-of-whoever-runs-the-server'
  const url = await listen(nodeHandler(await memory(), { ...OPTIONS, adminKeys: [adminKey] }))
  const name = '\u00c4neas \u{1f600}'
  const body = JSON.stringify({ name, rows: [{ name }] })
  const made = await fetch(`${url}/tables`, { method: 'POST', headers: HEADERS, body })
  const listed = await fetch(`${url}/tables`, { headers: HEADERS })
  await fetch(`${url}/tables`, { method: 'HEAD', headers: HEADERS })
  const texts = [await made.text(), await listed.text()]
  const answer = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${adminKey}` } })

  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  expect(texts[1]).toContain(name)
  const metrics = await answer.text()
  expect(metrics).toContain(`\nrowstash_response_body_bytes_total ${bytes}\n`)
  expect(metrics).toMatch(/\nrowstash_event_loop_delay_seconds\{statistic="max"\} [0-9.]+\n/)
  expect(metrics).toMatch(/\nrowstash_process_resident_memory_bytes [0-9]+\n/)
})
