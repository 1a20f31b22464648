// Goal: one address cannot try keys endlessly. Clients that have shown a valid key, and clients of other addresses, are
// not affected.
import { Agent, createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  hardenServer,
  type NodeHandlerOptions,
  nodeHandler,
  serverOptions,
} from '../../../adapters/http/node-http.js'
import { TrustedProxies } from '../../../adapters/http/remote-address.js'
import { openMemory } from '../../../src/index.js'

const KEYS = ['first', 'second'].map((teamId) => ({ key: `a-key-of-the-${teamId}-team`, teamId }))
const [FIRST = '', SECOND = ''] = KEYS.map(({ key }) => key)
const MAX = 5

/** A server whose clock stands still: the keys of a minute are counted, however long they take. */
async function serve(options: Partial<NodeHandlerOptions> = {}) {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const store = await openMemory()
  const handler = nodeHandler(store, { keys: KEYS, refusedKeysPerMinuteMax: MAX, ...options })
  const { trustedProxies = [] } = options
  const server = hardenServer(createServer(serverOptions, handler), { trustedProxies })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await store.close()
  })
  return (server.address() as AddressInfo).port
}

type Sent = Readonly<{ path?: string; from?: string; agent?: Agent; forwarded?: string }>

function send(port: number, key: string, { path = '/tables', from, agent, forwarded }: Sent = {}) {
  const headers = {
    authorization: `Bearer ${key}`,
    ...(forwarded !== undefined && { 'x-forwarded-for': forwarded }),
  }
  const localAddress = from ?? '127.0.0.1'
  const options = { port, host: '127.0.0.1', path, headers, localAddress, agent: agent ?? false }
  return new Promise<{ status: number | undefined; retry: string | undefined; text: string }>(
    (resolve, reject) => {
      const sent = httpRequest(options, (response) => {
        let text = ''
        response.on('data', (piece: Buffer) => {
          text += piece.toString()
        })
        response.on('end', () => {
          const { statusCode: status, headers } = response
          resolve({ status, retry: headers['retry-after'], text })
        })
      })
      sent.on('error', reject)
      sent.end()
    },
  )
}

function keptAlive(): Agent {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => agent.destroy())
  return agent
}

test('an address with too many unknown keys is 429, and others are not', async () => {
  const port = await serve()
  const kept = { agent: keptAlive() }
  expect((await send(port, FIRST, kept)).status).toBe(200)
  for (let n = 0; n < MAX; n++) expect((await send(port, `unknown-key-${n}`)).status).toBe(404)

  const refused = await send(port, 'unknown-key')

  expect([refused.status, refused.retry]).toEqual([429, '12'])
  expect(JSON.parse(refused.text)).toEqual({
    error: {
      type: 'rate_limited',
      message: `This client has sent ${MAX} unknown keys a minute (refusedKeysPerMinuteMax); try again later`,
    },
  })
  expect((await send(port, FIRST)).status).toBe(429) // The right key cannot be found by trying.
  expect((await send(port, FIRST, kept)).status).toBe(200)
  expect((await send(port, SECOND, { from: '127.0.0.2' })).status).toBe(200)
  expect((await send(port, 'x', { path: '/healthz' })).status).toBe(200)
})

test('without a limit every unknown key is 404', async () => {
  const port = await serve({ refusedKeysPerMinuteMax: 0 })

  for (let n = 0; n < 3 * MAX; n++) expect((await send(port, 'unknown-key')).status).toBe(404)
})

describe('behind a trusted proxy', () => {
  const trustedProxies = ['127.0.0.1', '10.0.0.0/8']

  test('a client is the last address that is of no proxy, on a connection that others share', async () => {
    const port = await serve({ trustedProxies })
    const agent = keptAlive()
    const as = (key: string, forwarded: string) => send(port, key, { forwarded, agent })
    expect((await as(FIRST, '192.0.2.1')).status).toBe(200)
    for (let n = 0; n < MAX; n++) {
      expect((await as('unknown-key', `198.51.100.${n}, 192.0.2.2, 10.1.2.3`)).status).toBe(404)
    }

    expect((await as('unknown-key', '192.0.2.2')).status).toBe(429)

    expect((await as(FIRST, '192.0.2.1')).status).toBe(200)
    expect((await as(SECOND, '192.0.2.3')).status).toBe(200)
  })

  test('X-Forwarded-For of any other address is not believed', async () => {
    const port = await serve({ trustedProxies })
    const from = '127.0.0.2'
    for (let n = 0; n < MAX; n++) {
      const forwarded = `192.0.2.${n}`
      expect((await send(port, 'unknown-key', { from, forwarded })).status).toBe(404)
    }

    expect((await send(port, 'unknown-key', { from, forwarded: '192.0.2.9' })).status).toBe(429)
  })
})

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['192.0.2.1:4711', '192.0.2.1'],
  ['[2001:db8:1:2:3::1]:80', '2001:db8:1:2'],
  ['2001:db8:1:2::1', '2001:db8:1:2'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['192.0.2.1, nonsense, 10.0.0.1', '10.0.0.1'],
  ['nonsense', '127.0.0.1'],
  ['', '127.0.0.1'],
  ['192.0.2.1, 192.0.2.2,10.0.0.1', '192.0.2.2'],
  [Array(1_000).fill('10.0.0.1').join(), '10.0.0.1'],
])('X-Forwarded-For: %s', (forwarded, client) => {
  const proxies = new TrustedProxies(['127.0.0.1', '10.0.0.0/8', '2001:db8:ffff::/48'])
  const socket = { remoteAddress: '::ffff:127.0.0.1' } as never

  expect(proxies.clientOf({ socket, headers: { 'x-forwarded-for': forwarded } })).toBe(client)
})

test.each([[['example.com']], [['10.0.0.0/33']], [['10.0.0.0/x']], [[7]], ['10.0.0.1']])(
  '%j are no addresses of proxies',
  (given) => {
    expect(() => new TrustedProxies(given)).toThrow(
      expect.objectContaining({ code: 'OPTION_NOT_ALLOWED' }),
    )
  },
)
