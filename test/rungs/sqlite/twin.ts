// The twin of a store: the same operations as SQLite transactions.
import type { StoreErrorCode } from '../../../src/index.js'
import type { SqlDatabase, SqlEngine, SqlStatement, SqlValue, SqlValues } from './sql-js.js'
import { COLUMNS, SCHEMA, STATEMENTS, type StatementName, UNKNOWN_COLUMN } from './statements.js'

/** A body of rows. In CSV each row is an object of texts. If it is not JSON, SQLite refuses it. */
export type TwinBody = Readonly<{ isCsv: boolean; json: string }>

export type TwinSource = Readonly<{ stash: string }> | TwinBody

/** The row IDs that the store created, in input order; null: it failed. */
export type MadeIds = readonly string[] | null

export type TwinRow = Readonly<{ row: unknown; version: number }>
export type TwinTable = Readonly<{
  id: string
  name: string
  version: number
  rows: readonly TwinRow[]
}>

/** Why a transaction was rolled back, in the store's words. */
export class Refused extends Error {
  override readonly name = 'Refused'

  constructor(
    readonly code: StoreErrorCode,
    readonly column?: string,
  ) {
    super(`${code} ${column ?? ''}`)
  }
}

/** No stash has this name: an operation's body is stored under it during the transaction. */
const BODY_STASH = ''

export class SqliteTwin {
  readonly #engine: SqlEngine
  #database: SqlDatabase
  readonly #prepared = new Map<StatementName, SqlStatement>()

  constructor(engine: SqlEngine) {
    this.#engine = engine
    this.#database = new engine.Database()
    this.#database.exec(SCHEMA)
  }

