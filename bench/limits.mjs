// One team exceeds each limit on purpose: how it is refused, and how this affects a client of another team.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createClient } from './http-client.mjs'
import { judge, printTable } from './report.mjs'
import { startServerProcess } from './server-process.mjs'
import { makeChunks } from './workloads.mjs'

const NEIGHBOUR = fileURLToPath(new URL('limits-neighbour.mjs', import.meta.url))
const KEY = 'a-key-of-the-team-beyond-its-limits'
const NEIGHBOUR_KEY = 'a-key-of-the-team-beside-it'
const SECONDS = 4
const AT_ONCE = 16
/** The wait after a refusal, in milliseconds, which clients are told to make. */
const REFUSED_WAIT_MS = 20
/** Makes a page of the table larger than the buffers of a connection. */
const ROWS = 20_000
/** Rows per chunk, and per single add. */
const CHUNK_ROWS = 200
const ADDED_ROWS = 20
const NEIGHBOUR_MS_MAX = 100
const KIB = 1_024
const MIB = 1_024 * KIB
/** Short, so that waiting requests are refused within the run. */
const WAIT = { waitMsMax: 500 }
const PAGES = { pageBytesMax: 8 * MIB }

/**
 * How a team exceeds each limit, and the refusal that it must get. `readsOnly`: the limit bounds the writes of all
 * teams.
 */
const CASES = [
  {
    limits: { requestsPerSecondPerKeyMax: 300 },
    refusal: '429 rate_limited',
    attack: (target) => flood(target, (client) => client.send('GET', '/tables')),
  },
  {
    limits: { requestsAtOncePerKeyMax: 2, ...WAIT },
    refusal: '503 storage_unavailable',
    attack: (target) => withStalled(target, 2, 64 * KIB, () => flood(target, readPage)),
  },
  {
    limits: { bodyBytesMax: 64 * KIB },
    refusal: '413 request_too_large',
    attack: (target) => flood(target, putBytes(MIB)),
  },
  {
    limits: {
      bodyBytesInFlightMax: 4 * MIB,
      bodyBytesMax: MIB,
      requestsAtOncePerKeyMax: 100,
      ...WAIT,
    },
    refusal: '503 storage_unavailable',
    attack: (target) =>
      withStalled(target, 16, 512 * KIB, () => flood(target, putBytes(512 * KIB))),
  },
  {
    limits: { bodyBytesPerKeyMax: MIB, bodyBytesMax: MIB, requestsAtOncePerKeyMax: 100, ...WAIT },
    refusal: '503 storage_unavailable',
    attack: (target) => withStalled(target, 8, 512 * KIB, () => flood(target, putBytes(512 * KIB))),
  },
  {
    limits: { answerBytesInFlightMax: 32 * MIB, ...PAGES, requestsAtOncePerKeyMax: 100, ...WAIT },
    refusal: '503 storage_unavailable',
    attack: (target) => withUnread(target, 16, () => flood(target, readPage)),
  },
  {
    limits: { answerBytesPerKeyMax: MIB, ...PAGES, requestsAtOncePerKeyMax: 100, ...WAIT },
    refusal: '503 storage_unavailable',
    attack: (target) => withUnread(target, 8, () => flood(target, readPage)),
  },
  {
    limits: { sourcesAtOncePerKeyMax: 1, ...WAIT },
    options: ['--allow-private-sources'],
    refusal: '503 storage_unavailable',
    attack: withSlowSource,
  },
  {
    limits: { refusedKeysPerMinuteMax: 20 },
    refusal: '429 rate_limited',
    attack: (target) => flood({ ...target, key: 'an-unknown-key', sockets: 1 }, readPage),
  },
  {
    limits: { connectionsMax: 32 },
    options: ['--keyless-per-address', '65535'],
    refusal: 'closed',
    attack: connectAgainAndAgain,
  },
  {
    limits: {},
    options: ['--keyless-per-address', '16'],
    refusal: 'closed',
    attack: connectAgainAndAgain,
  },
  {
    limits: { tablesMax: 1 },
    refusal: '403 limit_exceeded',
    attack: (target) =>
      flood(target, (client) =>
        client.send('POST', '/tables', JSON.stringify({ name: 'one more', rows: [] })),
      ),
  },
  {
    limits: { stashesMax: 4 },
    refusal: '403 limit_exceeded',
    attack: (target) =>
      flood(target, (client, at) => client.send('PUT', `/stashes/many-${at}/1`, '[{"a":1}]')),
  },
  {
    limits: { stashBytesMax: 256 * KIB },
    refusal: '403 limit_exceeded',
    attack: (target) =>
      flood(target, (client, at) => client.send('PUT', `/stashes/large/${at}`, target.rows)),
  },
  {
    limits: { teamRowBytesMax: 256 * KIB },
    refusal: '403 limit_exceeded',
    attack: (target) =>
      flood(target, (client) => client.send('POST', `/tables/${target.tableId}/rows`, target.few)),
  },
  {
    limits: { teamFileBytesMax: MIB },
    refusal: '413 file_too_large',
    attack: (target) =>
      flood(target, (client) => {
        const about = { fileName: 'a', contentType: 'text/plain', contentLength: 2 * MIB }
        return client.send('POST', '/apps/a/uploads', JSON.stringify(about))
      }),
  },
  {
    limits: { idempotencyKeysMax: 8 },
    refusal: '403 limit_exceeded',
    attack: (target) =>
      flood(target, (client, at) =>
        client.send('POST', `/tables/${target.tableId}/rows`, '[{"visits":1}]', {
          'idempotency-key': `${target.now}-${at}`,
        }),
      ),
  },
  {
    limits: { freeDiskBytesMin: Number.MAX_SAFE_INTEGER },
    refusal: '507 insufficient_storage',
    readsOnly: true,
    attack: (target) =>
      flood(target, (client) =>
        client.send('POST', `/tables/${target.tableId}/rows`, '[{"visits":1}]'),
      ),
  },
]

