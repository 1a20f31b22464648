// Goal: metrics count the answers, in a form that Prometheus reads, and contain no text of a client.
import { expect, onTestFinished, test, vi } from 'vitest'
import type { ContractOptions } from '../../../src/index.js'
import { createContract, openMemory } from '../../../src/index.js'
import type {
  ContractResponse,
  MetricFamily,
  MetricsRegistry,
  RegisteredMetric,
} from '../../../src/ports.js'
import { until } from '../../support/until.js'

const KEY = 'a-key-of-the-first-team'
const ADMIN_KEY = 'a-key-of-whoever-runs-the-server'

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  if (text !== '') yield Buffer.from(text)
}

async function open(options: Partial<ContractOptions> = {}) {
  // A garbage collection that ends between two reads would change the metrics.
  const store = await openMemory({
    maintenance: { garbageCollectionIntervalMs: 0, fileCollectionIntervalMs: 0 },
  })
  onTestFinished(() => store.close())
  const keys = [{ key: KEY, teamId: 'team' }]
  const contract = createContract(store, { keys, adminKeys: [ADMIN_KEY], ...options })
  async function send(method: string, path: string, body = '', key: string | null = KEY) {
    const headers: [string, string][] = [['content-type', 'application/json']]
    if (key !== null) headers.push(['authorization', `Bearer ${key}`])
    const answer = await contract.handle({ method, path, query: '', headers, body: bytesOf(body) })
    if (typeof answer.body === 'string') contract.countSent(Buffer.byteLength(answer.body))
    return { ...answer, text: await textOf(answer.body) }
  }
  const read = () => valuesOf(contract.metrics())
  return { contract, send, read }
}

async function textOf(body: ContractResponse['body']): Promise<string> {
  if (body === null || typeof body === 'string') return body ?? ''
  const pieces: Uint8Array[] = body instanceof Uint8Array ? [body] : []
  if (!(body instanceof Uint8Array)) for await (const piece of body) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

/** Samples by name and labels. */
function valuesOf(text: string): ReadonlyMap<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => [
      line.slice(0, line.lastIndexOf(' ')),
      Number(line.slice(line.lastIndexOf(' ') + 1)),
    ]),
  )
}

type Family = {
  name: string
  type: string
  help: string
  samples: { name: string; labels: Record<string, string>; value: number }[]
}

/** Strictly parses Prometheus' text format, version 0.0.4: each family has HELP, then TYPE, then its samples. */
function familiesOf(text: string): Family[] {
  const families: Family[] = []
  let described: RegExpExecArray | null = null
  expect(text.endsWith('\n')).toBe(true)
  for (const line of text.slice(0, -1).split('\n')) {
    const help = /^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)$/.exec(line)
    const type = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line)
    const last = families.at(-1)
    if (help !== null) described = help
    else if (type !== null) {
      expect(type[1], 'TYPE follows HELP of the same metric').toBe(described?.[1])
      const helpText = unescaped(described?.[2] ?? '')
      families.push({ name: type[1] ?? '', type: type[2] ?? '', help: helpText, samples: [] })
    } else last?.samples.push(sampleOf(line))
  }
  return families
}

function sampleOf(line: string): Family['samples'][number] {
  const number = '[+-]Inf|-?[0-9.]+(?:e[+-]?[0-9]+)?'
  const pair = '[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\n]|\\\\["\\\\n])*"'
  const form = `^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\\{(${pair}(?:,${pair})*)\\})? (${number})$`
  const found = new RegExp(form).exec(line)
  if (found === null) throw new Error(`not a sample: ${line}`)
  const [, name = '', pairs = '', value = ''] = found
  const labels = [...pairs.matchAll(/([a-zA-Z0-9_]+)="((?:[^"\\]|\\.)*)"/g)].map(
    ([, label = '', given = '']) => [label, unescaped(given)] as const,
  )
  return { name, labels: Object.fromEntries(labels), value: Number(value) }
}

function unescaped(text: string): string {
  return text.replace(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped))
}

function requests(operation: string, status: number): string {
  return `rowstash_requests_total{operation="${operation}",status="${status}"}`
}

