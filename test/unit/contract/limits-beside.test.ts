// Goal: a team that exceeds a limit on requests or on its data is refused, or gets less, as LIMITS.md says, and a
// client of another team is served as always. (Limits tested elsewhere: of keys in key-limits, of a team's data in
// store/team-limits, of files in store/upload-limits, of memory in adapters/node-budgets, of connections in
// adapters/connections, of unknown keys in adapters/refused-keys.)
import { expect, onTestFinished, test } from 'vitest'
import {
  type ContractOptions,
  createContract,
  openMemory,
  type StoreOptions,
} from '../../../src/index.js'
import type { UrlFetcher } from '../../../src/ports.js'
import { until } from '../../support/until.js'
import { bodyOf, KEYS } from './two-teams.js'

type TeamName = (typeof KEYS)[number]['teamId']

async function open(options: Partial<ContractOptions>, storeOptions: StoreOptions) {
  const store = await openMemory({
    maintenance: { garbageCollectionIntervalMs: 0, compactionIntervalMs: 0 },
    ...storeOptions,
  })
  onTestFinished(() => store.close())
  const contract = createContract(store, { keys: KEYS, ...options })
  const send = async (team: TeamName, line: string, given?: unknown) => {
    const [method = '', target = ''] = line.split(' ')
    const [path = '', query = ''] = target.split('?')
    const key = KEYS.find(({ teamId }) => teamId === team)?.key
    const headers = [
      ['authorization', `Bearer ${key}`],
      ['content-type', 'application/json'],
    ] as const
    const text = given === undefined ? '' : JSON.stringify(given)
    const origin = 'http://localhost'
    const answer = await contract.handle({
      method,
      path,
      query,
      headers,
      origin,
      body: bodyOf(text),
    })
    const { status, body } = answer
    const shown = body instanceof Uint8Array ? Buffer.from(body).toString() : String(body)
    const json = JSON.parse(shown)
    return { status, type: json.error?.type, message: json.error?.message, ...json }
  }
  return { store, send }
}

const textOf = (chars: number) => 'x'.repeat(chars)

type Request = readonly [line: string, body: unknown]

/** Requests that slightly exceed a limit, and requests just within it. */
const REFUSED: readonly Readonly<{
  limit: string
  options?: Partial<ContractOptions>
  storeOptions?: StoreOptions
  /** Both teams send this first. */
  before?: readonly Request[]
  beyond: Request
  within: Request
  refusal: Readonly<{ status: number; type: string; message: RegExp }>
}>[] = [
  {
    limit: 'bodyBytesMax',
    options: { bodyBytesMax: 1_024 },
    beyond: ['PUT /stashes/s/0', [{ text: textOf(1_024) }]],
    within: ['PUT /stashes/s/0', [{ text: textOf(900) }]],
    refusal: { status: 413, type: 'request_too_large', message: /1024/ },
  },
  {
    limit: 'columnsMax',
    storeOptions: { columnsMax: 2 },
    beyond: ['POST /tables', { name: 'T', rows: [{ a: 1, b: 2, c: 3 }] }],
    within: ['POST /tables', { name: 'T', rows: [{ a: 1, b: 2 }] }],
    refusal: { status: 400, type: 'request_validation_error', message: /2 columns/ },
  },
  {
    limit: 'rowBytesMax',
    storeOptions: { rowBytesMax: 1_024 },
    beyond: ['PUT /stashes/s/0', [{ n: 1 }, { text: textOf(1_100) }]],
    within: ['PUT /stashes/s/0', [{ n: 1 }, { text: textOf(900) }]],
    refusal: { status: 400, type: 'request_validation_error', message: /1024|1,024/ },
  },
  {
    limit: 'stashChunksMax',
    storeOptions: { stashChunksMax: 2 },
    before: [['PUT /stashes/s/0', []]],
    beyond: ['PUT /stashes/s/2', []],
    within: ['PUT /stashes/s/1', []],
    refusal: { status: 400, type: 'request_validation_error', message: /at most 2 chunks/ },
  },
  {
    limit: 'fileBytesMax',
    storeOptions: { fileBytesMax: 10 },
    beyond: [
      'POST /apps/a/uploads',
      { contentType: 'text/plain', fileName: 'x', contentLength: 11 },
    ],
    within: [
      'POST /apps/a/uploads',
      { contentType: 'text/plain', fileName: 'x', contentLength: 10 },
    ],
    refusal: { status: 413, type: 'file_too_large', message: /10/ },
  },
  {
    limit: 'uploadsOpenMax',
    storeOptions: { uploadsOpenMax: 1 },
    before: [],
    beyond: ['POST /apps/a/uploads', { contentType: 'text/plain', fileName: 'x' }],
    within: ['POST /apps/a/uploads', { contentType: 'text/plain', fileName: 'x' }],
    refusal: { status: 429, type: 'rate_limited', message: /^1 uploads are open already/ },
  },
]

