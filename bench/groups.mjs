// Groups of rows without an index: counts, sums and maxima in one scan; and peers.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openDirectory } from './dist/node.js'
import { buildSqlite, installPeers } from './install-peers.mjs'
import { judge, median, printTable } from './report.mjs'
import { makeChunks } from './workloads.mjs'

const CHUNK_ROWS = 50_000
const REPEATS = 5

/** The groups: for rowstash, and for SQL. */
const QUERIES = [
  ['city', { by: ['city'] }, 'count(*) FROM bench GROUP BY city'],
  [
    'city, sum, greatest',
    { by: ['city'], sum: ['visits'], greatest: ['price'] },
    'count(*), sum(visits), max(price) FROM bench GROUP BY city',
  ],
  ['day', { by: ['day'] }, 'count(*) FROM bench GROUP BY day'],
].map(([name, request, sql]) => ({
  name,
  request: { ...request, limit: 10_000 },
  sql: `SELECT ${sql}`,
}))

export async function measureGroups(directory, { rows, seed }) {
  installPeers()
  buildSqlite()
  mkdirSync(directory, { recursive: true })
  const chunks = Array.from({ length: Math.ceil(rows / CHUNK_ROWS) }, (_, serial) => () => {
    const [json] = makeChunks({ seed: seed + serial, count: 1, rows: CHUNK_ROWS })
    return JSON.parse(json).map((row) => ({ ...row, day: row.created.slice(0, 10) }))
  })
  const opened = []
  for (const open of [openRowstash, openSqlite, openDuckDb]) {
    opened.push(await open(directory, chunks))
  }
  const engines = opened.map(({ name }) => ({ name, runs: QUERIES.map(() => []) }))
  // Queries alternate, so that other load of the machine affects all of them.
  for (const [at, query] of QUERIES.entries()) {
    for (let repeat = 0; repeat < REPEATS; repeat++) {
      for (const [index, { read }] of opened.entries()) {
        engines[index].runs[at].push(await timed(() => read(query)))
      }
    }
  }
  for (const { close } of opened) await close()
  return { rows: chunks.length * CHUNK_ROWS, queries: QUERIES.map(({ name }) => name), engines }
}

async function timed(read) {
  const [cpu, begun] = [process.cpuUsage(), performance.now()]
  const counts = await read()
  const ms = performance.now() - begun
  const { user, system } = process.cpuUsage(cpu)
  return { ms, cpuMs: (user + system) / 1_000, counts: counts.sort((one, other) => other - one) }
}

async function openRowstash(directory, chunks) {
  const store = await openDirectory(join(directory, 'store'))
  const team = store.team('t')
  const stash = team.stash('s')
  for (const [serial, make] of chunks.entries()) {
    await stash.put(serial, { json: Buffer.from(JSON.stringify(make())) })
  }
  const { tableId } = await team.createTable({ name: 't', rows: stash })
  const table = team.table(tableId)
  const read = async ({ request }) => (await table.groups(request)).map(({ count }) => count)
  return { name: 'rowstash', read, close: () => store.close() }
}

async function openSqlite(directory, chunks) {
  const { default: Database } = await import('better-sqlite3')
  const db = new Database(join(directory, 'groups.db'))
  db.pragma('journal_mode = WAL')
  const [first] = chunks[0]()
  const ids = Object.keys(first)
  const typeOf = (id) => (typeof first[id] === 'number' ? 'REAL' : 'TEXT')
  db.exec(`CREATE TABLE bench (${ids.map((id) => `${id} ${typeOf(id)}`).join(', ')})`)
  const insert = db.prepare(`INSERT INTO bench VALUES (${ids.map(() => '?').join(', ')})`)
  const toCell = (value) => {
    if (typeof value === 'boolean') return Number(value)
    return typeof value === 'object' ? JSON.stringify(value) : value
  }
  db.transaction(() => {
    for (const make of chunks) {
      for (const row of make()) insert.run(Object.values(row).map(toCell))
    }
  })()
  const read = ({ sql }) =>
    db
      .prepare(sql)
      .all()
      .map((row) => row['count(*)'])
  return { name: 'better-sqlite3', read, close: () => db.close() }
}

async function openDuckDb(directory, chunks) {
  const { DuckDBInstance } = await import('@duckdb/node-api')
  const instance = await DuckDBInstance.create(join(directory, 'groups.duckdb'))
  const db = await instance.connect()
  for (const [serial, make] of chunks.entries()) {
    const path = join(directory, `chunk-${serial}.json`)
    writeFileSync(path, JSON.stringify(make()))
  }
  const files = `read_json('${join(directory, 'chunk-*.json')}', format = 'array')`
  await db.run(`CREATE TABLE bench AS SELECT * FROM ${files}`)
  const read = async ({ sql }) => {
    const [counts] = (await db.runAndReadAll(sql)).getColumns()
    return counts.map(Number)
  }
  const close = () => {
    db.closeSync()
    instance.closeSync()
  }
  return { name: 'DuckDB', read, close }
}

const medianOf = (runs, figure) => median(runs.map((run) => run[figure]))

export function printGroups({ rows, queries, engines }) {
  console.log(`\n${rows} rows; milliseconds, and those of CPU`)
  const shown = (runs) =>
    `${medianOf(runs, 'ms').toFixed(0)}, ${medianOf(runs, 'cpuMs').toFixed(0)}`
  printTable(
    ['', ...queries],
    engines.map(({ name, runs }) => [name, ...runs.map(shown)]),
  )
}

/** Groups take at most two thirds of SQLite's CPU; every engine has the same counts. */
export function groupsRules({ queries, engines }) {
  const [ours, sqlite] = engines
  const rules = queries.map((query, at) => {
    const ratio = medianOf(ours.runs[at], 'cpuMs') / medianOf(sqlite.runs[at], 'cpuMs')
    return judge(`${query}: CPU, of SQLite`, 100 * ratio, 67, '%')
  })
  const countsOf = (engine, at) => JSON.stringify(engine.runs[at][0].counts)
  const differing = queries.filter((_, at) => {
    return engines.some((engine) => countsOf(engine, at) !== countsOf(ours, at))
  })
  rules.push(judge('queries of which the engines have other counts', differing.length, 0, ''))
  return rules
}