export async function measureLimits(directory, { seed }) {
  const prepared = await prepare(directory, seed)
  const cases = []
  for (const given of CASES) cases.push(await runCase(directory, prepared, given))
  return { cases }
}

/** Creates a table of each team, before any limit is set. */
async function prepare(directory, seed) {
  const server = await startServer(directory)
  const [text, more] = makeChunks({ seed, count: 2, rows: ROWS })
  const parsed = JSON.parse(more)
  const [small, few] = [CHUNK_ROWS, ADDED_ROWS].map((count) =>
    JSON.stringify(parsed.slice(0, count)),
  )
  const makeTable = async (key, rows) => {
    const client = createClient({ url: server.url, key, sockets: 1 })
    const { body } = await client.expectOk('POST', '/tables', `{"name":"rows","rows":${rows}}`)
    client.close()
    return body.data
  }
  try {
    const { tableID: tableId } = await makeTable(KEY, text)
    const beside = await makeTable(NEIGHBOUR_KEY, small)
    const neighbour = { tableId: beside.tableID, rowIds: beside.rowIDs }
    return { tableId, rows: small, few, neighbour }
  } finally {
    await server.stop()
  }
}

function startServer(directory, ...options) {
  const keys = [`${KEY}=beyond`, `${NEIGHBOUR_KEY}=beside`]
  return startServerProcess(directory, keys, options)
}

async function runCase(directory, { neighbour, ...prepared }, { limits, options = [], ...given }) {
  const asOptions = Object.entries(limits).flatMap(([name, value]) => [
    '--limit',
    `${name}=${value}`,
  ])
  const server = await startServer(directory, ...asOptions, ...options)
  const { url } = server
  try {
    const { readsOnly = false } = given
    const beside = startNeighbour({ url, key: NEIGHBOUR_KEY, ...neighbour, readsOnly })
    await beside.isReady
    const told = await given.attack({ url, key: KEY, now: Date.now(), ...prepared })
    const [limit = `keylessPerAddressMax=${options[1]}`] = asOptions.filter((_, at) => at % 2 === 1)
    return { limit, refusal: given.refusal, told: count(told), neighbour: await beside.stop() }
  } finally {
    await server.stop()
  }
}

function startNeighbour(task) {
  const child = fork(NEIGHBOUR, [JSON.stringify(task)])
  const isReady = once(child, 'message')
  return {
    isReady,
    async stop() {
      child.send('stop')
      const [measured] = await once(child, 'message')
      return measured
    },
  }
}

/** Counts each kind of answer, such as `429 rate_limited`. */
function count(answers) {
  const counts = {}
  for (const answer of answers) counts[answer] = (counts[answer] ?? 0) + 1
  return counts
}

const readPage = (client, _, { tableId }) => client.send('GET', `/tables/${tableId}/rows`)

const putBytes = (length) => (client) => client.send('PUT', '/stashes/s/1', '['.padEnd(length))

