// Goal: a table's changes over HTTP, as pages and as events: the answers, who may ask, and when a feed ends.
import { expect, onTestFinished, test, vi } from 'vitest'
import { fetchHandler, openMemory } from '../../../src/index.js'
import { KEYS } from './two-teams.js'

const ADMIN_KEY = 'an-admin-key-of-the-test'
const [KEY, OTHER] = KEYS.map(({ key }) => key)

type Asked = Readonly<{
  key?: string | undefined
  method?: string
  accept?: string
  lastId?: string
}>

async function serve(options: Partial<Parameters<typeof fetchHandler>[1]> = {}) {
  const store = await openMemory()
  onTestFinished(() => store.close())
  const handle = fetchHandler(store, { keys: KEYS, adminKeys: [ADMIN_KEY], ...options })
  const team = store.team('first')
  const { tableId } = await team.createTable({ name: 'T', rows: [{ n: 0 }] })
  const ask = (query = '', { key = KEY, method = 'GET', accept, lastId }: Asked = {}) => {
    const url = `http://localhost/tables/${tableId}/changes${query}`
    const headers = {
      authorization: `Bearer ${key}`,
      ...(accept !== undefined && { accept }),
      ...(lastId !== undefined && { 'last-event-id': lastId }),
    }
    return handle(new Request(url, { method, headers }))
  }
  const feed = (query = '', more: Asked = {}) =>
    ask(query, { accept: 'text/event-stream', ...more })
  /** The number of open feeds in the metrics. */
  const openFeeds = async () => {
    const headers = { authorization: `Bearer ${ADMIN_KEY}` }
    const metrics = await (
      await handle(new Request('http://localhost/metrics', { headers }))
    ).text()
    return Number(/^rowstash_feeds_open (\d+)$/m.exec(metrics)?.[1])
  }
  return { store, team, table: team.table(tableId), ask, feed, openFeeds }
}

/** Reads the pieces of a feed, one at a time. */
function reader({ body }: Response) {
  const pieces = body?.getReader() ?? expect.fail('no body')
  onTestFinished(() => pieces.cancel().catch(() => undefined))
  const next = async () => {
    const { done, value } = await pieces.read()
    return done ? null : Buffer.from(value).toString()
  }
  return { next, cancel: () => pieces.cancel() }
}

const typeOf = async (answer: Response) =>
  ((await answer.json()) as { error: { type: string } }).error.type

test('pages follow each other by the version of their last change', async () => {
  const { table, ask } = await serve()
  for (let n = 1; n < 5; n++) await table.addRows([{ n }], { author: 'ann' })
  const first = await ask('?since=1&limit=3')
  const page = (await first.json()) as { data: { version: number }[]; continuation: number }
  expect(page.continuation).toBe(4)
  expect(page.data).toEqual([await table.change(2), await table.change(3), await table.change(4)])
  expect(first.headers.get('etag')).toBe('"5"')
  expect(await (await ask('?since=4')).json()).toEqual({ data: [await table.change(5)] })
  for (const none of ['', '?since=5']) expect(await (await ask(none)).json()).toEqual({ data: [] })
  for (const wrong of ['-1', 'x', '01', '6', '9007199254740993', '1&since=2', '1&limit=0']) {
    expect([wrong, (await ask(`?since=${wrong}`)).status]).toEqual([wrong, 400])
  }
  // The parameter is checked although the header has precedence.
  expect((await ask('?since=x', { lastId: '1' })).status).toBe(400)
  expect((await ask('?since=0', { key: OTHER })).status).toBe(404)
  const head = await ask('?since=1', { method: 'HEAD' })
  expect([head.status, head.headers.get('etag'), await head.text()]).toEqual([200, '"5"', ''])
})

test('a feed begins where the header, the parameter or the time says, and has one event a commit', async () => {
  const { table, feed } = await serve()
  await table.addRows([{ n: 1 }, { n: 2 }])
  const answer = await feed('?since=0', { lastId: '1' })
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
  })
  const events = reader(answer)
  const fromNow = reader(await feed())
  expect(await events.next()).toBe('retry: 1000\nid: 1\n\n')
  expect(await fromNow.next()).toBe('retry: 1000\nid: 2\n\n')
  const event = async (version: number) => {
    return `id: ${version}\ndata: ${JSON.stringify(await table.change(version))}\n\n`
  }
  expect(await events.next()).toBe(await event(2))
  const both = [events.next(), fromNow.next()]
  await table.overwrite({ rows: [{ n: 3 }] })
  expect(await Promise.all(both)).toEqual(Array(2).fill(await event(3)))
  expect((await feed('', { lastId: 'x' })).status).toBe(400)
  const head = await feed('', { method: 'HEAD' })
  expect([head.status, head.headers.get('content-type')]).toEqual([
    200,
    'text/event-stream; charset=utf-8',
  ])
})

