// Rows in an order without an index: the first rows, and later pages; and peers.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openDirectory } from './dist/node.js'
import { buildSqlite, installPeers } from './install-peers.mjs'
import { judge, median, printTable } from './report.mjs'
import { makeChunks } from './workloads.mjs'

const CHUNK_ROWS = 50_000
const PAGE_ROWS = 100
const REPEATS = 5
const SAMPLE_MS = 10

const COLUMNS = ['price', 'name', 'created']

/** The orders: for rowstash, and for SQL, where rows with equal values may come in another order. */
const QUERIES = [
  ['price', [{ column: 'price', descending: true }], 'price DESC'],
  ['name, price', [{ column: 'name' }, { column: 'price' }], 'name, price'],
  ['created', [{ column: 'created', descending: true }], 'created DESC'],
].map(([name, orderBy, sql]) => ({ name, orderBy, sql }))

export async function measureOrder(directory, { rows, seed }) {
  installPeers()
  buildSqlite()
  mkdirSync(directory, { recursive: true })
  const chunks = Math.ceil(rows / CHUNK_ROWS)
  const paths = Array.from({ length: chunks }, (_, serial) => {
    const path = join(directory, `chunk-${serial}.json`)
    writeFileSync(path, makeChunks({ seed: seed + serial, count: 1, rows: CHUNK_ROWS })[0])
    return path
  })
  const depth = Math.floor((chunks * CHUNK_ROWS) / 2)
  const engines = [await measureRowstash(join(directory, 'store'), paths, depth)]
  for (const measure of [measureSqlite, measureDuckDb]) {
    engines.push(await measure(directory, paths, depth))
  }
  return { rows: chunks * CHUNK_ROWS, queries: QUERIES.map(({ name }) => name), engines }
}

async function measureRowstash(directory, paths, depth) {
  const store = await openDirectory(directory)
  const team = store.team('t')
  const stash = team.stash('s')
  for (const [serial, path] of paths.entries())
    await stash.put(serial, { json: readFileSync(path) })
  const { tableId } = await team.createTable({ name: 't', rows: stash })
  const table = team.table(tableId)
  let renamed = 0
  /** A sorted list belongs to a version: a new version has none. */
  const page = async ({ orderBy }, from, isNew) => {
    if (isNew) await table.rename(`t${renamed++}`)
    return timed(async () => (await table.page({ orderBy, from, limit: PAGE_ROWS })).rows)
  }
  const { stop, peak } = sampledMemory()
  const runs = []
  for (const query of QUERIES) {
    const top = await repeated(() => page(query, 0, true))
    const list = await page(query, depth, true)
    let from = depth
    const deep = await repeated(() => {
      from += PAGE_ROWS
      return page(query, from, false)
    })
    runs.push({ top, list, deep })
  }
  stop()
  const listBytes = store.memory().caches.find(({ name }) => name === 'sorted').bytes
  await store.close()
  return { name: 'rowstash', runs, peakMb: peak() / 1e6, listMb: listBytes / 1e6 }
}

async function timed(read) {
  const begun = performance.now()
  const rows = await read()
  const ms = performance.now() - begun
  if (rows.length !== PAGE_ROWS) throw new Error(`A page has ${rows.length} rows`)
  return { ms, values: rows.map((row) => COLUMNS.map((column) => row[column])) }
}

/** The median time, and the last values. */
async function repeated(read) {
  const all = []
  for (let repeat = 0; repeat < REPEATS; repeat++) all.push(await read())
  return { ms: median(all.map(({ ms }) => ms)), values: all.at(-1).values }
}

/** Samples resident memory above that at the beginning. */
function sampledMemory() {
  globalThis.gc?.()
  const begun = process.memoryUsage.rss()
  let most = begun
  const sample = () => {
    most = Math.max(most, process.memoryUsage.rss())
  }
  const timer = setInterval(sample, SAMPLE_MS)
  return { stop: () => clearInterval(timer), peak: () => most - begun }
}

