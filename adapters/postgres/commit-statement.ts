// A commit as SQL.
//
// A commit is one statement, or a few statements of one transaction that are sent together. It runs under READ
// COMMITTED, and until its end it locks all that it depends on (two-phase locking), which makes it serializable:
//
// - A checked record is locked, then compared: FOR UPDATE if it is also written, otherwise FOR SHARE. PostgreSQL
//   compares the latest version, not the snapshot's.
// - A key that is checked to be absent and put is inserted; its index entry is the lock. A key that is checked to be
//   absent and not put is inserted first and deleted at the end of the transaction (`held`): the key is invisible, and
//   other transactions that insert it wait.
// - A DELETE does not find a record that appears after the statement has begun. So keys that are deleted without a
//   check are searched again once all locks are held; if one exists, everything is repeated.
// - Locks of each kind are taken in key order, so that deadlocks are rare.
//
// If the locked records are not as expected, nothing is written and the statement returns false. An insert that finds a
// record divides by zero, which rolls everything back and is distinguishable from all other failures.

import type { Bytes } from '../../src/base/bytes.js'
import type { CommitPlan } from './commit-plan.js'
import type { CommitSession } from './commit-session.js'
import { encodeByteaArray } from './connection/bytea-array.js'
import type {
  Parameter,
  PostgresConnection,
  Row,
  Statement,
} from './connection/postgres-connection.js'
import type { TableNames } from './connection/tables.js'

/** Fails unless the condition holds. */
function unless(condition: string): string {
  return `1 / (case when ${condition} then 1 else 0 end)`
}

/** Fails, in another way, unless the session's row exists. */
const MARKED = `case when (select count(*) from mark) = 1 then 1
    else ('fenced' || (select count(*) from mark))::int end`

/** Which parts a statement has. Parts that its commit does not need would cost time. */
type Parts = Readonly<Record<'locked' | 'shared' | 'inserted' | 'puts' | 'deletes', boolean>>

function partsOf({ locked, shared, inserted, puts, deletes }: CommitPlan): Parts {
  return {
    locked: locked.keys.length > 0,
    shared: shared.keys.length > 0,
    inserted: inserted.keys.length > 0,
    puts: puts.keys.length > 0,
    deletes: deletes.length > 0,
  }
}

/** SQL that locks the records of some keys, and counts those with the expected values. */
function lockedPart(name: string, records: string, at: number, lock: string): string {
  return `${name} as materialized (
    select count(*) filter (where f.v = x.v) = cardinality($${at}::bytea[]) as ok
    from unnest($${at}::bytea[], $${at + 1}::bytea[]) as x(k, v)
    cross join lateral (
      select t.v from ${records} t where t.p = $1 and t.k = x.k ${lock}
    ) f)`
}

/** The statement of a commit. Parameters: partition, session, number, then those of its parts. */
function commitText({ records, sessions }: TableNames, parts: Parts): string {
  const ctes: string[] = []
  const conditions: string[] = []
  let next = 4
  const take = (count: number): number => {
    next += count
    return next - count
  }
  if (parts.locked) ctes.push(lockedPart('locked', records, take(2), 'for update'))
  if (parts.shared) ctes.push(lockedPart('shared', records, take(2), 'for share'))
  if (parts.locked) conditions.push('(select ok from locked)')
  if (parts.shared) conditions.push('(select ok from shared)')
  const isOk = conditions.length === 0 ? 'true' : conditions.join(' and ')
  let inserted = 'true'
  if (parts.inserted) {
    const at = take(2)
    ctes.push(`inserted as (
      insert into ${records} (p, k, v)
      select $1, x.k, x.v from unnest($${at}::bytea[], $${at + 1}::bytea[]) as x(k, v) where ${isOk}
      on conflict do nothing returning 1)`)
    inserted = `(select count(*) from inserted) = cardinality($${at}::bytea[])`
  }
  if (parts.puts) {
    const at = take(2)
    ctes.push(`put as (
      insert into ${records} (p, k, v)
      select $1, x.k, x.v from unnest($${at}::bytea[], $${at + 1}::bytea[]) as x(k, v) where ${isOk}
      on conflict (p, k) do update set v = excluded.v)`)
  }
  if (parts.deletes) {
    const at = take(1)
    ctes.push(`deleted as (
      delete from ${records} t using unnest($${at}::bytea[]) as x(k)
      where t.p = $1 and t.k = x.k and ${isOk})`)
  }
  ctes.push(`mark as (
      update ${sessions} set n = $3::bigint where id = $2 and n >= 0 and ${isOk} returning 1)`)
  return `with ${ctes.join(',\n    ')}
    select ${isOk}, case when ${isOk} then ${unless(inserted)} end, case when ${isOk} then ${MARKED} end`
}

