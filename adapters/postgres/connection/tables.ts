// The tables of a store, and their creation. FORMAT.md section 12.
//
//     <table>            p: partition, k: key, v: sealed value         // src/kv/record-envelope
//     <table>_sessions   id: 16 random bytes, n: number of its last written commit, or if the
//                        session was ended, -1 minus that number, at: when the session began
//     <table>_meta       name, value: format, mode, version_base
//
// Invariants:
// - All parts of a key are bytea, so that they are ordered and compared as bytes, whatever the collation.
// - A migration runs under an advisory lock and is repeatable: any number of processes may open a new store
//   concurrently.
import { utf8 } from '../../../src/base/bytes.js'
import { crc32 } from '../../../src/base/platform.js'
import { StoreError } from '../../../src/base/store-error.js'
import type { PostgresConnection } from './postgres-connection.js'
import { sqlState } from './postgres-error.js'
import type { ResolvedPostgresOptions } from './postgres-options.js'
import { retryPostgres } from './retry.js'

/**
 * Version of the tables. 2: heads may have times (`table-life` in FORMAT.md); 3: segments may share objects
 * (`shared-objects`). Opening a store raises an earlier version to the newest.
 */
export const FILLED = 3
const FILLED_FIRST = 1
/** The version while a store is being filled: it is incomplete, and cannot be opened. */
export const FILLING = 0

/** The way commits are made: by statements with row locks. Another way would need another number. */
const MODE = 1

/** undefined_table and invalid_schema_name: the store is new. */
export const IS_MISSING: ReadonlySet<string | undefined> = new Set(['42P01', '3F000'])

/** duplicate_table, duplicate_schema, unique_violation, serialization_failure: another process creates the store. */
const MET: ReadonlySet<string | undefined> = new Set(['42P07', '42P06', '23505', '40001'])

/** First number of the advisory lock of migrations; the second comes from the names. */
const LOCK_CLASS = 0x526f7773 // 'Rows'

/** The quoted names of the tables of a store. */
export type TableNames = Readonly<{ records: string; sessions: string; meta: string }>

export function tableNames({ schema, table }: ResolvedPostgresOptions): TableNames {
  const named = (suffix: string): string => `"${schema}"."${table}${suffix}"`
  return { records: named(''), sessions: named('_sessions'), meta: named('_meta') }
}

/**
 * Creates the tables if there are none.
 * @returns the version base of the store
 * @throws {StoreError} FORMAT_UNKNOWN; failures of PostgreSQL as they are
 */
export function prepareTables(
  connection: PostgresConnection,
  names: TableNames,
  options: ResolvedPostgresOptions,
): Promise<number> {
  return readOrCreate(connection, {
    read: () => readMeta(connection, names),
    statements: recordTablesSql(names, options),
    options,
  })
}

type Creation<T> = Readonly<{
  /** Reads the properties recorded in the tables. */
  read(): Promise<T>
  /** Repeatable statements that create the tables. */
  statements: readonly string[]
  options: Pick<ResolvedPostgresOptions, 'retryMsMax' | 'pauseMs'>
}>

/** Reads from tables, and creates them first if there are none. Several processes may do so concurrently. */
export async function readOrCreate<T>(
  connection: PostgresConnection,
  { read, statements, options }: Creation<T>,
): Promise<T> {
  const create = async (): Promise<void> => {
    try {
      for (const text of ['begin', ...statements, 'commit']) await connection.query({ text })
    } catch (failure) {
      await connection.query({ text: 'rollback' })
      throw failure
    }
  }
  const attempt = (): Promise<T> =>
    read().catch((failure: unknown) => {
      if (!IS_MISSING.has(sqlState(failure))) throw failure
      return create().then(read)
    })
  return retryPostgres(attempt, (failure) => !MET.has(sqlState(failure)), options)
}

/** Locks out other processes that create the same tables, until the transaction ends. */
export function creationLock(table: string): string {
  return `select pg_advisory_xact_lock(${LOCK_CLASS}, ${crc32(utf8(table)) | 0})`
}

/** A named number in the tables of a store or of objects; undefined: there is none. */
export async function readNumber(
  connection: PostgresConnection,
  { meta }: Pick<TableNames, 'meta'>,
  name: string,
): Promise<number | undefined> {
  const text = `select value from ${meta} where name = '${name}'`
  const [row] = await connection.query({ text })
  return row && Number(row[0])
}

async function readMeta(connection: PostgresConnection, { meta }: TableNames): Promise<number> {
  const rows = await connection.query({ text: `select name, value from ${meta}` })
  const values = new Map(rows.map(([name, value]) => [name, Number(value)]))
  const format = values.get('format')
  if (format === FILLING) {
    const problem = `The store in ${meta} is incomplete: a copy into it is running, or was interrupted`
    throw new StoreError('FORMAT_UNKNOWN', `${problem}; if none is running, drop its tables`)
  }
  if (format !== undefined && format >= FILLED_FIRST && format < FILLED) {
    const where = `where name = 'format' and value = ${format}`
    await connection.query({ text: `update ${meta} set value = ${FILLED} ${where}` })
  } else if (format !== FILLED) {
    const message = `The tables have format ${format}; this version of the package knows ${FILLED}`
    throw new StoreError('FORMAT_UNKNOWN', message)
  }
  const mode = values.get('mode')
  if (mode !== MODE) {
    const message = `The tables have mode ${mode}; this version of the package knows ${MODE}`
    throw new StoreError('FORMAT_UNKNOWN', message)
  }
  return values.get('version_base') ?? 0
}

function recordTablesSql(
  { records, sessions, meta }: TableNames,
  { schema }: ResolvedPostgresOptions,
): readonly string[] {
  return [
    creationLock(records),
    `create schema if not exists "${schema}"`,
    `create table if not exists ${records} (p bytea not null, k bytea not null, v bytea not null,
      primary key (p, k)) with (fillfactor = 85)`,
    // Segments are already compressed, and uncompressed values are faster to read.
    `alter table ${records} alter column v set storage external`,
    `create table if not exists ${sessions} (id bytea not null, n bigint not null, at timestamptz not null,
      primary key (id)) with (fillfactor = 50)`,
    `create table if not exists ${meta} (name text not null, value bigint not null, primary key (name))`,
    `insert into ${meta} (name, value)
      values ('format', ${FILLED}), ('mode', ${MODE}), ('version_base', 0)
      on conflict (name) do nothing`,
  ]
}
