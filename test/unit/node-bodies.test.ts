// Goal: what the budget of bodies decides reaches clients as answers. Time is virtual, connections are real.
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { hardenServer, nodeHandler, serverOptions } from '../../adapters/node-http.js'
import type { Store } from '../../src/index.js'

const KEYS = ['a', 'b', 'c'].map((team) => ({ key: `the-key-of-team-${team}`, teamId: team }))
/** Nothing in common: one body at a time. */
const LIMITS = { bodyBytesMax: 1_000, bodyBytesInFlightMax: 1_000 }

const opened: (() => unknown)[] = []

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'],
  })
})

afterEach(() => {
  vi.useRealTimers()
  for (const close of opened.splice(0).reverse()) close()
})

/** A server whose store takes rows as long as `held` is not settled. */
async function listen(held: Promise<void>): Promise<{ port: number; added: () => number }> {
  let added = 0
  const table = {
    version: async () => 1,
    addRows: async () => {
      await held
      added++
      return { version: 2, rowIds: [] }
    },
  }
  const store = { team: () => ({ table: () => table }), limits: LIMITS } as unknown as Store
  const server = createServer(serverOptions, nodeHandler(store, { keys: KEYS }))
  hardenServer(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  opened.push(
    () => server.close(),
    () => server.closeAllConnections(),
  )
  return { port: (server.address() as AddressInfo).port, added: () => added }
}

/** Begins to add rows. */
function add(port: number, team: number, body: string, bytes = body.length) {
  const socket: Socket = connect(port, '127.0.0.1')
  opened.push(() => socket.destroy())
  let text = ''
  socket.on('error', () => {})
  socket.on('data', (piece: Buffer) => {
    text += piece.toString()
  })
  const head = `POST /tables/x/rows HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEYS[team]?.key}\r\n`
  socket.write(`${head}Content-Type: text/csv\r\nContent-Length: ${bytes}\r\n\r\n${body}`)
  return { socket, reply: () => text }
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(1)
}

test('a body that finds no memory for 30 s is 503 with Retry-After, and changed nothing', async () => {
  let end = () => {}
  const held = new Promise<void>((resolve) => {
    end = resolve
  })
  const { port, added } = await listen(held)
  const first = add(port, 0, 'x'.repeat(900))
  await sleep(100)
  const second = add(port, 1, 'x'.repeat(900))
  await sleep(100)
  vi.advanceTimersByTime(29_000)
  await sleep(50)
  expect(second.reply()).toBe('')

  vi.advanceTimersByTime(2_000)

  await until(() => second.reply().includes('}}'))
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
  await sleep(100)
  const quick = add(port, 1, 'x'.repeat(900))
  await sleep(100)
  expect([slow.reply(), quick.reply()]).toEqual(['', ''])

  vi.advanceTimersByTime(2_500)

  await until(() => quick.reply().includes('201 Created') && slow.reply().includes('}}'))
  expect(slow.reply()).toMatch(/^HTTP\/1\.1 503 [\s\S]*\r\nretry-after: /i)
})
