// Goal: decisions of the budgets for bodies and answers reach clients. Time is virtual, connections are real.
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { hardenServer, nodeHandler, serverOptions } from '../../../adapters/http/node-http.js'
import { openMemory, type Store } from '../../../src/index.js'
import { atRest, turns, until } from '../../support/until.js'

const KEYS = ['a', 'b', 'c'].map((team) => ({ key: `the-key-of-team-${team}`, teamId: team }))
/** No common part: one body at a time. */
const LIMITS = { bodyBytesMax: 1_024, bodyBytesInFlightMax: 1_024 }

const opened: (() => unknown)[] = []
/** The server's ends of the connections. */
const peers: Socket[] = []

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'],
  })
})

afterEach(() => {
  vi.useRealTimers()
  for (const close of opened.splice(0).reverse()) close()
  peers.length = 0
})

/** A server whose store waits for `held` before it accepts rows. */
async function listen(
  held: Promise<void>,
  limits = LIMITS,
): Promise<{ port: number; begun: () => number; added: () => number }> {
  let begun = 0
  let added = 0
  const table = {
    version: async () => 1,
    addRows: async () => {
      begun++
      await held
      added++
      return { version: 2, rowIds: [] }
    },
  }
  const known = { pageRowsMax: 1, pageBytesMax: 1 }
  const store = { team: () => ({ table: () => table }), limits: known } as unknown as Store
  const port = await serve(nodeHandler(store, { keys: KEYS, ...limits }))
  return { port, begun: () => begun, added: () => added }
}

async function serve(handler: RequestListener): Promise<number> {
  const server = createServer(serverOptions, handler)
  hardenServer(server)
  server.on('connection', (peer: Socket) => peers.push(peer))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  opened.push(
    () => server.close(),
    () => server.closeAllConnections(),
  )
  return (server.address() as AddressInfo).port
}

/** Begins to add rows. */
function add(port: number, team: number, body: string, bytes = body.length) {
  const lines = [
    `POST /tables/x/rows HTTP/1.1`,
    'Content-Type: text/csv',
    `Content-Length: ${bytes}`,
  ]
  return send(port, team, lines, body)
}

function send(port: number, team: number, lines: readonly string[], body = '') {
  const socket: Socket = connect(port, '127.0.0.1')
  opened.push(() => socket.destroy())
  let text = ''
  socket.on('error', () => {})
  socket.on('data', (piece: Buffer) => {
    text += piece.toString()
  })
  const head = [...lines, 'Host: x', `Authorization: Bearer ${KEYS[team]?.key}`]
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  return { socket, reply: () => text }
}

/** Lets virtual time pass until a condition holds. @returns the milliseconds that passed */
async function passUntil(isSo: () => boolean): Promise<number> {
  let passed = 0
  for (; !isSo(); passed += 100) {
    vi.advanceTimersByTime(100)
    await turns(1)
  }
  return passed
}

test('a body that finds no memory for 30 s is 503 with Retry-After, and changed nothing', async () => {
  let end = () => {}
  const held = new Promise<void>((resolve) => {
    end = resolve
  })
  const { port, begun, added } = await listen(held)
  const first = add(port, 0, 'x'.repeat(900))
  await until(() => begun() === 1)
  const second = add(port, 1, 'x'.repeat(900))

  const waited = await passUntil(() => second.reply().includes('}}'))

  expect(waited).toBeGreaterThanOrEqual(30_000)
  expect(second.reply()).toMatch(/^HTTP\/1\.1 503 [\s\S]*\r\nretry-after: [1-9][0-9]*\r\n/i)
  expect(second.reply()).toContain('"type":"storage_unavailable"')
  expect(second.reply()).toContain('nothing was changed')
  end()
  await until(() => first.reply().includes('201 Created'))
  expect(added()).toBe(1)
})

test('a body that comes slowly is 503 once another waits for its memory', async () => {
  const { port } = await listen(Promise.resolve())
  const slow = add(port, 0, 'x'.repeat(900), 1_000)
  await until(() => vi.getTimerCount() === 1) // It waits for the rest of the body.
  const quick = add(port, 1, 'x'.repeat(900))
  await until(() => vi.getTimerCount() === 2) // It waits for memory.
  await turns()
  expect([slow.reply(), quick.reply()]).toEqual(['', ''])

  await passUntil(() => quick.reply().includes('201 Created') && slow.reply().includes('}}'))
  expect(slow.reply()).toMatch(/^HTTP\/1\.1 503 [\s\S]*\r\nretry-after: /i)
})

test('bodies of one team that stop half way leave memory to another team', async () => {
  const limits = { bodyBytesMax: 1_024, bodyBytesInFlightMax: 5_120 }
  const { port } = await listen(Promise.resolve(), limits)
  const stopped = Array.from({ length: 10 }, () => add(port, 0, 'x'.repeat(900), 1_000))
  await atRest(() => peers.reduce((sum, { bytesRead }) => sum + bytesRead, 0))
  const other = add(port, 1, 'x'.repeat(900))

  await until(() => other.reply().includes('201 Created'))
  expect(new Set(stopped.map(({ reply }) => reply()))).toEqual(new Set(['']))
})

test('a page that nobody reads is cut off once another waits for its memory', async () => {
  const store = await openMemory({
    maintenance: { garbageCollectionIntervalMs: 0, compactionIntervalMs: 0 },
  })
  opened.push(() => store.close())
  const rows = Array.from({ length: 8_000 }, (_, n) => ({ n, t: 'x'.repeat(2_000) }))
  const { tableId } = await store.team('a').createTable({ name: 't', rows })
  // The memory holds one page at a time.
  const port = await serve(nodeHandler(store, { keys: KEYS, answerBytesInFlightMax: 1_024 }))
  const get = [`GET /tables/${tableId}/rows HTTP/1.1`]
  const unread = send(port, 0, get)
  unread.socket.pause()
  await until(() => unread.socket.bytesRead > 1_000)
  await atRest(() => peers.reduce((sum, { bytesWritten }) => sum + bytesWritten, 0))
  const timers = vi.getTimerCount()
  const waiting = send(port, 0, get)
  await until(() => vi.getTimerCount() > timers) // It waits for memory.
  await turns()
  expect(waiting.reply()).toBe('')

  vi.advanceTimersByTime(3_000)

  await until(() => waiting.reply().endsWith('}]}'))
  const [head = '', body] = waiting.reply().split('\r\n\r\n')
  expect(head).toMatch(/^HTTP\/1\.1 200 /)
  expect(Number(/content-length: ([0-9]+)/i.exec(head)?.[1])).toBe(body?.length)
  unread.socket.resume()
  await until(() => unread.socket.destroyed)
  expect(unread.reply().length).toBeLessThan(waiting.reply().length)
})
