// One run of one engine, in a separate process, so that its memory can be measured. Its settings are one JSON argument,
// and it sends its measurements to its parent in a message.
import { mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { watchLoop } from '../loop-delay.mjs'
import { peakBytes, residentBytes } from '../server-process.mjs'
import { DATA_SETS, openChunks } from './data-sets.mjs'
import { ENGINES } from './engines.mjs'

const PAGES_MAX = 200
const COLD_READS = 1_000
const WARM_ROWS = 50
const WARM_UP_READS = 50_000
const WARM_READS = 2_000_000
const READ_SECONDS_MAX = 2
const UPDATE_WARM_UP_SECONDS = 0.5
const UPDATE_SECONDS = 1.5
const UPDATES_MAX = 20_000
const UPDATES_AT_ONCE = 32

const MEGABYTE = 1e6

const settings = JSON.parse(process.argv[2])
const engine = ENGINES[settings.engine]
const { columns, updated, rowsPerChunk } = DATA_SETS[settings.data]

async function run() {
  const open = await loadEngine()
  if (open === undefined) return undefined
  const { directory, rows, storeOptions, threads } = settings
  mkdirSync(directory, { recursive: true })
  const common = { columns, updated, rows, rowsPerChunk, storeOptions, threads }
  const options = { ...common, ...engine.options }
  const openAgain = () => open(directory, options)

  const { keys, ...imported } = await runImport(await openAgain())
  if (engine.importOnly || settings.importOnly) {
    await end(await openAgain())
    return imported
  }
  const reader = await openAgain()
  const read = { ...(await timePages(reader)), ...(await timeReadAll(reader, rows)) }
  await reader.close()
  const db = await openAgain()
  const points = await timePoints(db, keys)
  const updates = await timeUpdates(db, keys)
  const copySeconds = engine.copiesTable ? await timeCopy(db) : undefined
  await end(db)
  return { ...imported, ...read, ...points, ...updates, copySeconds }
}

/** Removes what is outside of the run's directory: the next run needs the same name. */
async function end(db) {
  await db.remove?.()
  await db.close()
}

/** undefined, after a message to the parent, if the engine cannot be loaded. */
async function loadEngine() {
  try {
    return await engine.open()
  } catch (failure) {
    process.send({ leftOut: `it cannot be loaded: ${failure.message.split('\n')[0]}` })
    return undefined
  }
}

async function runImport(db) {
  const { chunkFolder, chunkFiles: files, rows } = settings
  const extension = engine.options?.format ?? 'json'
  const chunks = openChunks(chunkFolder, { count: rows / rowsPerChunk, files, extension })
  const idleMegabytes = megabytes(residentBytes(process.pid))
  const endWatch = watchLoop()
  await sleep(5) // It counts from its first timer.
  const startMs = performance.now()
  const done = await db.ingest(chunks)
  const importSeconds = (performance.now() - startMs) / 1000
  await sleep(5)
  const loopMs = endWatch()
  const peakMegabytes = megabytes(peakBytes(process.pid))
  if (done.rows !== rows) throw new Error(`${done.rows} rows were imported, not ${rows}`)
  if (extension === 'json') await checkFirstRow(db, done.keyOf(0), chunks.text(0))
  const about = await db.settings()
  const keys = indicesToRead(rows).map(done.keyOf)
  if (engine.recompresses) await db.recompress()
  const known = await db.diskBytes?.()
  await db.close()
  const diskRowBytes = (known ?? folderBytes(settings.directory)) / rows
  const measured = { importSeconds, idleMegabytes, peakMegabytes, diskRowBytes, loopMs }
  return { ...measured, keys, settings: about }
}

/** Every engine must return the row that was inserted, except for its own form of dates. */
async function checkFirstRow(db, key, chunk) {
  const [source] = JSON.parse(chunk.toString())
  const row = JSON.parse(await db.point(key))
  for (const { id, kind } of columns) {
    if (kind === 'time') continue
    const [expected, found] = [source[id], row[id]].map((value) => JSON.stringify(value))
    if (expected !== found) throw new Error(`Column ${id} is ${found}, not ${expected}`)
  }
}

async function timeCopy(db) {
  const startMs = performance.now()
  await db.copyTable()
  return (performance.now() - startMs) / 1000
}

/** Random rows of the whole table, the same for every engine. */
function indicesToRead(rows) {
  const count = Math.min(rows, COLD_READS)
  const stride = 7_919 // prime, so that no row repeats
  const step = Math.floor(rows / count)
  return Array.from({ length: count }, (_, index) => ((index * stride) % count) * step)
}

async function timePages(db) {
  const times = []
  const builtInTimes = []
  let next
  do {
    const after = next
    const startMs = performance.now()
    const page = await db.page(after)
    times.push(performance.now() - startMs)
    next = page.next
    if (db.builtInPage === undefined) continue
    const builtInStartMs = performance.now()
    db.builtInPage(after)
    builtInTimes.push(performance.now() - builtInStartMs)
  } while (next !== undefined && times.length < PAGES_MAX)
  const builtInPageMs = builtInTimes.length > 0 ? middle(builtInTimes) : undefined
  return { pageMs: middle(times), builtInPageMs }
}

/** Reads every row as JSON bytes, page by page unless the engine has a better way. */
async function timeReadAll(db, expected) {
  const startMs = performance.now()
  const rows = db.readAll === undefined ? await walk(db) : await db.readAll()
  const readSeconds = (performance.now() - startMs) / 1000
  if (rows !== expected) throw new Error(`${rows} rows were read, not ${expected}`)
  return { readSeconds }
}

async function walk(db) {
  let rows = 0
  let next
  do {
    const page = await db.page(next)
    rows += page.rows
    next = page.next
  } while (next !== undefined)
  return rows
}

/**
 * Cold: the first read of each row after the engine was opened. Warm: repeated reads of a few rows, when the engine has
 * cached them, their code is compiled, and the heap has grown.
 */
async function timePoints(db, keys) {
  const coldMicros = await timeReads(db, keys, keys.length)
  const again = keys.slice(0, WARM_ROWS)
  await timeReads(db, again, WARM_UP_READS)
  return { coldMicros, warmMicros: await timeReads(db, again, WARM_READS) }
}

async function timeReads(db, keys, count) {
  const startMs = performance.now()
  const endMs = startMs + READ_SECONDS_MAX * 1000
  let reads = 0
  while (reads < count && performance.now() < endMs) {
    const found = db.point(keys[reads++ % keys.length])
    if (typeof found !== 'string') await found
  }
  return ((performance.now() - startMs) * 1000) / reads
}

async function timeUpdates(db, keys) {
  const updatesOne = await warmUpdatePace(db, keys, 1)
  const updatesMany = await warmUpdatePace(db, keys, UPDATES_AT_ONCE)
  const row = JSON.parse(await db.point(keys[0]))
  if (!Number.isInteger(row[updated]) || row[updated] < 0) throw new Error('An update is missing')
  return { updatesOne, updatesMany }
}

async function warmUpdatePace(db, keys, atOnce) {
  await updatePace(db, keys, { atOnce, seconds: UPDATE_WARM_UP_SECONDS })
  return updatePace(db, keys, { atOnce, seconds: UPDATE_SECONDS })
}

async function updatePace(db, keys, { atOnce, seconds }) {
  const startMs = performance.now()
  const endMs = startMs + seconds * 1000
  let count = 0
  const inTurn = async () => {
    while (count < UPDATES_MAX && performance.now() < endMs) {
      const value = count++
      await db.update(keys[value % keys.length], updated, value)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, inTurn))
  return (count * 1000) / (performance.now() - startMs)
}

function middle(values) {
  return values.sort((left, right) => left - right)[Math.floor(values.length / 2)]
}

const megabytes = (bytes) => (bytes === undefined ? undefined : bytes / MEGABYTE)

function folderBytes(folder) {
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true })
  const files = entries.filter((entry) => entry.isFile())
  return files.reduce((bytes, { parentPath, name }) => {
    // A sparse file takes less than its length; a short one takes whole blocks.
    const { size, blocks } = statSync(join(parentPath, name))
    return bytes + Math.min(size, blocks * 512)
  }, 0)
}

try {
  const measured = await run()
  if (measured !== undefined) process.send({ measured })
} catch (failure) {
  process.send({ failed: failure.stack })
}
process.disconnect()
