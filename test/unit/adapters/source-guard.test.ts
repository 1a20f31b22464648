// Goal: whatever URL a client names, no socket is opened to an address that is not public.
// Method: the sockets are the proof, not the answer. Every connect of this process is seen where Node makes it, and
// servers on this machine count their connections.
import { get, globalAgent } from 'node:http'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { nodeSources, type SourceLookup, type SourceOptions } from '../../../adapters/node.js'
import { isPublicAddress } from '../../../adapters/sources/source-address.js'
import { parseSourceUrl } from '../../../adapters/sources/source-guard.js'
import { resolveSourceOptions } from '../../../adapters/sources/source-options.js'
import { isStoreError, type StoreError } from '../../../src/index.js'
import { turns, until } from '../../support/until.js'
import { HOSTILE_ADDRESSES, HOSTILE_NAMES, HOSTILE_URLS } from './hostile-urls.js'
import { goodAnswer, type RawServer, rawServer, redirectAnswer } from './raw-server.js'
import { type SocketWatch, watchSockets } from './socket-watch.js'

const PUBLIC_V4 = '93.184.216.34'
const PUBLIC_V4_TOO = '93.184.216.35'
const PUBLIC_V6 = '2606:4700::1'
const LIMITS = { bytesMax: 1_000 }
/** Limits that only a hang reaches. */
const PATIENT = { connectTimeoutMs: 60_000, idleTimeoutMs: 60_000, totalTimeoutMs: 60_000 }
const NOT_ALLOWED =
  'The source URL is not allowed: it must be an http or https URL of a public address'

/** Fetches a whole source. A failure is returned. */
async function outcomeOf(url: string, options: SourceOptions): Promise<string | StoreError> {
  try {
    const source = await nodeSources({ ...PATIENT, ...options }).fetch(url, LIMITS)
    const pieces: Uint8Array[] = []
    for await (const piece of source.body) pieces.push(piece)
    return Buffer.concat(pieces).toString()
  } catch (failure) {
    if (isStoreError(failure)) return failure
    throw failure
  }
}

async function expectRefused(url: string, options: SourceOptions): Promise<void> {
  const outcome = await outcomeOf(url, options)
  const shown = String(url).slice(0, 100)

  expect([shown, typeof outcome === 'string' ? outcome : outcome.code]).toEqual([
    shown,
    'SOURCE_URL_NOT_ALLOWED',
  ])
  expect(outcome).toMatchObject({ message: NOT_ALLOWED })
}

const greeting: Parameters<typeof rawServer>[0] = (socket) => socket.end(goodAnswer('hello'))

/** A server on each loopback address of this machine. */
async function loopbackServers(): Promise<RawServer[]> {
  const servers = [await rawServer(greeting)]
  try {
    servers.push(await rawServer(greeting, { host: '::1' }))
  } catch (failure) {
    // This machine lacks IPv6. The watch still sees sockets to it.
    if (!/EADDRNOTAVAIL|EAFNOSUPPORT/.test(String(failure))) throw failure
  }
  return servers
}

function expectNothingOpened(watch: SocketWatch, servers: readonly RawServer[]): void {
  expect(watch.opened.map(({ host, port }) => `${host} ${port}`)).toEqual([])
  expect(servers.map((server) => server.connections())).toEqual(servers.map(() => 0))
}

const atPublic = async (): Promise<string[]> => [PUBLIC_V4]

test('the tables name at least 300 different URLs', () => {
  const urls = new Set([
    ...Object.values(HOSTILE_ADDRESSES).flat(),
    ...Object.values(HOSTILE_NAMES).flatMap((names) => names.map(([name]) => name)),
    ...Object.values(HOSTILE_URLS).flat(),
  ])

  expect(urls.size).toBeGreaterThan(450)
})

