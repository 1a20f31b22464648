// Goal: requests that node:http's parser refuses get an answer of the contract, unless somebody else answers, or an
// answer has already begun.
import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { hardenServer, nodeHandler, serverOptions } from '../../../adapters/http/node-http.js'
import { openMemory } from '../../../src/index.js'
import { turns } from '../../support/until.js'

const HEAD = 'POST / HTTP/1.1\r\nHost: x\r\n'

const opened: (() => unknown)[] = []

afterEach(() => {
  for (const close of opened.splice(0).reverse()) close()
})

async function listen(
  handler: RequestListener,
  change?: (server: Server) => void,
  more: ServerOptions = {},
) {
  const options = { ...serverOptions, connectionsCheckingInterval: 20, ...more }
  const server = createServer(options, handler)
  change?.(server)
  hardenServer(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  opened.push(
    () => server.close(),
    () => server.closeAllConnections(),
  )
  return server
}

/** Sends a text. @returns everything received until the connection ends */
async function replyTo(server: Server, text: string): Promise<string> {
  const socket: Socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  opened.push(() => socket.destroy())
  socket.on('error', () => {})
  let reply = ''
  socket.on('data', (piece: Buffer) => {
    reply += piece.toString()
  })
  socket.write(text)
  await new Promise((resolve) => socket.on('close', resolve))
  return reply
}

/** The error of the only answer. */
function errorOf(reply: string): unknown {
  const [, status, head = '', body = ''] =
    /^HTTP\/1\.1 (\d+) ([\s\S]*?)\r\n\r\n(.*)$/.exec(reply) ?? []
  expect(head).toMatch(/content-type: application\/json; charset=utf-8/)
  expect(head).toMatch(/x-content-type-options: nosniff/)
  expect(head).toMatch(/connection: close/)
  expect(head).toContain(`content-length: ${Buffer.byteLength(body)}`)
  return { status: Number(status), ...(JSON.parse(body) as { error: object }).error }
}

const INVALID = 'request_validation_error'

test.each([
  ['no HTTP', 'GARBAGE\r\n\r\n', 400, INVALID, 'Invalid request: it is malformed: '],
  ['TLS', '\x16\x03\x01\x02\x00\x01\x00', 400, INVALID, 'Invalid request: it is malformed: '],
  ['a second length', `${HEAD}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`, 400, INVALID, ''],
  [
    'a length and chunks',
    `${HEAD}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`,
    400,
    INVALID,
    '',
  ],
  ['other chunks', `${HEAD}Transfer-Encoding: chunked, gzip\r\n\r\n`, 501, 'not_implemented', ''],
  [
    'long headers',
    `${HEAD}a: ${'b'.repeat(100_000)}\r\n\r\n`,
    431,
    INVALID,
    'Invalid request: its headers are too long',
  ],
])('%s', async (_, text, status, type, message) => {
  const server = await listen(() => {})

  const reply = await replyTo(server, text)

  expect(errorOf(reply)).toEqual({ status, type, message: expect.stringContaining(message) })
})

test('headers that do not come are answered 408', async () => {
  const server = await listen(() => {})
  server.headersTimeout = 30

  const reply = await replyTo(server, 'GET / HT')

  expect(errorOf(reply)).toMatchObject({ status: 408, type: 'request_timeout' })
})

test('a body that breaks its rules while it is read is answered 400', async () => {
  const server = await listen((request) => request.on('error', () => {}).resume())

  const reply = await replyTo(server, `${HEAD}Transfer-Encoding: chunked\r\n\r\nno size\r\n`)

  expect(errorOf(reply)).toMatchObject({ status: 400, type: INVALID })
})

test('an answer under way is not mixed with another', async () => {
  const server = await listen((request, response) => {
    request.on('error', () => {}).resume()
    response.write('begun')
  })

  const reply = await replyTo(
    server,
    `${HEAD}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\nno size\r\n`,
  )

  expect(reply.match(/HTTP\/1\.1/g) ?? []).toEqual(reply === '' ? [] : ['HTTP/1.1'])
  expect(reply).not.toContain('malformed')
})

test('a request without a Host is answered 400, with a body', async () => {
  const store = await openMemory()
  const handler = nodeHandler(store, { keys: [{ key: 'a-key-of-a-team', teamId: 'team' }] })
  const server = await listen(handler)

  const reply = await replyTo(server, 'GET /tables HTTP/1.1\r\n\r\n')

  expect(errorOf(reply)).toMatchObject({ status: 400, message: 'Invalid request: Host is missing' })
})

test("a request without a Host reaches a host's own routes, unless it keeps the check of Node", async () => {
  const withoutHost = 'GET /own HTTP/1.1\r\nConnection: close\r\n\r\n'
  const seen: unknown[] = []
  const own: RequestListener = (request, response) => {
    seen.push(request.headers.host)
    response.end('own')
  }

  const reply = await replyTo(await listen(own), withoutHost)
  const checking = await listen(own, undefined, { requireHostHeader: true })
  const refused = await replyTo(checking, withoutHost)

  expect(reply).toMatch(/^HTTP\/1\.1 200 [\s\S]*own$/)
  expect(refused).toMatch(/^HTTP\/1\.1 400 [\s\S]*\r\n\r\n(0\r\n\r\n)?$/)
  expect(seen).toEqual([undefined])
})

test('a refusal is not taken for the answer to the request before it', async () => {
  const server = await listen((request, response) => {
    request.resume()
    void turns().then(() => response.end('first'))
  })

  const reply = await replyTo(server, 'GET / HTTP/1.1\r\nHost: x\r\n\r\nGARBAGE\r\n\r\n')

  const [first = '', second = ''] = reply.split(/(?=HTTP\/1\.1 400)/)
  expect(first).toMatch(/^HTTP\/1\.1 200 /)
  expect(first).toContain('first')
  expect(errorOf(second)).toMatchObject({ status: 400, type: INVALID })
})

test('a host that answers such requests itself is the only one to answer', async () => {
  const answer = (_: Error, socket: { end(text: string): unknown }) => socket.end('mine')
  const before = await listen(
    () => {},
    (server) => server.on('clientError', answer),
  )
  const after = await listen(() => {})
  after.on('clientError', answer)

  expect(await replyTo(before, 'GARBAGE\r\n\r\n')).toBe('mine')
  expect(await replyTo(after, 'GARBAGE\r\n\r\n')).toBe('mine')
})
