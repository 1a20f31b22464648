// Holds: records that other stores change so often that commits of this one are refused again and again stay locked from
// a refusal to the next commit of this store, which then is not refused for their sake. Without them a store that has
// its next commit ready whenever one ends would keep all others out.
//
// Invariants:
// - A hold is a transaction on a connection for commits. It locks the records that the refused commit checks and writes,
//   in the order of their keys, as a commit does.
// - It ends with the next commit of this store that touches one of them, which is made in that transaction, or after
//   HOLD_MS_MAX.
// - A process that stops ends its holds: PostgreSQL ends the transaction with the connection, or after IDLE_MS_MAX.
import { BoundedMap } from '../../src/base/bounded-map.js'
import type { Bytes } from '../../src/base/bytes.js'
import type { CommitPlan } from './commit-plan.js'
import type { CommitSession } from './commit-session.js'
import { firstFailure } from './commit-statement.js'
import { encodeByteaArray } from './connection/bytea-array.js'
import type { ConnectionPool } from './connection/connection-pool.js'
import type { Row, Statement } from './connection/postgres-connection.js'
import type { TableNames } from './connection/tables.js'

/** Commits on a record that are refused in a row before it is held. */
const REFUSALS_MIN = 5

/** How long a hold waits for the next commit, in milliseconds. Commits of other stores wait as long. */
const HOLD_MS_MAX = 100

/** How long PostgreSQL keeps a hold of a process that gives no sign, in milliseconds. */
const IDLE_MS_MAX = 1_000

/** Records whose refusals are counted, at most; the oldest are forgotten. */
const COUNTED_MAX = 1_000

type Hold = Readonly<{
  session: CommitSession
  keys: readonly string[]
  timer: ReturnType<typeof setTimeout>
}>

export class RecordHolds {
  readonly #pool: ConnectionPool<CommitSession>
  readonly #lock: Statement
  /** By the texts of partition and key: commits that were refused in a row. */
  readonly #refusals = new BoundedMap<string, number>(COUNTED_MAX)
  readonly #holds = new Map<string, Hold>()

  constructor(pool: ConnectionPool<CommitSession>, { records }: TableNames) {
    this.#pool = pool
    this.#lock = {
      name: 'rowstash_lock',
      text: `select count(*) from unnest($2::bytea[]) as x(k)
        cross join lateral (select t.v from ${records} t where t.p = $1 and t.k = x.k for update) f`,
    }
  }

  /** Whether nothing is held, and everything that was refused was written since. */
  get isIdle(): boolean {
    return this.#refusals.size === 0 && this.#holds.size === 0
  }

  /** The connection of a hold of one of these records, for one commit in its transaction. */
  take(keys: readonly string[]): CommitSession | undefined {
    for (const key of keys) {
      const hold = this.#holds.get(key)
      if (hold === undefined) continue
      this.#remove(hold)
      if (hold.session.isUsable) return hold.session
      this.#pool.release(hold.session)
    }
    return undefined
  }

  /** Notes that a commit on these records was refused. @returns whether they are to be held. */
  noteRefused(keys: readonly string[]): boolean {
    let isDue = false
    for (const key of keys) {
      const count = (this.#refusals.get(key) ?? 0) + 1
      this.#refusals.delete(key) // So that it counts as the newest.
      this.#refusals.set(key, count)
      isDue ||= count >= REFUSALS_MIN
    }
    return isDue
  }

  /** The next refusal of these records is the first one. */
  forget(keys: readonly string[]): void {
    for (const key of keys) this.#refusals.delete(key)
  }

  /**
   * Locks the records that a commit checks and writes, and reads the checked ones.
   * @param keys - The texts of the locked ones.
   */
  async hold(
    partition: Bytes,
    { locked, checked }: CommitPlan,
    keys: readonly string[],
    getMany: Statement,
  ): Promise<Row[]> {
    const session = await this.#pool.acquire()
    const { connection } = session
    const read = (statement: Statement, of: readonly Bytes[]): Promise<Row[]> =>
      connection.query(statement, [partition, encodeByteaArray(of)])
    const sent = [
      connection.query({ text: 'begin' }),
      connection.query({ text: `set local idle_in_transaction_session_timeout = ${IDLE_MS_MAX}` }),
      read(this.#lock, locked.keys),
    ]
    const found = read(getMany, checked)
    try {
      await firstFailure([...sent, found])
    } catch (failure) {
      this.#end(session)
      throw failure
    }
    const timer = setTimeout(() => {
      this.#remove(hold)
      this.forget(keys) // A commit that comes so late is not helped by a hold.
      this.#end(session)
    }, HOLD_MS_MAX)
    const hold = { session, keys, timer }
    for (const key of keys) this.#holds.set(key, hold)
    return found
  }

  #remove(hold: Hold): void {
    clearTimeout(hold.timer)
    for (const key of hold.keys) if (this.#holds.get(key) === hold) this.#holds.delete(key)
  }

  #end(session: CommitSession): void {
    session.connection.query({ text: 'rollback' }).catch(() => undefined)
    this.#pool.release(session)
  }
}
