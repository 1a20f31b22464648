// A commit in plain SQL, for databases that speak PostgreSQL's protocol: a SERIALIZABLE transaction that reads what is
// checked, and writes if it is as expected. Tried on PostgreSQL only.
import type { Bytes } from '../../src/base/bytes.js'
import { bytesOf, sameBytes } from '../../src/base/bytes.js'
import { byteText } from '../../src/base/platform.js'
import { encodeByteaArray } from './bytea-array.js'
import type { CommitPlan, Pairs } from './commit-plan.js'
import type { CommitSession } from './commit-session.js'
import { firstFailure } from './commit-statement.js'
import type { Row, Statement } from './postgres-connection.js'
import type { TableNames } from './tables.js'

export class PortableCommits {
  readonly #read: Statement
  readonly #put: Statement
  readonly #delete: Statement
  readonly #mark: Statement

  constructor({ records, sessions }: TableNames) {
    this.#read = {
      name: 'rowstash_read',
      text: `select k, v from ${records} where p = $1 and k = any($2::bytea[])`,
    }
    this.#put = {
      name: 'rowstash_put',
      text: `insert into ${records} (p, k, v)
        select $1, x.k, x.v from unnest($2::bytea[], $3::bytea[]) as x(k, v)
        on conflict (p, k) do update set v = excluded.v`,
    }
    this.#delete = {
      name: 'rowstash_delete',
      text: `delete from ${records} where p = $1 and k = any($2::bytea[])`,
    }
    this.#mark = {
      name: 'rowstash_mark',
      text: `update ${sessions} set n = $2::bigint where id = $1 and n >= 0 returning n`,
    }
  }

  /** As `CommitStatements.commit`; resolves to whether the checks held. */
  async commit(
    { connection, id }: CommitSession,
    number: number,
    partition: Bytes,
    plan: CommitPlan,
  ): Promise<boolean> {
    const { puts, inserted, deletes } = plan
    const begin = connection.query({ text: 'begin isolation level serializable' })
    const read = connection.query(this.#read, [partition, encodeByteaArray(plan.checked)])
    const mark = connection.query(this.#mark, [id, number])
    const results = await Promise.allSettled([begin, read, mark])
    const failed = results.find((result) => result.status === 'rejected')
    if (failed !== undefined || !holds(plan, await read)) {
      await connection.query({ text: 'rollback' })
      if (failed !== undefined) throw failed.reason
      return false
    }
    if ((await mark).length === 0) {
      await connection.query({ text: 'rollback' })
      throw new SessionGone()
    }
    const sent: Promise<Row[]>[] = []
    for (const { keys, values } of [puts, inserted]) {
      if (keys.length === 0) continue
      const arrays = [encodeByteaArray(keys), encodeByteaArray(values)]
      sent.push(connection.query(this.#put, [partition, ...arrays]))
    }
    if (deletes.length > 0) {
      sent.push(connection.query(this.#delete, [partition, encodeByteaArray(deletes)]))
    }
    sent.push(connection.query({ text: 'commit' }))
    await firstFailure(sent)
    return true
  }
}

/** The row of a session is not there any more: its commits fail. */
export class SessionGone extends Error {}

/** Whether the checks of a plan hold on the records that were read. */
function holds({ locked, shared, inserted, held }: CommitPlan, rows: readonly Row[]): boolean {
  const present = new Map(rows.map(([key, value]) => [textOf(key), value]))
  const isEqual = ({ keys, values }: Pairs): boolean =>
    keys.every((key, i) => {
      const value = bytesOf(present.get(byteText(key)))
      const expected = values[i]
      return value !== undefined && expected !== undefined && sameBytes(value, expected)
    })
  const isAbsent = (key: Bytes): boolean => !present.has(byteText(key))
  return isEqual(locked) && isEqual(shared) && [...inserted.keys, ...held].every(isAbsent)
}

function textOf(key: Row[number] | undefined): string {
  const bytes = bytesOf(key)
  return bytes === undefined ? '' : byteText(bytes)
}
