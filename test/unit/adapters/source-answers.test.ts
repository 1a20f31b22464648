// Goal: what a well-behaved source sends arrives complete, with its name and type, and a reader may stop at any time.
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { nodeSources, type SourceOptions } from '../../../adapters/node.js'
import type { FetchedSource } from '../../../src/ports.js'
import { turns, until } from '../../support/until.js'
import { goodAnswer, rawServer, redirectAnswer } from './raw-server.js'
import { watchSockets } from './socket-watch.js'
import { TEST_CERTIFICATE, TEST_KEY } from './tls-certificate.js'

const BYTES_MAX = 1_000
const LIMITS = { bytesMax: BYTES_MAX }
/** Limits that only a hang reaches. */
const PATIENT: SourceOptions = {
  allowPrivate: true,
  connectTimeoutMs: 60_000,
  idleTimeoutMs: 60_000,
  totalTimeoutMs: 60_000,
}
const TLS = { tls: { key: TEST_KEY, cert: TEST_CERTIFICATE } }
const OK = 'HTTP/1.1 200 OK\r\n'

async function readAll({ body }: FetchedSource): Promise<string> {
  const pieces: Uint8Array[] = []
  for await (const piece of body) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

async function fetchFrom(
  port: number,
  path = '/',
  options: SourceOptions = {},
): Promise<FetchedSource> {
  return await nodeSources({ ...PATIENT, ...options }).fetch(
    `http://127.0.0.1:${port}${path}`,
    LIMITS,
  )
}

/** Fakes the clock that limits a fetch. */
function fakeTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
}

