// An import over HTTP: its speed, and the server's memory.
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { judge, median, printTable } from './report.mjs'
import { sampleMemory, startServerProcess } from './server-process.mjs'

const ROWS_PER_CHUNK = 1_000
const CLIENTS = 2
const PUTS_AT_ONCE = 8
const SAMPLE_MS = 100
const IDLE_MS = 2_000
const MEGABYTE = 1e6
const PEAK_MB_MAX = 160

const CLIENT = fileURLToPath(new URL('put-chunks.mjs', import.meta.url))

export async function measureImport(directory, { rows, seed, rowBytes }) {
  const key = randomBytes(24).toString('base64url')
  const server = await startServerProcess(directory, [key])
  try {
    const clients = await startClients({ url: server.url, key, rows, seed, rowBytes })
    const idle = sampleMemory(server.pid, SAMPLE_MS)
    await sleep(IDLE_MS)
    const idleBytes = median(idle.stop())

    const whilePutting = sampleMemory(server.pid, SAMPLE_MS)
    const startMs = performance.now()
    await Promise.all(clients.map(runClient))
    const putSeconds = (performance.now() - startMs) / 1000
    const putSamples = whilePutting.stop()
    const whileCreating = sampleMemory(server.pid, SAMPLE_MS)
    const { rowCount, firstByteSeconds } = await createTable(server.url, key)
    const seconds = (performance.now() - startMs) / 1000
    const memory = memoryOf({ idleBytes, putSamples, createSamples: whileCreating.stop() })
    if (rowCount !== rows) throw new Error(`${rowCount} rows were imported, not ${rows}`)
    return { rows, seconds, putSeconds, createSeconds: firstByteSeconds, ...memory }
  } finally {
    await server.stop()
  }
}

function memoryOf({ idleBytes, putSamples, createSamples }) {
  if (Number.isNaN(idleBytes)) return { memory: 'not measured: no /proc here' }
  const aboveIdle = (samples) => (Math.max(...samples) - idleBytes) / MEGABYTE
  const putMegabytes = aboveIdle(putSamples)
  const createMegabytes = aboveIdle(createSamples)
  return {
    idleMegabytes: idleBytes / MEGABYTE,
    putMegabytes,
    createMegabytes,
    peakAboveIdleMegabytes: Math.max(putMegabytes, createMegabytes),
  }
}

/** @param options.chunkFolder the folder of the chunks; default: they are made from the seed */
export async function startClients(options) {
  const { url, key, rows, seed, rowBytes, chunkFolder, rowsPerChunk = ROWS_PER_CHUNK } = options
  const limit = Math.ceil(rows / rowsPerChunk)
  const lastRows = rows - (limit - 1) * rowsPerChunk
  const clients = Array.from({ length: CLIENTS }, (_, start) => {
    const settings = {
      url,
      key,
      stash: 'bench',
      start,
      step: CLIENTS,
      limit,
      lastRows,
      seed,
      rowBytes,
      chunkFolder,
    }
    const argument = { ...settings, rows: rowsPerChunk, parallel: PUTS_AT_ONCE / CLIENTS }
    return fork(CLIENT, [JSON.stringify(argument)])
  })
  await Promise.all(clients.map((client) => once(client, 'message')))
  return clients
}

export async function runClient(client) {
  client.send('begin')
  const [code] = await once(client, 'exit')
  if (code !== 0) throw new Error('A client failed')
}

/** Creates the table, and counts the row IDs of the answer, 25 bytes each, as they arrive. */
export function createTable(url, key) {
  const startMs = performance.now()
  const body = JSON.stringify({ name: 'bench', rows: { $stashID: 'bench' } })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/tables`, { method: 'POST', headers }, (response) => {
      const firstByteSeconds = (performance.now() - startMs) / 1000
      let commas = 0
      response.on('data', (piece) => {
        for (const byte of piece) if (byte === 0x2c) commas++
      })
      response.on('error', reject).on('end', () => {
        // One comma precedes `rowIDs`, the others separate its elements.
        if (response.statusCode === 201) resolve({ rowCount: commas, firstByteSeconds })
        else reject(new Error(`The create was answered with ${response.statusCode}`))
      })
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

export function printImport(result) {
  const { rows, seconds, putSeconds, createSeconds } = result
  printTable(
    ['rows', 'seconds', 'rows/s', 'of it PUTs', 'create: first byte'],
    [
      [
        rows,
        seconds.toFixed(1),
        Math.round(rows / seconds),
        `${putSeconds.toFixed(1)} s`,
        `${(createSeconds * 1000).toFixed(0)} ms`,
      ],
    ],
  )
  if ('memory' in result) {
    console.log(`\nmemory of the server: ${result.memory}`)
    return
  }
  const { idleMegabytes, putMegabytes, createMegabytes } = result
  const cells = [idleMegabytes, putMegabytes, createMegabytes].map((value) => value.toFixed(1))
  printTable(['idle server, MB', 'more while putting', 'more while creating'], [cells])
}

export function importRules(result) {
  if ('memory' in result) return []
  const { peakAboveIdleMegabytes } = result
  return [judge('peak memory of the server above idle', peakAboveIdleMegabytes, PEAK_MB_MAX, 'MB')]
}
