// Finding rows by a condition: rowstash with and without value filters, a scan with a filter in JavaScript, and peers.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openDirectory } from './dist/node.js'
import { buildSqlite, installPeers } from './install-peers.mjs'
import { judge, median, printTable } from './report.mjs'
import { makeChunks } from './workloads.mjs'

const CHUNK_ROWS = 50_000

/** Rows per value of the column `batch`. */
const BATCH_ROWS = 1_000

const REPEATS = 5

/** Look-ups by key of each kind, and the number of keys that are looked up repeatedly. */
const LOOKUPS = 20_000
const HOT_KEYS = 1_000

/** Coprime to every measured number of rows: steps of it give keys that do not repeat. */
const KEY_STEP = 7_368_787

/** The rows of README.md, each with a key, a batch and a number. Batch and number ascend with the rows. */
function chunkOf(seed, serial, rows) {
  const [text] = makeChunks({ seed: seed + serial, count: 1, rows })
  const made = JSON.parse(text.toString()).map((row, index) => {
    const number = serial * CHUNK_ROWS + index
    return { ...row, key: keyOf(number), batch: `b${number % BATCH_ROWS}`, number }
  })
  return Buffer.from(JSON.stringify(made))
}

function keyOf(number) {
  return `k${((number * 7_919) % 9_999_991).toString(36)}-${number}`
}

/** The conditions: for rowstash, for a filter in JavaScript, and for SQL. */
function queriesOf(rows) {
  const number = Math.floor(rows * 0.617)
  const key = keyOf(number)
  const [low, high] = [Math.floor(rows * 0.4), Math.floor(rows * 0.4) + 5_000]
  return [
    equality('equality, 1 row', 'key', key),
    equality(`equality, ${Math.ceil(rows / BATCH_ROWS)} rows`, 'batch', 'b7'),
    equality('equality, no row', 'key', 'k-none'),
    {
      name: 'range, 5,000 rows',
      where: { number: { gte: low, lt: high } },
      filter: (row) => row.number >= low && row.number < high,
      sql: `number >= ${low} AND number < ${high}`,
    },
    {
      name: 'range of prices',
      where: { price: { gt: 995 } },
      filter: (row) => row.price > 995,
      sql: 'price > 995',
    },
    {
      name: 'substring',
      where: { notes: { contains: 'zephyr quartz river' } },
      filter: (row) => row.notes.includes('zephyr quartz river'),
      sql: "notes LIKE '%zephyr quartz river%'",
    },
  ]
}

function equality(name, column, value) {
  return {
    name,
    where: { [column]: value },
    filter: (row) => row[column] === value,
    sql: `${column} = '${value}'`,
  }
}

export async function measureFind(directory, { rows, seed }) {
  installPeers()
  buildSqlite()
  mkdirSync(directory, { recursive: true })
  const chunks = Math.ceil(rows / CHUNK_ROWS)
  const count = chunks * CHUNK_ROWS
  const paths = Array.from({ length: chunks }, (_, serial) => {
    const path = join(directory, `chunk-${serial}.json`)
    writeFileSync(path, chunkOf(seed, serial, CHUNK_ROWS))
    return path
  })
  const queries = queriesOf(count)
  const engines = []
  const keys = [await measureKeys(join(directory, 'store-keys'), paths, count)]
  for (const valueFilters of [false, true, ['key']]) {
    engines.push(
      ...(await measureRowstash(
        join(directory, `store-${valueFilters}`),
        paths,
        queries,
        valueFilters,
      )),
    )
  }
  const sqlite = await measureSqlite(directory, paths, queries, count)
  engines.push(...sqlite.engines)
  keys.push(sqlite.keys)
  engines.push(await measureDuckDb(directory, paths, queries))
  return { rows: count, queries: queries.map(({ name }) => name), engines, keys }
}

