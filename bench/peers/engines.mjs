// The measured engines, in the order of the runs of a round.

const DURABLE = { synchronous: 'FULL' }

const noPostgres = () =>
  process.env.PGHOST === undefined && process.env.DATABASE_URL === undefined
    ? 'neither PGHOST nor DATABASE_URL names a server'
    : undefined

/** Each is loaded in a separate process, so that one that cannot be loaded does not affect the others. */
export const ENGINES = {
  rowstash: {
    label: 'rowstash',
    open: async () => (await import('./rowstash.mjs')).openRowstash,
  },
  rowstashRecompressed: {
    label: 'rowstash, compressed later',
    open: async () => (await import('./rowstash.mjs')).openRowstash,
    recompresses: true,
    note: 'its rows were compressed between the import and the reads',
  },
  rowstashCsv: {
    label: 'rowstash, CSV',
    open: async () => (await import('./rowstash.mjs')).openRowstash,
    options: { format: 'csv' },
    importOnly: true,
  },
  rowstashShared: {
    label: 'rowstash on PostgreSQL',
    open: async () => (await import('./shared.mjs')).openShared,
    note: 'objects in S3 are not among its bytes',
    leftOut: () =>
      process.env.DATABASE_URL === undefined ? 'DATABASE_URL names no server' : undefined,
  },
  sqliteTyped: {
    label: 'better-sqlite3, typed columns',
    open: async () => (await import('./sqlite.mjs')).openTyped,
    options: DURABLE,
    copiesTable: true,
  },
  sqliteJson: {
    label: 'better-sqlite3, JSON column',
    open: async () => (await import('./sqlite.mjs')).openJson,
    options: DURABLE,
  },
  sqliteTurns: {
    label: 'better-sqlite3, typed, turns of the event loop',
    open: async () => (await import('./sqlite.mjs')).openTyped,
    options: { ...DURABLE, takesTurns: true },
    importOnly: true,
    note: 'the event loop goes on after each 1,000 rows; its transaction has the connection meanwhile',
  },
  nodeSqlite: {
    label: 'node:sqlite, typed columns',
    open: async () => (await import('./sqlite.mjs')).openTyped,
    options: { ...DURABLE, driver: 'nodeSqlite' },
    leftOut: () =>
      Number.parseInt(process.versions.node, 10) < 24 ? 'Node 24 or later has it' : undefined,
  },
  sqliteNormal: {
    label: 'better-sqlite3, typed, synchronous=NORMAL',
    open: async () => (await import('./sqlite.mjs')).openTyped,
    options: { synchronous: 'NORMAL' },
    note: 'an update may be lost when the power fails',
  },
  sqliteOff: {
    label: 'better-sqlite3, typed, synchronous=OFF',
    open: async () => (await import('./sqlite.mjs')).openTyped,
    options: { synchronous: 'OFF' },
    note: 'the file may be damaged when the power fails',
  },
  lmdb: {
    label: 'lmdb, row per key',
    open: async () => (await import('./row-per-key.mjs')).openLmdb,
  },
  postgres: {
    label: 'PostgreSQL, COPY',
    open: async () => (await import('./postgres.mjs')).openPostgres,
    copiesTable: true,
    note: 'the memory shown is that of the client alone',
    leftOut: noPostgres,
  },
  postgresMany: {
    label: 'PostgreSQL, COPY by several connections',
    open: async () => (await import('./postgres.mjs')).openPostgres,
    options: { isMany: true },
    importOnly: true,
    note: 'one connection a thread, each with a transaction of its own',
    leftOut: noPostgres,
  },
  pglite: {
    label: 'PGlite, COPY',
    open: async () => (await import('./postgres.mjs')).openPGlite,
    note: 'runs with fsync off',
  },
  duckdb: {
    label: 'DuckDB, read_json',
    open: async () => (await import('./duckdb.mjs')).openDuckDb,
  },
  classicLevel: {
    label: 'classic-level, row per key',
    open: async () => (await import('./row-per-key.mjs')).openClassicLevel,
  },
}
