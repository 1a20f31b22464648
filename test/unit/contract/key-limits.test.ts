// Goal: each limit of a key refuses or delays what exceeds it, with the documented answer, and a client of another team
// is not affected.
import { expect, onTestFinished, test, vi } from 'vitest'
import {
  type ContractOptions,
  createContract,
  openMemory,
  type Store,
  type StoreOptions,
} from '../../../src/index.js'
import type { ContractResponse, UrlFetcher } from '../../../src/ports.js'
import { bodyOf, KEYS } from './two-teams.js'

const [FIRST, SECOND] = KEYS.map(({ key }) => key)

const WAIT_MS = 200

async function open(options: Partial<ContractOptions>, storeOptions: StoreOptions = {}) {
  const store = await openMemory(storeOptions)
  onTestFinished(() => store.close())
  const contract = createContract(store, { keys: KEYS, waitMsMax: WAIT_MS, ...options })
  const send = async (key: string | undefined, line: string, body: AsyncIterable<Uint8Array>) => {
    const [method = '', path = ''] = line.split(' ')
    const headers = [
      ['authorization', `Bearer ${key}`],
      ['content-type', 'application/json'],
    ] as const
    const origin = 'http://localhost'
    const answer = await contract.handle({ method, path, query: '', headers, origin, body })
    const { status, body: text } = answer
    const retry = answer.headers['retry-after']
    const isText = typeof text === 'string'
    const error = isText && status >= 400 ? JSON.parse(text).error : undefined
    return { status, retry, error, body: text }
  }
  return { store, send }
}

/** A body that ends on command. */
function openBody(bytes = 1) {
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  async function* pieces(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('['.padEnd(bytes))
    await ended
    yield Buffer.from(']')
  }
  return { pieces: pieces(), end: () => end() }
}

const chunksOf = async (store: Store) => {
  const made = await store
    .team('first')
    .createTable({ name: 'T', rows: store.team('first').stash('s') })
  return made.rowIds.length
}

test('16 requests of a key at once; the 17th waits for its turn, and is not refused', async () => {
  const { store, send } = await open({ waitMsMax: 30_000 })
  const bodies = Array.from({ length: 16 }, openBody)
  const puts = bodies.map(({ pieces }, at) => send(FIRST, `PUT /stashes/s/${at}`, pieces))
  let isAnswered = false
  const last = send(FIRST, 'PUT /stashes/s/16', bodyOf('[{"n":1}]')).finally(() => {
    isAnswered = true
  })

  const beside = await send(SECOND, 'PUT /stashes/s/0', bodyOf('[]'))

  expect(beside.status).toBe(200)
  expect(isAnswered).toBe(false)
  bodies[0]?.end()
  expect((await last).status).toBe(200)
  for (const { end } of bodies) end()
  expect((await Promise.all(puts)).map(({ status }) => status)).toEqual(Array(16).fill(200))
  expect(await chunksOf(store)).toBe(1)
})

test('a request that waits longer than waitMsMax is 503 with Retry-After, and changed nothing', async () => {
  const { store, send } = await open({ requestsAtOncePerKeyMax: 1 })
  const held = openBody()
  const first = send(FIRST, 'PUT /stashes/s/0', held.pieces)

  const [refused, beside] = await Promise.all([
    send(FIRST, 'PUT /stashes/s/1', bodyOf('[{"n":1}]')),
    send(SECOND, 'PUT /stashes/s/1', bodyOf('[]')),
  ])

  expect(refused).toMatchObject({ status: 503, retry: '1', error: { type: 'storage_unavailable' } })
  expect(refused.error.message).toBe(
    'This key is at its limit of 1 requests in flight (requestsAtOncePerKeyMax), and none ended within 0.2 s: nothing was changed; try again',
  )
  expect(beside.status).toBe(200)
  held.end()
  expect((await first).status).toBe(200)
  expect(await chunksOf(store)).toBe(0)
})

test('more requests a second than requestsPerSecondPerKeyMax are 429 with Retry-After', async () => {
  vi.useFakeTimers({ toFake: ['performance'] }) // All requests fall into the same second.
  onTestFinished(() => void vi.useRealTimers())
  const { send } = await open({ requestsPerSecondPerKeyMax: 2 })
  const list = (key: string | undefined) => send(key, 'GET /tables', bodyOf(''))

  const answers = [await list(FIRST), await list(FIRST), await list(FIRST)]

  expect(answers.map(({ status }) => status)).toEqual([200, 200, 429])
  expect(answers[2]).toMatchObject({ retry: '1', error: { type: 'rate_limited' } })
  expect(answers[2]?.error.message).toBe(
    'This key may send at most 2 requests a second (requestsPerSecondPerKeyMax); try again later',
  )
  expect((await list(SECOND)).status).toBe(200)
})

