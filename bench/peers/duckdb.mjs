// DuckDB, which reads the chunk files itself.
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { columnList, nameList } from './sql.mjs'

const TYPES = {
  text: 'VARCHAR',
  integer: 'INTEGER',
  real: 'DOUBLE',
  boolean: 'BOOLEAN',
  time: 'TIMESTAMP',
  texts: 'VARCHAR[]',
}

export async function openDuckDb(directory, { columns, updated, threads }) {
  const path = join(directory, 'bench.duckdb')
  const instance = await DuckDBInstance.create(path, { threads: String(threads) })
  const db = await instance.connect()
  // No key: rows are ordered by ID, so DuckDB skips what it need not read.
  const definition = `id INTEGER, ${columnList(columns, TYPES)}`
  await db.run(`CREATE TABLE IF NOT EXISTS bench (${definition})`)
  const names = `id, ${nameList(columns)}`
  // DuckDB makes the JSON: twice as fast as JSON.stringify of its rows.
  const page = await db.prepare(
    `SELECT to_json(row)::VARCHAR FROM
     (SELECT ${names} FROM bench WHERE id > $1 AND id <= $1 + 1000 ORDER BY id) row`,
  )
  const point = await db.prepare(
    `SELECT to_json(row)::VARCHAR FROM (SELECT ${names} FROM bench WHERE id = $1) row`,
  )
  const update = await db.prepare(`UPDATE bench SET "${updated}" = $2 WHERE id = $1`)

  const textsOf = async (statement, parameter) => {
    statement.bindInteger(1, parameter)
    return (await statement.runAndReadAll()).getColumns()[0] ?? []
  }

  return {
    ingest: ({ paths }) => ingest(db, columns, paths),
    async page(after = 0) {
      const texts = await textsOf(page, after)
      const next = texts.length === 1_000 ? after + texts.length : undefined
      return { bytes: Buffer.from(`[${texts.join(',')}]`), rows: texts.length, next }
    },
    readAll: () => readAll(db, names),
    point: async (key) => (await textsOf(point, key))[0],
    async update(key, _, value) {
      update.bindInteger(1, key)
      update.bindInteger(2, value)
      await update.run()
    },
    async settings() {
      const reader = await db.runAndReadAll('SELECT version()')
      return { version: reader.getRows()[0][0] }
    },
    close() {
      db.closeSync()
      instance.closeSync()
    },
  }
}

async function ingest(db, columns, paths) {
  const files = `[${paths.map((path) => `'${path}'`).join(', ')}]`
  const types = columns.map(({ id, kind }) => `"${id}": '${TYPES[kind]}'`).join(', ')
  const { rowsChanged } = await db.run(
    `INSERT INTO bench SELECT row_number() OVER (), ${nameList(columns)}
     FROM read_json(${files}, format = 'array', columns = {${types}})`,
  )
  return { rows: rowsChanged, keyOf: (index) => index + 1 }
}

/** One query for the whole table: DuckDB is not made for pages of 1,000 rows. */
async function readAll(db, names) {
  const sql = `SELECT to_json(row)::VARCHAR FROM (SELECT ${names} FROM bench) row`
  const result = await db.stream(sql)
  let rows = 0
  for await (const batch of result.yieldRows()) {
    rows += batch.length
    Buffer.from(batch.join(','))
  }
  return rows
}
