// One merge of one engine, in a separate process. Its settings are one JSON argument, and it sends its measurements to
// its parent in a message.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DATA_SETS } from './peers/data-sets.mjs'
import { columnList, nameList } from './peers/sql.mjs'
import { peakBytes, residentBytes } from './server-process.mjs'

const PUTS_AT_ONCE = 8
const MEGABYTE = 1e6

const settings = JSON.parse(process.argv[2])
const { directory, rows } = settings
const columns = [{ id: 'key', kind: 'text' }, ...DATA_SETS.standard.columns]

const filesOf = (folder) => {
  const names = readdirSync(folder).sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10))
  return names.map((name) => join(folder, name))
}

const ENGINES = {
  rowstash: () => openRowstash(false),
  rowstashOverwrite: () => openRowstash(true),
  sqlite: () => openSqlite({}),
  sqliteChanged: () => openSqlite({ onlyChanged: true }),
  sqliteRows: () => openSqlite({ rowByRow: true }),
  sqliteRowsChanged: () => openSqlite({ rowByRow: true, onlyChanged: true }),
  duckdb: () => openDuckDb(false),
  duckdbChanged: () => openDuckDb(true),
}

async function openRowstash(overwrites) {
  const { openDirectory } = await import('./dist/node.js')
  const store = await openDirectory(directory)
  const team = store.team('bench')
  const stage = async (name, files) => {
    let next = 0
    const putInTurn = async () => {
      while (next < files.length) {
        const serial = next++
        await team.stash(name).put(String(serial), { json: readFileSync(files[serial]) })
      }
    }
    await Promise.all(Array.from({ length: PUTS_AT_ONCE }, putInTurn))
    return team.stash(name)
  }
  let table
  return {
    async fill(files) {
      const { tableId } = await team.createTable({
        name: 'bench',
        rows: await stage('table', files),
      })
      table = team.table(tableId)
    },
    stage: (files) => stage('input', files),
    async merge(input, files) {
      if (overwrites) return overwrite(team, table, files)
      const { added, changed, unchanged } = await table.merge({ rows: input, key: ['key'] })
      return { added, changed, unchanged }
    },
    async changed() {
      let count = 0
      for await (const { visits } of table.scan()) if (visits === 100_001) count++
      return count
    },
    close: () => store.close(),
  }
}

/** The way of clients before merges existed: the whole table passes through the program. */
async function overwrite(team, table, files) {
  const byKey = new Map()
  for (const file of files)
    for (const row of JSON.parse(readFileSync(file))) byKey.set(row.key, row)
  let serial = 0
  let some = []
  const put = async () => {
    await team.stash('changed').put(serial++, some)
    some = []
  }
  for await (const row of table.scan()) {
    some.push({ ...row, ...byKey.get(row.key) })
    if (some.length === 1_000) await put()
  }
  if (some.length > 0) await put()
  await table.overwrite({ rows: team.stash('changed') })
  return {}
}

/**
 * @param options.rowByRow - The rows of the input go straight into the table, without staging.
 * @param options.onlyChanged - Unchanged rows are not written again.
 */
async function openSqlite({ rowByRow = false, onlyChanged = false }) {
  const { default: Database } = await import('better-sqlite3')
  const db = new Database(join(directory, 'bench.db'))
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  db.pragma('cache_size = -131072') // the memory of a merge
  const types = {
    text: 'TEXT',
    integer: 'INTEGER',
    real: 'REAL',
    boolean: 'INTEGER',
    time: 'TEXT',
    texts: 'TEXT',
  }
  const list = columnList(columns, types)
  const names = nameList(columns)
  const upsert = upsertOf(onlyChanged && 'IS NOT')
  db.exec(`CREATE TABLE bench (id INTEGER PRIMARY KEY, ${list})`)
  db.exec('CREATE UNIQUE INDEX bench_key ON bench ("key")')
  db.exec(`CREATE TABLE staged (${list})`)
  const fillTable = (table, conflict = '') => {
    const insert = db.prepare(
      `INSERT INTO ${table} (${names}) VALUES (${columns.map(() => '?').join(', ')}) ${conflict}`,
    )
    return db.transaction((files) => {
      for (const file of files) {
        for (const row of JSON.parse(readFileSync(file)))
          insert.run(columns.map(({ id }) => bound(row[id])))
      }
    })
  }
  return {
    fill: (files) => fillTable('bench')(files),
    stage: (files) => (rowByRow ? undefined : fillTable('staged')(files)),
    merge(_, files) {
      if (rowByRow) {
        fillTable('bench', upsert)(files)
        return {}
      }
      db.exec(`INSERT INTO bench (${names}) SELECT ${names} FROM staged WHERE true ${upsert}`)
      return {}
    },
    changed: () => db.prepare('SELECT count(*) FROM bench WHERE visits = 100001').pluck().get(),
    close: () => db.close(),
  }
}