describe('an answer arrives whole', () => {
  test.each([
    ['with a length', `${OK}Content-Length: 5\r\n\r\nhello`, 'hello'],
    [
      'in chunks',
      `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nX: y\r\n\r\n`,
      'hello',
    ],
    ['until the end of the connection', `${OK}\r\nhello`, 'hello'],
    ['of HTTP/1.0', 'HTTP/1.0 200 OK\r\n\r\nhello', 'hello'],
    ['without a reason', 'HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello', 'hello'],
    ['that is empty', `${OK}Content-Length: 0\r\n\r\n`, ''],
    ['that is empty and has no length', `${OK}\r\n`, ''],
    [
      'as long as the limit',
      `${OK}Content-Length: 1000\r\n\r\n${'x'.repeat(BYTES_MAX)}`,
      'x'.repeat(BYTES_MAX),
    ],
    [
      'with Content-Encoding: identity',
      `${OK}Content-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello`,
      'hello',
    ],
    [
      'after answers of 1xx',
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n${OK}Content-Length: 5\r\n\r\nhello`,
      'hello',
    ],
    [
      'that ends where its length says, though more is sent',
      `${OK}Content-Length: 5\r\n\r\nhello, world`,
      'hello',
    ],
    [
      'that ends where its length says, though another follows',
      `${OK}Content-Length: 5\r\n\r\nhello${OK}Content-Length: 1\r\n\r\nx`,
      'hello',
    ],
  ])('%s', async (_, answer, body) => {
    const server = await rawServer((socket) => socket.end(answer, 'latin1'))

    expect(await readAll(await fetchFrom(server.port))).toBe(body)
    await until(() => server.open() === 0)
  })

  test('byte by byte', async () => {
    const answer = `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`
    const server = await rawServer((socket) => {
      const say = (i: number): unknown =>
        i < answer.length && socket.write(answer.charAt(i), () => setImmediate(say, i + 1))
      say(0)
    })

    expect(await readAll(await fetchFrom(server.port))).toBe('hello')
  })
})

describe('a request', () => {
  test('is a GET with these headers and no others, also after a redirect', async () => {
    const server = await rawServer((socket, path) =>
      socket.end(
        path === '/a%20b?c=%C3%BC'
          ? redirectAnswer('/next#x')
          : goodAnswer('hello', ['Set-Cookie: a=b']),
      ),
    )
    const host = `127.0.0.1:${server.port}`

    const source = await fetchFrom(server.port, '/a b?c=ü#fragment')

    expect(await readAll(source)).toBe('hello')
    expect(source.url).toBe(`http://${host}/next`)
    const expected = (path: string): string[] => [
      `GET ${path} HTTP/1.1`,
      `host: ${host}`,
      'user-agent: rowstash',
      'accept: */*',
      'accept-encoding: identity',
      'connection: close',
    ]
    expect(server.requests.map((head) => head.split('\r\n'))).toEqual([
      expected('/a%20b?c=%C3%BC'),
      expected('/next'),
    ])
  })

  test.each([301, 302, 303, 307, 308])('is repeated as a GET after status %i', async (status) => {
    const server = await rawServer((socket, path) =>
      socket.end(path === '/' ? redirectAnswer('x/../y', status) : goodAnswer(path)),
    )

    expect(await readAll(await fetchFrom(server.port))).toBe('/y')
    expect(server.requests.map((head) => head.split(' ')[0])).toEqual(['GET', 'GET'])
  })

  test('follows a redirect whose target is not encoded', async () => {
    const server = await rawServer((socket, path) =>
      socket.end(path === '/' ? Buffer.from(redirectAnswer('/ä b')) : goodAnswer(path)),
    )

    expect(await readAll(await fetchFrom(server.port))).toBe('/%C3%A4%20b')
  })

  test.each([0, 1, 3])(
    'follows %i redirects if the option says so, and not one more',
    async (redirectsMax) => {
      const server = await rawServer((socket, path) => {
        const left = Number(path.slice(1))
        socket.end(left === 0 ? goodAnswer('hello') : redirectAnswer(`/${left - 1}`))
      })

      expect(
        await readAll(await fetchFrom(server.port, `/${redirectsMax}`, { redirectsMax })),
      ).toBe('hello')
      await expect(
        fetchFrom(server.port, `/${redirectsMax + 1}`, { redirectsMax }),
      ).rejects.toMatchObject({
        code: 'SOURCE_URL_FAILED',
      })
      expect(server.connections()).toBe(2 * (redirectsMax + 1))
    },
  )
})

describe('the name of a source', () => {
  const utf8 = (text: string): string => Buffer.from(text).toString('latin1')

  const DISPOSITIONS: readonly (readonly [header: string, name: string | undefined])[] = [
    ['attachment; filename="a.png"', 'a.png'],
    ['attachment; filename=a.png', 'a.png'],
    ['inline; FileName="a b.png"', 'a b.png'],
    [`attachment; filename="a.png"; filename*=UTF-8''%C3%A4.png`, 'ä.png'],
    [`attachment; filename*=UTF-8''%C3%A4.png; filename="a.png"`, 'ä.png'],
    [`attachment; filename*=utf-8'de'%e2%82%ac.png`, '€.png'],
    [`attachment; filename*=ISO-8859-1''%E4.png`, 'ä.png'],
    [utf8('attachment; filename="ä.png"'), 'ä.png'],
    ['attachment; filename="\xe4.png"', 'ä.png'],
    ['attachment; filename="a\\"b.png"', 'a"b.png'],
    ['attachment; filename="../../etc/passwd"', '../../etc/passwd'],
    ['attachment; filename="a.png', undefined],
    ['attachment; filename=', undefined],
    ['attachment; filename=""', undefined],
    ['attachment', undefined],
    ['', undefined],
    [';;;=;"', undefined],
    [`attachment; filename*=UTF-8''%ZZ; filename="a.png"`, 'a.png'],
    [`attachment; filename*=UTF-8''%ED%A0%80; filename="a.png"`, 'a.png'],
    [`attachment; filename*=utf-7''a; filename="a.png"`, 'a.png'],
    [`attachment; filename*=a.png; filename="b.png"`, 'b.png'],
    ['attachment; filename="a.png"; filename="b.png"', 'a.png'],
    ['attachment; __proto__="x"; constructor=y; filename=a', 'a'],
    [`attachment; filename="${'x'.repeat(10_000)}"`, 'x'.repeat(10_000)],
    [`attachment; ${'a=b;'.repeat(3_000)} filename=c`, 'c'],
  ]

  test.each(DISPOSITIONS.map(([header, name]) => [header.slice(0, 70), header, name] as const))(
    '%s',
    async (_, header, name) => {
      const server = await rawServer((socket) =>
        socket.end(goodAnswer('', [`Content-Disposition: ${header}`])),
      )

      const { fileName } = await fetchFrom(server.port)

      expect(fileName).toBe(name)
    },
  )

  test('is that of the first of several headers, and there may be none', async () => {
    const server = await rawServer((socket, path) => {
      const headers = [
        'Content-Disposition: attachment; filename=a',
        'content-disposition: attachment; filename=b',
      ]
      socket.end(goodAnswer('', path === '/' ? headers : []))
    })

    expect((await fetchFrom(server.port)).fileName).toBe('a')
    expect((await fetchFrom(server.port, '/none')).fileName).toBe(undefined)
  })
})

test.each<[string[], string | undefined]>([
  [['Content-Type: text/csv; charset=utf-8'], 'text/csv; charset=utf-8'],
  [['Content-Type: a', 'Content-Type: b'], 'a'],
  [['Content-Type: not a type'], 'not a type'],
  [[], undefined],
])('the type of a source is what it sends: %j', async (headers, contentType) => {
  const server = await rawServer((socket) => socket.end(goodAnswer('', headers)))

  expect((await fetchFrom(server.port)).contentType).toBe(contentType)
})

describe('a reader', () => {
  const endless = (onSent: (bytes: number) => void = () => undefined) =>
    rawServer((socket) => {
      const piece = Buffer.alloc(65_536)
      socket.write(`${OK}\r\n`)
      const again = (): void => {
        if (socket.destroyed) return
        socket.write(piece, () => {
          onSent(piece.length)
          again()
        })
      }
      again()
    })
  const huge = { bytesMax: 2 ** 40 }
  const fetchHuge = async (
    port: number,
    options: SourceOptions = {},
    signal?: AbortSignal,
  ): Promise<FetchedSource> =>
    await nodeSources({ ...PATIENT, ...options }).fetch(`http://127.0.0.1:${port}/`, huge, signal)

  test('that stops lets go of the source', async () => {
    const server = await endless()
    const source = await fetchHuge(server.port)

    for await (const _piece of source.body) break

    await until(() => server.open() === 0)
  })

  test.each(['before', 'while'])(
    'that closes %s it reads lets go of the source, and gets no more',
    async (when) => {
      const server = await endless()
      const source = await fetchHuge(server.port)
      const reading = when === 'while' ? readAll(source) : undefined
      reading?.catch(() => undefined)

      source.close()
      source.close()

      await expect(reading ?? readAll(source)).rejects.toMatchObject({ code: 'ABORTED' })
      await until(() => server.open() === 0)
    },
  )

  test('that never comes is not waited for longer than the total time', async () => {
    const server = await endless()
    fakeTimers()
    const source = await fetchHuge(server.port)
    vi.advanceTimersByTime(60_000)

    await until(() => server.open() === 0)
    await expect(readAll(source)).rejects.toMatchObject({ code: 'SOURCE_URL_TIMEOUT' })
  })

  test('that is slow holds the source back, and is not taken for a slow source', async () => {
    let sent = 0
    const server = await endless((bytes) => {
      sent += bytes
    })
    fakeTimers()
    const source = await fetchHuge(server.port, { totalTimeoutMs: 86_400_000 })
    let read = 0

    for await (const piece of source.body) {
      await turns(5)
      vi.advanceTimersByTime(120_000)
      read += piece.length
      if (read > 300_000) break
    }

    expect(sent - read).toBeLessThan(16 * 2 ** 20) // The system's buffers hold the rest.
  })

  test('finds out that the source broke off before it began to read', async () => {
    let reset = (): unknown => undefined
    const server = await rawServer((socket) => {
      socket.write(`${OK}Content-Length: 900\r\n\r\nhello`)
      reset = () => socket.resetAndDestroy()
    })
    const source = await fetchFrom(server.port)
    reset()
    await until(() => server.open() === 0)
    await turns()

    await expect(readAll(source)).rejects.toMatchObject({ code: 'SOURCE_URL_FAILED' })
  })

  test.each(['at once', 'while it waits for the answer', 'while it reads'])(
    'that aborts %s ends the fetch',
    async (when) => {
      const server = when === 'while it reads' ? await endless() : await rawServer(() => undefined)
      const controller = new AbortController()
      if (when === 'at once') controller.abort()

      const reading = fetchHuge(server.port, {}, controller.signal).then(readAll)
      reading.catch(() => undefined)
      if (when !== 'at once') {
        await until(() => server.requests.length === 1)
        await turns()
        controller.abort(new Error('enough'))
      }

      await expect(reading).rejects.toMatchObject({ code: 'ABORTED' })
      await until(() => server.open() === 0)
      if (when === 'at once') expect(server.connections()).toBe(0)
    },
  )

  test('leaves no listener on the signal of a fetch that is over', async () => {
    const server = await rawServer((socket) => socket.end(goodAnswer('hello')))
    const { signal } = new AbortController()
    const removed = vi.spyOn(signal, 'removeEventListener')
    const added = vi.spyOn(signal, 'addEventListener')

    await readAll(await fetchHuge(server.port, {}, signal))

    expect(removed.mock.calls.length).toBe(added.mock.calls.length)
  })
})

describe('a resolver', () => {
  test('that never answers is a timeout', async () => {
    const sources = nodeSources({
      ...PATIENT,
      connectTimeoutMs: 50,
      lookup: () => new Promise(() => undefined),
    })

    await expect(sources.fetch('http://source.example/', LIMITS)).rejects.toMatchObject({
      code: 'SOURCE_URL_TIMEOUT',
    })
  })

  test('that answers too late opens nothing any more', async () => {
    const server = await rawServer((socket) => socket.end(goodAnswer('hello')))
    const watch = watchSockets()
    let answer: (addresses: string[]) => void = () => undefined
    const lookup = () =>
      new Promise<string[]>((resolve) => {
        answer = resolve
      })
    const sources = nodeSources({ ...PATIENT, connectTimeoutMs: 50, lookup })

    await expect(
      sources.fetch(`http://source.example:${server.port}/`, LIMITS),
    ).rejects.toMatchObject({
      code: 'SOURCE_URL_TIMEOUT',
    })
    answer(['127.0.0.1'])
    await turns()
    expect(watch.opened).toEqual([])
    expect(server.connections()).toBe(0)
  })
})

test('a port where nobody listens is a failure', async () => {
  await expect(fetchFrom(1)).rejects.toMatchObject({ code: 'SOURCE_URL_FAILED' })
})

describe('TLS', () => {
  const lookup = async (): Promise<string[]> => ['127.0.0.1']
  const secure: SourceOptions = { ...PATIENT, ca: TEST_CERTIFICATE, lookup }
  const fetchSecure = async (url: string, options: SourceOptions = {}): Promise<string> =>
    await readAll(await nodeSources({ ...secure, ...options }).fetch(url, LIMITS))

  test('of a host with a valid certificate works, by name and by address', async () => {
    const server = await rawServer((socket) => socket.end(goodAnswer('hello')), TLS)

    expect(await fetchSecure(`https://source.example:${server.port}/`)).toBe('hello')
    expect(await fetchSecure(`https://source.example.:${server.port}/`)).toBe('hello')
    expect(await fetchSecure(`https://127.0.0.1:${server.port}/`)).toBe('hello')
  })

  test('of a host with another name, or signed by an unknown authority, fails', async () => {
    const server = await rawServer((socket) => socket.end(goodAnswer('hello')), TLS)
    const failed = { code: 'SOURCE_URL_FAILED' }
    const withoutCa = nodeSources({ ...PATIENT, lookup })

    await expect(fetchSecure(`https://other.example:${server.port}/`)).rejects.toMatchObject(failed)
    await expect(
      withoutCa.fetch(`https://source.example:${server.port}/`, LIMITS),
    ).rejects.toMatchObject(failed)
    expect(server.requests).toEqual([])
  })

  test('is checked even if the environment of the host program says that it need not be', async () => {
    const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED']
    onTestFinished(() => {
      if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
      else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before
    })
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
    const server = await rawServer((socket) => socket.end(goodAnswer('hello')), TLS)

    await expect(fetchSecure(`https://other.example:${server.port}/`)).rejects.toMatchObject({
      code: 'SOURCE_URL_FAILED',
    })
  })

  test('that never comes about is a timeout, and an answer without TLS a failure', async () => {
    const silent = await rawServer(() => undefined)
    const plain = await rawServer(() => undefined, {
      onConnect: (socket) => socket.end(goodAnswer('hello')),
    })

    await expect(
      fetchSecure(`https://source.example:${silent.port}/`, { connectTimeoutMs: 100 }),
    ).rejects.toMatchObject({ code: 'SOURCE_URL_TIMEOUT' })
    await expect(fetchSecure(`https://source.example:${plain.port}/`)).rejects.toMatchObject({
      code: 'SOURCE_URL_FAILED',
    })
    await until(() => silent.open() === 0)
  })

  test('may redirect to TLS, and http may too', async () => {
    const server = await rawServer(
      (socket, path) =>
        socket.end(path === '/start' ? redirectAnswer('/next') : goodAnswer('hello')),
      TLS,
    )
    const plain = await rawServer((socket) =>
      socket.end(redirectAnswer(`https://source.example:${server.port}/start`)),
    )

    expect(await fetchSecure(`https://source.example:${server.port}/start`)).toBe('hello')
    expect(await fetchSecure(`http://source.example:${plain.port}/`)).toBe('hello')
  })

  test('may not redirect to http, not even on the way', async () => {
    const plain = await rawServer((socket) => socket.end(goodAnswer('hello')))
    const server = await rawServer(
      (socket, path) =>
        socket.end(
          redirectAnswer(path === '/one' ? '/two' : `http://source.example:${plain.port}/`),
        ),
      TLS,
    )
    const refused = { code: 'SOURCE_URL_NOT_ALLOWED' }

    for (const path of ['/one', '/two']) {
      await expect(
        fetchSecure(`https://source.example:${server.port}${path}`),
      ).rejects.toMatchObject(refused)
    }
    expect(plain.connections()).toBe(0)
  })
})