test('more fetches from URLs than sourcesAtOncePerKeyMax wait, other requests and keys do not', async () => {
  const releases: (() => void)[] = []
  const sources: UrlFetcher = {
    async fetch(url) {
      await new Promise<void>((resolve) => releases.push(resolve))
      const about = { url, fileName: 'x', contentType: 'text/plain' }
      return { ...about, contentLength: 1, body: bodyOf('x'), close: () => {} }
    },
  }
  const { send } = await open({ sourcesAtOncePerKeyMax: 1 }, { sources })
  const upload = (key: string | undefined) =>
    send(key, 'POST /apps/a/uploads', bodyOf('{"sourceURL":"http://source.test/x"}'))
  const first = upload(FIRST)
  const [refused, list] = await Promise.all([upload(FIRST), send(FIRST, 'GET /tables', bodyOf(''))])

  const beside = upload(SECOND)
  await expect.poll(() => releases.length).toBe(2)
  for (const release of releases) release()

  expect(refused).toMatchObject({ status: 503, retry: '1' })
  expect(refused.error.message).toContain('limit of 1 fetches from URLs (sourcesAtOncePerKeyMax)')
  expect([list.status, (await first).status, (await beside).status]).toEqual([200, 200, 200])
})

test('bodies beyond bodyBytesPerKeyMax wait; those of another key of the team do not', async () => {
  const keys = [...KEYS, { key: 'another-key-of-the-first-team', teamId: 'first' }]
  const MIB = 1024 * 1024
  const { send } = await open({ keys, bodyBytesMax: 2 * MIB, bodyBytesPerKeyMax: 2 * MIB })
  const big = () => openBody(MIB + 1)
  const held = [big(), big(), big()]
  const puts = held.map(({ pieces }, at) => send(FIRST, `PUT /stashes/s/${at}`, pieces))

  const [another, beside] = await Promise.all([
    send(keys[2]?.key, 'PUT /stashes/s/9', bodyOf(`["${'x'.repeat(MIB)}"]`)),
    send(SECOND, 'PUT /stashes/s/9', bodyOf(`["${'x'.repeat(MIB)}"]`)),
  ])
  const third = await Promise.race(puts)

  expect([another.status, beside.status]).toEqual([400, 400]) // They were read: a text is no row.
  expect(third).toMatchObject({ status: 503, retry: '1' })
  for (const { end } of held) end()
  const statuses = (await Promise.all(puts)).map(({ status }) => status)
  expect(statuses.sort()).toEqual([200, 200, 503])
})

test('answers beyond answerBytesPerKeyMax wait; those of another key of the team do not', async () => {
  const another = 'another-key-of-the-first-team'
  const keys = [...KEYS, { key: another, teamId: 'first' }]
  const { store, send } = await open({ keys, answerBytesPerKeyMax: 1024 * 1024 })
  const rows = Array.from({ length: 1_000 }, (_, n) => ({ n, text: 'x'.repeat(1_000) }))
  const paths = new Map<string, string>()
  for (const { teamId } of KEYS) {
    const { tableId } = await store.team(teamId).createTable({ name: 'T', rows })
    paths.set(teamId, `/tables/${tableId}/rows`)
  }
  const read = (key: string | undefined, team = 'first') =>
    send(key, `GET ${paths.get(team)}`, bodyOf(''))
  const held = [await read(FIRST), await read(FIRST)] // Nobody reads them; the second has the reserve.

  const [third, ofAnother, beside] = await Promise.all([
    read(FIRST),
    read(another),
    read(SECOND, 'second'),
  ])

  expect(held.map(({ status }) => status)).toEqual([200, 200])
  expect(third).toMatchObject({ status: 503, retry: '1', error: { type: 'storage_unavailable' } })
  expect([ofAnother.status, beside.status]).toEqual([200, 200])
  for (const { body } of [ofAnother, beside, ...held]) expect(await rowsIn(body)).toBe(1_000)
  expect((await read(FIRST)).status).toBe(200)
})

async function rowsIn(body: ContractResponse['body']): Promise<number> {
  const pieces: Uint8Array[] = []
  if (typeof body === 'object' && body !== null && !(body instanceof Uint8Array)) {
    for await (const piece of body) pieces.push(piece.slice())
  }
  return JSON.parse(Buffer.concat(pieces).toString()).data.length
}

test('without requestsPerSecondPerKeyMax no request is 429', async () => {
  const { send } = await open({ waitMsMax: 30_000 })
  const answers = Array.from({ length: 400 }, () => send(FIRST, 'GET /tables', bodyOf('')))

  expect(new Set((await Promise.all(answers)).map(({ status }) => status))).toEqual(new Set([200]))
})

test('keys of two teams have limits of their own, whatever their names are', async () => {
  const keys = [
    { key: 'the-key-of-one-team', teamId: 'b c', keyId: 'a' },
    { key: 'the-key-of-the-other', teamId: 'c', keyId: 'a b' },
  ]
  const { send } = await open({ keys, requestsPerSecondPerKeyMax: 1 })
  const statuses = []
  for (const { key } of [...keys, ...keys]) {
    statuses.push((await send(key, 'GET /tables', bodyOf(''))).status)
  }
  expect(statuses).toEqual([200, 200, 429, 429])
})
