// A connection for commits, with a row of its own by which the outcome of a commit can be found out.
//
// Invariants:
// - Every commit writes its number into the row of its session, together with its records. Without that row it fails.
// - Another connection that ends the session in its row reads the number of the last commit that was written, and no
//   later one will be: a server that still works on a statement of a broken connection finds the session ended, or is
//   waited for.
import { type Bytes, NO_BYTES } from '../../src/base/bytes.js'
import type { Random } from '../../src/ports.js'
import type { Pooled } from './connection/connection-pool.js'
import type { PostgresConnection, Statement } from './connection/postgres-connection.js'
import type { TableNames } from './connection/tables.js'

const ID_BYTES = 16

/** Rows of sessions that began earlier and left theirs behind are deleted. Longer than any session lives. */
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
    // May be repeated, as its answer may get lost, too.
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

  /** Key of the row of the session. */
  get id(): Bytes {
    return this.#id
  }

  /** The number of the next commit. */
  nextNumber(): number {
    this.#number++
    return this.#number
  }

  /** Writes the row of the session. @returns the version base of the store */
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
   * Ends another session, whose connection broke: none of its commits will be written any more.
   * @returns the number of its last commit that was written; undefined: its row was not there any more.
   */
  async endOther(id: Bytes): Promise<number | undefined> {
    const [row] = await this.connection.query(this.#statements.end, [id])
    return row === undefined ? undefined : Number(row[0])
  }
}