test('requests are counted by operation and status, refused ones under no operation', async () => {
  const { send, read } = await open()
  await send('GET', '/tables')
  await send('GET', '/tables/')
  await send('HEAD', '/tables')
  await send('GET', '/tables/none/rows')
  await send('GET', '/nowhere')
  await send('BREW', '/tables')
  await send('BREW', '/healthz')
  await send('GET', '/tables', '', 'a-key-that-nobody-has')
  await send('GET', '/healthz', '', null)
  await send('GET', '/files/some-file/a.png', '', null)

  const counted = [...read()].filter(([name]) => name.startsWith('rowstash_requests_total'))
  expect(Object.fromEntries(counted)).toEqual({
    [requests('GET /tables', 200)]: 2,
    [requests('HEAD /tables', 200)]: 1,
    [requests('GET /tables/{tableID}/rows', 404)]: 1,
    [requests('none', 404)]: 2,
    [requests('none', 405)]: 2,
    [requests('GET /healthz', 200)]: 1,
    [requests('GET /files/{fileID}/{fileName}', 404)]: 1,
  })
})

test('a histogram has all requests, and each bucket those of the ones before', async () => {
  const { send, read } = await open()
  for (let count = 0; count < 5; count++) await send('GET', '/tables')
  const values = read()
  const of = (suffix: string, more = '') =>
    values.get(`rowstash_request_seconds${suffix}{operation="GET /tables"${more}}`)

  expect(of('_count')).toBe(5)
  expect(of('_bucket', ',le="+Inf"')).toBe(5)
  expect(of('_sum')).toBeGreaterThan(0)
  const buckets = [...values].filter(([name]) => name.includes('_bucket{operation="GET /tables"'))
  expect(buckets.length).toBe(14)
  const counts = buckets.map(([, count]) => count)
  expect(counts).toEqual(counts.toSorted((a, b) => a - b))
})

test('bodies are counted in bytes, also those sent in pieces', async () => {
  const { send, read } = await open()
  const rows = Array.from({ length: 20_000 }, (_, n) => ({ n, name: 'Äneas' }))
  const made = await send('POST', '/tables', JSON.stringify({ name: 'T', rows }))
  const sentBytes = Buffer.byteLength(JSON.stringify({ name: 'T', rows }))
  const { data } = JSON.parse(made.text) as { data: { tableID: string } }
  const page = await send('GET', `/tables/${data.tableID}/rows`)
  const row = JSON.parse(page.text).data[0]
  const point = await send('GET', `/tables/${data.tableID}/rows/${row.$rowID}`)

  const answered = [made.text, page.text, point.text].map((text) => Buffer.byteLength(text))
  expect(read().get('rowstash_request_body_bytes_total')).toBe(sentBytes)
  expect(read().get('rowstash_response_body_bytes_total')).toBe(
    answered.reduce((sum, bytes) => sum + bytes, 0),
  )
})

test('gauges of memory and of the store are there, and budgets are given back', async () => {
  const { send, read } = await open()
  await send('POST', '/tables', '{"name":"T","rows":[{"a":1}]}')
  const values = read()

  expect(values.get('rowstash_writable')).toBe(1)
  for (const budget of ['bodies', 'answers']) {
    expect(values.get(`rowstash_budget_bytes{budget="${budget}"}`)).toBe(0)
    expect(values.get(`rowstash_budget_waiting{budget="${budget}"}`)).toBe(0)
    expect(values.get(`rowstash_budget_bytes_max{budget="${budget}"}`)).toBe(64 * 1024 * 1024)
  }
  expect(values.get('rowstash_cache_bytes_max{cache="segments"}')).toBeGreaterThan(0)
  expect(values.get('rowstash_buffer_bytes_max{pool="lent"}')).toBeGreaterThan(0)
})

test('memory that requests wait for shows in the budgets', async () => {
  const { contract, read } = await open()
  let release = (): void => undefined
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  async function* slowly(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('{"name":"T",')
    await held
    yield Buffer.from('"rows":[]}')
  }
  const headers: [string, string][] = [
    ['content-type', 'application/json'],
    ['authorization', `Bearer ${KEY}`],
  ]
  const request = { method: 'POST', path: '/tables', query: '', headers, body: slowly() }
  const answering = contract.handle(request)
  await until(() => Number(read().get('rowstash_budget_bytes{budget="bodies"}')) > 0)

  release()
  expect((await answering).status).toBe(201)
  expect(read().get('rowstash_budget_bytes{budget="bodies"}')).toBe(0)
})