  /** @returns the version of the new table. */
  create(table: string, name: string, source: TwinSource, ids: MadeIds): number {
    return this.#transact(() => {
      this.#run('createTable', { ':table': table, ':name': name })
      this.#insert(table, source, ids)
      this.#run('raiseVersion', { ':table': table })
      return this.version(table)
    })
  }

  add(table: string, source: TwinSource, ids: MadeIds): number {
    return this.#transact(() => {
      this.version(table)
      const count = this.#insert(table, source, ids)
      if (count > 0) this.#run('raiseVersion', { ':table': table })
      return this.version(table)
    })
  }

  overwrite(table: string, source: TwinSource, ids: MadeIds, ifMatch: number | null): number {
    return this.#transact(() => {
      const version = this.version(table)
      const stash = this.#stage(source)
      if (ifMatch !== null && version > ifMatch) throw new Refused('PRECONDITION_FAILED')
      this.#run('keepIds', { ':table': table, ':stash': stash })
      this.#run('deleteRows', { ':table': table })
      this.#insert(table, { stash }, ids)
      this.#run('forgetKept', {})
      this.#run('raiseVersion', { ':table': table })
      return version + 1
    })
  }

  /** @param cells - A JSON object. */
  update(table: string, row: string, cells: string, ifMatch: number | null): number {
    return this.#transact(() => {
      const version = this.version(table)
      if (this.#number('hasRow', { ':table': table, ':row': row }) === 0) {
        throw new Refused('ROW_NOT_FOUND')
      }
      const values = { ':table': table, ':row': row, ':cells': cells, ':ifMatch': ifMatch }
      const count = this.#run('updateRow', { ...values, ':version': version + 1 })
      if (count === 0) throw new Refused('PRECONDITION_FAILED')
      if (cells === '{}') return version
      this.#run('raiseVersion', { ':table': table })
      return version + 1
    })
  }

  delete(table: string, row: string): { version: number; deleted: boolean } {
    return this.#transact(() => {
      const version = this.version(table)
      if (this.#run('deleteRow', { ':table': table, ':row': row }) === 0) {
        return { version, deleted: false }
      }
      this.#run('raiseVersion', { ':table': table })
      return { version: version + 1, deleted: true }
    })
  }

  putChunk(stash: string, serial: number, body: TwinBody): Readonly<{ rows: number }> {
    return this.#transact(() => {
      this.#put(stash, serial, body)
      return { rows: this.#number('chunkRows', { ':stash': stash, ':serial': serial }) }
    })
  }

  deleteStash(stash: string): void {
    this.#transact(() => this.#run('deleteStash', { ':stash': stash }))
  }

  /** @throws {Refused} TABLE_NOT_FOUND */
  version(table: string): number {
    const [found] = this.#all('version', { ':table': table })
    if (found === undefined) throw new Refused('TABLE_NOT_FOUND')
    return Number(found[0])
  }

  /** null: the row does not exist. */
  row(table: string, row: string): TwinRow | null {
    this.version(table)
    const [found] = this.#all('row', { ':table': table, ':row': row })
    if (found === undefined) return null
    return { row: parsed(found[0]), version: Number(found[1]) }
  }

  /** All pages of a table, with a limit of rows each. */
  pages(table: string, limit: number): unknown[][] {
    this.version(table)
    const pages: unknown[][] = []
    for (let after: SqlValue = 0; ; ) {
      const found = this.#all('page', { ':table': table, ':after': after, ':limit': limit + 1 })
      const page = found.slice(0, limit)
      pages.push(page.map(([, row]) => parsed(row)))
      const last = page.at(-1)?.[0]
      if (found.length <= limit || last === undefined) return pages
      after = last
    }
  }

  dump(): TwinTable[] {
    return this.#all('tables', {}).map(([id, name, version]) => ({
      id: String(id),
      name: String(name),
      version: Number(version),
      rows: this.#all('rows', { ':table': String(id) }).map(([row, rowVersion]) => {
        return { row: parsed(row), version: Number(rowVersion) }
      }),
    }))
  }

  /** Continues with a database made of this one's bytes. */
  reopen(): void {
    const bytes = this.#database.export()
    this.close()
    this.#database = new this.#engine.Database(bytes)
  }

  close(): void {
    this.#prepared.clear()
    this.#database.close()
  }

  /** Inserts rows of a source, in the order of its chunks. @returns their number */
  #insert(table: string, source: TwinSource, ids: MadeIds): number {
    const stash = this.#stage(source)
    const count = this.#run('insertRows', {
      ':table': table,
      ':stash': stash,
      ':version': this.version(table) + 1,
      ':ids': ids === null ? null : JSON.stringify(ids),
    })
    if (ids !== null && ids.length !== count) {
      throw new Error(`the store gave ${ids.length} row IDs for ${count} rows`)
    }
    this.#run('deleteStash', { ':stash': BODY_STASH })
    return count
  }

  #stage(source: TwinSource): string {
    if (!('stash' in source)) {
      this.#put(BODY_STASH, 0, source)
      return BODY_STASH
    }
    if (this.#number('isStash', { ':stash': source.stash }) === 0) {
      throw new Refused('STASH_NOT_FOUND')
    }
    return source.stash
  }

  #put(stash: string, serial: number, { isCsv, json }: TwinBody): void {
    const values = { ':stash': stash, ':serial': serial, ':isCsv': isCsv ? 1 : 0, ':body': json }
    this.#run('putChunk', values)
  }

  /** @throws {Refused} if SQLite refuses; then nothing has changed */
  #transact<T>(run: () => T): T {
    this.#database.exec('BEGIN')
    try {
      const value = run()
      this.#database.exec('COMMIT')
      return value
    } catch (failure) {
      this.#database.exec('ROLLBACK')
      throw refusalOf(failure)
    }
  }

  /** @returns the number of changed rows */
  #run(name: StatementName, values: SqlValues): number {
    this.#statement(name).run(values)
    return this.#database.getRowsModified()
  }

  #number(name: StatementName, values: SqlValues): number {
    return Number(this.#all(name, values)[0]?.[0])
  }

  #all(name: StatementName, values: SqlValues): SqlValue[][] {
    const statement = this.#statement(name)
    const found: SqlValue[][] = []
    statement.bind(values)
    while (statement.step()) found.push(statement.get())
    statement.reset()
    return found
  }

  #statement(name: StatementName): SqlStatement {
    const known = this.#prepared.get(name)
    if (known !== undefined) return known
    const made = this.#database.prepare(STATEMENTS[name])
    this.#prepared.set(name, made)
    return made
  }
}

function parsed(json: SqlValue | undefined): unknown {
  return JSON.parse(String(json))
}

/** SQLite's message about a constraint, in the store's words. */
function refusalOf(failure: unknown): unknown {
  const constraint = /^CHECK constraint failed: (\w+)/.exec(String((failure as Error).message))?.[1]
  if (constraint === undefined) return failure
  if (constraint === 'body') return new Refused('REQUEST_VALIDATION_ERROR')
  if (constraint === 'unknown') return new Refused('COLUMN_ID_NOT_FOUND', UNKNOWN_COLUMN)
  const column = COLUMNS.find((id) => id === constraint)
  return column === undefined ? failure : new Refused('COLUMN_HAS_INVALID_VALUE', column)
}
