// Goal: file bytes stream through the adapter both ways: no faster than the other side accepts them, and no longer than
// it is connected.
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { hardenServer, nodeHandler, serverOptions } from '../../../adapters/http/node-http.js'
import { openMemory, type Store } from '../../../src/index.js'
import { atRest, turns, until } from '../../support/until.js'

const KEY = 'a-key-of-the-team'
const OPTIONS = { keys: [{ key: KEY, teamId: 'team' }] }
const MIB = 1 << 20

const opened: (() => Promise<unknown>)[] = []

afterEach(async () => {
  vi.useRealTimers()
  for (const close of opened.splice(0).reverse()) await close()
})

async function listen(listener: RequestListener): Promise<{ url: string; server: Server }> {
  const server = createServer(serverOptions, listener)
  hardenServer(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  opened.push(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}

function open(url: string): Socket {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => {})
  opened.push(async () => socket.destroy())
  return socket
}

/** Everything that a socket receives. */
function received(socket: Socket): () => string {
  let text = ''
  socket.on('data', (bytes: Buffer) => {
    text += bytes.toString('latin1')
  })
  return () => text
}

const LIMITS = { pageRowsMax: 1, pageBytesMax: 1 }

/** A store with one file of a gigabyte, which counts the bytes read from it. */
function endlessFile(): { store: Store; made: () => number; isClosed: () => boolean } {
  let made = 0
  let isClosed = false
  async function* stream() {
    try {
      for (; made < 1_024 * MIB; made += 65_536) {
        await sleep(0)
        yield Buffer.alloc(65_536)
      }
    } finally {
      isClosed = true
    }
  }
  const file = {
    fileName: 'a.bin',
    contentType: 'a/b',
    bytes: 1_024 * MIB,
    sha256: 'ab'.repeat(32),
    stream,
  }
  const files = { open: async () => file }
  const store = { files, limits: LIMITS } as unknown as Store
  return { store, made: () => made, isClosed: () => isClosed }
}

describe('a file that is read', () => {
  test('is read from the store no faster than the client takes it', async () => {
    const { store, made } = endlessFile()
    const { url } = await listen(nodeHandler(store, OPTIONS))
    const socket = open(url)
    socket.pause()
    socket.write('GET /files/x HTTP/1.1\r\nHost: x\r\n\r\n')
    await until(() => made() > 0)
    const before = await atRest(made)

    expect(before).toBeLessThan(16 * MIB)
    socket.resume()
    await until(() => made() > before + 16 * MIB)
  })

  test('is let go as soon as the client goes away', async () => {
    const { store, made, isClosed } = endlessFile()
    const { url } = await listen(nodeHandler(store, OPTIONS))
    const socket = open(url)
    socket.write('GET /files/x HTTP/1.1\r\nHost: x\r\n\r\n')
    socket.resume()
    await until(() => made() > MIB)

    socket.destroy()

    await until(isClosed)
    expect(made()).toBeLessThan(1_024 * MIB)
  })
})

describe('the reader of an answer', () => {
  /** How many virtual seconds a client is served that reads this many bytes per half minute. */
  async function secondsServed(bytesPerHalfMinute: number): Promise<number> {
    const { store, made } = endlessFile()
    const { url, server } = await listen(nodeHandler(store, OPTIONS))
    const connected = once(server, 'connection')
    const socket = open(url)
    const [peer] = (await connected) as [Socket]
    let isClosed = false
    peer.on('close', () => {
      isClosed = true
    })
    fakePaceTimers()
    socket.pause()
    socket.write('GET /files/x HTTP/1.1\r\nHost: x\r\n\r\n')
    await until(() => made() > 0)
    let seconds = 0
    for (; seconds < 600 && !isClosed; seconds += 30) {
      await atRest(made)
      for (let left = bytesPerHalfMinute; left > 0 && !isClosed; await sleep(1)) {
        left -= (socket.read() as Buffer | null)?.length ?? 0
      }
      await atRest(made)
      vi.advanceTimersByTime(30_000)
      await turns()
    }
    return seconds
  }

  test('may take its time at 100 KB a second', async () => {
    expect(await secondsServed(3_000_000)).toBe(600)
  })

  test.each([0, 1_000])(
    'is cut off when it takes less than 16 KB a second (%i bytes)',
    async (bytes) => {
      expect(await secondsServed(bytes)).toBeLessThan(300)
    },
  )
})

type Receive = (body: AsyncIterable<Uint8Array>) => Promise<void>

function storeReceiving(receive: Receive): Store {
  const files = { receive: ({ body }: { body: AsyncIterable<Uint8Array> }) => receive(body) }
  return { files, limits: LIMITS } as unknown as Store
}

const PUT = 'PUT /uploads/x HTTP/1.1\r\nHost: x\r\nContent-Type: a/b\r\n'

describe('a file that is sent', () => {
  test('is taken from the client no faster than the store takes it', async () => {
    let go: () => void = () => {}
    const held = new Promise<void>((resolve) => {
      go = resolve
    })
    let bytes = 0
    let hasBegun = false
    const receive: Receive = async (body) => {
      for await (const piece of body) {
        hasBegun = true
        await held
        bytes += piece.length
      }
    }
    const { url, server } = await listen(nodeHandler(storeReceiving(receive), OPTIONS))
    const connected = once(server, 'connection')
    const socket = open(url)
    const [peer] = (await connected) as [Socket]
    const peerBytes = () => peer.bytesRead
    const reply = received(socket)
    socket.write(`${PUT}Content-Length: ${64 * MIB}\r\n\r\n`)
    socket.write(Buffer.alloc(64 * MIB))
    await until(() => hasBegun)

    expect(await atRest(peerBytes)).toBeLessThan(32 * MIB)
    expect(bytes).toBe(0)
    go()
    await until(() => reply().includes('200 OK'))
    expect(bytes).toBe(64 * MIB)
  })

  test('fails in the store when the client goes away', async () => {
    let failure: unknown
    let bytes = 0
    const receive: Receive = async (body) => {
      try {
        for await (const piece of body) bytes += piece.length
      } catch (caught) {
        failure = caught
        throw caught
      }
    }
    const { url } = await listen(nodeHandler(storeReceiving(receive), OPTIONS))
    const socket = open(url)
    socket.write(`${PUT}Content-Length: 100\r\n\r\nhalf`)
    await until(() => bytes === 'half'.length)

    socket.destroy()

    await until(() => failure !== undefined)
    expect(failure).toBeInstanceOf(Error)
  })

  test('is refused with 408 when it stays silent for ten seconds, and told so', async () => {
    let failure: unknown
    let bytes = 0
    const receive: Receive = async (body) => {
      try {
        for await (const piece of body) bytes += piece.length
      } catch (caught) {
        failure = caught
        throw caught
      }
    }
    const { url } = await listen(nodeHandler(storeReceiving(receive), OPTIONS))
    fakePaceTimers()
    const socket = open(url)
    const reply = received(socket)
    socket.write(`${PUT}Content-Length: 9999999\r\n\r\n`)
    socket.write(Buffer.alloc(160_000))
    await until(() => bytes === 160_000)
    await turns() // It waits for more now.
    vi.advanceTimersByTime(9_900)
    await turns()
    expect(reply()).toBe('')

    vi.advanceTimersByTime(200)

    await until(() => reply().includes('"type":"request_timeout"'))
    expect(reply()).toMatch(/^HTTP\/1\.1 408 /)
    expect(reply().toLowerCase()).toContain('connection: close')
    await until(() => failure !== undefined)
    expect(failure).toBeInstanceOf(Error)
    vi.advanceTimersByTime(5_000) // The rest may be read for this long.
    await until(() => socket.destroyed)
  })

  test('is refused so that a client which writes on can read it', async () => {
    let hasBegun = false
    const receive: Receive = async (body) => {
      for await (const _ of body) hasBegun = true
    }
    const { url } = await listen(nodeHandler(storeReceiving(receive), OPTIONS))
    fakePaceTimers()
    const socket = open(url)
    const reply = received(socket)
    socket.write(`${PUT}Content-Length: 9999999\r\n\r\nx`)
    await until(() => hasBegun)
    await turns()
    socket.pause()
    vi.advanceTimersByTime(10_100)
    for (let sent = 0; sent < 10; sent++) {
      socket.write(Buffer.alloc(1_000))
      await turns(2)
    }
    socket.resume()

    await until(() => reply() !== '' || socket.destroyed)
    expect(reply()).toMatch(/^HTTP\/1\.1 408 /)
  })

  test('is not blamed for the time in which the store takes nothing', async () => {
    let go: () => void = () => {}
    const held = new Promise<void>((resolve) => {
      go = resolve
    })
    let bytes = 0
    const receive: Receive = async (body) => {
      for await (const piece of body) {
        bytes += piece.length
        await held
      }
    }
    const { url } = await listen(nodeHandler(storeReceiving(receive), OPTIONS))
    fakePaceTimers()
    const socket = open(url)
    const reply = received(socket)
    socket.write(`${PUT}Content-Length: 200000\r\n\r\n`)
    socket.write(Buffer.alloc(100_000))
    await until(() => bytes > 0)

    vi.advanceTimersByTime(3_600_000)
    go()
    await until(() => bytes === 100_000)
    socket.write(Buffer.alloc(100_000))

    await until(() => reply() !== '')
    expect(reply()).toMatch(/^HTTP\/1\.1 200 /)
  })
})

/** The clock that measures the pace of a body. */
function fakePaceTimers(): void {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'],
  })
}

