export { openPostgresKv } from './postgres/postgres-kv.js'
export type { CommitMode, PostgresKvOptions, PostgresWarning } from './postgres/postgres-options.js'
export { type RaisedVersionBase, raiseVersionBase } from './postgres/version-base.js'
