// Goal: nobody, with or without a key, can hold all connections of a server, and a server ends when it is told to.
import {
  createServer,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type RunningServer, serveOwnStore } from '../../../adapters/cli/server/server.js'
import { type ConnectionLimits, closeServer } from '../../../adapters/http/connections.js'
import { hardenServer, nodeHandler, serverOptions } from '../../../adapters/http/node-http.js'
import { addressOf } from '../../../adapters/http/remote-address.js'
import { openMemory } from '../../../src/index.js'
import { turns } from '../../support/until.js'
import { type RawClient, rawClient } from './raw-client.js'
import { TEST_CERTIFICATE, TEST_KEY } from './tls-certificate.js'

const KEY = 'a-key-of-a-team-for-tests'
const SECOND_KEY = 'a-second-key-of-a-team-for-tests'
const OTHER_KEY = 'a-key-of-another-team-for-tests'
const OPTIONS = {
  keys: [
    { key: KEY, teamId: 'team' },
    { key: SECOND_KEY, teamId: 'team' },
    { key: OTHER_KEY, teamId: 'other' },
  ],
}
const listOf = (key: string) =>
  ['GET /tables HTTP/1.1', 'Host: x', `Authorization: Bearer ${key}`] as const
const LIST = listOf(KEY)
const CREATE = [
  'POST /tables?name=x HTTP/1.1',
  'Host: x',
  `Authorization: Bearer ${KEY}`,
  'Content-Type: application/json',
  'Content-Length: 2',
] as const

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function storeHandler(): Promise<RequestListener> {
  const store = await openMemory()
  onTestFinished(() => store.close())
  return nodeHandler(store, OPTIONS)
}

function hardened(listener: RequestListener, limits?: ConnectionLimits): Server {
  return hardenServer(createServer(serverOptions as ServerOptions, listener), limits)
}

/** Only the limits end idle connections. */
async function serveStore(limits: ConnectionLimits): Promise<string> {
  const server = hardened(await storeHandler(), limits)
  server.keepAliveTimeout = 0
  return listen(server)
}

async function start(): Promise<RunningServer> {
  return serveOwnStore(await openMemory(), {
    host: '127.0.0.1',
    port: 0,
    baseUrl: undefined,
    keys: OPTIONS.keys,
    apps: undefined,
    onFailure: () => {},
    onWarning: () => {},
  })
}

describe('a server that is closed', () => {
  test('closes at once all connections without a request in flight, even those that never had one', async () => {
    const server = await start()
    const silent = await rawClient(server.url)
    const begun = await rawClient(server.url)
    begun.socket.write('GET /tables HTTP/1.1\r\nHost:')
    const kept = await rawClient(server.url)
    kept.send(...LIST)
    await expect.poll(kept.statuses).toEqual([200])

    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }) // The grace never ends.
    onTestFinished(() => void vi.useRealTimers())
    await server.close()
    await Promise.all([silent.ended, begun.ended, kept.ended])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('finishes requests in flight, and says that the connection ends afterwards', async () => {
    const server = await start()
    const client = await rawClient(server.url)
    client.send(...CREATE)
    const later = await rawClient(server.url)
    later.send(...LIST)
    await expect.poll(later.statuses).toEqual([200])
    const closing = server.close()
    client.socket.write('[]')
    await closing
    await client.ended

    expect(client.statuses()).toEqual([201])
    expect(client.received().toLowerCase()).toContain('connection: close')
  })

  test('answers all requests of a connection that came before, and ends it with the last', async () => {
    const held: ServerResponse[] = []
    const server = hardened((_, response) => void held.push(response))
    const client = await rawClient(await listen(server))
    client.send(...LIST, '', ...LIST)
    await expect.poll(() => held.length).toBe(2)
    const closing = closeServer(server)
    for (const response of held) response.end('x')
    await closing
    await client.ended

    const answers = client.received().split('HTTP/1.1 ').slice(1)
    expect(answers.map((text) => /connection: close/i.test(text))).toEqual([false, true])
  })

  test('ends a connection whose answer had begun when it is sent', async () => {
    let held: ServerResponse | undefined
    const server = hardened((_, response) => {
      response.write('x'.repeat(10))
      held = response
    })
    const client = await rawClient(await listen(server))
    client.send(...LIST)
    await expect.poll(client.statuses).toEqual([200])
    const closing = closeServer(server)
    held?.end('end')
    await closing
    await client.ended

    expect(client.received()).toContain('end')
  })

  test('cuts what is still there after the grace', async () => {
    const server = hardened(() => {})
    const client = await rawClient(await listen(server))
    client.send(...LIST)
    await expect.poll(() => client.socket.bytesWritten).toBeGreaterThan(0)

    await closeServer(server, 50)
    await client.ended
  })

  test('ends within 5 seconds, as a program, whatever its clients do', async () => {
    const server = await start()
    const client = await rawClient(server.url)
    client.send(...CREATE)
    const later = await rawClient(server.url)
    later.send(...LIST)
    await expect.poll(later.statuses).toEqual([200])
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    let isClosed = false
    const closing = server.close().finally(() => {
      isClosed = true
    })
    await later.ended
    await turns()
    expect(isClosed).toBe(false)
    vi.advanceTimersByTime(4_400)

    await Promise.all([closing, client.ended])
  })

  test('must have been hardened', async () => {
    await expect(closeServer(createServer())).rejects.toMatchObject({ code: 'OPTION_NOT_ALLOWED' })
  })
})

