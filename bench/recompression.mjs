// Recompression: its effect on concurrent reads and writes, the bytes that it writes, the bytes that it frees in a day,
// and the effect of the threshold of short rows.
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { openDirectory } from './dist/node.js'
import { emptyFiles } from './empty-files.mjs'
import { cpuUsed } from './main-thread.mjs'
import { printTable } from './report.mjs'
import { makeChunks } from './workloads.mjs'

const ROWS_PER_CHUNK = 1_000
const CHUNKS = 32
const PUTS_AT_ONCE = 8
const MIB = 1024 * 1024

/**
 * Bytes per second of a recompression; null: none runs. The paces alternate, so that other load of the machine affects
 * all of them.
 */
const PACES = [null, 16 * MIB, 64 * MIB]
const ROUNDS = 3
const WINDOW_MS = 12_000
/** Before each window: the store was just opened, and the recompression begins. */
const WARM_MS = 2_000

/** Work during a recompression: the milliseconds between two operations of each kind. */
const POINT_EVERY_MS = 5
const PAGE_EVERY_MS = 50
const UPDATE_EVERY_MS = 20
const PUT_EVERY_MS = 100

/** A simulated day: an import every ten minutes, and garbage collections and recompressions when they are due. */
const STEP_MS = 600_000
const STEPS = 144
const STEP_CHUNKS = 10
const STEPS_AFTER = 12

/** Lengths of rows around the threshold, in bytes of JSON. */
const ROW_BYTES = [60, 90, 120, 160, 220, 417]
const THRESHOLD_CHUNKS = 60

/** Nothing runs in the background, and a stash may hold tens of millions of rows. */
const QUIET = {
  maintenance: {
    garbageCollectionIntervalMs: 0,
    compactionIntervalMs: 0,
    fileCollectionIntervalMs: 0,
    recompressionIntervalMs: 0,
  },
  stashChunksMax: 65_535,
}

export async function measureRecompression(directory, { rows, seed }) {
  if (process.getBuiltinModule('node:zlib').createZstdCompress === undefined) {
    throw new Error('the bench `recompression` needs zstd: Node 22.15 or later')
  }
  const chunks = makeChunks({ seed, count: CHUNKS, rows: ROWS_PER_CHUNK })
  const filled = join(directory, 'beside')
  const beside = await measureBeside(filled, chunks, rows)
  await emptyFiles(filled)
  const day = await measureDay(join(directory, 'day'), chunks)
  const lengths = []
  for (const rowBytes of ROW_BYTES) {
    for (const compression of ['none', 'zstd']) {
      const place = join(directory, `${compression}-${rowBytes}`)
      lengths.push(await measureLength(place, { seed, rowBytes, compression }))
    }
  }
  return { rows, beside, day, lengths }
}

async function fill(store, chunks, count) {
  const team = store.team('bench')
  const stash = team.stash('bench')
  let next = 0
  const putInTurn = async () => {
    while (next < count) {
      const serial = next++
      await stash.put(String(serial), { json: chunks[serial % chunks.length] })
    }
  }
  await Promise.all(Array.from({ length: PUTS_AT_ONCE }, putInTurn))
  return team.createTable({ name: 'bench', rows: stash })
}

async function measureBeside(place, chunks, rows) {
  const filled = await openDirectory(place, QUIET)
  const began = performance.now()
  const { tableId, rowIds } = await fill(filled, chunks, Math.ceil(rows / ROWS_PER_CHUNK))
  const fillMs = performance.now() - began
  await filled.close()
  const tableBytes = bytesUnder(join(place, 'objects'))
  const windows = []
  for (let round = 0; round < ROUNDS; round++) {
    for (const pace of PACES) {
      const number = windows.length
      const settling = {
        maintenance: {
          recompressionAgeMs: 0,
          recompressionIntervalMs: 1_000,
          recompressionBytesPerSecond: pace,
        },
      }
      const store = await openDirectory(place, { ...QUIET, ...(pace !== null && settling) })
      windows.push({ pace, ...(await measureWindow(store, { tableId, rowIds, chunks, number })) })
      await store.close()
    }
  }
  const paces = PACES.map((pace) => together(windows.filter((window) => window.pace === pace)))
  return { tableBytes, fillMs, paces }
}

async function measureWindow(store, window) {
  await workBeside(store, window, WARM_MS)
  const before = cpuUsed()
  const written = store.activity().bytesWritten.segments
  const times = await workBeside(store, window, WINDOW_MS)
  const after = cpuUsed()
  const writtenBytes = store.activity().bytesWritten.segments - written
  const share = (used, began) => (used - began) / (1_000 * WINDOW_MS)
  const cpu = { main: share(after.main, before.main), all: share(after.all, before.all) }
  return { writtenBytes, cpu, times }
}

/** All windows of a pace as one. */
function together(windows) {
  const names = Object.keys(windows[0].times)
  const spreads = names.map((name) => {
    const p99s = windows.map(({ times }) => spread(times[name]).p99)
    return [name, { ...spread(windows.flatMap(({ times }) => times[name])), p99s }]
  })
  const mean = (of) => windows.reduce((sum, window) => sum + of(window), 0) / windows.length
  return {
    pace: windows[0].pace,
    writtenBytes: mean(({ writtenBytes }) => writtenBytes) * windows.length,
    cpu: { main: mean(({ cpu }) => cpu.main), all: mean(({ cpu }) => cpu.all) },
    times: Object.fromEntries(spreads),
  }
}

