// One run of the bench `main`, in a separate process: the cost of each kind of work for the main thread.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { cpuSince, cpuUsed } from './main-thread.mjs'
import { DATA_SETS, openChunks, ROWS_PER_CHUNK } from './peers/data-sets.mjs'
import { openRowstash } from './peers/rowstash.mjs'

const PAGES_BEFORE = 20
const PAGES_MAX = 400
const POINTS = 1_000
const UPDATES = 4_000
const UPDATES_AT_ONCE = 32

const { directory, data, rows, chunkFolder, chunkFiles, storeOptions } = JSON.parse(process.argv[2])
const { columns, updated } = DATA_SETS[data]

async function run() {
  const { open, imported, keys } = await importInto(join(directory, 'fresh'))
  const fresh = await read(open, keys)
  const recompressed = await recompressedStore(join(directory, 'recompressed'))
  return { import: imported, fresh, ...recompressed }
}

async function importInto(place) {
  mkdirSync(place, { recursive: true })
  const open = () => openRowstash(place, { columns, storeOptions })
  const db = await open()
  const settings = { count: rows / ROWS_PER_CHUNK, files: chunkFiles, extension: 'json' }
  const chunks = openChunks(chunkFolder, settings)
  const before = cpuUsed()
  const { keyOf } = await db.ingest(chunks)
  const imported = cpuSince(before, rows / ROWS_PER_CHUNK)
  const keys = Array.from({ length: POINTS }, (_, at) => keyOf(Math.floor((at * rows) / POINTS)))
  await db.close()
  return { open, imported, keys }
}

/** A separate store, because the updates of the fresh one left row records over its segments. */
async function recompressedStore(place) {
  const { open, keys } = await importInto(place)
  const opened = await open()
  const began = cpuUsed()
  const beganMs = performance.now()
  await opened.recompress()
  const recompress = cpuSince(began, rows / ROWS_PER_CHUNK)
  const recompressionSeconds = (performance.now() - beganMs) / 1000
  await opened.close()
  return { recompress, recompressionSeconds, recompressed: await read(open, keys) }
}

async function read(open, keys) {
  const db = await open()
  const page = await timePages(db)
  await db.close()
  const again = await open()
  const began = cpuUsed()
  for (const key of keys) await again.point(key)
  const point = cpuSince(began, keys.length)
  const update = await timeUpdates(again, keys)
  await again.close()
  return { page, point, update }
}

async function timePages(db) {
  let pages = 0
  let before
  let next
  do {
    if (pages === PAGES_BEFORE) before = cpuUsed()
    ;({ next } = await db.page(next))
    pages++
  } while (next !== undefined && pages < PAGES_MAX)
  return cpuSince(before, pages - PAGES_BEFORE)
}

async function timeUpdates(db, keys) {
  const before = cpuUsed()
  let count = 0
  const inTurn = async () => {
    while (count < UPDATES) {
      const value = count++
      await db.update(keys[value % keys.length], updated, value)
    }
  }
  await Promise.all(Array.from({ length: UPDATES_AT_ONCE }, inTurn))
  return cpuSince(before, UPDATES)
}

try {
  process.send({ measured: await run() })
} catch (failure) {
  process.send({ failed: failure.stack })
}
process.disconnect()