describe('connections without a known key', () => {
  test('give way to newer ones of the same address, the oldest first', async () => {
    const url = await serveStore({ keylessPerAddressMax: 3 })
    const clients: RawClient[] = []
    for (let made = 0; made < 5; made++) clients.push(await rawClient(url))
    await Promise.all([clients[0]?.ended, clients[1]?.ended])
    clients[4]?.send(...LIST)
    await expect.poll(() => clients[4]?.statuses()).toEqual([200])

    expect(clients.map((client) => client.isEnded())).toEqual([true, true, false, false, false])
  })

  test('do not count, and never give way, once a known key was seen on them', async () => {
    const url = await serveStore({ keylessPerAddressMax: 3 })
    const keyed = []
    for (let made = 0; made < 8; made++) {
      const client = await rawClient(url)
      client.send(...LIST)
      await expect.poll(client.statuses).toEqual([200])
      keyed.push(client)
    }
    for (let made = 0; made < 6; made++) await rawClient(url)
    for (const client of keyed) client.send(...LIST)

    for (const client of keyed) await expect.poll(client.statuses).toEqual([200, 200])
  })

  test('have a request under way: then a newer one is closed', async () => {
    const held: ServerResponse[] = []
    const server = hardened((_, response) => void held.push(response), { keylessPerAddressMax: 2 })
    const url = await listen(server)
    const busy = [await rawClient(url), await rawClient(url)]
    for (const client of busy) client.send(...LIST)
    await expect.poll(() => held.length).toBe(2)
    const late = await rawClient(url)
    await late.ended
    for (const response of held) response.end('x')

    for (const client of busy) await expect.poll(client.statuses).toEqual([200])
  })

  test('leave a quarter of all places to those with one', async () => {
    const url = await serveStore({ connectionsMax: 4 })
    const keyed = await rawClient(url)
    keyed.send(...LIST)
    await expect.poll(keyed.statuses).toEqual([200])
    const keyless = []
    for (let made = 0; made < 5; made++) keyless.push(await rawClient(url))
    await Promise.all([keyless[0]?.ended, keyless[1]?.ended])
    keyed.send(...LIST)
    await expect.poll(keyed.statuses).toEqual([200, 200])

    expect(keyless.map((client) => client.isEnded())).toEqual([true, true, false, false, false])
  })

  test('give way when all places are taken, and not to others that do something', async () => {
    const held: ServerResponse[] = []
    const handler = await storeHandler()
    const listener: RequestListener = (request, response) => {
      if (request.url === '/held') held.push(response)
      else handler(request, response)
    }
    const url = await listen(hardened(listener, { connectionsMax: 4 }))
    const keyed: RawClient[] = []
    for (let made = 0; made < 3; made++) {
      const client = await rawClient(url)
      client.send(...LIST)
      await expect.poll(client.statuses).toEqual([200])
      keyed.push(client)
    }
    const keyless = [await rawClient(url), await rawClient(url)]
    await keyless[0]?.ended
    keyless[1]?.send('GET /held HTTP/1.1', 'Host: x')
    await expect.poll(() => held.length).toBe(1)
    const late = await rawClient(url)
    await late.ended
    for (const client of keyed) client.send(...LIST)

    for (const client of keyed) await expect.poll(client.statuses).toEqual([200, 200])
  })

  test('end with the answer that refuses the key', async () => {
    const url = await serveStore({})
    for (const authorization of [[], ['Authorization: Bearer nobody-has-this']]) {
      const client = await rawClient(url)
      client.send('GET /tables HTTP/1.1', 'Host: x', ...authorization)
      await client.ended

      expect(client.statuses()).toEqual([404])
      expect(client.received().toLowerCase()).toContain('connection: close')
    }
  })

  test('are left alone when the host took them over', async () => {
    const taken: unknown[] = []
    const server = hardened(() => {}, { keylessPerAddressMax: 2 })
    server.on('upgrade', (_, socket) => {
      taken.push(socket)
      socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n')
      socket.on('data', (bytes: Buffer) => socket.write(bytes))
    })
    const url = await listen(server)
    const upgraded = await rawClient(url)
    upgraded.send('GET / HTTP/1.1', 'Host: x', 'Connection: upgrade', 'Upgrade: test')
    await expect.poll(upgraded.statuses).toEqual([101])
    const others = []
    for (let made = 0; made < 4; made++) others.push(await rawClient(url))
    await Promise.all([others[0]?.ended, others[1]?.ended])
    upgraded.socket.write('still here')

    await expect.poll(upgraded.received).toContain('still here')
  })

  test('are told from others on a TLS server too', async () => {
    const [key, cert] = [TEST_KEY, TEST_CERTIFICATE]
    const options = { ...serverOptions, key, cert } as const
    const tls = createTlsServer(options, await storeHandler())
    const server = hardenServer(tls as unknown as Server, { keylessPerAddressMax: 2 })
    const { port } = new URL(await listen(server))
    const open = (): Promise<TLSSocket> =>
      new Promise((resolve) => {
        const socket: TLSSocket = connectTls(
          { port: Number(port), host: '127.0.0.1', ca: cert, checkServerIdentity: () => undefined },
          () => resolve(socket),
        )
        socket.on('error', () => {})
        onTestFinished(() => void socket.destroy())
      })
    const keyed = await open()
    let received = ''
    keyed.on('data', (bytes: Buffer) => {
      received += bytes.toString()
    })
    keyed.write(`${LIST.join('\r\n')}\r\n\r\n`)
    await expect.poll(() => received.match(/ 200 /g)).toHaveLength(1)
    const others: TLSSocket[] = []
    for (let made = 0; made < 4; made++) others.push(await open())
    await expect.poll(() => others.filter(({ destroyed }) => destroyed).length).toBe(2)
    keyed.write(`${LIST.join('\r\n')}\r\n\r\n`)

    await expect.poll(() => received.match(/ 200 /g)).toHaveLength(2)
  })
})

