// A KvStore on PostgreSQL: records in one table, any number of processes.
import type { Awaitable } from '../../src/base/awaitable.js'
import { invariant } from '../../src/base/invariant.js'
import { waitAtMost } from '../../src/base/platform.js'
import { StoreError, storeClosed } from '../../src/base/store-error.js'
import type {
  KvCache,
  KvCheckItem,
  KvGroup,
  KvPartition,
  KvStore,
  KvView,
} from '../../src/ports.js'
import { CommitSession } from './commit-session.js'
import { CommitStatements } from './commit-statement.js'
import { ConnectionPool } from './connection/connection-pool.js'
import type { PostgresConnection, Statement } from './connection/postgres-connection.js'
import {
  type PostgresKvOptions,
  type ResolvedPostgresOptions,
  resolvePostgresOptions,
} from './connection/postgres-options.js'
import { PrimaryFinder } from './connection/primary.js'
import { prepareTables, type TableNames, tableNames } from './connection/tables.js'
import { partitionNames } from './partition-names.js'
import { checkTables } from './postgres-check.js'
import { PostgresCommits } from './postgres-commits.js'
import { PostgresView, type ViewSource, ViewTransaction, viewStatements } from './postgres-views.js'
import { RecordCache } from './record-cache.js'
import { RecordHolds } from './record-holds.js'
import { raiseTo, readBase } from './version-base.js'

/** How long `close` waits for current reads, in milliseconds. */
const DRAIN_MS_MAX = 10_000

/**
 * Opens a key-value store in a PostgreSQL database. Creates its tables if there are none. Any number of processes may
 * have it open.
 *
 * The arrays of a commit must not change until `commit` settles.
 * @throws {StoreError} OPTION_NOT_ALLOWED, STORAGE_UNAVAILABLE, FORMAT_UNKNOWN (tables of a newer version)
 * @example
 * import { openStore } from 'rowstash'
 * import { openPostgresKv, openPostgresObjects } from 'rowstash/postgres'
 *
 * const urls = ['postgres://rowstash@db.internal/rows']
 * await using store = await openStore({ kv: await openPostgresKv({ urls }), objects: await openPostgresObjects({ urls }) })
 * console.log(store.status().writable) // true
 */
export async function openPostgresKv(options: PostgresKvOptions): Promise<KvStore> {
  const resolved = resolvePostgresOptions(options)
  const { versionBaseMin } = resolved
  const finder = new PrimaryFinder(resolved)
  const versionBase = await finder.use(async (connection) => {
    const names = tableNames(resolved)
    const base = await prepareTables(connection, names, resolved)
    if (base < versionBaseMin) await raiseTo(connection, names, versionBaseMin)
    return Math.max(base, versionBaseMin)
  })
  return new PostgresKv(finder, resolved, versionBase, options.recordCacheBytes !== undefined)
}

const NOW: Statement = {
  name: 'rowstash_now',
  text: 'select floor(extract(epoch from clock_timestamp()) * 1000)::bigint',
}

class PostgresKv implements KvStore {
  readonly shared = true
  readonly versionBase: number
  readonly cache: KvCache
  readonly #views: ViewSource & Readonly<{ pool: ConnectionPool<PostgresConnection> }>
  readonly #sessions: ConnectionPool<CommitSession>
  readonly #commits: PostgresCommits
  readonly #running = new Set<Promise<unknown>>()
  #refusal: StoreError | undefined
  #closing: Promise<void> | undefined