function statementName(parts: Parts): string {
  const bits = Object.values(parts).map((isThere) => (isThere ? '1' : '0'))
  return `rowstash_commit_${bits.join('')}`
}

/** The SQL of a store's commits. */
export class CommitStatements {
  readonly #names: TableNames
  readonly #commits = new Map<string, Statement>()
  readonly #hold: Statement
  readonly #unhold: Statement
  readonly #expectAbsent: Statement

  constructor(names: TableNames) {
    const { records } = names
    this.#names = names
    this.#hold = {
      name: 'rowstash_hold',
      text: `with held as (
        insert into ${records} (p, k, v) select $1, x.k, ''::bytea from unnest($2::bytea[]) as x(k)
        on conflict do nothing returning 1)
      select ${unless('(select count(*) from held) = cardinality($2::bytea[])')}`,
    }
    this.#unhold = {
      name: 'rowstash_unhold',
      text: `delete from ${records} t using unnest($2::bytea[]) as x(k) where t.p = $1 and t.k = x.k`,
    }
    this.#expectAbsent = {
      name: 'rowstash_expect_absent',
      text: `select ${unless(`not exists (
        select from unnest($2::bytea[]) as x(k)
        cross join lateral (select from ${records} t where t.p = $1 and t.k = x.k limit 1) f)`)}`,
    }
  }

  /**
   * Sends a commit. Resolves when it was written, or to false if a check failed; rejects with the failure of the first
   * failed statement.
   * @param isBegun - Whether the commit runs in the connection's open transaction, and ends that transaction.
   */
  async commit(
    { connection, id }: CommitSession,
    number: number,
    partition: Bytes,
    plan: CommitPlan,
    isBegun: boolean,
  ): Promise<boolean> {
    const main = this.#mainOf(connection, id, number, partition, plan)
    const { held, blind } = plan
    if (!isBegun && held.length === 0 && blind.length === 0) {
      return isCommitWritten(await main())
    }
    const on = (statement: Statement, keys: readonly Bytes[]): Promise<Row[]> =>
      connection.query(statement, [partition, encodeByteaArray(keys)])
    const sent: Promise<Row[]>[] = isBegun ? [] : [connection.query({ text: 'begin' })]
    if (held.length > 0) sent.push(on(this.#hold, held))
    const written = main()
    sent.push(written)
    if (held.length > 0) sent.push(on(this.#unhold, held))
    if (blind.length > 0) sent.push(on(this.#expectAbsent, blind))
    sent.push(connection.query({ text: 'commit' }))
    await firstFailure(sent)
    return isCommitWritten(await written)
  }

  #mainOf(
    connection: PostgresConnection,
    id: Bytes,
    number: number,
    partition: Bytes,
    plan: CommitPlan,
  ): () => Promise<Row[]> {
    const parts = partsOf(plan)
    const name = statementName(parts)
    const known = this.#commits.get(name) ?? { name, text: commitText(this.#names, parts) }
    this.#commits.set(name, known)
    const parameters: Parameter[] = [partition, id, number]
    const { locked, shared, inserted, puts, deletes } = plan
    for (const { keys, values } of [locked, shared, inserted, puts]) {
      if (keys.length > 0) parameters.push(encodeByteaArray(keys), encodeByteaArray(values))
    }
    if (deletes.length > 0) parameters.push(encodeByteaArray(deletes))
    return () => connection.query(known, parameters)
  }
}

function isCommitWritten([row]: readonly Row[]): boolean {
  return row?.[0] === true
}

/** Waits for all statements of a transaction; those after the first failed one fail because of it. */
export async function firstFailure(sent: readonly Promise<Row[]>[]): Promise<void> {
  const results = await Promise.allSettled(sent)
  for (const result of results) if (result.status === 'rejected') throw result.reason
}