describe('connections with a known key', () => {
  /** Seven of eight places, the share of such connections. */
  const FULL = 7

  async function open(url: string, ...lines: readonly string[]): Promise<RawClient> {
    const client = await rawClient(url)
    client.send(...lines)
    return client
  }

  async function answered(url: string, key: string): Promise<RawClient> {
    const client = await open(url, ...listOf(key))
    await expect.poll(client.statuses).toEqual([200])
    return client
  }

  async function manyOf(count: number, make: () => Promise<RawClient>): Promise<RawClient[]> {
    const clients: RawClient[] = []
    for (let made = 0; made < count; made++) clients.push(await make())
    return clients
  }

  test('leave places to other teams, to new ones of their own, and to those without a key', async () => {
    const url = await serveStore({ connectionsMax: 8 })
    const held = await manyOf(FULL, () => answered(url, KEY))
    const others = await manyOf(3, () => answered(url, OTHER_KEY))
    const next = await answered(url, KEY)
    const probe = await open(url, 'GET /healthz HTTP/1.1', 'Host: x')
    await expect.poll(probe.statuses).toEqual([200])
    await Promise.all(held.slice(0, 4).map(({ ended }) => ended))
    for (const client of [...held.slice(4), next]) client.send(...LIST)
    for (const client of others) client.send(...listOf(OTHER_KEY))

    for (const client of [...held.slice(4), ...others, next]) {
      await expect.poll(client.statuses).toEqual([200, 200])
    }
  })

  test('of the key with most give way within a team', async () => {
    const url = await serveStore({ connectionsMax: 8 })
    const held = await manyOf(FULL - 1, () => answered(url, KEY))
    const second = await answered(url, SECOND_KEY)
    await answered(url, SECOND_KEY)
    await held[0]?.ended
    second.send(...listOf(SECOND_KEY))

    await expect.poll(second.statuses).toEqual([200, 200])
  })

  test('are all busy: more of the team get 503, and other teams the places beyond', async () => {
    const url = await serveStore({ connectionsMax: 8 })
    const busy = await manyOf(FULL, async () => {
      const client = await rawClient(url)
      client.socket.write(`${CREATE.join('\r\n')}\r\n\r\n`)
      return client
    })
    await expect.poll(() => isRefused(url, KEY)).toBe(true)
    expect(await isRefused(url, SECOND_KEY)).toBe(true)
    const unread = await open(url, ...CREATE)
    await expect.poll(unread.statuses).toEqual([503])
    const other = await answered(url, OTHER_KEY)
    for (const client of busy) client.socket.write('[]')

    for (const client of busy) await expect.poll(client.statuses).toEqual([201])
    other.send(...listOf(OTHER_KEY))
    await expect.poll(other.statuses).toEqual([200, 200])
  })

  /** Whether another connection of a key is refused, and closed with the answer. */
  async function isRefused(url: string, key: string): Promise<boolean> {
    const client = await open(url, ...listOf(key))
    await expect.poll(() => client.statuses().length).toBe(1)
    if (client.statuses()[0] !== 503) return false
    await client.ended
    return client.received().includes('Too many connections of this team')
  }
})