/** @returns the milliseconds of each call, by its kind */
async function workBeside(store, { tableId, rowIds, chunks, number }, ms) {
  const team = store.team('bench')
  const table = team.table(tableId)
  const until = performance.now() + ms
  const rowAt = (count) => rowIds.at(((count + number * 1_000) * 7_919) % rowIds.length)
  let continuation
  const work = {
    point: [POINT_EVERY_MS, (count) => table.getJson(rowAt(count))],
    page: [
      PAGE_EVERY_MS,
      async () => {
        ;({ continuation } = await table.pageBytes({ limit: 1_000, continuation }))
      },
    ],
    update: [UPDATE_EVERY_MS, (count) => table.updateRow(rowAt(count), { visits: count })],
    import: [
      PUT_EVERY_MS,
      (count) => {
        const stash = team.stash(`more-${number}-${ms}`)
        return stash.put(String(count), { json: chunks[count % chunks.length] })
      },
    ],
  }
  const times = {}
  const repeat = async ([name, [everyMs, act]]) => {
    times[name] = []
    for (let count = 0; performance.now() < until; count++) {
      await new Promise((resolve) => setTimeout(resolve, everyMs))
      const began = performance.now()
      await act(count)
      times[name].push(performance.now() - began)
    }
  }
  await Promise.all(Object.entries(work).map(repeat))
  return times
}

function spread(all) {
  const sorted = all.toSorted((left, right) => left - right)
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]
  return { count: all.length, p50: at(0.5), p99: at(0.99), max: at(1) }
}

/**
 * With the default options and a simulated clock: tables are created all day, and every second one is overwritten once.
 */
async function measureDay(place, chunks) {
  const clock = { time: Date.now(), now: () => clock.time }
  const store = await openDirectory(place, { ...QUIET, clock })
  const team = store.team('bench')
  const disk = []
  let imported = 0
  let last
  for (let step = 0; step < STEPS + STEPS_AFTER; step++) {
    if (step < STEPS) {
      const stash = team.stash(`at-${step}`)
      for (let chunk = 0; chunk < STEP_CHUNKS; chunk++) {
        const json = chunks[(step + chunk) % chunks.length]
        await stash.put(String(chunk), { json })
        imported += json.length
      }
      if (step % 2 === 1) await last.overwrite({ rows: stash })
      else last = team.table((await team.createTable({ name: `t${step}`, rows: stash })).tableId)
    }
    await store.maintain()
    clock.time += STEP_MS
    if (step % 12 === 11) disk.push({ hours: (step + 1) / 6, imported, bytes: bytesUnder(place) })
  }
  const { segments, records } = store.activity().bytesWritten
  await store.close()
  return { imported, segments, records, disk }
}

async function measureLength(place, { seed, rowBytes, compression }) {
  const chunks = makeChunks({ seed, count: CHUNKS, rows: ROWS_PER_CHUNK, rowBytes })
  const store = await openDirectory(place, { ...QUIET, compression })
  const began = cpuUsed()
  const { tableId, rowIds } = await fill(store, chunks, THRESHOLD_CHUNKS)
  const imported = cpuUsed()
  const table = store.team('bench').table(tableId)
  let pages = 0
  for (let round = 0; round < 5; round++) {
    let continuation
    do {
      ;({ continuation } = await table.pageBytes({ limit: 1_000, continuation }))
      pages++
    } while (continuation !== undefined)
  }
  const read = cpuUsed()
  await store.close()
  return {
    rowBytes,
    compression,
    jsonBytes: chunks[0].length / ROWS_PER_CHUNK,
    diskBytes: bytesUnder(join(place, 'objects')) / rowIds.length,
    importCpu: (imported.all - began.all) / THRESHOLD_CHUNKS,
    pageCpu: (read.all - imported.all) / pages,
  }
}

function bytesUnder(place) {
  const entries = readdirSync(place, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
}

export function printRecompression({ beside, day, lengths }) {
  const mb = (bytes) => (bytes / 1e6).toFixed(0)
  const ms = ({ p50, p99, max, p99s }) => {
    const ofWindows = [Math.min(...p99s), Math.max(...p99s)].map((one) => one.toFixed(1)).join('–')
    return `${[p50, p99, max].map((one) => one.toFixed(2)).join(' / ')} (${ofWindows})`
  }
  const seconds = (beside.fillMs / 1_000).toFixed(0)
  console.log(`a table of ${mb(beside.tableBytes)} MB, imported in ${seconds} s`)
  printTable(
    [
      'recompression',
      'point, ms p50/p99/max (p99 of windows)',
      'page',
      'update',
      'import of a chunk',
      'CPU main / all',
      'segments written, MB',
    ],
    beside.paces.map(({ pace, writtenBytes, cpu, times }) => [
      pace === null ? 'none' : `${pace / MIB} MiB/s`,
      ...['point', 'page', 'update', 'import'].map((name) => ms(times[name])),
      `${cpu.main.toFixed(2)} / ${cpu.all.toFixed(2)}`,
      mb(writtenBytes),
    ]),
  )
  printTable(
    ['hours', 'imported, MB', 'on disk, MB'],
    day.disk.map(({ hours, imported, bytes }) => [hours, mb(imported), mb(bytes)]),
  )
  const perByte = (day.segments / day.imported).toFixed(2)
  console.log(`bytes of segments written for each byte imported: ${perByte}`)
  printTable(
    ['row, B of JSON', 'compression', 'B on disk', 'import, µs per 1,000', 'page of 1,000, µs'],
    lengths.map(({ compression, jsonBytes, diskBytes, importCpu, pageCpu }) => {
      return [jsonBytes, diskBytes, importCpu, pageCpu]
        .map((one) => one.toFixed(0))
        .toSpliced(1, 0, compression)
    }),
  )
}