describe('the proof itself', () => {
  test('the watch and the servers see what is fetched when private addresses are allowed', async () => {
    const servers = await loopbackServers()
    const watch = watchSockets()

    for (const [i, { port }] of servers.entries()) {
      const host = i === 0 ? '127.0.0.1' : '[::1]'
      expect(await outcomeOf(`http://${host}:${port}/`, { allowPrivate: true })).toBe('hello')
    }

    expect(watch.attempts).toEqual(['127.0.0.1', '::1'].slice(0, servers.length))
    expect(watch.opened.map(({ host }) => host)).toEqual(watch.attempts)
    expect(servers.map((server) => server.connections())).toEqual(servers.map(() => 1))
  })

  test('a fetch from a public address gets through', async () => {
    const server = await rawServer(greeting)
    const watch = watchSockets()
    const hosts = [PUBLIC_V4, PUBLIC_V6]
    for (const host of hosts) watch.divert(host, { port: server.port, shownAddress: host })

    expect(await outcomeOf(`http://${PUBLIC_V4}/`, {})).toBe('hello')
    expect(await outcomeOf(`http://[${PUBLIC_V6}]/`, {})).toBe('hello')
    expect(await outcomeOf('http://public.example/', { lookup: atPublic })).toBe('hello')
    expect(await outcomeOf('http://public.example./', { lookup: atPublic })).toBe('hello')
    expect(watch.opened.map(({ host }) => host)).toEqual([...hosts, PUBLIC_V4, PUBLIC_V4])
  })
})

describe('an address that is not public', () => {
  const refuseAll: SourceLookup = () => Promise.reject(new Error('A name was looked up'))

  test.each(Object.entries(HOSTILE_ADDRESSES))('%s', async (_, hosts) => {
    const servers = await loopbackServers()
    const watch = watchSockets()
    const ports = servers.map(({ port }) => port)
    const options = { ports: [80, 443, ...ports], lookup: refuseAll }

    for (const host of hosts) {
      await expectRefused(`http://${host}/`, options)
      await expectRefused(`https://${host}/latest/meta-data/?a=b#c`, options)
      for (const port of ports) await expectRefused(`http://${host}:${port}/`, options)
    }

    expectNothingOpened(watch, servers)
  })
})

describe('a name', () => {
  test.each(Object.entries(HOSTILE_NAMES))('%s', async (_, names) => {
    const servers = await loopbackServers()
    const watch = watchSockets()
    const ports = servers.map(({ port }) => port)

    for (const [name, ...addresses] of names) {
      const asked: string[] = []
      const lookup = async (host: string): Promise<string[]> => {
        asked.push(host)
        return addresses
      }
      const options = { ports: [80, 443, ...ports], lookup }
      await expectRefused(`http://${name}/`, options)
      await expectRefused(`https://${name}/x`, options)
      for (const port of ports) await expectRefused(`http://${name}:${port}/`, options)

      expect(asked.length).toBe(2 + ports.length)
      expect(asked.filter((host) => host.endsWith('.'))).toEqual([])
    }

    expectNothingOpened(watch, servers)
  })

  test('localhost is refused with the resolver of this machine too', async () => {
    const servers = await loopbackServers()
    const watch = watchSockets()
    const ports = servers.map(({ port }) => port)

    for (const port of ports) {
      await expectRefused(`http://localhost:${port}/`, { ports })
      await expectRefused(`http://localhost.:${port}/`, { ports })
    }

    expectNothingOpened(watch, servers)
  })

  test.each<[string, SourceLookup]>([
    ['is unknown', () => Promise.reject(new Error('ENOTFOUND'))],
    ['has no address', async () => []],
    ['has thousands of addresses', async () => Array.from({ length: 5_000 }, () => PUBLIC_V4)],
  ])('that %s fails, and no socket is opened', async (_, lookup) => {
    const watch = watchSockets()

    const outcome = await outcomeOf('http://public.example/', { lookup })

    expect(outcome).toMatchObject({ code: 'SOURCE_URL_FAILED' })
    expect(watch.opened).toEqual([])
  })
})

