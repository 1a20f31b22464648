// One export or import of DuckDB, in a separate process. Its settings are one JSON argument. It prints the number of
// rows, or the definition of the table.
import { DuckDBInstance } from '@duckdb/node-api'
import { DATA_SETS } from './peers/data-sets.mjs'
import { columnList } from './peers/sql.mjs'

const TYPES = {
  text: 'VARCHAR',
  integer: 'INTEGER',
  real: 'DOUBLE',
  boolean: 'BOOLEAN',
  time: 'TIMESTAMP',
  texts: 'VARCHAR[]',
}

const FORMATS = {
  csv: 'FORMAT csv, HEADER',
  tsv: "FORMAT csv, HEADER, DELIMITER '\t'",
  ndjson: 'FORMAT json',
  json: 'FORMAT json, ARRAY true',
  parquet: 'FORMAT parquet',
  'csv.gz': 'FORMAT csv, HEADER, COMPRESSION gzip',
  'ndjson.gz': 'FORMAT json, COMPRESSION gzip',
  'ndjson.zst': 'FORMAT json, COMPRESSION zstd',
}

const { action, database, path, format } = JSON.parse(process.argv[2])

const instance = await DuckDBInstance.create(database)
const db = await instance.connect()
const readValue = async (text) => (await db.runAndReadAll(text)).getRows()[0][0]
if (action === 'import') {
  await db.run(`CREATE TABLE bench (${columnList(DATA_SETS.standard.columns, TYPES)})`)
  await db.run(`COPY bench FROM '${path}' (${FORMATS[format]})`)
  await db.run('CHECKPOINT')
} else if (action === 'export') {
  await db.run(`COPY bench TO '${path}' (${FORMATS[format]})`)
}
const definition = "SELECT sql FROM duckdb_tables() WHERE table_name = 'bench'"
console.log(
  String(await readValue(action === 'schema' ? definition : 'SELECT count(*) FROM bench')),
)
db.closeSync()
instance.closeSync()