test.each([
  ['10.1.2.3', '10.1.2.3'],
  ['::ffff:10.1.2.3', '10.1.2.3'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8:1:2::6', '2001:db8:1:2'],
  ['2001:db8::6', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
  [undefined, ''],
])('%s is counted as %s', (remoteAddress, address) => {
  expect(addressOf({ remoteAddress })).toBe(address)
})

test.each([
  [{ connectionsMax: 3 }, 'connectionsMax'],
  [{ connectionsMax: 1.5 }, 'connectionsMax'],
  [{ keylessPerAddressMax: 0 }, 'keylessPerAddressMax'],
  [{ keylessPerAddressMax: '8' }, 'keylessPerAddressMax'],
  [{ perAddressMax: 8 }, 'perAddressMax'],
])('%j are no limits', (limits, name) => {
  expect(() => hardened(() => {}, limits as ConnectionLimits)).toThrow(
    expect.objectContaining({
      code: 'OPTION_NOT_ALLOWED',
      message: expect.stringContaining(`"${name}"`),
    }),
  )
})

test('a second call sets other limits', async () => {
  const server = hardened(() => {}, { connectionsMax: 10, keylessPerAddressMax: 10 })
  hardenServer(server, { keylessPerAddressMax: 1 })
  const url = await listen(server)
  const first = await rawClient(url)
  await rawClient(url)
  await first.ended

  expect(server.maxConnections).toBe(2_000)
})