describe('a URL of a public host', () => {
  test.each(Object.entries(HOSTILE_URLS))('%s', async (_, urls) => {
    const server = await rawServer(greeting)
    const watch = watchSockets()
    for (const host of [PUBLIC_V4, PUBLIC_V6]) {
      watch.divert(host, { port: server.port, shownAddress: host })
    }

    for (const url of urls) await expectRefused(url, { lookup: atPublic })

    expectNothingOpened(watch, [server])
  })

  test('that is no text is refused too', async () => {
    for (const url of [undefined, null, 1, {}, ['http://public.example/'], new URL('file:///x')]) {
      await expectRefused(url as string, { lookup: atPublic })
    }
  })

  test.each([
    ...[
      'http://public.example',
      'http://public.example:80/a b',
      'https://public.example:443/',
      'HTTP://PUBLIC.EXAMPLE/',
    ],
    ...[
      'http:\\\\public.example\\x',
      'http://público.example/ü?q=ü',
      'http://public.example/@127.0.0.1',
      ' http://public.example/ ',
    ],
    ...[
      'http://a-b_c.1a.example/',
      `http://public.example/${'a'.repeat(2_026)}`,
      'http://public.example/#/x',
    ],
  ])('%s is taken', (url) => {
    const target = parseSourceUrl(url, resolveSourceOptions({}))

    expect(target.url.href).not.toContain('#')
    expect([80, 443]).toContain(target.port)
  })

  test('ports of the option are taken, and with allowPrivate all but 0', () => {
    const portOf = (url: string, options: SourceOptions): number =>
      parseSourceUrl(url, resolveSourceOptions(options)).port

    expect(portOf('https://public.example:8443/', { ports: [8443] })).toBe(8443)
    expect(() => portOf('http://public.example/', { ports: [8443] })).toThrow(NOT_ALLOWED)
    expect(portOf('http://10.0.0.1:9000/', { allowPrivate: true })).toBe(9000)
    expect(() => portOf('http://10.0.0.1:0/', { allowPrivate: true })).toThrow(NOT_ALLOWED)
  })

  test('other schemes and userinfo stay refused with allowPrivate', async () => {
    const watch = watchSockets()
    const { schemes = [], userinfo = [] } = HOSTILE_URLS

    for (const url of [...schemes, ...userinfo.filter((url) => !url.includes('#'))]) {
      await expectRefused(url, { allowPrivate: true, lookup: atPublic })
    }

    expect(watch.opened).toEqual([])
  })
})

describe('a resolver that changes its mind', () => {
  /** Returns one list of addresses after another, then repeats the last one. */
  function turns(...lists: string[][]): SourceLookup {
    let turn = 0
    return async () => lists[Math.min(turn++, lists.length - 1)] ?? []
  }

  test('is asked once per hop, and the socket goes to the address that was checked', async () => {
    const server = await rawServer(greeting)
    const watch = watchSockets()
    watch.divert(PUBLIC_V4, { port: server.port, shownAddress: PUBLIC_V4 })
    const lookup = turns([PUBLIC_V4], ['127.0.0.1'])

    expect(await outcomeOf('http://rebind.example/', { lookup })).toBe('hello')
    expect(watch.opened.map(({ host }) => host)).toEqual([PUBLIC_V4])

    await expectRefused('http://rebind.example/', { lookup })
    expect(watch.opened.length).toBe(1)
  })

  test('between a redirect and its target is found out', async () => {
    const server = await rawServer((socket) => socket.end(redirectAnswer('/again')))
    const watch = watchSockets()
    watch.divert(PUBLIC_V4, { port: server.port, shownAddress: PUBLIC_V4 })

    await expectRefused('http://rebind.example/', { lookup: turns([PUBLIC_V4], ['127.0.0.1']) })

    expect(watch.opened.map(({ host }) => host)).toEqual([PUBLIC_V4])
    expect(server.requests.length).toBe(1)
  })

  test('never leads a socket to an address that is not public, in any order of answers', async () => {
    const server = await rawServer((socket) => socket.end(redirectAnswer('http://next.example/')))
    const watch = watchSockets()
    for (const host of [PUBLIC_V4, PUBLIC_V4_TOO, PUBLIC_V6]) {
      watch.divert(host, { port: server.port, shownAddress: host })
    }
    const bad = ['127.0.0.1', '::1', '10.0.0.1', '::ffff:127.0.0.1']
    const good = [PUBLIC_V4, PUBLIC_V6, PUBLIC_V4_TOO]
    for (let seed = 0; seed < 200; seed++) {
      const pick = (i: number): string => {
        const from = (seed >> i) % 2 === 0 ? good : bad
        return from[(seed * 7 + i) % from.length] ?? PUBLIC_V4
      }
      const lookup = turns([pick(0)], [pick(1), pick(2)], [pick(3)], [pick(4), pick(5)])
      await outcomeOf('http://rebind.example/', { lookup })
    }

    expect(watch.opened.length).toBeGreaterThan(100)
    expect(watch.opened.filter(({ host }) => !isPublicAddress(host))).toEqual([])
    expect(watch.attempts).toEqual([])
  })
})