/** Sends as many requests as possible, several at once. */
async function flood(target, send) {
  const { url, key, sockets = AT_ONCE } = target
  const client = createClient({ url, key, sockets })
  const told = []
  const until = Date.now() + SECONDS * 1_000
  let sent = 0
  const inTurn = async () => {
    while (Date.now() < until) {
      const answer = await tell(send(client, sent++, target))
      told.push(answer)
      if (!answer.startsWith('200')) await sleep(REFUSED_WAIT_MS)
    }
  }
  await Promise.all(Array.from({ length: sockets }, inTurn))
  client.close()
  return told
}

/** An answer in words. */
async function tell(answered) {
  try {
    const { status, body } = await answered
    return status < 300 ? '200' : `${status} ${body?.error?.type}`
  } catch {
    return 'closed'
  }
}

/** Runs `work` while some requests have sent a part of their bodies and stall. */
async function withStalled(target, times, bytes, work) {
  const sockets = await openSockets(target.url, times)
  for (const socket of sockets) {
    socket.write(
      head(
        target,
        'PUT',
        '/stashes/stalled/1',
        `content-length: ${bytes}\r\ncontent-type: application/json\r\n`,
      ),
    )
    socket.write('['.padEnd(bytes - 1))
  }
  return endAfter(sockets, work)
}

/** Runs `work` while some answers are not read. */
async function withUnread(target, times, work) {
  const sockets = await openSockets(target.url, times)
  for (const socket of sockets) {
    socket.pause()
    socket.write(head(target, 'GET', `/tables/${target.tableId}/rows`, ''))
  }
  return endAfter(sockets, work)
}

async function endAfter(sockets, work) {
  await sleep(200)
  try {
    return await work()
  } finally {
    for (const socket of sockets) socket.destroy()
  }
}

function head({ key, url }, method, path, more) {
  const { host } = new URL(url)
  return `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${key}\r\n${more}\r\n`
}

async function openSockets(url, times) {
  const { hostname, port } = new URL(url)
  return Promise.all(
    Array.from({ length: times }, async () => {
      const socket = connect({ host: hostname, port: Number(port) })
      socket.on('error', () => {})
      await Promise.race([once(socket, 'connect'), once(socket, 'close')])
      return socket
    }),
  )
}

/** Runs while files are fetched from a server that never ends its answer. */
async function withSlowSource(target) {
  const source = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/plain' })
    response.write('a')
  })
  source.listen(0, '127.0.0.1')
  await once(source, 'listening')
  const about = { sourceURL: `http://127.0.0.1:${source.address().port}/a`, fileName: 'a' }
  try {
    return await flood(target, (client) =>
      client.send('POST', '/apps/a/uploads', JSON.stringify(about)),
    )
  } finally {
    source.closeAllConnections()
    source.close()
  }
}

/** Opens connections that send nothing, several at once, and counts those that the server closes. */
async function connectAgainAndAgain({ url }) {
  const told = []
  const until = Date.now() + SECONDS * 1_000
  while (Date.now() < until) {
    const sockets = await openSockets(url, 4 * AT_ONCE)
    for (const socket of sockets) socket.on('close', () => told.push('closed')).resume()
    await sleep(100)
    for (const socket of sockets) socket.removeAllListeners('close').destroy()
  }
  return told
}

export function printLimits({ cases }) {
  printTable(
    ['limit', 'must be told', 'told', 'beside it', 'p50 ms', 'p99 ms', 'most ms', 'failed'],
    cases.map(({ limit, refusal, told, neighbour: { requests, ms, failures } }) => [
      limit,
      refusal,
      Object.entries(told)
        .map(([answer, times]) => `${answer}: ${times}`)
        .join(', '),
      requests,
      ...[ms.p50, ms.p99, ms.max].map((value) => value.toFixed(1)),
      failures,
    ]),
  )
}

export function limitsRules({ cases }) {
  const untold = cases.filter(({ refusal, told }) => (told[refusal] ?? 0) === 0)
  const failures = cases.reduce((sum, { neighbour }) => sum + neighbour.failures, 0)
  const slowest = Math.max(...cases.map(({ neighbour }) => neighbour.ms.p99))
  return [
    judge('limits that were not reported', untold.length, 0, ''),
    judge('failed requests of the team beside it', failures, 0, ''),
    judge('p99 of the team beside it, beside the worst', slowest, NEIGHBOUR_MS_MAX, 'ms'),
  ]
}