/** @param read - Returns the rows of a SQL query. */
async function measureSql(name, read, depth) {
  const runs = []
  for (const { sql } of QUERIES) {
    const page = (from) => timed(() => read(`ORDER BY ${sql} LIMIT ${PAGE_ROWS} OFFSET ${from}`))
    const top = await repeated(() => page(0))
    const deep = await page(depth) // Once: SQLite sorts for seconds.
    runs.push({ top, list: deep, deep })
  }
  return { name, runs }
}

async function measureSqlite(directory, paths, depth) {
  const { default: Database } = await import('better-sqlite3')
  const db = new Database(join(directory, 'order.db'))
  db.pragma('journal_mode = WAL')
  db.exec(
    'CREATE TABLE bench (id INTEGER PRIMARY KEY, price REAL, name TEXT, created TEXT, row TEXT)',
  )
  const insert = db.prepare('INSERT INTO bench VALUES (NULL, ?, ?, ?, ?)')
  db.transaction(() => {
    for (const path of paths) {
      for (const row of JSON.parse(readFileSync(path, 'utf8'))) {
        insert.run(row.price, row.name, row.created, JSON.stringify(row))
      }
    }
  })()
  const read = (sql) => {
    const rows = db.prepare(`SELECT row FROM bench ${sql}`).pluck().all()
    return rows.map((row) => JSON.parse(row))
  }
  const measured = await measureSql('better-sqlite3', read, depth)
  db.close()
  return measured
}

async function measureDuckDb(directory, paths, depth) {
  const { DuckDBInstance } = await import('@duckdb/node-api')
  const instance = await DuckDBInstance.create(join(directory, 'order.duckdb'))
  const db = await instance.connect()
  const files = `[${paths.map((path) => `'${path}'`).join(', ')}]`
  await db.run(`CREATE TABLE bench AS SELECT * FROM read_json(${files}, format = 'array')`)
  const read = async (sql) => {
    const text = `SELECT to_json(row)::VARCHAR FROM (SELECT * FROM bench ${sql}) row`
    const [texts = []] = (await db.runAndReadAll(text)).getColumns()
    return texts.map((json) => JSON.parse(json))
  }
  const measured = await measureSql('DuckDB', read, depth)
  db.closeSync()
  instance.closeSync()
  return measured
}

export function printOrder({ rows, queries, engines }) {
  console.log(
    `\n${rows} rows; milliseconds: the first ${PAGE_ROWS}, a page at ${rows / 2}, the pages behind it`,
  )
  const shown = ({ top, list, deep }) => [top, list, deep].map(({ ms }) => ms.toFixed(1)).join(', ')
  printTable(
    ['', ...queries],
    engines.map(({ name, runs }) => [name, ...runs.map(shown)]),
  )
  const [{ peakMb, listMb }] = engines
  console.log(
    `rowstash: ${peakMb.toFixed(0)} MB above idle at most; ${listMb.toFixed(1)} MB of lists`,
  )
}

/**
 * The first rows come soon, and sooner than from SQLite; later pages come at once; every engine returns the same
 * values.
 */
export function orderRules({ queries, engines }) {
  const [ours, sqlite] = engines
  const rules = queries.flatMap((query, at) => {
    const { top, deep } = ours.runs[at]
    const ratio = top.ms / sqlite.runs[at].top.ms
    return [
      judge(`${query}: the first ${PAGE_ROWS}`, top.ms, 600, 'ms'),
      judge(`${query}: the first ${PAGE_ROWS}, of SQLite`, 100 * ratio, 67, '%'),
      judge(`${query}: a page behind, once sorted`, deep.ms, 20, 'ms'),
    ]
  })
  const differing = queries.filter((_, at) => {
    const [first] = ours.runs[at].top.values
    return JSON.stringify(first) !== JSON.stringify(sqlite.runs[at].top.values[0])
  })
  rules.push(judge('orders of which SQLite has another first row', differing.length, 0, ''))
  return rules
}
