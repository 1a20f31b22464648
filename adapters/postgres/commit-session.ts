// A connection for commits, with its own row, from which the outcome of a commit can be determined.
//
// Invariants:
// - Every commit writes its number into its session's row, together with its records, and fails without that row.
// - Another connection that marks the session as ended reads the number of its last written commit. No later commit of
//   the session is written: if a server still runs a statement of the broken connection, either the statement finds the
//   session ended, or the mark waits for the statement.
import { type Bytes, NO_BYTES } from '../../src/base/bytes.js'
import type { Random } from '../../src/ports.js'
import type { Pooled } from './connection/connection-pool.js'
import type { PostgresConnection, Statement } from './connection/postgres-connection.js'
import type { TableNames } from './connection/tables.js'

const ID_BYTES = 16

/** Age at which rows left behind by sessions are deleted. No session lives that long. */
const LEFT_OVER = `interval '1 day'`

type SessionStatements = Readonly<Record<'begin' | 'prune' | 'forget' | 'end', Statement>>

function statementsOf({ sessions, meta }: TableNames): SessionStatements {
  return {
    begin: {
      text: `with session as (insert into ${sessions} (id, n, at) values ($1, 0, now()))
        select value from ${meta} where name = 'version_base' for share`,
    },
    prune: { text: `delete from ${sessions} where at < now() - ${LEFT_OVER}` },
    forget: { text: `delete from ${sessions} where id = $1` },
    // Ending a session is repeatable, because the answer may be lost.
    end: {
      text: `update ${sessions} set n = case when n < 0 then n else -1 - n end where id = $1
        returning -1 - n`,
    },
  }
}

export class CommitSession implements Pooled {
  readonly connection: PostgresConnection
  readonly #statements: SessionStatements
  readonly #random: Random
  #id: Bytes = NO_BYTES
  #number = 0

  constructor(connection: PostgresConnection, names: TableNames, random: Random) {
    this.connection = connection
    this.#statements = statementsOf(names)
    this.#random = random
  }

  get isUsable(): boolean {
    return this.connection.isUsable && !this.connection.isUnreplicated
  }

  get openedAt(): number {
    return this.connection.openedAt
  }

  /** Key of the session's row. */
  get id(): Bytes {
    return this.#id
  }

  /** The number of the next commit. */
  nextNumber(): number {
    this.#number++
    return this.#number
  }

  /** Writes the session's row. @returns the store's version base */
  async begin(): Promise<number> {
    const { begin, prune } = this.#statements
    this.#id = this.#random.bytes(ID_BYTES)
    this.#number = 0
    const [[row]] = await Promise.all([
      this.connection.query(begin, [this.#id]),
      this.connection.query(prune),
    ])
    return Number(row?.[0])
  }

  async close(): Promise<void> {
    await this.connection.query(this.#statements.forget, [this.#id]).catch(() => undefined)
    await this.connection.close()
  }

  /**
   * Ends another session, whose connection broke: no further commit of it can be written.
   * @returns the number of its last written commit; undefined: its row no longer exists.
   */
  async endOther(id: Bytes): Promise<number | undefined> {
    const [row] = await this.connection.query(this.#statements.end, [id])
    return row === undefined ? undefined : Number(row[0])
  }
}
