// One connection to PostgreSQL. Statements are sent at once, without waiting for the answers of earlier ones.
import { Socket } from 'node:net'
import type pg from 'pg'
import type { Bytes } from '../../../src/base/bytes.js'
import { monotonicMs } from '../../../src/base/clock.js'
import { StoreError } from '../../../src/base/store-error.js'
import { decodeBytea } from './bytea-array.js'
import { leavesConnection } from './postgres-error.js'
import type { ResolvedPostgresOptions } from './postgres-options.js'

/** A value of a result: bytea as bytes, integers as numbers, everything else as text. */
export type Cell = Bytes | number | boolean | string | null

export type Row = readonly Cell[]

/** A named statement is prepared once per connection. */
export type Statement = Readonly<{ text: string; name?: string }>

/** A parameter: bytes, an array of bytes in its binary form, or a number. */
export type Parameter = Bytes | number

/** How long an idle transaction of a dead process may keep its snapshot, in milliseconds. */
const IDLE_TRANSACTION_MS_MAX = 300_000

/** How much longer than the server we wait for the end of a statement, in milliseconds. */
const STATEMENT_GRACE_MS = 1_000

/** Settings for the right plan on every table of ours: one index probe per key, whatever the statistics. */
const PLANNER_SETTINGS = [
  'plan_cache_mode=force_generic_plan',
  'enable_seqscan=off',
  'enable_bitmapscan=off',
  'enable_hashjoin=off',
  'enable_mergejoin=off',
  'jit=off',
]

/** The PostgreSQL function that warns if a commit should have been replicated but was not. */
const REPLICATION_WAIT = 'SyncRepWaitForLSN'

const BOOL_OID = 16
const BYTEA_OID = 17
const INTEGER_OIDS: ReadonlySet<number> = new Set([20, 21, 23])

function parserOf(oid: number): (text: string) => Cell {
  if (oid === BYTEA_OID) return decodeBytea
  if (oid === BOOL_OID) return (text) => text === 't'
  return INTEGER_OIDS.has(oid) ? Number : String
}

/** The used part of the package `pg`. */
type Driver = Pick<typeof pg, 'Client' | 'Query'>

const TYPES = { getTypeParser: parserOf } as pg.CustomTypesConfig

/** The connection of a view or a commit. */
export class PostgresConnection {
  /** When it was opened, in milliseconds of the monotonic clock. */
  readonly openedAt = monotonicMs()
  readonly #client: pg.Client
  readonly #Query: typeof pg.Query
  readonly #socket: Socket
  readonly #isPrepared: boolean
  #isBroken = false
  #isUnreplicated = false

  private constructor({ Client, Query }: Driver, url: string, options: ResolvedPostgresOptions) {
    const { connectTimeoutMs, statementTimeoutMs, pgBouncer } = options
    this.#Query = Query
    this.#isPrepared = !pgBouncer
    this.#socket = new Socket()
    this.#client = new Client({
      connectionString: url,
      stream: () => this.#socket,
      pipeline: true,
      keepAlive: true,
      application_name: 'rowstash',
      connectionTimeoutMillis: connectTimeoutMs,
      query_timeout: statementTimeoutMs + STATEMENT_GRACE_MS,
      types: TYPES,
      ...(pgBouncer ? {} : { options: startOptions(statementTimeoutMs) }),
    })
    this.#client.on('error', () => this.destroy())
    this.#client.on('end', () => this.destroy())
    this.#client.on('notice', ({ routine }) => {
      if (routine === REPLICATION_WAIT) this.#isUnreplicated = true
    })
  }

  /**
   * Connects to one URL.
   * @throws {StoreError} STORAGE_UNAVAILABLE: the package `pg` is not installed. Failures of the system and of
   *   PostgreSQL are thrown unchanged.
   */
  static async open(url: string, options: ResolvedPostgresOptions): Promise<PostgresConnection> {
    const connection = new PostgresConnection(await loadDriver(), url, options)
    try {
      await connection.#client.connect()
      return connection
    } catch (failure) {
      connection.destroy()
      throw failure
    }
  }

  /** Whether further statements may be sent. */
  get isUsable(): boolean {
    return !this.#isBroken
  }

  /** Whether PostgreSQL gave up waiting for a standby: the last commit may exist only on the primary. */
  get isUnreplicated(): boolean {
    return this.#isUnreplicated
  }

  /** Sends a statement. Resolves with its rows. */
  async query(statement: Statement, parameters: readonly Parameter[] = []): Promise<Row[]> {
    const { text, name } = statement
    const isNamed = name !== undefined && this.#isPrepared
    const { rows } = await this.#ended(
      this.#client.query<Cell[]>({
        text,
        values: [...parameters],
        rowMode: 'array',
        ...(isNamed ? { name } : {}),
      }),
    )
    return rows
  }

  /**
   * Sends a `COPY … TO STDOUT`, and resolves when it has ended.
   * @param onMessage - Receives each message; the driver reuses its memory. If it throws, the copy fails.
   */
  copy(text: string, onMessage: (message: Bytes) => void): Promise<void> {
    let isOpen = true
    let refused: { failure: unknown } | undefined
    const receive = ({ chunk }: { chunk: Bytes }): void => {
      if (!isOpen || refused !== undefined) return
      try {
        onMessage(chunk)
      } catch (failure) {
        refused = { failure } // The driver would not catch a thrown failure.
      }
    }
    const ended = new Promise<void>((resolve, reject) => {
      const callback = (failure?: Error | null): void => {
        isOpen = false // Messages may still arrive after a timeout.
        if (failure) reject(failure)
        else if (refused) reject(refused.failure)
        else resolve()
      }
      this.#client.query(
        Object.assign(new this.#Query(text), { handleCopyData: receive, callback }),
      )
    })
    return this.#ended(ended)
  }

  /** Destroys the connection if the failure of a statement leaves it in an unknown state. */
  async #ended<T>(result: Promise<T>): Promise<T> {
    try {
      return await result
    } catch (failure) {
      if (!leavesConnection(failure)) this.destroy()
      throw failure
    }
  }

  /** Ends the connection after its current statements. */
  async close(): Promise<void> {
    if (this.#isBroken) return
    await this.#client.end()
  }

  /** Ends the connection at once. */
  destroy(): void {
    this.#isBroken = true
    this.#socket.destroy()
  }
}

/** Loads the package `pg`, an optional peer dependency. */
async function loadDriver(): Promise<Driver> {
  try {
    return await import('pg')
  } catch (cause) {
    const message =
      'Records in PostgreSQL need the package pg, which cannot be loaded: npm install pg'
    throw new StoreError('STORAGE_UNAVAILABLE', message, { cause, outcome: 'unchanged' })
  }
}

function startOptions(statementTimeoutMs: number): string {
  const settings = [
    ...PLANNER_SETTINGS,
    'bytea_output=hex',
    `statement_timeout=${statementTimeoutMs}`,
    `idle_in_transaction_session_timeout=${IDLE_TRANSACTION_MS_MAX}`,
  ]
  return settings.map((setting) => `-c ${setting}`).join(' ')
}