async function measureRowstash(directory, paths, queries, valueFilters) {
  const store = await openDirectory(directory, { valueFilters })
  const { readFileSync } = await import('node:fs')
  const texts = paths.map((path) => readFileSync(path))
  const before = process.cpuUsage()
  const stash = store.team('t').stash('s')
  for (const [serial, json] of texts.entries()) await stash.put(serial, { json })
  const { user, system } = process.cpuUsage(before)
  const made = await store.team('t').createTable({ name: 't', rows: stash })
  const table = store.team('t').table(made.tableId)
  const found = async ({ where }) => {
    let rows = 0
    for await (const _ of table.find(where)) rows++
    return rows
  }
  const read = () => {
    const { segmentBytesRead: bytes, segmentsSkipped: skipped } = store.activity()
    return { bytes, skipped }
  }
  const ofSome = Array.isArray(valueFilters) ? ` of ${valueFilters}` : ''
  const name = `rowstash${valueFilters ? `, valueFilters${ofSome}` : ''}`
  const putCpuMs = (user + system) / 1_000
  const results = [{ name, putCpuMs, runs: await measured(queries, found, read) }]
  if (!valueFilters) {
    const filtered = async ({ filter }) => {
      let rows = 0
      for await (const row of table.scan()) if (filter(row)) rows++
      return rows
    }
    results.push({
      name: 'rowstash, scan and filter',
      runs: await measured(queries, filtered, read, 1),
    })
  }
  await store.close()
  return results
}

/** A table with a key: reads of rows by it, and its cost when the table is created and when as many rows are added. */
async function measureKeys(directory, paths, rows) {
  const store = await openDirectory(directory)
  const { readFileSync } = await import('node:fs')
  const team = store.team('t')
  const half = Math.ceil(paths.length / 2)
  const parts = [paths.slice(0, half), paths.slice(half)]
  const stashes = []
  for (const [name, part] of parts.entries()) {
    const stash = team.stash(String(name))
    for (const [serial, path] of part.entries())
      await stash.put(serial, { json: readFileSync(path) })
    stashes.push(stash)
  }
  const [first, second] = stashes
  const created = await cpuMsOf(() => team.createTable({ name: 't', rows: first, key: ['key'] }))
  const table = team.table(created.value.tableId)
  const added = await cpuMsOf(() => table.addRows(second))
  const get = async (key) => (await table.get({ key })).row.key
  const lookups = await measureLookups(get, rows)
  await store.close()
  const perRow = (ms, count) => (ms * 1_000) / Math.max(1, count)
  return {
    name: 'rowstash',
    ...lookups,
    createUs: perRow(created.ms, half * CHUNK_ROWS),
    addUs: perRow(added.ms, rows - half * CHUNK_ROWS),
  }
}

async function cpuMsOf(call) {
  const before = process.cpuUsage()
  const value = await call()
  const { user, system } = process.cpuUsage(before)
  return { value, ms: (user + system) / 1_000 }
}

/** Microseconds of CPU per look-up: of repeated keys, and of keys that do not repeat. */
async function measureLookups(get, rows) {
  const kinds = {
    hotUs: (at) => keyOf((at % Math.min(rows, HOT_KEYS)) * Math.floor(rows / HOT_KEYS)),
    coldUs: (at) => keyOf((at * KEY_STEP) % rows),
  }
  const found = {}
  for (const [name, keyAt] of Object.entries(kinds)) {
    const times = []
    for (let repeat = 0; repeat < REPEATS; repeat++) {
      const { ms } = await cpuMsOf(async () => {
        for (let at = repeat * LOOKUPS; at < (repeat + 1) * LOOKUPS; at++) {
          const key = keyAt(at)
          if ((await get(key)) !== key) throw new Error(`The key ${key} led to another row`)
        }
      })
      times.push((ms * 1_000) / LOOKUPS)
    }
    found[name] = median(times)
  }
  return found
}

/** Time and rows of each query, the bytes of segments read, and the segments skipped. */
async function measured(queries, run, read = () => ({}), repeats = REPEATS) {
  const runs = []
  for (const query of queries) {
    const times = []
    let rows = 0
    let [bytes, skipped] = [0, 0]
    for (let repeat = 0; repeat < repeats; repeat++) {
      const before = read()
      const begun = performance.now()
      rows = await run(query)
      times.push(performance.now() - begun)
      const after = read()
      bytes = after.bytes - before.bytes
      skipped = after.skipped - before.skipped
    }
    runs.push({ query: query.name, ms: median(times), rows, bytes, skipped })
  }
  return runs
}

