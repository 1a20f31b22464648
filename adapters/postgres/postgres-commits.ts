// Makes commits: in order, with safe retries, and determines the outcome after a broken connection.
import type { Backoff } from '../../src/base/backoff.js'
import type { Bytes } from '../../src/base/bytes.js'
import { monotonicMs } from '../../src/base/clock.js'
import { pause } from '../../src/base/pause.js'
import { byteText } from '../../src/base/platform.js'
import { isStoreError, StoreError } from '../../src/base/store-error.js'
import type { KeyRange, KvCheck, KvCommit, KvCommitResult, KvGroup } from '../../src/kv/kv.js'
import { CommitOrder } from './commit-order.js'
import { type CommitPlan, judgeChecks, planCommit } from './commit-plan.js'
import type { CommitSession } from './commit-session.js'
import type { CommitStatements } from './commit-statement.js'
import { encodeByteaArray } from './connection/bytea-array.js'
import type { ConnectionPool } from './connection/connection-pool.js'
import type { Row, Statement } from './connection/postgres-connection.js'
import { isFinal, kindOfFailure, postgresError } from './connection/postgres-error.js'
import { retryPostgres } from './connection/retry.js'
import type { TableNames } from './connection/tables.js'
import { openCell, type PartitionNames } from './partition-names.js'
import type { RecordCache } from './record-cache.js'
import type { RecordHolds } from './record-holds.js'

/** The maximum number of records that one statement of a range deletion deletes, so that locks are held briefly. */
const RANGE_COUNT = 500

export type CommitsOptions = Readonly<{
  pool: ConnectionPool<CommitSession>
  names: TableNames
  getMany: Statement
  statements: CommitStatements
  holds: RecordHolds
  cache: RecordCache
  retryMsMax: number
  pauseMs: Backoff
}>

/** The outcome of an attempt: a result, or a retry is due. */
type Attempt = KvCommitResult | Readonly<{ again: unknown }>

const WRITTEN: KvCommitResult = Object.freeze({ ok: true })

export class PostgresCommits {
  /** Called after each commit that was written. */
  onGroup: (group: KvGroup) => void = () => undefined
  readonly #options: CommitsOptions
  readonly #order = new CommitOrder()
  readonly #deleteRange: Statement