test('the text has the form of Prometheus, and nothing that a client sent', async () => {
  const { contract, send } = await open()
  const secret = 'a"secret}-of-a-client'
  await send(`GET${secret}`, '/tables')
  await send('GET', `/tables/${secret}/rows`)
  await send('PUT', `/uploads/${secret}`, '', null)
  await send('GET', '/tables', '', secret)
  const text = contract.metrics()

  expect(text).not.toContain('secret')
  const families = familiesOf(text)
  expect(new Set(families.map(({ name }) => name)).size).toBe(families.length)
  for (const { name, type, help, samples } of families) {
    expect(name).toMatch(/^rowstash_[a-z_]+$/)
    expect(help).toMatch(/^[A-Z].*\.$/)
    expect(name.endsWith('_total'), name).toBe(type === 'counter')
    const keys = samples.map((sample) => `${sample.name} ${JSON.stringify(sample.labels)}`)
    expect(new Set(keys).size).toBe(keys.length)
    for (const sample of samples) {
      const suffix = sample.name.slice(name.length)
      const allowed = type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
      expect(allowed, `${sample.name} of ${name}`).toContain(suffix)
      expect(Object.hasOwn(sample.labels, 'le')).toBe(suffix === '_bucket')
      expect(sample.value).toBeGreaterThanOrEqual(0)
    }
  }
})

test('the counters show what the store did, and grow', async () => {
  const { send, read } = await open()
  const before = read()
  const rows = Array.from({ length: 2_000 }, (_, n) => ({ n }))
  const made = await send('POST', '/tables', JSON.stringify({ name: 'T', rows }))
  const { data } = JSON.parse(made.text) as { data: { tableID: string } }
  await send('GET', `/tables/${data.tableID}/rows`)
  const after = read()
  const growth = (name: string): number => (after.get(name) ?? Number.NaN) - (before.get(name) ?? 0)

  expect(growth('rowstash_rows_in_total')).toBe(2_000)
  expect(growth('rowstash_rows_out_total')).toBe(2_000)
  expect(after.get('rowstash_cache_hits_total{cache="pointReads"}')).toBe(0)
  expect(growth('rowstash_cache_misses_total{cache="heads"}')).toBeGreaterThan(0)
  const commits = growth('rowstash_commits_total')
  expect(commits).toBeGreaterThan(0)
  expect(growth('rowstash_commit_group_size_sum')).toBe(commits)
  expect(growth('rowstash_commit_group_size_bucket{le="+Inf"}')).toBe(
    growth('rowstash_commit_group_size_count'),
  )
  expect(growth('rowstash_commit_write_seconds_total')).toBeGreaterThan(0)
  expect(growth('rowstash_written_bytes_total{kind="segments"}')).toBeGreaterThan(1_000)
  expect(growth('rowstash_written_bytes_total{kind="records"}')).toBeGreaterThan(100)
  expect(growth('rowstash_segment_read_bytes_total')).toBeGreaterThan(0)
  expect(growth('rowstash_cache_misses_total{cache="records"}')).toBeGreaterThan(0)
  for (const name of [
    'compactions_total',
    'recompressed_total',
    'garbage_collections_total',
    'garbage_collected_total{kind="objects"}',
    'jobs_running',
  ]) {
    expect(after.get(`rowstash_${name}`), name).toBeGreaterThanOrEqual(0)
  }
})

/** A registry with prom-client's interface, which renders the values of its metrics. */
class Registry implements MetricsRegistry {
  readonly #metrics = new Map<string, RegisteredMetric>()

  registerMetric(metric: RegisteredMetric): void {
    if (this.#metrics.has(metric.name)) throw new Error(`${metric.name} is registered twice`)
    this.#metrics.set(metric.name, metric)
  }

  async metrics(): Promise<string> {
    const texts = [...this.#metrics.values()].map(async (metric) => {
      const { name, help, type, values } = await metric.get()
      const lines = values.map(({ metricName, labels, value }) => {
        const pairs = Object.entries(labels).map(([label, text]) => `${label}="${text}"`)
        return `${metricName}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}\n`
      })
      return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
    })
    return (await Promise.all(texts)).join('')
  }
}

test('a registry of the host has all metrics, as they are when it is asked', async () => {
  const registry = new Registry()
  const { contract, send } = await open({ registry })
  await send('POST', '/tables', '{"name":"T","rows":[{"a":1}]}')

  expect(await registry.metrics()).toBe(contract.metrics())
  await send('GET', '/tables')
  expect(await registry.metrics()).toBe(contract.metrics())
  const notARegistry = { register: () => undefined } as unknown as MetricsRegistry
  await expect(open({ registry: notARegistry })).rejects.toThrow(
    'Option "registry" must have the method registerMetric, not be an object',
  )
})