test.each(REFUSED)('$limit: what exceeds it is refused, another team is not', async (given) => {
  const { options = {}, storeOptions = {}, before = [], beyond, within, refusal } = given
  const { send } = await open(options, storeOptions)
  for (const { teamId } of KEYS) for (const [line, body] of before) await send(teamId, line, body)
  expect((await send('first', ...within)).status).toBeLessThan(300)

  const [refused, beside] = await Promise.all([send('first', ...beyond), send('second', ...within)])

  expect(refused).toMatchObject({ ...refusal, message: expect.stringMatching(refusal.message) })
  expect(beside.status).toBeLessThan(300)
})

const rowsOf = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ n, text: textOf(400) }))

test.each<[limit: string, options: StoreOptions]>([
  ['pageRowsMax', { pageRowsMax: 2 }],
  ['pageBytesMax', { pageBytesMax: 1_024 }],
])(
  '%s: a page has two rows of three and a continuation, a short table of another team has none',
  async (_, options) => {
    const { store, send } = await open({}, options)
    const path = async (team: TeamName, count: number) => {
      const { tableId } = await store.team(team).createTable({ name: 'T', rows: rowsOf(count) })
      return `GET /tables/${tableId}/rows`
    }
    const [long, short] = [await path('first', 3), await path('second', 2)]

    const [page, beside] = await Promise.all([
      send('first', `${long}?limit=3`),
      send('second', `${short}?limit=3`),
    ])

    expect([page.status, page.data.length, typeof page.continuation]).toEqual([200, 2, 'string'])
    expect([beside.status, beside.data.length, beside.continuation]).toEqual([200, 2, undefined])
    const rest = await send(
      'first',
      `${long}?continuation=${encodeURIComponent(page.continuation)}`,
    )
    expect(rest.data.length).toBe(1)
  },
)

test.each<[limit: string, options: StoreOptions, sweeps: boolean]>([
  ['overwrittenRowSetsMax', { overwrittenRowSetsMax: 1 }, false],
  ['overwrittenBytesMax', { overwrittenBytesMax: 100, inlineRowsMax: 0 }, true],
])(
  '%s: a walk over rows beyond it ends, a walk of another team goes on',
  async (_, options, runs) => {
    const { store, send } = await open({}, options)
    const begin = async (team: TeamName) => {
      const { tableId } = await store.team(team).createTable({ name: 'T', rows: rowsOf(3) })
      const rows = `GET /tables/${tableId}/rows`
      const { continuation } = await send(team, `${rows}?limit=1`)
      return { tableId, next: `${rows}?continuation=${encodeURIComponent(continuation)}` }
    }
    const [first, second] = [await begin('first'), await begin('second')]
    for (let times = 0; times < 2; times++) {
      expect((await send('first', `PUT /tables/${first.tableId}`, rowsOf(1))).status).toBe(200)
    }
    if (runs) await store.maintain()

    const [over, beside] = await Promise.all([
      send('first', first.next),
      send('second', second.next),
    ])

    expect([over.status, over.type]).toEqual([400, 'continuation_invalid'])
    expect([beside.status, beside.data.length]).toEqual([200, 2])
  },
)

test('jobsInFlightMax: jobs of a team beyond its half wait, beyond 100 are 429; another team goes on', async () => {
  const warnings: string[] = []
  const onWarning = ({ name }: Error): void => void warnings.push(name)
  process.on('warning', onWarning)
  onTestFinished(() => void process.off('warning', onWarning))
  const begun: string[] = []
  let letGo = (): void => undefined
  const held = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const sources: UrlFetcher = {
    async fetch(url) {
      begun.push(url)
      if (url.includes('held')) await held
      const about = { url, fileName: 'x.csv', contentType: 'text/csv' }
      return { ...about, body: bodyOf('n\n1\n'), close() {} }
    },
  }
  const { store, send } = await open({}, { jobsInFlightMax: 2, sources })
  const from = (url: string) => ({ import: { fromUrl: `http://source.test/${url}` } })
  const started = Array.from({ length: 100 }, (_, n) =>
    store.team('first').startJob(from(`held${n}`)),
  )
  const jobs = await Promise.all(started)
  await until(() => begun.length === 1)

  await expect(store.team('first').startJob(from('held'))).rejects.toMatchObject({
    code: 'RATE_LIMITED',
  })
  const beside = await (await store.team('second').startJob(from('free'))).wait(60_000)
  const [read, listed] = await Promise.all([
    send('second', `GET /jobs/${beside.id}`),
    send('first', 'GET /tables'),
  ])

  expect([beside.status, read.data.status, listed.status]).toEqual(['succeeded', 'succeeded', 200])
  expect(begun.length).toBe(2)
  letGo()
  const ends = await Promise.all(jobs.map((job) => job.wait(60_000)))
  expect(new Set(ends.map(({ status }) => status))).toEqual(new Set(['succeeded']))
  expect(warnings).toEqual([]) // Node warns of a signal with more than 10 listeners.
})