async function measureSqlite(directory, paths, queries, count) {
  const { default: Database } = await import('better-sqlite3')
  const { readFileSync } = await import('node:fs')
  const db = new Database(join(directory, 'find.db'))
  db.pragma('journal_mode = WAL')
  db.exec(
    'CREATE TABLE bench (id INTEGER PRIMARY KEY, key TEXT, batch TEXT, number INTEGER, price REAL, notes TEXT, row TEXT)',
  )
  const insert = db.prepare('INSERT INTO bench VALUES (NULL, ?, ?, ?, ?, ?, ?)')
  db.transaction(() => {
    for (const path of paths) {
      for (const row of JSON.parse(readFileSync(path, 'utf8'))) {
        insert.run(row.key, row.batch, row.number, row.price, row.notes, JSON.stringify(row))
      }
    }
  })()
  const found = ({ sql }) => {
    let rows = 0
    for (const { row } of db.prepare(`SELECT row FROM bench WHERE ${sql}`).all()) {
      JSON.parse(row)
      rows++
    }
    return rows
  }
  const results = [{ name: 'better-sqlite3', runs: await measured(queries, found) }]
  for (const column of ['key', 'batch', 'number', 'price']) {
    db.exec(`CREATE INDEX bench_${column} ON bench (${column})`)
  }
  results.push({ name: 'better-sqlite3, indexes', runs: await measured(queries, found) })
  const byKey = db.prepare('SELECT row FROM bench WHERE key = ?').pluck()
  const lookups = await measureLookups((key) => JSON.parse(byKey.get(key)).key, count)
  db.close()
  return { engines: results, keys: { name: 'better-sqlite3, index', ...lookups } }
}

async function measureDuckDb(directory, paths, queries) {
  const { DuckDBInstance } = await import('@duckdb/node-api')
  const instance = await DuckDBInstance.create(join(directory, 'find.duckdb'))
  const db = await instance.connect()
  const files = `[${paths.map((path) => `'${path}'`).join(', ')}]`
  await db.run(`CREATE TABLE bench AS SELECT * FROM read_json(${files}, format = 'array')`)
  const found = async ({ sql }) => {
    const text = `SELECT to_json(row)::VARCHAR FROM (SELECT * FROM bench WHERE ${sql}) row`
    const [texts = []] = (await db.runAndReadAll(text)).getColumns()
    for (const json of texts) JSON.parse(json)
    return texts.length
  }
  const runs = await measured(queries, found)
  db.closeSync()
  instance.closeSync()
  return { name: 'DuckDB', runs }
}

export function printFind({ rows, queries, engines, keys }) {
  console.log(
    `\n${rows} rows; milliseconds (rows found, megabytes of segments read, segments skipped)`,
  )
  const shown = ({ ms, rows: found, bytes, skipped }) => {
    const isOurs = !Number.isNaN(bytes)
    return `${ms.toFixed(1)} (${found}${isOurs ? `, ${(bytes / 1e6).toFixed(1)} MB, ${skipped}` : ''})`
  }
  printTable(
    ['', ...queries],
    engines.map(({ name, runs }) => [name, ...runs.map(shown)]),
  )
  console.log('\nRows by their key; microseconds of CPU')
  printTable(
    [
      '',
      `${HOT_KEYS} keys again and again`,
      'keys that do not repeat',
      'create, a row',
      'add, a row',
    ],
    keys.map(({ name, ...us }) => {
      const shown = ['hotUs', 'coldUs', 'createUs', 'addUs'].map((of) => us[of]?.toFixed(1) ?? '')
      return [name, ...shown]
    }),
  )
  for (const { name, putCpuMs } of engines) {
    if (putCpuMs !== undefined) console.log(`${name}: PUT took ${putCpuMs.toFixed(0)} ms of CPU`)
  }
}

/**
 * At least five times as fast as a scan with a filter; every engine finds the same rows; a key is about as fast as an
 * index.
 */
export function findRules({ engines, queries, keys: [ours, sqlite] }) {
  const [plain, scan] = engines
  const rules = queries.map((query, at) => {
    const ratio = plain.runs[at].ms / scan.runs[at].ms
    return judge(`${query}: time, of a scan with a filter`, 100 * ratio, 20, '%')
  })
  const differing = queries.filter((_, at) => {
    return new Set(engines.map(({ runs }) => runs[at].rows)).size > 1
  })
  rules.push(judge('queries of which engines found other rows', differing.length, 0, ''))
  for (const [what, of] of [
    ['the same keys', 'hotUs'],
    ['other keys each time', 'coldUs'],
  ]) {
    rules.push(judge(`look-up by key, ${what}, of SQLite's index`, ours[of] / sqlite[of], 3, 'x'))
  }
  for (const which of ['valueFilters', 'valueFilters of key']) {
    const filtered = engines.find(({ name }) => name === `rowstash, ${which}`)
    const slowed = 100 * (filtered.putCpuMs / plain.putCpuMs - 1)
    rules.push(judge(`PUT with ${which}: more CPU`, slowed, 8, '%'))
  }
  return rules
}