test('metrics of the host follow, with every character of their texts', async () => {
  const moreMetrics: MetricFamily[] = [
    {
      name: 'shop_orders_total',
      type: 'counter',
      help: 'Orders,\nwith a \\.',
      samples: () => [{ labels: { shop: 'a "b"\n\\c' }, value: 3 }],
    },
  ]
  const { contract } = await open({ moreMetrics })
  const family = familiesOf(contract.metrics()).at(-1)

  expect(family).toEqual({
    name: 'shop_orders_total',
    type: 'counter',
    help: 'Orders,\nwith a \\.',
    samples: [{ name: 'shop_orders_total', labels: { shop: 'a "b"\n\\c' }, value: 3 }],
  })
  const nameless = [{ ...moreMetrics[0], name: 'shop orders' }] as MetricFamily[]
  await expect(open({ moreMetrics: nameless })).rejects.toThrow(
    'Option "moreMetrics[0]" must have a name of letters, digits and underscores',
  )
})

test('GET /metrics takes an admin key, and no other', async () => {
  const { contract, send } = await open()
  const { status, headers, text } = await send('GET', '/metrics', '', ADMIN_KEY)

  expect([status, headers['content-type']]).toEqual([
    200,
    'text/plain; version=0.0.4; charset=utf-8',
  ])
  expect(text).toContain('rowstash_writable 1\n')
  expect((await send('HEAD', '/metrics', '', ADMIN_KEY)).body).toBeNull()
  expect(contract.metrics()).toContain(`${requests('GET /metrics', 200)} 1\n`)
  for (const key of [KEY, 'a-key-that-nobody-has', null]) {
    expect(await send('GET', '/metrics', '', key)).toMatchObject({ status: 404, close: true })
  }
  expect(await send('POST', '/metrics', '', ADMIN_KEY)).toMatchObject({
    status: 405,
    headers: { allow: 'GET, HEAD' },
  })
})

type DaySample = Record<'at' | 'requests' | 'commits' | 'medianSeconds' | 'slowSeconds', number>

test('GET /admin/day has a sample of five minutes for each time with requests, and a day of them', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const began = Date.UTC(2026, 0, 1)
  const after = (minutes: number) => vi.setSystemTime(began + minutes * 60_000)
  after(0)
  let memory: number | undefined
  const moreMetrics: MetricFamily[] = [
    {
      name: 'rowstash_process_resident_memory_bytes',
      type: 'gauge',
      help: 'A metric that may fail.',
      samples: () => {
        if (memory === undefined) throw new Error('not known')
        return [{ value: memory }]
      },
    },
  ]
  const { send } = await open({ moreMetrics })
  const read = async () => {
    const { text } = await send('GET', '/admin/day', '', ADMIN_KEY)
    return JSON.parse(text).data as { seconds: number; samples: DaySample[] }
  }
  const made = { name: 'Orders', schema: { columns: [] }, rows: [{}, {}, {}] }
  await send('POST', '/tables', JSON.stringify(made))
  after(4)
  await send('GET', '/no-such-path')
  after(61) // The first sample ends here.
  await send('GET', '/no-such-path')
  memory = 5
  await send('GET', '/metrics', '', ADMIN_KEY)
  await send('GET', '/tables')
  after(64)

  const { seconds, samples } = await read()
  expect(seconds).toBe(300)
  expect(samples).toEqual([
    expect.objectContaining({ at: began, requests: 2, failed: 0, rowsIn: 3, rowsOut: 0 }),
    expect.objectContaining({ at: began + 60 * 60_000, requests: 2, commits: 0, memoryBytes: 5 }),
  ])
  expect(samples[0]?.commits).toBeGreaterThan(0)
  expect(samples[0]?.slowSeconds).toBeGreaterThanOrEqual(samples[0]?.medianSeconds ?? 1e9)
  expect(samples[0]).not.toHaveProperty('memoryBytes')
  expect(await read()).toEqual({ seconds, samples }) // Reads are not counted.

  for (let minutes = 65; minutes < 65 + 30 * 60; minutes += 5) {
    after(minutes)
    await send('GET', '/tables')
  }
  const day = (await read()).samples
  expect([day.length, day[0]?.at, day.at(-1)?.requests]).toEqual([
    288,
    began + (60 + 30 * 60 - 287 * 5) * 60_000,
    1,
  ])
})