describe('a redirect', () => {
  const TARGETS = [
    ...[
      'http://127.0.0.1/',
      'http://localhost/',
      'http://[::1]/',
      'http://2130706433/',
      'http://169.254.169.254/latest/',
    ],
    ...[
      'http://[::ffff:7f00:1]/',
      '//127.0.0.1/',
      '\\\\127.0.0.1\\',
      'http://0/',
      'https://10.0.0.1/',
      'http://0x7f.1/',
    ],
    ...[
      'file:///etc/passwd',
      'data:text/plain,x',
      'gopher://public.example/',
      'ftp://public.example/',
      'javascript:1',
    ],
    ...[
      'http://user:secret@public.example/',
      '//user@public.example/',
      'http://public.example:22/',
      '//public.example:8080',
    ],
    ...[
      'http://',
      'http://%/',
      `/${'a'.repeat(3_000)}`,
      'http://[64:ff9b::7f00:1]/',
      'http://[::127.0.0.1]/',
    ],
  ]
  const lookup = async (host: string): Promise<string[]> =>
    host === 'localhost' ? ['127.0.0.1'] : [PUBLIC_V4]

  test.each(TARGETS.map((target) => [target.slice(0, 60), target] as const))(
    'to %s is refused after one request',
    async (_, target) => {
      const server = await rawServer((socket, path) =>
        socket.end(path === '/start' ? redirectAnswer(target) : goodAnswer('reached')),
      )
      const watch = watchSockets()
      watch.divert(PUBLIC_V4, { port: server.port, shownAddress: PUBLIC_V4 })

      await expectRefused('http://public.example/start', { lookup })

      expect(watch.opened.map(({ host }) => host)).toEqual([PUBLIC_V4])
      expect(server.requests.length).toBe(1)
    },
  )

  test('to the live port of this machine is refused, and the server there has no visitor', async () => {
    const secret = await rawServer(greeting)
    const server = await rawServer((socket) =>
      socket.end(redirectAnswer(`http://127.0.0.1:${secret.port}/`)),
    )
    const watch = watchSockets()
    watch.divert(PUBLIC_V4, { port: server.port, shownAddress: PUBLIC_V4 })

    await expectRefused('http://public.example/', { lookup, ports: [80, secret.port] })

    expect([server.connections(), secret.connections()]).toEqual([1, 0])
  })
})

