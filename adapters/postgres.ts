/**
 * Control records in PostgreSQL, for any number of processes; objects of small stores too.
 * @module rowstash/postgres
 */

export type { PostgresKvOptions, PostgresWarning } from './postgres/connection/postgres-options.js'
export type { PostgresObjectsOptions } from './postgres/object-options.js'
export { openPostgresKv } from './postgres/postgres-kv.js'
export { openPostgresObjects } from './postgres/postgres-objects.js'
export { type RaisedVersionBase, raiseVersionBase } from './postgres/version-base.js'
