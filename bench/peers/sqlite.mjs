// better-sqlite3 with a typed column for each column, or with the row's JSON text in one column.
import { join } from 'node:path'
import Database from 'better-sqlite3'
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

function openDatabase(directory, synchronous) {
  const db = new Database(join(directory, 'bench.db'))
  const prepare = db.prepare.bind(db)
  db.prepare = (sql) => {
    const statement = prepare(sql)
    kept.push(db, statement)
    return statement
  }
  db.exec('PRAGMA journal_mode = WAL')
  db.exec(`PRAGMA synchronous = ${synchronous}`)
  db.exec(`PRAGMA cache_size = -${CACHE_KIB}`)
  return db
}

export function openTyped(directory, { columns, updated, synchronous }) {
  const db = openDatabase(directory, synchronous)
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

  const ingest = db.transaction(({ count, text }) => {
    let rows = 0
    for (let serial = 0; serial < count; serial++) {
      for (const row of JSON.parse(text(serial).toString())) insert.run(bound(columns, ++rows, row))
    }
    return { rows, keyOf: (index) => index + 1 }
  })

  return {
    ingest,
    page(after = 0) {
      const rows = page.all(after)
      for (const row of rows) restore(row)
      return pageOf(Buffer.from(JSON.stringify(rows)), rows.length, after)
    },
    builtInPage: (after = 0) => Buffer.from(builtInPage.get(after)),
    point: (key) => JSON.stringify(restore(point.get(key))),
    update: (key, _, value) => update.run(value, key),
    /** The cost of publishing a staging table: every row is written once more. */
    copyTable() {
      db.exec(`CREATE TABLE published (${definition})`)
      db.exec('INSERT INTO published SELECT * FROM bench')
    },
    settings: () => ({ version: db.prepare('SELECT sqlite_version()').pluck().get(), synchronous }),
    close: () => db.close(),
  }
}

export function openJson(directory, { updated, synchronous }) {
  const db = openDatabase(directory, synchronous)
  db.exec('CREATE TABLE IF NOT EXISTS bench (id INTEGER PRIMARY KEY, row TEXT)')
  // SQLite splits the chunk faster than JSON.parse and JSON.stringify of its rows.
  const insert = db.prepare('INSERT INTO bench (row) SELECT value FROM json_each(?)')
  const page = db.prepare(`SELECT row ${PAGE}`).pluck()
  const point = db.prepare('SELECT row FROM bench WHERE id = ?').pluck()
  const update = db.prepare(`UPDATE bench SET row = json_set(row, '$.${updated}', ?) WHERE id = ?`)

  const ingest = db.transaction(({ count, text }) => {
    let rows = 0
    for (let serial = 0; serial < count; serial++)
      rows += insert.run(text(serial).toString()).changes
    return { rows, keyOf: (index) => index + 1 }
  })

  return {
    ingest,
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

/** IDs have no gaps here, so that the next page is known by counting. */
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

/** Makes of a row as SQLite gives it the row that was inserted. */
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