describe('the body of a request', () => {
  const BODY_BYTES = 10_000_000

  /** The answer to a body sent at a rate in bytes per second. */
  async function replyToBodyAt(bytesPerSecond: number): Promise<string> {
    const table = { version: async () => 1, addRows: async () => ({ version: 2, rowIds: [] }) }
    const store = { team: () => ({ table: () => table }), limits: LIMITS } as unknown as Store
    const { url, server } = await listen(nodeHandler(store, OPTIONS))
    const connected = once(server, 'connection')
    const socket = open(url)
    const [peer] = (await connected) as [Socket]
    fakePaceTimers()
    const reply = received(socket)
    const head = `POST /tables/x/rows HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n`
    const opening = `${head}Content-Type: text/csv\r\nContent-Length: ${BODY_BYTES}\r\n\r\n`
    socket.write(opening)
    const bytes = Buffer.alloc(bytesPerSecond, ' ')
    for (let left = BODY_BYTES; left > bytes.length && reply() === ''; left -= bytes.length) {
      socket.write(bytes)
      const sent = opening.length + BODY_BYTES - left + bytes.length
      // Time passes only while the server waits for more.
      await until(() => (peer.bytesRead === sent && vi.getTimerCount() === 1) || reply() !== '')
      await turns(2)
      vi.advanceTimersByTime(1_000)
    }
    socket.write(bytes)
    await until(() => reply() !== '')
    return reply()
  }

  test('may come steadily at 40 KB a second, however long it takes', async () => {
    expect(await replyToBodyAt(40_000)).toMatch(/^HTTP\/1\.1 201 /)
  })

  test('is refused with 408 when it comes at less than 16 KB a second', async () => {
    expect(await replyToBodyAt(12_000)).toMatch(/^HTTP\/1\.1 408 /)
  })
})