/** @param differs - The operator that tests whether rows differ; without it every row is written. */
function upsertOf(differs) {
  const [, ...others] = columns.map(({ id }) => `"${id}"`)
  const rowOf = (name) => `(${others.map((id) => `${name}.${id}`).join(', ')})`
  const set = others.map((id) => `${id} = excluded.${id}`).join(', ')
  const where = differs ? ` WHERE ${rowOf('bench')} ${differs} ${rowOf('excluded')}` : ''
  return `ON CONFLICT ("key") DO UPDATE SET ${set}${where}`
}

function bound(value) {
  if (typeof value === 'boolean') return value ? 1 : 0
  return typeof value === 'object' ? JSON.stringify(value) : value
}

async function openDuckDb(onlyChanged) {
  const { DuckDBInstance } = await import('@duckdb/node-api')
  const instance = await DuckDBInstance.create(join(directory, 'bench.duckdb'))
  const db = await instance.connect()
  const types = {
    text: 'VARCHAR',
    integer: 'INTEGER',
    real: 'DOUBLE',
    boolean: 'BOOLEAN',
    time: 'TIMESTAMP',
    texts: 'VARCHAR[]',
  }
  const names = nameList(columns)
  const upsert = upsertOf(onlyChanged && 'IS DISTINCT FROM')
  const list = columnList(columns, types)
  await db.run(`CREATE TABLE bench (${list}, UNIQUE ("key"))`)
  await db.run(`CREATE TABLE staged (${list})`)
  const kinds = columns.map(({ id, kind }) => `"${id}": '${types[kind]}'`).join(', ')
  const fill = (table, files) => {
    const paths = `[${files.map((path) => `'${path}'`).join(', ')}]`
    return db.run(
      `INSERT INTO ${table} SELECT ${names} FROM read_json(${paths}, format = 'array', columns = {${kinds}})`,
    )
  }
  return {
    fill: (files) => fill('bench', files),
    stage: (files) => fill('staged', files),
    async merge() {
      await db.run(`INSERT INTO bench SELECT ${names} FROM staged ${upsert}`)
      await db.run('CHECKPOINT')
      return {}
    },
    async changed() {
      const reader = await db.runAndReadAll('SELECT count(*) FROM bench WHERE visits = 100001')
      return Number(reader.getRows()[0][0])
    },
    close() {
      db.closeSync()
      instance.closeSync()
    },
  }
}

/** Linux: resets the peak of resident memory. */
function forgetPeak() {
  try {
    writeFileSync('/proc/self/clear_refs', '5')
  } catch {
    // Elsewhere the peak counts from the start of the process.
  }
}

async function run() {
  const [table, input] = [filesOf(settings.table), filesOf(settings.input)]
  const first = await ENGINES[settings.engine]()
  await first.fill(table)
  const stageStart = performance.now()
  const staged = await first.stage(input)
  const stageSeconds = (performance.now() - stageStart) / 1_000
  globalThis.gc?.()
  const idleMegabytes = residentBytes(process.pid) / MEGABYTE
  forgetPeak()
  const mergeStart = performance.now()
  const counts = await first.merge(staged, input)
  const mergeSeconds = (performance.now() - mergeStart) / 1_000
  const peakMegabytes = peakBytes(process.pid) / MEGABYTE
  const expected = Math.ceil(rows / 100)
  const changed = await first.changed()
  if (changed !== expected) throw new Error(`${changed} rows were changed, not ${expected}`)
  await first.close()
  return { stageSeconds, mergeSeconds, idleMegabytes, peakMegabytes, counts }
}

try {
  process.send({ measured: await run() })
} catch (failure) {
  const isMissing = failure.code === 'ERR_MODULE_NOT_FOUND' || failure.code === 'MODULE_NOT_FOUND'
  process.send(isMissing ? { leftOut: failure.message.split('\n')[0] } : { failed: failure.stack })
}
process.disconnect()
