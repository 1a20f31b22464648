// A client process: puts its share of the chunks of a stash, several at a time. Its settings are one JSON argument. It
// ends with code 0 when every chunk was acknowledged.
import { readdirSync, readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { makeChunks } from './workloads.mjs'

const settings = JSON.parse(process.argv[2])
const { url, key, stash, start, step, limit, rows, lastRows, parallel, seed, rowBytes } = settings

/** Distinct chunks. The import repeats them, so that making them is not measured. */
const DISTINCT_CHUNKS = 32

const chunks =
  settings.chunkFolder === undefined
    ? makeChunks({ seed, count: DISTINCT_CHUNKS, rows, rowBytes })
    : readdirSync(settings.chunkFolder)
        .filter((name) => name.endsWith('.json'))
        .slice(0, DISTINCT_CHUNKS)
        .map((name) => readFileSync(join(settings.chunkFolder, name)))
const lastChunk =
  lastRows === rows
    ? chunks[(limit - 1) % chunks.length]
    : makeChunks({ seed, count: 1, rows: lastRows, rowBytes })[0]
const agent = new Agent({ keepAlive: true, maxSockets: parallel })

function put(serial) {
  const body = serial === limit - 1 ? lastChunk : chunks[serial % chunks.length]
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'content-length': body.length,
    }
    const sent = request(`${url}/stashes/${stash}/${serial}`, { method: 'PUT', headers, agent })
    sent.on('error', reject)
    sent.on('response', (response) => {
      response.resume().on('end', () => {
        if (response.statusCode === 200) resolve()
        else reject(new Error(`PUT of chunk ${serial} was answered with ${response.statusCode}`))
      })
    })
    sent.end(body)
  })
}

// Waits for the signal to begin, so that all clients have made their rows.
process.send('ready')
process.once('message', async () => {
  let next = start
  const putInTurn = async () => {
    while (next < limit) {
      const serial = next
      next += step
      await put(serial)
    }
  }
  await Promise.all(Array.from({ length: parallel }, putInTurn))
  agent.destroy()
  process.disconnect()
})
