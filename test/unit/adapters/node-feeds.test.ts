// Goal: on node:http a feed ends at once with its client or its server, and a client that does not read is
// disconnected.
import { EventEmitter } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { closeServer } from '../../../adapters/http/connections.js'
import { hardenServer, nodeHandler, serverOptions } from '../../../adapters/http/node-http.js'
import { sendBody } from '../../../adapters/http/send-body.js'
import { openMemory } from '../../../src/index.js'
import { until } from '../../support/until.js'

const KEY = 'a-key-of-the-team'

async function serve(feedsPerKeyMax = 100) {
  const store = await openMemory()
  onTestFinished(() => store.close())
  const { tableId } = await store.team('team').createTable({ name: 'T', rows: [{ n: 0 }] })
  const handler = nodeHandler(store, { keys: [{ key: KEY, teamId: 'team' }], feedsPerKeyMax })
  const server = createServer(serverOptions, handler)
  const listen = () => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const feed = async (signal?: AbortSignal) => {
    const { port } = server.address() as AddressInfo
    const url = `http://127.0.0.1:${port}/tables/${tableId}/changes`
    const headers = { authorization: `Bearer ${KEY}`, accept: 'text/event-stream' }
    return fetch(url, { headers, ...(signal && { signal }) })
  }
  onTestFinished(() => void server.closeAllConnections())
  return { store, server, listen, feed, table: store.team('team').table(tableId) }
}

test('an event comes while the response is open, and a client that leaves makes room at once', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const { server, listen, feed, table } = await serve(1)
  await listen()
  onTestFinished(() => void server.close())
  const before = vi.getTimerCount()
  for (let clients = 0; clients < 3; clients++) {
    const client = new AbortController()
    const pieces = (await feed(client.signal)).body?.getReader()
    await pieces?.read()
    const event = pieces?.read()
    await table.addRows([{ n: clients }])
    expect(Buffer.from((await event)?.value ?? []).toString()).toContain(`id: ${clients + 2}\n`)
    expect((await feed()).status).toBe(429)
    client.abort()
    await until(async () => {
      const next = await feed()
      if (next.status !== 200) return false
      await next.body?.cancel()
      return true
    })
    await until(() => vi.getTimerCount() === before) // timers of the comments and of the check of servers
  }
})

test.each(['hardened', 'plain'])('a %s server closes with its feeds', async (kind) => {
  const { server, listen, feed } = await serve()
  if (kind === 'hardened') hardenServer(server)
  await listen()
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const feeds = [await feed(), await feed()]
  const ends = feeds.map((each) => each.text())
  const closed =
    kind === 'hardened' ? closeServer(server) : new Promise((resolve) => server.close(resolve))
  vi.advanceTimersByTime(100)
  await closed
  for (const text of await Promise.all(ends)) expect(text).toBe('retry: 1000\nid: 1\n\n')
})

test('a client that takes nothing is cut after a minute, and nothing is read for it meanwhile', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  let made = 0
  let isEnded = false
  async function* endless(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        made++
        yield Buffer.from('data\n\n')
      }
    } finally {
      isEnded = true
    }
  }
  const stuck = Object.assign(new EventEmitter(), {
    destroyed: false,
    closed: false,
    setTimeout: () => undefined,
    write: () => false,
    destroy() {
      stuck.destroyed = true
      stuck.emit('close')
    },
  })
  const sent = sendBody(stuck as unknown as ServerResponse, endless())
  await vi.advanceTimersByTimeAsync(59_000)
  expect([made, stuck.destroyed]).toEqual([1, false])
  await vi.advanceTimersByTimeAsync(1_000)
  expect(await sent).toBe(false)
  expect([made, stuck.destroyed, isEnded]).toEqual([1, true, true])
})
