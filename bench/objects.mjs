// Objects for rows that arrive in small chunks: chunks put at the same time share objects.
import { join } from 'node:path'
import { openDirectory } from './dist/node.js'
import { emptyFiles } from './empty-files.mjs'
import { cpuSince, cpuUsed } from './main-thread.mjs'
import { DATA_SETS } from './peers/data-sets.mjs'
import { printTable } from './report.mjs'
import { measureFolder } from './served-store.mjs'

const CHUNK_ROWS = [25, 250, 1_000]
const PUTS_AT_ONCE = 8
const ROWS_PER_FIGURE = 1_000

/** Nothing runs in the background, and a stash may hold all of the smallest chunks. */
const OPTIONS = {
  maintenance: {
    garbageCollectionIntervalMs: 0,
    compactionIntervalMs: 0,
    fileCollectionIntervalMs: 0,
    recompressionIntervalMs: 0,
  },
  stashChunksMax: 65_535,
}

export async function measureObjects(directory, { rows }) {
  const flights = DATA_SETS.flights.makeChunks().flatMap((chunk) => JSON.parse(chunk))
  const runs = []
  for (const chunkRows of CHUNK_ROWS) {
    const place = join(directory, String(chunkRows))
    runs.push(await measureChunks(place, { rows, chunkRows, chunks: cut(flights, chunkRows) }))
    await emptyFiles(place)
  }
  return { rows, runs }
}

function cut(rows, chunkRows) {
  const chunks = []
  for (let at = 0; at + chunkRows <= rows.length; at += chunkRows) {
    chunks.push(Buffer.from(JSON.stringify(rows.slice(at, at + chunkRows))))
  }
  return chunks
}

async function measureChunks(place, { rows, chunkRows, chunks }) {
  const store = await openDirectory(place, OPTIONS)
  const team = store.team('bench')
  const stash = team.stash('bench')
  const count = Math.ceil(rows / chunkRows)
  const used = cpuUsed()
  const beganMs = performance.now()
  let next = 0
  const putInTurn = async () => {
    while (next < count) {
      const serial = next++
      await stash.put(String(serial), { json: chunks[serial % chunks.length] })
    }
  }
  await Promise.all(Array.from({ length: PUTS_AT_ONCE }, putInTurn))
  const seconds = (performance.now() - beganMs) / 1000
  const cpu = cpuSince(used, rows / ROWS_PER_FIGURE)
  await team.createTable({ name: 'bench', rows: stash })
  const { ok } = await store.verify({ full: true })
  await store.close()
  if (!ok) throw new Error('the verification found damage')
  const { files: objects, bytes } = measureFolder(join(place, 'objects'))
  return { chunkRows, chunks: count, objects, bytes, seconds, cpu }
}

export function printObjects({ rows, runs }) {
  printTable(
    [`${rows} flights in chunks of`, 'chunks', 'objects', 'MB', 's', 'CPU, µs per 1,000 rows'],
    runs.map(({ chunkRows, chunks, objects, bytes, seconds, cpu }) => [
      chunkRows,
      chunks,
      objects,
      (bytes / 1e6).toFixed(1),
      seconds.toFixed(1),
      cpu.all.toFixed(0),
    ]),
  )
}