  constructor(
    finder: PrimaryFinder,
    options: ResolvedPostgresOptions,
    versionBase: number,
    isCacheFixed: boolean,
  ) {
    const { retryMsMax, pauseMs, viewConnectionsMax, commitConnectionsMax } = options
    const names = tableNames(options)
    const statements = viewStatements(names)
    const cache = new RecordCache(options.recordCacheBytes, isCacheFixed)
    this.versionBase = versionBase
    this.cache = cache
    this.#views = {
      pool: new ConnectionPool(
        () => finder.open((connection) => this.#beginViews(connection, names)),
        { max: viewConnectionsMax, waitMsMax: retryMsMax, what: 'views' },
      ),
      statements,
      cache,
      retryMsMax,
      pauseMs,
    }
    this.#sessions = new ConnectionPool(
      () =>
        finder.open((connection) =>
          this.#beginSession(new CommitSession(connection, names, options.random)),
        ),
      { max: commitConnectionsMax, waitMsMax: retryMsMax, what: 'commits' },
    )
    this.#commits = new PostgresCommits({
      pool: this.#sessions,
      names,
      getMany: statements.getMany,
      statements: new CommitStatements(names),
      holds: new RecordHolds(this.#sessions, names),
      cache,
      retryMsMax,
      pauseMs,
    })
  }

  get refusal(): StoreError | undefined {
    return this.#closing === undefined ? this.#refusal : storeClosed()
  }

  observe(onGroup: (group: KvGroup) => void): void {
    this.#commits.onGroup = onGroup
  }

  partition(name: string): KvPartition {
    const names = partitionNames(name)
    return {
      read: (use) => {
        return this.#read((transaction) => use(new PostgresView(this.#views, transaction, names)))
      },
      commit: (commit) => {
        return this.#run(() => {
          if (this.#refusal !== undefined) throw this.#refusal
          return this.#commits.commit(names, commit)
        })
      },
      deleteRange: (range, count) => {
        invariant(
          Number.isInteger(count) && count >= 1,
          'a garbage collection has a positive count',
        )
        return this.#run(() => this.#commits.deleteRange(names, range, count))
      },
    }
  }

  readAll<T>(use: (viewOf: (partition: string) => KvView) => Promise<T>): Promise<T> {
    return this.#read((transaction) => {
      return use((name) => new PostgresView(this.#views, transaction, partitionNames(name)))
    })
  }

  async now(): Promise<number> {
    const { pool } = this.#views
    const views: ViewSource = {
      ...this.#views,
      // Views that wait for the time may use all connections.
      pool: { acquire: () => pool.acquire(1), release: (used) => pool.release(used) },
    }
    const [row] = await this.#read((transaction) => transaction.query(NOW, []), views)
    return Number(row?.[0])
  }

  async *check(full: boolean): AsyncGenerator<KvCheckItem, void> {
    if (this.#closing !== undefined) throw storeClosed()
    const transaction = new ViewTransaction(this.#views)
    try {
      yield* checkTables(transaction, this.#views.statements, full)
    } finally {
      transaction.end()
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#end()
    return this.#closing
  }

  async #end(): Promise<void> {
    await waitAtMost(Promise.allSettled(this.#running), DRAIN_MS_MAX)
    await Promise.all([this.#views.pool.close(), this.#sessions.close()])
  }

  #read<T>(
    use: (transaction: ViewTransaction) => Awaitable<T>,
    views: ViewSource = this.#views,
  ): Promise<T> {
    return this.#run(async () => {
      const transaction = new ViewTransaction(views)
      try {
        return await use(transaction)
      } finally {
        transaction.end()
      }
    })
  }

  /** Runs an operation that `close` waits for. */
  async #run<T>(operation: () => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) throw storeClosed()
    const running = operation()
    this.#running.add(running)
    try {
      return await running
    } finally {
      this.#running.delete(running)
    }
  }

  async #beginSession(session: CommitSession): Promise<CommitSession> {
    this.#checkBase(await session.begin())
    return session
  }

  /** Checks the version base of a new connection, whose server may lack commits that this store has acknowledged. */
  async #beginViews(
    connection: PostgresConnection,
    names: TableNames,
  ): Promise<PostgresConnection> {
    this.#checkBase(await readBase(connection, names))
    return connection
  }

  /** @throws {StoreError} STORAGE_UNAVAILABLE if the version base was raised since the store was opened. */
  #checkBase(versionBase: number): void {
    if (versionBase === this.versionBase) return
    const message = 'The version base of the store was raised; open the store again'
    this.#refusal = new StoreError('STORAGE_UNAVAILABLE', message, { outcome: 'unchanged' })
    throw this.#refusal
  }
}