test('a feed ends with its table and says so; with its store it ends, and is to be opened again', async () => {
  const { store, table, team, feed } = await serve()
  const other = await team.createTable({ name: 'U', rows: [] })
  const ofDeleted = reader(await feed())
  await ofDeleted.next()
  const end = ofDeleted.next()
  await table.delete()
  expect(await end).toMatch(/^event: end\ndata: \{"error":\{"type":"table_not_found",.*\}\n\n$/)
  expect(await ofDeleted.next()).toBe(null)
  expect(other.version).toBe(1)
  const again = await feed()
  expect([again.status, await typeOf(again)]).toEqual([404, 'table_not_found'])

  const second = await serve()
  const ofClosed = reader(await second.feed())
  await ofClosed.next()
  const closed = ofClosed.next()
  await second.store.close()
  expect(await closed).toBe(null)
  expect(store.status().writable).toBe(true)
})

test('a key has feedsPerKeyMax feeds, beside its requests; an ended one makes room at once', async () => {
  const { feed, ask, openFeeds } = await serve({ feedsPerKeyMax: 2, requestsAtOncePerKeyMax: 1 })
  expect(await openFeeds()).toBe(0)
  const feeds = [reader(await feed()), reader(await feed())]
  for (const each of feeds) await each.next()
  const refused = await feed()
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5'])
  expect(await typeOf(refused)).toBe('rate_limited')
  expect((await ask()).status).toBe(200)
  expect((await feed('', { key: OTHER })).status).toBe(404) // not 429
  const waiting = feeds[0]?.next()
  expect(await openFeeds()).toBe(2)
  await feeds[0]?.cancel() // while it waits for an event
  expect(await waiting).toBe(null)
  expect(await openFeeds()).toBe(1)
  expect((await feed('?since=9')).status).toBe(400) // It frees its place.
  const more = reader(await feed())
  expect(await more.next()).toContain('id: 1')
  expect((await feed()).status).toBe(429)
})

test('idle feeds send comments by one timer, and end when their key may not read any more', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  let scopes: readonly ('read' | 'write')[] = ['read']
  const authenticate = async () => ({ teamId: 'first', keyId: 'k', scopes })
  const { feed } = await serve({ keys: undefined, authenticate })
  const before = vi.getTimerCount()
  const feeds = [reader(await feed()), reader(await feed())]
  for (const each of feeds) await each.next()
  expect(vi.getTimerCount()).toBe(before + 1)
  let waiting = feeds.map(({ next }) => next())
  vi.advanceTimersByTime(15_000)
  expect(await Promise.all(waiting)).toEqual([':\n\n', ':\n\n'])
  waiting = feeds.map(({ next }) => next())
  scopes = ['write']
  vi.advanceTimersByTime(15_000)
  for (const end of await Promise.all(waiting))
    expect(end).toContain('event: end\ndata: {"error":{"type":"scope_missing"')
  for (const { next } of feeds) expect(await next()).toBe(null)
  expect(vi.getTimerCount()).toBe(before)
})

test('a key of some tables has feeds of these', async () => {
  const { tableId } = await (async () => {
    const { table } = await serve()
    return { tableId: table.id }
  })()
  const { feed } = await serve({
    keys: undefined,
    authenticate: async () => ({ teamId: 'first', tables: [tableId] }),
  })
  expect((await feed()).status).toBe(404)
})

test('a commit between the look of a feed and its wait is an event', async () => {
  const { table, feed } = await serve()
  const events = reader(await feed())
  await events.next()
  for (let version = 2; version < 50; version++) {
    const next = events.next()
    for (let turns = version % 7; turns > 0; turns--) await Promise.resolve()
    await table.addRows([{ n: version }])
    expect(await next).toContain(`id: ${version}\n`)
  }
})