  constructor(options: CommitsOptions) {
    this.#options = options
    const { records } = options.names
    this.#deleteRange = {
      name: 'rowstash_delete_range',
      text: `with found as materialized (
          select k from ${records} where p = $1 and k >= $2 and k < $3 order by k limit $4),
        gone as (delete from ${records} t using found f where t.p = $1 and t.k = f.k)
        select count(*) from found`,
    }
  }

  /** See `KvPartition.commit`. */
  async commit(partition: PartitionNames, commit: KvCommit): Promise<KvCommitResult> {
    const plan = planCommit(partition.prefix, commit)
    if (plan.touched.size === 0) return WRITTEN
    const touched = new Map(
      [...plan.touched].map(([key, writes]) => [partition.text + key, writes]),
    )
    return this.#order.run(touched, () => this.#repeat(partition, commit.checks ?? [], plan))
  }

  /** See `KvPartition.deleteRange`. */
  async deleteRange(
    partition: PartitionNames,
    { start, limit }: KeyRange,
    count: number,
  ): Promise<number> {
    let deleted = 0
    while (deleted < count) {
      const wanted = Math.min(count - deleted, RANGE_COUNT)
      const found = await this.#collectSome([partition.bytes, start, limit, wanted])
      deleted += found
      if (found < wanted) break
    }
    return deleted
  }

  async #repeat(
    partition: PartitionNames,
    checks: readonly KvCheck[],
    plan: CommitPlan,
  ): Promise<KvCommitResult> {
    const began = monotonicMs()
    const deadline = began + this.#options.retryMsMax
    const isRead = plan.records === 0 || plan.isImpossible
    for (let attempt = 0; ; attempt++) {
      const made = isRead
        ? await this.#judge(partition, checks, plan)
        : await this.#attempt(partition, checks, plan, deadline)
      if (!('again' in made)) {
        if (made.ok && !isRead) this.#tell(plan, monotonicMs() - began)
        return made
      }
      const ms = this.#options.pauseMs(attempt)
      if (monotonicMs() + ms > deadline) {
        throw postgresError(made.again, 'The commit was not written', 'unchanged')
      }
      await pause(ms)
    }
  }

  #tell({ records, bytes }: CommitPlan, ms: number): void {
    this.onGroup({ commits: 1, records, bytes, ms })
  }

  async #attempt(
    partition: PartitionNames,
    checks: readonly KvCheck[],
    plan: CommitPlan,
    deadline: number,
  ): Promise<Attempt> {
    const { id, number, result, failure } = await this.#send(partition, plan)
    if (result === true) return WRITTEN
    if (result === false) return this.#refuse(partition, checks, plan)
    const kind = kindOfFailure(failure)
    if (kind === 'refused') return this.#judge(partition, checks, plan)
    if (kind === 'failed') throw postgresError(failure, 'PostgreSQL refused a commit', 'unchanged')
    if (kind !== 'unknown') return { again: failure }
    return (await this.#isWritten(id, number, failure, deadline)) ? WRITTEN : { again: failure }
  }

  /** Makes one attempt, on its own connection. @returns `result`, unless there was a failure. */
  async #send(partition: PartitionNames, plan: CommitPlan) {
    const { pool, holds, statements } = this.#options
    const keys = holds.isIdle ? [] : prefixKeys(partition, plan.touched.keys())
    const held = holds.take(keys)
    const session = held ?? (await pool.acquire())
    const { id } = session
    const number = session.nextNumber()
    try {
      const isBegun = held !== undefined
      const result = await statements.commit(session, number, partition.bytes, plan, isBegun)
      if (result) holds.forget(keys)
      if (result) assertReplicated(session)
      return { id, number, result }
    } catch (failure) {
      if (kindOfFailure(failure) === 'fenced') session.connection.destroy()
      return { id, number, failure }
    } finally {
      pool.release(session)
    }
  }

  /** Runs `#judge` after a refusal. After several consecutive refusals, the records are held for the next commit. */
  #refuse(
    partition: PartitionNames,
    checks: readonly KvCheck[],
    plan: CommitPlan,
  ): Promise<Attempt> {
    const { holds, getMany } = this.#options
    const keys = prefixKeys(partition, plan.locked.keys.map(byteText))
    if (!holds.noteRefused(keys)) return this.#judge(partition, checks, plan)
    return this.#judge(partition, checks, plan, () =>
      holds.hold(partition.bytes, plan, keys, getMany),
    )
  }

  /**
   * Compares the checks with the current records. If all hold, the commit only collided with another one, and is
   * retried.
   * @param read - Reads the checked records.
   */
  async #judge(
    partition: PartitionNames,
    checks: readonly KvCheck[],
    plan: CommitPlan,
    read = () => this.#readChecked(partition, plan),
  ): Promise<Attempt> {
    const { cache } = this.#options
    const { checked } = plan
    let present: ReadonlyMap<string, Bytes>
    try {
      const rows = await read()
      present = new Map(
        rows.flatMap(([ordinal, value]) => {
          const key = checked[Number(ordinal) - 1]
          if (key === undefined) return []
          return [[byteText(key), openCell(partition, key, value, cache)] as const]
        }),
      )
    } catch (failure) {
      if (kindOfFailure(failure) !== 'failed') return { again: failure }
      throw postgresError(failure, 'PostgreSQL cannot be read', 'unchanged')
    }
    const judged = judgeChecks(checks, present)
    return judged.ok && plan.records > 0 ? { again: metAnother() } : judged
  }

  #readChecked({ bytes }: PartitionNames, { checked }: CommitPlan): Promise<Row[]> {
    const { pool, getMany } = this.#options
    return pool.use(({ connection }) =>
      connection.query(getMany, [bytes, encodeByteaArray(checked)]),
    )
  }

  /**
   * Determines whether a commit whose connection broke was written. If it was not, it cannot be written later.
   * @throws {StoreError} STORAGE_UNAVAILABLE with the outcome `unknown`: the outcome could not be determined
   */
  async #isWritten(id: Bytes, number: number, cause: unknown, deadline: number): Promise<boolean> {
    const end = () => this.#options.pool.use((session) => session.endOther(id))
    const last = await retryPostgres(end, isStoreError, this.#options, deadline).catch(
      (failure: unknown) => {
        throw unknownOutcome(isStoreError(failure) ? cause : failure)
      },
    )
    if (last === undefined) throw unknownOutcome(cause)
    return last === number
  }

  async #collectSome(parameters: [Bytes, Bytes, Bytes, number]): Promise<number> {
    const { pool } = this.#options
    const deleteRange = () =>
      pool.use(({ connection }) => connection.query(this.#deleteRange, parameters))
    try {
      const [row] = await retryPostgres(deleteRange, isFinal, this.#options)
      return Number(row?.[0])
    } catch (failure) {
      throw postgresError(failure, 'A deletion of a range failed', 'unknown')
    }
  }
}

/** Keys of a partition as text. */
function prefixKeys({ text }: PartitionNames, keys: Iterable<string>): string[] {
  return Array.from(keys, (key) => text + key)
}

/** @throws {StoreError} STORAGE_UNAVAILABLE if the commit may exist only on the primary. */
function assertReplicated({ connection }: CommitSession): void {
  if (!connection.isUnreplicated) return
  const message = 'PostgreSQL ended the wait for a standby: the commit may be on the primary alone'
  throw new StoreError('STORAGE_UNAVAILABLE', message, { outcome: 'unknown' })
}

function metAnother(): Error {
  return new Error('each attempt conflicted with other commits')
}

function unknownOutcome(cause: unknown): StoreError {
  return postgresError(cause, 'It is unknown whether the commit was written', 'unknown')
}
