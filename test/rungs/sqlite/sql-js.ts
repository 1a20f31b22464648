// SQLite compiled to WebAssembly by sql.js: the part of its interface that the twin uses.
import { createRequire } from 'node:module'

export type SqlValue = number | string | null

/** Named as in the SQL, with the colon. Names that the SQL lacks are ignored; missing ones are NULL. */
export type SqlValues = Readonly<Record<string, SqlValue>>

export type SqlStatement = Readonly<{
  bind(values: SqlValues): boolean
  step(): boolean
  get(): SqlValue[]
  run(values: SqlValues): void
  reset(): void
}>

export type SqlDatabase = Readonly<{
  exec(sql: string): unknown
  prepare(sql: string): SqlStatement
  getRowsModified(): number
  /** The bytes of the database. Ends all statements. */
  export(): Uint8Array
  close(): void
}>

export type SqlEngine = Readonly<{ Database: new (bytes?: Uint8Array) => SqlDatabase }>

const load = createRequire(import.meta.url)

export function loadSqlite(): Promise<SqlEngine> {
  return (load('sql.js') as () => Promise<SqlEngine>)()
}
