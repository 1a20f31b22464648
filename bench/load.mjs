// 200 keep-alive clients read, update and stage rows on one server for minutes: errors, latencies, and whether the
// server's memory grows.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { createClient } from './http-client.mjs'
import { installPeers } from './install-peers.mjs'
import { judge, printTable } from './report.mjs'
import { sampleMemory, startServerProcess } from './server-process.mjs'
import { makeChunks } from './workloads.mjs'

const CLIENT = fileURLToPath(new URL('load-client.mjs', import.meta.url))
const KEYS = Array.from({ length: 20 }, (_, at) => `a-key-of-the-bench-${at}`)
/** Clients of each kind. */
const KINDS = { 'row reads': 60, pages: 40, updates: 60, 'stash puts': 40 }
const ROWS = 10_000
const ROWS_PER_CHUNK = 100
const SAMPLE_MS = 1_000
/** The run has this many parts. Memory is compared between the second and the last one. */
const PARTS = 5
const MEMORY_TIMES_MAX = 1.1

export async function measureLoad(directory, { seed, minutes }) {
  installPeers()
  const server = await startServerProcess(directory, KEYS)
  try {
    const task = { ...(await prepare(server.url, seed)), url: server.url, keys: KEYS, kinds: KINDS }
    const sampling = sampleMemory(server.pid, SAMPLE_MS)
    const kinds = await runClients({ ...task, seconds: minutes * 60 })
    const samples = sampling.stop()
    return { minutes, clients: sum(Object.values(KINDS)), kinds, memory: memoryOf(samples) }
  } finally {
    await server.stop()
  }
}

/** Creates the table whose rows are read and updated, and the chunk that is put. */
async function prepare(url, seed) {
  const [rows, chunk] = makeChunks({ seed, count: 2, rows: ROWS }).map((text) => JSON.parse(text))
  const client = createClient({ url, key: KEYS[0], sockets: 1 })
  const { body } = await client.expectOk('POST', '/tables', JSON.stringify({ name: 'load', rows }))
  client.close()
  const { tableID, rowIDs } = body.data
  const text = JSON.stringify(chunk.slice(0, ROWS_PER_CHUNK))
  return { tableId: tableID, rowIds: rowIDs.slice(0, 1_000), chunk: text }
}

async function runClients(task) {
  const child = fork(CLIENT, [JSON.stringify(task)])
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`The clients ended with code ${code}`)
  })
  const [results] = await Promise.race([once(child, 'message'), ended])
  ended.catch(() => {}) // It may end after the results.
  return results
}

/** Mean resident memory of each part of the run, and its maximum. */
function memoryOf(samples) {
  const length = Math.ceil(samples.length / PARTS)
  const parts = Array.from({ length: PARTS }, (_, at) =>
    mean(samples.slice(at * length, (at + 1) * length)),
  )
  return { parts, most: Math.max(...samples) }
}

const sum = (values) => values.reduce((total, value) => total + value, 0)
const mean = (values) => sum(values) / Math.max(1, values.length)

export function printLoad({ clients, minutes, kinds, memory }) {
  console.log(`\n${clients} keep-alive clients for ${minutes} minutes`)
  printTable(
    ['requests', 'clients', 'number', 'a second', 'p50 ms', 'p99 ms', 'most ms', 'errors'],
    kinds.map(({ kind, connections, requests, perSecond, ms, errors }) => [
      kind,
      connections,
      requests,
      Math.round(perSecond),
      ...[ms.p50, ms.p99, ms.max],
      errors,
    ]),
  )
  const megabytes = memory.parts.map((bytes) => (bytes / 1e6).toFixed(0)).join(', ')
  console.log(`\nresident memory in each fifth of the run: ${megabytes} MB`)
}

export function loadRules({ kinds, memory }) {
  const errors = sum(kinds.map((kind) => kind.errors))
  const [, second, , , last] = memory.parts
  return [
    judge('errors', errors, 0, ''),
    judge('memory of the last fifth, over the second', last / second, MEMORY_TIMES_MAX, 'x'),
  ]
}
