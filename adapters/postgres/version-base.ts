// The version base of a store in PostgreSQL. An operator raises it after a loss of commits: see src/kv/version-base.
//
// Invariant: a process with an older base cannot commit, and reads only through connections that it already had. A
// raise ends the sessions of all connections for commits. A session that begins meanwhile holds a lock on the base
// until it has begun, or waits for the raise.
import { StoreError } from '../../src/base/store-error.js'
import { RESTORED_VERSION_STEP } from '../../src/kv/version-base.js'
import type { PostgresConnection } from './connection/postgres-connection.js'
import { sqlState } from './connection/postgres-error.js'
import { type PostgresKvOptions, resolvePostgresOptions } from './connection/postgres-options.js'
import { PrimaryFinder } from './connection/primary.js'
import { IS_MISSING, readNumber, type TableNames, tableNames } from './connection/tables.js'

/** The result of `raiseVersionBase`. */
export type RaisedVersionBase = Readonly<{
  /** The version base before the raise. */
  from: number
  /** The version base after the raise. */
  to: number
  /** Number of ended connections for commits: at least one per process that has the store open and has written. */
  sessionCount: number
}>

/**
 * Raises the version base of a store after a loss of commits: after PostgreSQL was restored from a backup, or failed
 * over to a server that lacked some commits. So earlier versions never denote other contents. Processes that have the
 * store open then refuse commits, and reads on new connections, until they reopen it. Earlier stashes cannot be used,
 * because chunks may be lost; jobs that began with them continue.
 * @param options - The options of `openPostgresKv`.
 * @throws {StoreError} FORMAT_UNKNOWN: there is no store; OPTION_NOT_ALLOWED, STORAGE_UNAVAILABLE
 * @example
 * import { openPostgresKv, raiseVersionBase } from 'rowstash/postgres'
 *
 * const urls = ['postgres://rowstash@db.internal/rows']
 * await (await openPostgresKv({ urls })).close() // a store that is there
 * const { from, to } = await raiseVersionBase({ urls })
 * console.log(to > from) // true
 */
export function raiseVersionBase(options: PostgresKvOptions): Promise<RaisedVersionBase> {
  return onStore('raiseVersionBase', options, async (connection, names) => {
    const from = await readBase(connection, names)
    const to = from + RESTORED_VERSION_STEP
    return { from, to, sessionCount: await raiseTo(connection, names, to) }
  })
}

/** The version base of a store, which must exist. @throws {StoreError} as `raiseVersionBase` */
export function readPostgresVersionBase(options: PostgresKvOptions): Promise<number> {
  return onStore('readVersionBase', options, readBase)
}

/**
 * Raises the version base to `base`, unless it is already as high.
 * @returns the number of ended sessions
 */
export async function raiseTo(
  connection: PostgresConnection,
  { meta, sessions }: TableNames,
  base: number,
): Promise<number> {
  await connection.query({ text: 'begin' })
  const raise = `update ${meta} set value = greatest(value, $1::bigint) where name = 'version_base'`
  await connection.query({ text: raise }, [base])
  const ended = await connection.query({ text: `delete from ${sessions} returning 1` })
  await connection.query({ text: 'commit' })
  return ended.length
}

/** The version base on a connection. */
export async function readBase(connection: PostgresConnection, names: TableNames): Promise<number> {
  return (await readNumber(connection, names, 'version_base')) ?? 0
}

/** Runs `use` on the primary. It may run again after a failure of the connection. */
export async function onStore<T>(
  what: string,
  options: PostgresKvOptions,
  use: (connection: PostgresConnection, names: TableNames) => Promise<T>,
): Promise<T> {
  const resolved = resolvePostgresOptions(options, what)
  const finder = new PrimaryFinder({ ...resolved, onWarning: () => undefined })
  return finder.use(async (connection) => {
    try {
      return await use(connection, tableNames(resolved))
    } catch (failure) {
      throw IS_MISSING.has(sqlState(failure)) ? noStore(resolved.schema, failure) : failure
    }
  })
}

function noStore(schema: string, cause: unknown): StoreError {
  const message = `There is no store in the schema "${schema}": check the database of the URL, the schema and the table`
  return new StoreError('FORMAT_UNKNOWN', message, { cause })
}
