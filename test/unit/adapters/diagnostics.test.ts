// Goal: a subscriber of diagnostics_channel sees the beginning and end of each request, and each event of a store,
// exactly once.
import { AsyncLocalStorage } from 'node:async_hooks'
import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { RequestMessage } from '../../../adapters/node.js'
import { nodeHandler, openDirectory, publishEvent } from '../../../adapters/node.js'
import { openMemory, type StoreEvent } from '../../../src/index.js'
import { until } from '../../support/until.js'

const KEY = 'a-key-of-the-first-team'
const HEADERS = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
const OPTIONS = { keys: [{ key: KEY, teamId: 'acme' }] }

/** The messages of a channel from now on. */
function messagesOf<T>(name: string): T[] {
  const messages: T[] = []
  const listener = (message: unknown): void => void messages.push(message as T)
  subscribe(name, listener)
  onTestFinished(() => void unsubscribe(name, listener))
  return messages
}

async function listen(more: Partial<Parameters<typeof nodeHandler>[1]> = {}): Promise<string> {
  const store = await openMemory()
  const server = createServer(nodeHandler(store, { ...OPTIONS, ...more }))
  await new Promise<void>((listens) => server.listen(0, '127.0.0.1', listens))
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await store.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('a request has one object for its start and its end, where its answer is described', async () => {
  const starts = messagesOf<RequestMessage>('rowstash:request:start')
  const ends = messagesOf<RequestMessage>('rowstash:request:end')
  const url = await listen()
  await fetch(`${url}/tables`, { headers: HEADERS }).then((answer) => answer.text())
  await fetch(`${url}/tables/none/rows`, { headers: HEADERS }).then((answer) => answer.text())
  await until(() => ends.length === 2)

  expect(ends).toEqual(starts)
  expect(ends[0]).toBe(starts[0])
  expect(ends.map(({ request: { url: path } }) => path)).toEqual(['/tables', '/tables/none/rows'])
  const ms = expect.any(Number)
  const keyId = expect.stringMatching(/^[0-9a-f]{32}$/)
  expect(ends.map(({ answered }) => answered)).toEqual([
    { operation: 'GET /tables', team: 'acme', keyId, status: 200, ms },
    {
      operation: 'GET /tables/{tableID}/rows',
      team: 'acme',
      keyId,
      status: 404,
      error: 'table_not_found',
      ms,
    },
  ])
})

test('a request whose client has gone ends too, and so does one that the contract never saw', async () => {
  const starts = messagesOf<RequestMessage>('rowstash:request:start')
  const ends = messagesOf<RequestMessage>('rowstash:request:end')
  const url = await listen()
  const held = request(`${url}/stashes/s/0`, { method: 'PUT', headers: HEADERS })
  held.on('error', () => undefined)
  held.write('[{"a":')
  await until(() => starts.length === 1)
  expect(ends.length).toBe(0)
  held.destroy()
  await until(() => ends.length === 1)

  const withBody = request(`${url}/tables`, { headers: { ...HEADERS, 'content-length': 2 } })
  withBody.on('error', () => undefined).end('{}')
  await until(() => ends.length === 2)
  expect(ends[1]?.answered).toBeUndefined()
})

test('a store that is bound to the start is there while the request is served', async () => {
  const storage = new AsyncLocalStorage<RequestMessage>()
  const starts = channel('rowstash:request:start')
  starts.bindStore(storage, (message) => message as RequestMessage)
  onTestFinished(() => void starts.unbindStore(storage))
  const seen: (string | undefined)[] = []
  const note = (): void => void seen.push(storage.getStore()?.request.url)
  const url = await listen({ logger: { info: note, warn: note, error: note } })
  await fetch(`${url}/tables`, { headers: HEADERS })
  await fetch(`${url}/healthz`)

  expect(seen).toEqual(['/tables', '/healthz'])
})

test('a directory store publishes its events, and passes them to onEvent as well', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rowstash-events-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const commits = messagesOf<StoreEvent>('rowstash:commit')
  const events: StoreEvent[] = []
  const onEvent = (event: StoreEvent): void => void events.push(event)
  const store = await openDirectory(join(folder, 'store'), { onEvent })
  await store.team('t').createTable({ name: 'T', rows: [{ a: 1 }] })
  await store.close()

  expect(commits.length).toBeGreaterThan(0)
  expect(commits).toEqual(events.filter(({ name }) => name === 'commit'))
  await expect(
    openDirectory(join(folder, 'other'), { onEvent: 1 as unknown as () => void }),
  ).rejects.toMatchObject({ code: 'OPTION_NOT_ALLOWED' })
})

test('publishEvent publishes an event on the channel of its name, and on no other', () => {
  const compactions = messagesOf<StoreEvent>('rowstash:compaction')
  const runs = messagesOf<StoreEvent>('rowstash:garbageCollection')
  const event = { name: 'compaction', compactions: 1, ms: 2 } as const
  publishEvent(event)

  expect([compactions, runs]).toEqual([[event], []])
})
