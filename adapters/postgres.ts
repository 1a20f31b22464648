/**
 * Control records in PostgreSQL, for any number of processes; objects of small stores too.
 * @module rowstash/postgres
 */

export type { PostgresObjectsOptions } from './postgres/object-options.js'
export { openPostgresKv } from './postgres/postgres-kv.js'
export { openPostgresObjects } from './postgres/postgres-objects.js'
export type { PostgresKvOptions, PostgresWarning } from './postgres/postgres-options.js'
export { type RaisedVersionBase, raiseVersionBase } from './postgres/version-base.js'
