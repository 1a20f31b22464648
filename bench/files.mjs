// One large file: the server's memory while it is stored, and the speed compared with a plain copy and with a tus
// server. Every way gets the same bytes in turn, servers over HTTP.
import { createHash, randomBytes } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, open, rm, stat } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { installPeers } from './install-peers.mjs'
import { judge, median, printTable } from './report.mjs'
import { sampleMemory, startServerProcess, startWatched } from './server-process.mjs'

const MEGABYTE = 1e6
const ROUNDS = 3
const SAMPLE_MS = 50
const IDLE_MS = 2_000
const MORE_MB_MAX = 100
const READ_BYTES = 1 << 20
const TYPE = 'application/octet-stream'
const APP = 'bench'

const TUS = fileURLToPath(new URL('tus-process.mjs', import.meta.url))

export async function measureFiles(directory, { bytes }) {
  installPeers()
  await mkdir(directory, { recursive: true })
  const source = join(directory, 'source')
  const sha256 = await writeSource(source, bytes)
  const ways = { copy: copyWay, rowstash: rowstashWay, tus: tusWay }
  const runs = { copy: [], rowstash: [], tus: [] }
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, way] of Object.entries(ways)) {
      const place = join(directory, `${name}-${round}`)
      await mkdir(place)
      runs[name].push(await way(source, place, { bytes, sha256 }))
      await rm(place, { recursive: true })
    }
  }
  return { bytes, runs }
}

/** Writes incompressible bytes, repeated from one block. */
async function writeSource(path, bytes) {
  const block = randomBytes(8 * READ_BYTES)
  const hash = createHash('sha256')
  const file = await open(path, 'w')
  for (let at = 0; at < bytes; at += block.length) {
    const piece = block.subarray(0, Math.min(block.length, bytes - at))
    hash.update(piece)
    await file.write(piece)
  }
  await file.sync()
  await file.close()
  return hash.digest('hex')
}

async function copyWay(source, place) {
  const startMs = performance.now()
  const target = createWriteStream(join(place, 'copy'), { flush: true })
  await pipeline(createReadStream(source, { highWaterMark: READ_BYTES }), target)
  return { seconds: (performance.now() - startMs) / 1000 }
}

async function rowstashWay(source, place, { bytes, sha256 }) {
  const key = randomBytes(24).toString('base64url')
  const server = await startServerProcess(join(place, 'store'), [key])
  try {
    const authorization = { authorization: `Bearer ${key}` }
    const post = (path, body) =>
      send(
        server.url + path,
        'POST',
        { ...authorization, 'content-type': 'application/json' },
        body,
      )
    return await watched(server, async () => {
      const about = { contentType: TYPE, fileName: 'large.bin', contentLength: bytes }
      const { data } = await post(`/apps/${APP}/uploads`, JSON.stringify(about))
      await send(data.uploadLocation, 'PUT', sized(bytes, { 'content-type': TYPE }), source)
      const done = await post(`/apps/${APP}/uploads/${data.uploadID}/complete`)
      return () => checkDownload(done.data.url, sha256)
    })
  } finally {
    await server.stop()
  }
}

async function tusWay(source, place, { bytes }) {
  const server = await startWatched([TUS, place])
  try {
    return await watched(server, async () => {
      const tus = { 'tus-resumable': '1.0.0' }
      const created = { ...tus, 'upload-length': String(bytes), 'content-length': '0' }
      const { location } = await send(`${server.url}/files`, 'POST', created)
      const type = { 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' }
      await send(location, 'PATCH', sized(bytes, { ...tus, ...type }), source)
      return async () => {
        const id = location.slice(location.lastIndexOf('/') + 1)
        const { size } = await stat(join(place, id))
        if (size !== bytes) throw new Error(`The tus server has ${size} bytes`)
      }
    })
  } finally {
    await server.stop()
  }
}

/** Runs an upload while the server's memory is sampled. The upload returns a check of the file. */
async function watched(server, upload) {
  const idle = sampleMemory(server.pid, SAMPLE_MS)
  await sleep(IDLE_MS)
  const idleBytes = median(idle.stop())
  const busy = sampleMemory(server.pid, SAMPLE_MS)
  const startMs = performance.now()
  const check = await upload()
  const seconds = (performance.now() - startMs) / 1000
  await check()
  const moreMegabytes = (Math.max(...busy.stop()) - idleBytes) / MEGABYTE
  return { seconds, idleMegabytes: idleBytes / MEGABYTE, moreMegabytes }
}

const sized = (bytes, headers) => ({ ...headers, 'content-length': String(bytes) })

/** Sends a text, a file by its path, or nothing. @returns the JSON body and the Location of the answer */
function send(url, method, headers, content) {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers }, (response) => {
      const pieces = []
      response.on('data', (piece) => pieces.push(piece)).on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(pieces).toString()
        const { statusCode, headers: answered } = response
        if (statusCode >= 300)
          reject(new Error(`${method} was answered with ${statusCode}: ${text}`))
        else resolve({ ...(text === '' ? {} : JSON.parse(text)), location: answered.location })
      })
    })
    sent.on('error', reject)
    if (headers['content-length'] > 0) {
      pipeline(createReadStream(content, { highWaterMark: READ_BYTES }), sent).catch(reject)
    } else sent.end(content)
  })
}

function checkDownload(url, sha256) {
  return new Promise((resolve, reject) => {
    request(url, (response) => {
      const hash = createHash('sha256')
      response.on('data', (piece) => hash.update(piece)).on('error', reject)
      response.on('end', () => {
        if (hash.digest('hex') === sha256) resolve()
        else reject(new Error('The file was read back with other bytes'))
      })
    })
      .on('error', reject)
      .end()
  })
}

export function printFiles({ bytes, runs }) {
  const pace = ({ seconds }) => (bytes / MEGABYTE / seconds).toFixed(0)
  printTable(
    [
      `${(bytes / 1e9).toFixed(1)} GB by`,
      'seconds, median',
      'MB/s',
      'all runs, MB/s',
      'RSS above idle, MB',
    ],
    Object.entries(runs).map(([name, results]) => {
      const seconds = median(results.map((run) => run.seconds))
      const more = results.map(({ moreMegabytes }) => moreMegabytes)
      const rss = more[0] === undefined ? '-' : Math.max(...more).toFixed(1)
      return [name, seconds.toFixed(2), pace({ seconds }), results.map(pace).join(' '), rss]
    }),
  )
}

export function filesRules({ runs }) {
  const more = Math.max(...runs.rowstash.map(({ moreMegabytes }) => moreMegabytes))
  return [judge('memory of the server above idle, up and down', more, MORE_MB_MAX, 'MB')]
}
