// Goal: however many requests one connection sends at once, all others are served meanwhile.
import { once } from 'node:events'
import { createServer, type ServerOptions } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { hardenServer, nodeHandler, serverOptions } from '../../../adapters/http/node-http.js'
import type { Store } from '../../../src/index.js'
import { turns, until } from '../../support/until.js'
import { type RawClient, rawClient } from './raw-client.js'

const KEY = 'a-key-of-a-team-for-tests'
const REQUEST = `HEAD /tables/x/rows HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n\r\n`

/**
 * A server of one table whose version comes from `serve`, and a client; `peer` is the server's end of the connection.
 */
async function connected(
  serve: () => Promise<number>,
): Promise<RawClient & { peer: () => Socket }> {
  const store = {
    team: () => ({ table: () => ({ version: serve }) }),
    limits: { pageRowsMax: 1, pageBytesMax: 1 },
  }
  const handler = nodeHandler(store as unknown as Store, { keys: [{ key: KEY, teamId: 'team' }] })
  const server = hardenServer(createServer(serverOptions as ServerOptions, handler))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const accepted = once(server, 'connection') as Promise<[Socket]>
  const client = await rawClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const [peer] = await accepted
  return { ...client, peer: () => peer }
}

/** Holds all requests until they are released. */
function held(): Readonly<{
  serve: () => Promise<number>
  count: () => number
  letGo: () => void
}> {
  let count = 0
  let letGo = (): void => undefined
  const gone = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const serve = async () => {
    count++
    await gone
    return count
  }
  return { serve, count: () => count, letGo }
}

test('17 requests that come in together are all answered, and the connection stays', async () => {
  const requests = held()
  const client = await connected(requests.serve)
  client.socket.write(REQUEST.repeat(17))
  await expect.poll(requests.count).toBe(1)
  requests.letGo()
  await expect.poll(() => client.statuses().length).toBe(17)
  client.socket.write(REQUEST)

  await expect.poll(() => client.statuses().length).toBe(18)
  expect(client.isEnded()).toBe(false)
})

test('of more than 17 requests that come in together, 17 are answered, and the connection ends', async () => {
  const requests = held()
  const client = await connected(requests.serve)
  client.socket.write(REQUEST.repeat(50))
  await expect.poll(requests.count).toBe(1)
  requests.letGo()
  await client.ended

  expect(client.statuses()).toEqual(Array.from({ length: 17 }, () => 200))
  expect(client.received().match(/connection: close/gi)).toHaveLength(1)
  expect(requests.count()).toBe(17)
})

test('nothing more is read of a connection on which too many wait', async () => {
  const requests = held()
  const client = await connected(requests.serve)
  client.socket.write(REQUEST.repeat(20))
  await expect.poll(requests.count).toBe(1)
  for (let sent = 0; sent < 20; sent++) {
    client.socket.write(REQUEST.repeat(10))
    await turns(2)
  }
  requests.letGo()
  await client.ended

  expect(requests.count()).toBe(17)
  expect(client.statuses().length).toBeGreaterThan(0)
})

test('a flood of requests ends its connection at once, and only the first is served', async () => {
  const requests = held()
  const client = await connected(requests.serve)
  client.socket.write(REQUEST.repeat(10_000))
  await client.ended
  requests.letGo()
  await turns()

  expect(client.statuses()).toEqual([])
  expect(requests.count()).toBe(1)
})

test('the event loop turns between two requests of a connection', async () => {
  let turns = 0
  const turn = () => {
    turns++
    timer = setImmediate(turn)
  }
  let timer = setImmediate(turn)
  onTestFinished(() => clearImmediate(timer))
  const seen: number[] = []
  const client = await connected(async () => seen.push(turns))
  client.socket.write(REQUEST.repeat(10))
  await expect.poll(() => client.statuses().length).toBe(10)

  expect(new Set(seen).size).toBe(10)
})

test('nothing is served for a client that has gone', async () => {
  const requests = held()
  const client = await connected(requests.serve)
  client.socket.write(REQUEST.repeat(10))
  await expect.poll(requests.count).toBe(1)
  client.socket.destroy()
  await until(() => client.peer().destroyed)
  requests.letGo()
  await turns()

  expect(requests.count()).toBe(1)
})

test('nothing is served behind an answer that ends the connection', async () => {
  const requests = held()
  const client = await connected(requests.serve)
  const refused = REQUEST.replace(KEY, 'nobody-has-this')
  client.socket.write(refused + REQUEST.repeat(3))
  requests.letGo()
  await client.ended

  expect(client.statuses()).toEqual([404])
  expect(requests.count()).toBe(0)
})
