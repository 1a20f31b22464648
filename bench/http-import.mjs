// An import over HTTP, alternating with a server that only parses the same PUTs.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { emptyFiles } from './empty-files.mjs'
import { createTable, runClient, startClients } from './import.mjs'
import { median, printTable } from './report.mjs'

const SERVER = fileURLToPath(new URL('import-server.mjs', import.meta.url))
const KINDS = ['rowstash', 'parser']
const MEGABYTE = 1e6

export async function measureHttp(directory, { rounds, ...settings }) {
  const runs = { rowstash: [], parser: [] }
  for (let round = 0; round < rounds; round++) {
    for (const kind of KINDS) {
      const place = join(directory, `http-${kind}-${round}`)
      runs[kind].push(await runServer(kind, place, settings))
      await emptyFiles(place)
    }
  }
  return runs
}

/** @param settings `rows`, `chunkFolder`, and `rowsPerChunk` of its files (default: 1,000) */
async function runServer(kind, directory, settings) {
  const server = fork(SERVER, [kind, directory])
  try {
    const [{ url, key }] = await once(server, 'message')
    const clients = await startClients({ url, key, ...settings })
    await ask(server, 'begin')
    const startMs = performance.now()
    await Promise.all(clients.map(runClient))
    const putSeconds = (performance.now() - startMs) / 1000
    const { loopMs, peakBytes, cpu } = await ask(server, 'end')
    const megabytes = peakBytes === undefined ? undefined : peakBytes / MEGABYTE
    const measured = { putSeconds, loopMs, peakMegabytes: megabytes, cpu }
    if (kind !== 'rowstash') return { ...measured, importSeconds: putSeconds }
    const { rowCount, firstByteSeconds } = await createTable(url, key)
    if (rowCount !== settings.rows) {
      throw new Error(`${rowCount} rows were imported, not ${settings.rows}`)
    }
    return { ...measured, importSeconds: putSeconds + firstByteSeconds }
  } finally {
    if (server.connected) {
      server.send('stop')
      await once(server, 'exit')
    }
  }
}

async function ask(server, name) {
  const answer = once(server, 'message')
  server.send(name)
  const [message] = await answer
  return message
}

export function printHttp(runs, rows) {
  const middle = (kind, figureOf) => median(runs[kind].map(figureOf))
  printTable(
    [
      'import over HTTP, 8 PUTs at once',
      'rows/s',
      'all runs',
      'RSS MB',
      'event-loop delay ms: p50',
      'p99',
      'max',
    ],
    KINDS.map((kind) => [
      kind === 'rowstash' ? 'rowstash' : 'JSON.parse of the body only',
      Math.round(rows / middle(kind, ({ importSeconds }) => importSeconds)),
      runs[kind].map(({ importSeconds }) => Math.round(rows / importSeconds)).join(' '),
      middle(kind, ({ peakMegabytes }) => peakMegabytes ?? Number.NaN).toFixed(0),
      ...['p50', 'p99'].map((share) => middle(kind, ({ loopMs }) => loopMs[share]).toFixed(1)),
      Math.max(...runs[kind].map(({ loopMs }) => loopMs.max)).toFixed(1),
    ]),
  )
}
