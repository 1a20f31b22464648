// SQLite, through better-sqlite3 or node:sqlite, with a typed column for each column, or with the row's JSON text in
// one column.
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { columnList, nameList } from './sql.mjs'

const TYPES = {
  text: 'TEXT',
  integer: 'INTEGER',
  real: 'REAL',
  boolean: 'INTEGER',
  time: 'TEXT',
  texts: 'TEXT',
}

const PAGE = 'FROM bench WHERE id > ? ORDER BY id LIMIT 1000'

/** As much memory for pages as rowstash has for frames. */
const CACHE_KIB = 16 * 1024

/** better-sqlite3 12.11 ends the process on Node 24 if a statement is collected as garbage, so all are kept. */
const kept = []

const DRIVERS = {
  async betterSqlite(path) {
    const { default: Database } = await import('better-sqlite3')
    const db = new Database(path)
    const prepare = db.prepare.bind(db)
    db.prepare = (sql) => {
      const statement = prepare(sql)
      kept.push(db, statement)
      return statement
    }
    return db
  },
  /** The calls of better-sqlite3 that this file uses, on node:sqlite. */
  async nodeSqlite(path) {
    const { DatabaseSync } = await import('node:sqlite')
    const db = new DatabaseSync(path)
    const prepare = (sql) => {
      const statement = db.prepare(sql)
      const pluck = () => {
        statement.setReturnArrays(true)
        return {
          get: (...values) => statement.get(...values)[0],
          all: (...values) => statement.all(...values).map(([value]) => value),
        }
      }
      return {
        run: (...values) => statement.run(...values),
        get: (value) => statement.get(value),
        all: (value) => statement.all(value),
        pluck,
      }
    }
    return { prepare, exec: (sql) => db.exec(sql), close: () => db.close() }
  },
}

async function openDatabase(directory, { driver = 'betterSqlite', synchronous }) {
  const db = await DRIVERS[driver](join(directory, 'bench.db'))
  db.exec('PRAGMA journal_mode = WAL')
  db.exec(`PRAGMA synchronous = ${synchronous}`)
  db.exec(`PRAGMA cache_size = -${CACHE_KIB}`)
  return db
}

/** Inserts all chunks in one transaction. @param takesTurns - Yields to the event loop after each chunk. */
async function ingestAll(db, { count, text }, takesTurns, insertChunk) {
  let rows = 0
  db.exec('BEGIN')
  for (let serial = 0; serial < count; serial++) {
    rows += insertChunk(text(serial).toString(), rows)
    if (takesTurns) await nextTurn()
  }
  db.exec('COMMIT')
  return { rows, keyOf: (index) => index + 1 }
}

export async function openTyped(directory, options) {
  const { columns, updated, synchronous, takesTurns = false } = options
  const db = await openDatabase(directory, options)
  const definition = `id INTEGER PRIMARY KEY, ${columnList(columns, TYPES)}`
  db.exec(`CREATE TABLE IF NOT EXISTS bench (${definition})`)
  const insert = db.prepare(`INSERT INTO bench VALUES (?${', ?'.repeat(columns.length)})`)
  const page = db.prepare(`SELECT id, ${nameList(columns)} ${PAGE}`)
  const builtInPage = db
    .prepare(`SELECT json_group_array(json_object(${jsonCells(columns)})) FROM (SELECT * ${PAGE})`)
    .pluck()
  const point = db.prepare('SELECT * FROM bench WHERE id = ?')
  const update = db.prepare(`UPDATE bench SET "${updated}" = ? WHERE id = ?`)
  const restore = rowRestorer(columns)

  const insertChunk = (text, before) => {
    const rows = JSON.parse(text)
    for (const [index, row] of rows.entries()) {
      insert.run(...bound(columns, before + index + 1, row))
    }
    return rows.length
  }

  return {
    ingest: (chunks) => ingestAll(db, chunks, takesTurns, insertChunk),
    page(after = 0) {
      const rows = page.all(after)
      for (const row of rows) restore(row)
      return pageOf(Buffer.from(JSON.stringify(rows)), rows.length, after)
    },
    builtInPage: (after = 0) => Buffer.from(builtInPage.get(after)),
    point: (key) => JSON.stringify(restore(point.get(key))),
    update: (key, _, value) => update.run(value, key),
    /** The cost of publishing a staging table: every row is written again. */
    copyTable() {
      db.exec(`CREATE TABLE published (${definition})`)
      db.exec('INSERT INTO published SELECT * FROM bench')
    },
    settings: () => ({ version: db.prepare('SELECT sqlite_version()').pluck().get(), synchronous }),
    close: () => db.close(),
  }
}

export async function openJson(directory, options) {
  const { updated, synchronous } = options
  const db = await openDatabase(directory, options)
  db.exec('CREATE TABLE IF NOT EXISTS bench (id INTEGER PRIMARY KEY, row TEXT)')
  // SQLite splits the chunk faster than JSON.parse and JSON.stringify of its rows.
  const insert = db.prepare('INSERT INTO bench (row) SELECT value FROM json_each(?)')
  const page = db.prepare(`SELECT row ${PAGE}`).pluck()
  const point = db.prepare('SELECT row FROM bench WHERE id = ?').pluck()
  const update = db.prepare(`UPDATE bench SET row = json_set(row, '$.${updated}', ?) WHERE id = ?`)

  return {
    ingest: (chunks) => ingestAll(db, chunks, false, (text) => insert.run(text).changes),
    page(after = 0) {
      const rows = page.all(after)
      return pageOf(Buffer.from(`[${rows.join(',')}]`), rows.length, after)
    },
    point: (key) => point.get(key),
    update: (key, _, value) => update.run(value, key),
    settings: () => ({ synchronous }),
    close: () => db.close(),
  }
}

/** IDs have no gaps here, so the next page is found by counting. */
function pageOf(bytes, rows, after) {
  return { bytes, rows, next: rows === 1_000 ? after + rows : undefined }
}

function bound(columns, id, row) {
  const values = [id]
  for (const column of columns) {
    const value = row[column.id]
    if (typeof value === 'boolean') values.push(value ? 1 : 0)
    else values.push(typeof value === 'object' ? JSON.stringify(value) : value)
  }
  return values
}

/** Converts a row from SQLite back to the inserted row. */
function rowRestorer(columns) {
  const idsOf = (kind) => columns.filter((column) => column.kind === kind).map(({ id }) => id)
  const [booleans, lists] = [idsOf('boolean'), idsOf('texts')]
  return (row) => {
    for (const id of booleans) row[id] = row[id] === 1
    for (const id of lists) row[id] = JSON.parse(row[id])
    return row
  }
}

function jsonCells(columns) {
  const cell = ({ id, kind }) => {
    if (kind === 'boolean') return `json(iif("${id}", 'true', 'false'))`
    return kind === 'texts' ? `json("${id}")` : `"${id}"`
  }
  return ["'id', id", ...columns.map((column) => `'${column.id}', ${cell(column)}`)].join(', ')
}
