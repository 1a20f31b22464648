// Holds of records. If other stores change records so often that this store's commits are refused again and again, the
// records stay locked from a refusal to this store's next commit, which then succeeds. Without holds, a store that
// always has its next commit ready would starve all others.
//
// Invariants:
// - A hold is a transaction on a connection for commits. It locks the records that the refused commit checks and
//   writes, in key order, as a commit does.
// - A hold ends after HOLD_MS_MAX, or with the next commit of this store that touches one of its records. That commit
//   runs in the transaction of the hold.
// - The holds of a stopped process end: PostgreSQL ends the transaction with the connection, or after IDLE_MS_MAX.
import { BoundedMap } from '../../src/base/bounded-map.js'
import type { Bytes } from '../../src/base/bytes.js'
import type { CommitPlan } from './commit-plan.js'
import type { CommitSession } from './commit-session.js'
import { firstFailure } from './commit-statement.js'
import { encodeByteaArray } from './connection/bytea-array.js'
import type { ConnectionPool } from './connection/connection-pool.js'
import type { Row, Statement } from './connection/postgres-connection.js'
import type { TableNames } from './connection/tables.js'

/** Consecutive refusals of commits on a record before it is held. */
const REFUSALS_MIN = 5

/** How long a hold waits for the next commit, in milliseconds. Meanwhile commits of other stores wait for the hold. */
const HOLD_MS_MAX = 100

/** How long PostgreSQL keeps the hold of an unresponsive process, in milliseconds. */
const IDLE_MS_MAX = 1_000

/** The maximum number of records whose refusals are counted. The oldest counts are dropped. */
const COUNTED_MAX = 1_000

type Hold = Readonly<{
  session: CommitSession
  keys: readonly string[]
  timer: ReturnType<typeof setTimeout>
}>

export class RecordHolds {
  readonly #pool: ConnectionPool<CommitSession>
  readonly #lock: Statement
  /** The number of consecutive refused commits on a record, by partition and key as text. */
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

  /** Whether nothing is held, and no refusals are counted. */
  get isIdle(): boolean {
    return this.#refusals.size === 0 && this.#holds.size === 0
  }

  /** Takes the connection of a hold on one of these records, for one commit in its transaction. */
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

  /** Counts a refused commit on these records. @returns whether to hold them. */
  noteRefused(keys: readonly string[]): boolean {
    let isDue = false
    for (const key of keys) {
      const count = (this.#refusals.get(key) ?? 0) + 1
      this.#refusals.delete(key) // Reinserted, so that it counts as the newest.
      this.#refusals.set(key, count)
      isDue ||= count >= REFUSALS_MIN
    }
    return isDue
  }

  /** Resets the counts: the next refusal of these records is the first. */
  forget(keys: readonly string[]): void {
    for (const key of keys) this.#refusals.delete(key)
  }

  /**
   * Locks the records that a commit checks and writes, and reads the checked records.
   * @param keys - The keys of the locked records, as text.
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
      this.forget(keys) // A hold does not help a commit that comes this late.
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
