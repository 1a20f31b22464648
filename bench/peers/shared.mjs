// rowstash with records in PostgreSQL, and objects there or in the S3 store that the environment names.
import pg from 'pg'
import { openStore } from '../dist/index.js'
import { openPostgresKv, openPostgresObjects } from '../dist/postgres.js'
import { useStore } from './rowstash.mjs'

const {
  DATABASE_URL: url = '',
  ROWSTASH_S3_ENDPOINT: endpoint,
  ROWSTASH_S3_BUCKET: bucket = '',
  ROWSTASH_S3_ACCESS_KEY: accessKeyId = '',
  ROWSTASH_S3_SECRET_KEY: secretAccessKey = '',
} = process.env

export const OBJECTS = endpoint === undefined ? 'PostgreSQL' : 'S3'

/** Why no store can be opened; undefined if one can. */
export function sharedLeftOut() {
  return url === '' ? 'DATABASE_URL names no server' : undefined
}

/** A standby is not measured, so the warning about its absence is dropped. */
const place = (schema) => ({ urls: [url], schema, onWarning: () => {} })

/** Another handle on the store of a schema. Any number of processes may have one. */
export async function openSharedStore(schema, storeOptions) {
  const kv = await openPostgresKv(place(schema))
  return openStore({ kv, objects: await openObjects(schema), ...storeOptions })
}

async function openObjects(schema) {
  if (endpoint === undefined) return openPostgresObjects(place(schema))
  const { openS3Objects } = await import('../dist/s3.js')
  const credentials = { accessKeyId, secretAccessKey }
  return openS3Objects({ endpoint, bucket, credentials, keyPrefix: `${schema}/` })
}

async function query(text) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

/** Deletes the whole store of a schema. */
export async function removeShared(schema) {
  await query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
  if (endpoint === undefined) return
  const objects = await openObjects(schema)
  for (;;) {
    const ids = await objects.list('')
    if (ids.length === 0) break
    await objects.delete(ids)
  }
  await objects.close()
}

/** The engine: each process has its own store, which it removes at its end. */
export async function openShared(_, { storeOptions, ...options }) {
  const schema = `rowstash_bench_${process.pid}`
  const store = await openSharedStore(schema, storeOptions)
  const engine = await useStore(store, { ...options, settings: () => ({ objects: OBJECTS }) })
  return {
    ...engine,
    /** Objects in S3 are not counted. */
    async diskBytes() {
      await query('CHECKPOINT')
      const sizes = 'SELECT sum(pg_total_relation_size(oid)) AS bytes FROM pg_class'
      const ours = `relkind = 'r' AND relnamespace = '${schema}'::regnamespace`
      const [{ bytes }] = await query(`${sizes} WHERE ${ours}`)
      return Number(bytes)
    },
    async remove() {
      await engine.close()
      await removeShared(schema)
    },
  }
}