describe('the address that a socket reached', () => {
  test.each([
    '127.0.0.1',
    '10.1.2.3',
    '169.254.169.254',
    '::1',
    '::ffff:127.0.0.1',
    'fe80::1%eth0',
    '',
  ])('is checked before a byte is written: %s', async (shownAddress) => {
    const server = await rawServer(greeting)
    const watch = watchSockets()
    watch.divert(PUBLIC_V4, { port: server.port, shownAddress })

    await expectRefused('http://public.example/', { lookup: atPublic })
    await expectRefused('https://public.example/', { lookup: atPublic })

    await turns()
    expect(watch.opened.map(({ socket }) => socket.bytesWritten)).toEqual([0, 0])
    expect(watch.opened.every(({ socket }) => socket.destroyed)).toBe(true)
    expect(server.bytesReceived()).toBe(0)
  })

  test('is not replaced by the next one of the list', async () => {
    const server = await rawServer(greeting)
    const watch = watchSockets()
    watch.divert(PUBLIC_V4, { port: server.port, shownAddress: '127.0.0.1' })
    watch.divert(PUBLIC_V4_TOO, { port: server.port, shownAddress: PUBLIC_V4_TOO })

    await expectRefused('http://public.example/', {
      lookup: async () => [PUBLIC_V4, PUBLIC_V4_TOO],
    })

    expect(server.bytesReceived()).toBe(0)
  })
})

describe('sockets of other code', () => {
  test('a socket that an agent of the host program keeps for the same host is not used', async () => {
    const kept = await rawServer((socket) => socket.write(goodAnswer('from the kept socket')))
    const own = await rawServer(greeting)
    const watch = watchSockets()
    watch.divert('public.example', { port: kept.port })
    watch.divert(PUBLIC_V4, { port: own.port, shownAddress: PUBLIC_V4 })
    onTestFinished(() => globalAgent.destroy())
    await new Promise<void>((done, reject) => {
      get('http://public.example/', { agent: globalAgent }, (response) => {
        response.resume().on('end', done)
      }).on('error', reject)
    })
    await until(() => Object.keys(globalAgent.freeSockets).length === 1)

    expect(await outcomeOf('http://public.example/', { lookup: atPublic })).toBe('hello')
    await expectRefused('http://public.example/', { lookup: async () => ['127.0.0.1'] })

    expect([kept.requests.length, own.requests.length]).toEqual([1, 1])
  })

  test('no socket of a fetch is kept for another', async () => {
    const server = await rawServer((socket) => socket.write(goodAnswer('hello')))
    const watch = watchSockets()
    watch.divert(PUBLIC_V4, { port: server.port, shownAddress: PUBLIC_V4 })

    for (let i = 0; i < 3; i++) await outcomeOf('http://public.example/', { lookup: atPublic })

    expect(server.connections()).toBe(3)
    expect(watch.opened.every(({ socket }) => socket.destroyed)).toBe(true)
  })

  test('a proxy of the environment is not used', async () => {
    const names = ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'ALL_PROXY', 'NODE_USE_ENV_PROXY']
    const before = names.map((name) => process.env[name])
    onTestFinished(() => {
      for (const [i, name] of names.entries()) {
        const value = before[i]
        if (value === undefined) delete process.env[name]
        else process.env[name] = value
      }
    })
    const proxy = await rawServer(greeting)
    for (const name of names) process.env[name] = `http://127.0.0.1:${proxy.port}`
    process.env['NODE_USE_ENV_PROXY'] = '1'
    const server = await rawServer(greeting)
    const watch = watchSockets()
    watch.divert(PUBLIC_V4, { port: server.port, shownAddress: PUBLIC_V4 })

    expect(await outcomeOf('http://public.example/', { lookup: atPublic })).toBe('hello')
    expect([proxy.connections(), server.connections()]).toEqual([0, 1])
  })
})