describe('where a request came in', () => {
  async function locationAt(path: string, wrap: (handler: RequestListener) => RequestListener) {
    const store = await openMemory()
    opened.push(() => store.close())
    const { url } = await listen(wrap(nodeHandler(store, { ...OPTIONS, basePath: '/v2' })))
    const response = await fetch(`${url}${path}/apps/a/uploads`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ contentType: 'a/b', fileName: 'a' }),
    })
    const { data } = (await response.json()) as { data: { uploadLocation: string } }
    return data.uploadLocation.replace(/uploads\/.*/, '').replace(url.slice('http:'.length), '')
  }

  test('is its host and the base path', async () => {
    expect(await locationAt('/v2', (handler) => handler)).toBe('http:/v2/')
  })

  test('has the prefix that a framework took off', async () => {
    const mounted = (handler: RequestListener): RequestListener => {
      return (request, response) => {
        const { url = '' } = request
        Object.assign(request, { originalUrl: url, url: url.slice('/api'.length) })
        handler(request, response)
      }
    }

    expect(await locationAt('/api/v2', mounted)).toBe('http:/api/v2/')
  })

  test('is https on a connection that is encrypted', async () => {
    const encrypted = (handler: RequestListener): RequestListener => {
      return (request, response) => {
        Object.assign(request.socket, { encrypted: true })
        handler(request, response)
      }
    }

    expect(await locationAt('/v2', encrypted)).toBe('https:/v2/')
  })
})
