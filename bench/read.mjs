// Micro workloads: single calls on a table of 100,000 rows, in a directory, or in memory where the disk would dominate
// the figure.
import { join } from 'node:path'
import benny from 'benny'
import { MemoryLevel } from 'memory-level'
import { memoryObjects, openLevelKv, openMemory, openStore } from './dist/index.js'
import { openDirectory } from './dist/node.js'
import { DATA_SETS, renderCsv } from './peers/data-sets.mjs'
import { printTable } from './report.mjs'
import { makeChunks } from './workloads.mjs'

const CHUNKS = 100
const ROWS_PER_CHUNK = 1_000
const PAGE_ROWS = 1_000

/** Coprime to the numbers of rows: visits all of them, none near the previous one. */
const STRIDE = 7_919

const COMPRESSIONS = ['none', 'deflate', 'zstd']

/** Nothing runs in the background, so that a figure is the cost of the call. */
const QUIET = {
  maintenance: {
    garbageCollectionIntervalMs: 0,
    compactionIntervalMs: 0,
    fileCollectionIntervalMs: 0,
  },
}

const UNCACHED = { ...QUIET, cacheBytesMax: 0 }

/** @param settings.onSuite is called with the results so far after each suite */
export async function measureRead(directory, { seed, rowBytes, onSuite }) {
  const chunks = makeChunks({ seed, count: 8, rows: ROWS_PER_CHUNK, rowBytes })
  const results = []
  for (const measure of [measureTable, measureUncached, measureScanning, measureFrames]) {
    results.push(...(await measure(join(directory, measure.name), chunks)))
    onSuite(results)
  }
  return results
}

async function runSuite(name, cases) {
  const adds = cases.map(([what, call]) => benny.add(what, call))
  const { results } = await benny.suite(name, ...adds)
  return results.map(({ name, ops, margin, samples }) => ({ name, ops, margin, samples }))
}

/** Puts chunks into a stash and creates a table from them. */
async function fill(store, chunks, count) {
  const team = store.team('bench')
  const stash = team.stash('read')
  for (let serial = 0; serial < count; serial++) {
    await stash.put(String(serial), { json: chunks[serial % chunks.length] })
  }
  const { tableId, rowIds } = await team.createTable({ name: 'read', rows: stash })
  let turn = 0
  const anyRow = () => rowIds.at((turn++ * STRIDE) % rowIds.length)
  return { team, stash, table: team.table(tableId), rowIds, anyRow }
}

async function measureTable(directory, chunks) {
  const store = await openDirectory(directory, QUIET)
  try {
    const { team, stash, table, rowIds, anyRow } = await fill(store, chunks, CHUNKS)
    const [row] = JSON.parse(chunks[0].toString())
    // Changes go to a separate table: their row records would slow the pages of the other one down.
    const { tableId } = await team.createTable({ name: 'changed', rows: stash })
    const changed = team.table(tableId)
    const { rowIds: changedIds } = await changed.addRows([row, row])
    return await runSuite('a table in a directory', [
      [`page of ${PAGE_ROWS} rows, as bytes`, () => table.pageBytes({ limit: PAGE_ROWS })],
      [`page of ${PAGE_ROWS} rows, as objects`, () => table.page({ limit: PAGE_ROWS })],
      ['one row, any, as text', () => table.getJson(anyRow())],
      ['one row, the same one, as text', () => table.getJson(rowIds.at(0))],
      [
        'one cell of one row changed, durably',
        () => changed.updateRow(changedIds.at(0), { visits: 1 }),
      ],
      ['one row added, durably', () => changed.addRows([row])],
      [
        `a table made of ${CHUNKS} chunks, durably`,
        () => team.createTable({ name: 'again', rows: stash }),
      ],
    ])
  } finally {
    await store.close()
  }
}

async function measureUncached(directory, chunks) {
  const store = await openDirectory(directory, UNCACHED)
  try {
    const { table, anyRow } = await fill(store, chunks, CHUNKS)
    return await runSuite('a table in a directory, without a cache', [
      ['one row, any, as text, without a cache', () => table.getJson(anyRow())],
    ])
  } finally {
    await store.close()
  }
}

/** Where nothing is kept or compressed, a put is little more than the scan. */
async function measureScanning(_, chunks) {
  const suite = []
  const [json] = chunks
  const csv = Buffer.from(renderCsv(DATA_SETS.standard.columns, JSON.parse(json.toString())))
  for (const compression of await readable()) {
    const store = await openForgetful({ ...QUIET, compression })
    const stash = store.team('bench').stash('scan')
    const note = compression === 'none' ? '' : `, frames made of ${compression}`
    suite.push([`chunk of ${ROWS_PER_CHUNK} rows of JSON scanned${note}`, put(stash, { json })])
    if (compression === 'none') {
      suite.push([`chunk of ${ROWS_PER_CHUNK} rows of CSV scanned`, put(stash, { csv })])
    }
  }
  return runSuite('scanning', suite)
}

const put = (stash, rows) => () => stash.put('0', rows)

/** A store that counts objects and drops them. */
async function openForgetful(options) {
  const objects = memoryObjects()
  objects.put = async (_, content) => content.length
  const database = new MemoryLevel({ keyEncoding: 'view', valueEncoding: 'view' })
  return openStore({ ...options, kv: await openLevelKv(database), objects })
}

async function measureFrames(_, chunks) {
  const suite = []
  for (const compression of await readable()) {
    const store = await openMemory({ ...UNCACHED, compression })
    const { table, anyRow } = await fill(store, chunks, chunks.length)
    suite.push(
      [`one row, any, in memory, frames of ${compression}`, () => table.getJson(anyRow())],
      [
        `page of ${PAGE_ROWS} rows as bytes, in memory, frames of ${compression}`,
        () => table.pageBytes({ limit: PAGE_ROWS }),
      ],
    )
  }
  return runSuite('frames', suite)
}

/** The compressions that this runtime supports. */
async function readable() {
  const found = []
  for (const compression of COMPRESSIONS) {
    try {
      await (await openMemory({ ...QUIET, compression })).close()
      found.push(compression)
    } catch (failure) {
      if (failure.code !== 'OPTION_NOT_ALLOWED') throw failure
      console.log(`not measured: ${failure.message}`)
    }
  }
  return found
}

export function printRead(results) {
  printTable(
    ['what', 'a second', 'ms each', 'margin'],
    results.map(({ name, ops, margin }) => [name, ops, (1000 / ops).toFixed(3), `${margin} %`]),
  )
}