describe('several addresses of a name', () => {
  test('the next one is tried when one does not answer, of both families in turn', async () => {
    const server = await rawServer(greeting)
    const watch = watchSockets()
    const gone = await unusedPort()
    watch.divert(PUBLIC_V6, { port: gone, shownAddress: PUBLIC_V6 })
    watch.divert(PUBLIC_V4, { port: server.port, shownAddress: PUBLIC_V4 })

    const outcome = await outcomeOf('http://public.example/', {
      lookup: async () => [PUBLIC_V6, '2606:4700::2', '2606:4700::3', PUBLIC_V4],
    })

    expect(outcome).toBe('hello')
    expect(watch.opened.map(({ host }) => host)).toEqual([PUBLIC_V6, PUBLIC_V4])
  })

  test('the next one is tried when the first does not answer within its share of the time', async () => {
    const server = await rawServer(greeting)
    const watch = watchSockets()
    watch.divert(PUBLIC_V4, { port: undefined })
    watch.divert(PUBLIC_V4_TOO, { port: server.port, shownAddress: PUBLIC_V4_TOO })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const options = { lookup: async () => [PUBLIC_V4, PUBLIC_V4_TOO], connectTimeoutMs: 2_000 }
    const outcome = outcomeOf('http://public.example/', options)
    await until(() => watch.opened.length === 1)
    vi.advanceTimersByTime(1_000)

    expect(await outcome).toBe('hello')
  })

  test.each([1, 2, 4])('when none of %i answers, that is a timeout', async (count) => {
    const addresses = Array.from({ length: count }, (_, i) => `93.184.216.${i + 1}`)
    const watch = watchSockets()
    for (const address of addresses) watch.divert(address, { port: undefined })
    const options = { lookup: async () => addresses, connectTimeoutMs: 100 }

    const outcome = await outcomeOf('http://public.example/', options)

    expect(outcome).toMatchObject({ code: 'SOURCE_URL_TIMEOUT' })
    expect(watch.opened.every(({ socket }) => socket.destroyed)).toBe(true)
  })

  test('at most four are tried', async () => {
    const watch = watchSockets()
    const gone = await unusedPort()
    const addresses = Array.from({ length: 9 }, (_, i) => `93.184.216.${i + 1}`)
    for (const address of addresses) watch.divert(address, { port: gone })

    const outcome = await outcomeOf('http://public.example/', { lookup: async () => addresses })

    expect(outcome).toMatchObject({ code: 'SOURCE_URL_FAILED' })
    expect(watch.opened.map(({ host }) => host)).toEqual(addresses.slice(0, 4))
  })
})

/** A port without a listener. */
async function unusedPort(): Promise<number> {
  const { createServer } = await import('node:net')
  const server = createServer()
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const address = server.address()
  await new Promise((closed) => server.close(closed))
  return typeof address === 'object' && address !== null ? address.port : 1
}

test.each<[string, SourceOptions]>([
  ['a misspelled name', { allowprivate: true } as SourceOptions],
  ['a flag that is no boolean', { allowPrivate: 'false' as unknown as boolean }],
  ['no ports', { ports: [] }],
  ['port 0', { ports: [0] }],
  ['a port over the last', { ports: [65_536] }],
  ['a port as text', { ports: ['80' as unknown as number] }],
  ['too many ports', { ports: Array.from({ length: 101 }, (_, i) => i + 1) }],
  ['a negative time', { idleTimeoutMs: -1 }],
  ['a time that is too short', { connectTimeoutMs: 9 }],
  ['a time that is too long', { totalTimeoutMs: 86_400_001 }],
  ['a time that is no integer', { totalTimeoutMs: 100.5 }],
  ['too many redirects', { redirectsMax: 21 }],
  ['a certificate that is no text', { ca: 1 as unknown as string }],
  ['a resolver that is no function', { lookup: {} as () => Promise<string[]> }],
])('%s is refused as an option', (_, options) => {
  expect(() => nodeSources(options)).toThrow(
    expect.objectContaining({ code: 'OPTION_NOT_ALLOWED' }),
  )
})

test('the defaults are these', () => {
  expect(resolveSourceOptions({})).toMatchObject({
    allowPrivate: false,
    ports: new Set([80, 443]),
    connectTimeoutMs: 5_000,
    idleTimeoutMs: 10_000,
    totalTimeoutMs: 60_000,
    redirectsMax: 3,
  })
})
