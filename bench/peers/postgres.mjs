// PostgreSQL with COPY: PGlite in this process, or a server that the environment names.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { PGlite } from '@electric-sql/pglite'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { columnList, nameList, POSTGRES_TYPES, renderCopy } from './sql.mjs'

const TABLE = 'rowstash_bench'
const COPY = 'rowstash_bench_copy'
const CONNECTIONS = 32

export async function openPGlite(directory, { columns, updated }) {
  const folder = join(directory, 'pglite')
  mkdirSync(folder, { recursive: true })
  const db = await PGlite.create(folder)
  const query = async (sql, parameters) => (await db.query(sql, parameters)).rows
  const shared = await speak(query, columns, updated)

  return {
    ...shared,
    ingest({ count, text }) {
      return db.transaction(async (transaction) => {
        let rows = 0
        for (let serial = 0; serial < count; serial++) {
          const parsed = JSON.parse(text(serial).toString())
          const blob = new Blob([renderCopy(columns, parsed, rows + 1)])
          await transaction.query(`COPY ${TABLE} FROM '/dev/blob'`, [], { blob })
          rows += parsed.length
        }
        return { rows, keyOf: (index) => index + 1 }
      })
    },
    close: () => db.close(),
  }
}

/** @param options.isMany - Each of `threads` connections copies its share of the chunks. */
export async function openPostgres(_, options) {
  const { columns, updated, rowsPerChunk, threads, isMany = false } = options
  const { DATABASE_URL: connectionString } = process.env
  const pool = new pg.Pool({ connectionString, max: CONNECTIONS })
  const names = new Map()
  const query = async (text, values) => {
    // A named statement is prepared once per connection.
    if (!names.has(text)) names.set(text, `bench-${names.size}`)
    return (await pool.query({ name: names.get(text), text, values })).rows
  }
  const shared = await speak(query, columns, updated)

  return {
    ...shared,
    async ingest({ count, text }) {
      const connections = isMany ? threads : 1
      let rows = 0
      async function copyShare(first) {
        const client = await pool.connect()
        async function* pieces() {
          for (let serial = first; serial < count; serial += connections) {
            const parsed = JSON.parse(text(serial).toString())
            yield Buffer.from(renderCopy(columns, parsed, serial * rowsPerChunk + 1))
            rows += parsed.length
          }
        }
        await pipeline(pieces, client.query(copyFrom(`COPY ${TABLE} FROM STDIN`)))
        client.release()
      }
      await Promise.all(Array.from({ length: connections }, (_, first) => copyShare(first)))
      return { rows, keyOf: (index) => index + 1 }
    },
    close: () => pool.end(),
    /** The cost of publishing a staging table: every row is written again. */
    async copyTable() {
      await pool.query(`CREATE TABLE ${COPY} (LIKE ${TABLE} INCLUDING ALL)`)
      await pool.query(`INSERT INTO ${COPY} SELECT * FROM ${TABLE}`)
    },
    /** The database may hold other tables: only those of the bench are removed. */
    remove: () => pool.query(`DROP TABLE IF EXISTS ${TABLE}, ${COPY}`),
  }
}

/** The queries of both. Reading JSON made by the database is faster than JSON.stringify of rows. */
async function speak(query, columns, updated) {
  const definition = `id integer PRIMARY KEY, ${columnList(columns, POSTGRES_TYPES)}`
  await query(`CREATE TABLE IF NOT EXISTS ${TABLE} (${definition})`)
  const names = `id, ${nameList(columns)}`
  const textsOf = async (condition, value) => {
    const selected = `SELECT ${names} FROM ${TABLE} WHERE ${condition}`
    const rows = await query(`SELECT row_to_json(r)::text AS json FROM (${selected}) r`, [value])
    return rows.map(({ json }) => json)
  }
  return {
    async page(after = 0) {
      const texts = await textsOf('id > $1 ORDER BY id LIMIT 1000', after)
      const next = texts.length === 1_000 ? after + texts.length : undefined
      return { bytes: Buffer.from(`[${texts.join(',')}]`), rows: texts.length, next }
    },
    point: async (key) => (await textsOf('id = $1', key))[0],
    update: (key, _, value) =>
      query(`UPDATE ${TABLE} SET "${updated}" = $1 WHERE id = $2`, [value, key]),
    async diskBytes() {
      await query('CHECKPOINT')
      const [{ bytes }] = await query(`SELECT pg_total_relation_size('${TABLE}') AS bytes`)
      return Number(bytes)
    },
    async settings() {
      const [{ version }] = await query('SELECT version()')
      const [{ fsync }] = await query('SHOW fsync')
      return { version, fsync }
    },
  }
}
