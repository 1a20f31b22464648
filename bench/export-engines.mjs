// The engines of the bench `export`, by the commands that their users run.
//
// Invariant: an engine imports into a new store with the column definitions of the exported one.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { DATA_SETS } from './peers/data-sets.mjs'

const CLI = fileURLToPath(new URL('./dist/cli.js', import.meta.url))
const DUCKDB = fileURLToPath(new URL('export-duckdb.mjs', import.meta.url))

/** By the extensions of their files. The commands of rowstash support all of them. */
export const FORMATS = [
  'csv',
  'tsv',
  'ndjson',
  'json',
  'parquet',
  'csv.gz',
  'ndjson.gz',
  'ndjson.zst',
]

/** The engine that the rules judge. */
export const OURS = 'rowstash'

const nodeCommand = (...args) => ({ program: process.execPath, args })

const rowstashCommand = (name, directory, ...args) =>
  nodeCommand(CLI, name, ...args, '--directory', directory, '--table', 'bench', '--json')

const rowstash = {
  formats: FORMATS,
  /** No export writes this format: the bench compresses a file of another one. */
  packedFrom: { 'ndjson.zst': 'ndjson' },
  fill: (store, path) => rowstashCommand('import', store, path),
  export: (store, path) => rowstashCommand('export', store, path),
  import: (store, path, { format, schemaPath }) => {
    // A Parquet file contains the schema of its table.
    const schema = format === 'parquet' ? [] : ['--schema', schemaPath]
    return rowstashCommand('import', store, path, ...schema)
  },
  schema: (store) => rowstashCommand('schema', store),
  rowsOf: ({ stdout }) => JSON.parse(stdout.trim().split('\n').at(-1)).rows,
}

function duckDbCommand(action, database, more = {}) {
  return nodeCommand(DUCKDB, JSON.stringify({ action, database, ...more }))
}

const duckdb = {
  formats: FORMATS,
  fill: (database, path) => duckDbCommand('import', database, { path, format: 'ndjson' }),
  export: (database, path, format) => duckDbCommand('export', database, { path, format }),
  import: (database, path, { format }) => duckDbCommand('import', database, { path, format }),
  schema: (database) => duckDbCommand('schema', database),
  rowsOf: ({ stdout }) => Number(stdout),
}

const SQLITE_TYPES = {
  text: 'text',
  integer: 'integer',
  real: 'float',
  boolean: 'integer',
  time: 'text',
  texts: 'text',
}

const SQLITE_FORMATS = { csv: ['--csv'], tsv: ['--tsv'], ndjson: ['--nl'], json: [] }

const sqliteCommand = (...args) => ({ program: 'sqlite-utils', args })

const sqliteInsert = (database, path, { format }) =>
  sqliteCommand('insert', database, 'bench', path, ...SQLITE_FORMATS[format])

const sqliteUtils = {
  formats: Object.keys(SQLITE_FORMATS),
  prepare(database) {
    const columns = DATA_SETS.standard.columns.flatMap(({ id, kind }) => [id, SQLITE_TYPES[kind]])
    return sqliteCommand('create-table', database, 'bench', ...columns)
  },
  fill: (database, path) => sqliteInsert(database, path, { format: 'ndjson' }),
  export: (database, path, format) => ({
    ...sqliteCommand('rows', database, 'bench', ...SQLITE_FORMATS[format]),
    output: path,
  }),
  import: sqliteInsert,
  schema: (database) => sqliteCommand('schema', database),
  leftOut() {
    if (spawnSync('sqlite-utils', ['--version']).status === 0) return undefined
    return 'there is no command sqlite-utils; Debian has a package of that name'
  },
}

export const ENGINES = { [OURS]: rowstash, duckdb, 'sqlite-utils': sqliteUtils }
