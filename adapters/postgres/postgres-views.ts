// Views: read-only transactions with REPEATABLE READ, so that each sees one snapshot. A transaction begins with the
// first query, in the same round trip, and its end is not awaited.
import type { Backoff } from '../../src/base/backoff.js'
import { type Bytes, compareBytes, NO_BYTES } from '../../src/base/bytes.js'
import { monotonicMs } from '../../src/base/clock.js'
import { invariant } from '../../src/base/invariant.js'
import { pause } from '../../src/base/pause.js'
import type { KvScan, KvView } from '../../src/kv/kv.js'
import { encodeByteaArray } from './connection/bytea-array.js'
import type { ConnectionPool } from './connection/connection-pool.js'
import type {
  Parameter,
  PostgresConnection,
  Row,
  Statement,
} from './connection/postgres-connection.js'
import { kindOfFailure, postgresError } from './connection/postgres-error.js'
import type { TableNames } from './connection/tables.js'
import { bytesOfCell, openCell, type PartitionNames } from './partition-names.js'
import type { RecordCache } from './record-cache.js'

const SCAN_COUNT_MAX = 100_000

const BEGIN = { text: 'begin isolation level repeatable read read only' }
const END = { text: 'commit' }

export type ViewStatements = Readonly<
  Record<
    'get' | 'getMany' | 'scan' | 'scanBack' | 'scanKeys' | 'scanKeysBack' | 'nextPartition',
    Statement
  >
>

export function viewStatements({ records }: TableNames): ViewStatements {
  const scan = (name: string, order: string, columns = 'k, v'): Statement => ({
    name: `rowstash_${name}`,
    text: `select ${columns} from ${records} where p = $1 and k >= $2 and k < $3 order by k ${order} limit $4`,
  })
  return {
    get: { name: 'rowstash_get', text: `select v from ${records} where p = $1 and k = $2` },
    getMany: {
      name: 'rowstash_get_many',
      text: `select x.i::int, t.v from unnest($2::bytea[]) with ordinality as x(k, i)
        cross join lateral (select v from ${records} where p = $1 and k = x.k limit 1) t`,
    },
    scan: scan('scan', 'asc'),
    scanBack: scan('scan_back', 'desc'),
    scanKeys: scan('scan_keys', 'asc', 'k'),
    scanKeysBack: scan('scan_keys_back', 'desc', 'k'),
    nextPartition: {
      name: 'rowstash_next_partition',
      text: `select p from ${records} where p >= $1 order by p limit 1`,
    },
  }
}

export type ViewSource = Readonly<{
  pool: Pick<ConnectionPool<PostgresConnection>, 'acquire' | 'release'>
  statements: ViewStatements
  cache: RecordCache
  retryMsMax: number
  pauseMs: Backoff
}>

/** A connection, and the answer to the BEGIN sent on it. */
type Begun = Promise<Readonly<{ connection: PostgresConnection; begin: Promise<unknown> }>>

/** The transaction of one view, or of several views of the same moment. */
export class ViewTransaction {
  readonly #source: ViewSource
  readonly #deadline: number
  #begun: Begun | undefined
  /** Whether data was read: another transaction would show another moment. */
  #isFixed = false
  #isEnded = false

  constructor(source: ViewSource) {
    this.#source = source
    this.#deadline = monotonicMs() + source.retryMsMax
  }

  /** @throws {StoreError} STORAGE_UNAVAILABLE, STORE_CLOSED */
  async query(statement: Statement, parameters: readonly Parameter[]): Promise<Row[]> {
    for (let attempt = 0; ; attempt++) {
      invariant(!this.#isEnded, 'a view is used only inside the read that made it')
      this.#begun ??= this.#begin()
      const begun = this.#begun
      try {
        const { connection, begin } = await begun
        const [rows] = await Promise.all([connection.query(statement, parameters), begin])
        this.#isFixed = true
        return rows
      } catch (failure) {
        const ms = this.#source.pauseMs(attempt)
        if (this.#isFixed || !isLost(failure) || monotonicMs() + ms > this.#deadline) {
          throw postgresError(failure, 'PostgreSQL cannot be read')
        }
        this.#drop(begun)
        await pause(ms)
      }
    }
  }

  /** Returns the connection. */
  end(): void {
    this.#isEnded = true
    const begun = this.#begun
    if (begun === undefined) return
    begun.then(
      ({ connection }) => {
        connection.query(END).catch(() => undefined)
        this.#source.pool.release(connection)
      },
      () => undefined,
    )
  }

  async #begin(): Begun {
    const connection = await this.#source.pool.acquire()
    const begin = connection.query(BEGIN)
    begin.catch(() => undefined) // The query after it awaits it.
    return { connection, begin }
  }

  /** Returns a broken connection, so that the next query starts over. */
  #drop(begun: Begun): void {
    if (this.#begun !== begun) return
    this.#begun = undefined
    begun.then(
      ({ connection }) => {
        connection.destroy()
        this.#source.pool.release(connection)
      },
      () => undefined,
    )
  }
}

function isLost(failure: unknown): boolean {
  const kind = kindOfFailure(failure)
  return kind === 'unknown' || kind === 'elsewhere'
}

/** A view of one partition. */
export class PostgresView implements KvView {
  readonly #source: ViewSource
  readonly #transaction: ViewTransaction
  readonly #partition: PartitionNames

  constructor(source: ViewSource, transaction: ViewTransaction, partition: PartitionNames) {
    this.#source = source
    this.#transaction = transaction
    this.#partition = partition
  }

  async get(key: Bytes): Promise<Bytes | null> {
    const { get } = this.#source.statements
    const [row] = await this.#transaction.query(get, [this.#partition.bytes, key])
    return row === undefined ? null : this.#open(key, row[0])
  }

  async getMany(keys: readonly Bytes[]): Promise<(Bytes | null)[]> {
    if (keys.length === 0) return []
    const { getMany } = this.#source.statements
    const parameters = [this.#partition.bytes, encodeByteaArray(keys)]
    const rows = await this.#transaction.query(getMany, parameters)
    const values: (Bytes | null)[] = keys.map(() => null)
    for (const [ordinal, value] of rows) {
      const at = Number(ordinal) - 1
      const key = keys[at]
      if (key !== undefined) values[at] = this.#open(key, value)
    }
    return values
  }

  async scan(request: KvScan): Promise<[Bytes, Bytes][]> {
    const { start, limit, count, reverse = false, keysOnly = false } = request
    const isCount = Number.isInteger(count) && count >= 1 && count <= SCAN_COUNT_MAX
    invariant(isCount, `a scan counts 1 to ${SCAN_COUNT_MAX} entries`)
    if (compareBytes(start, limit) >= 0) return []
    const { scan, scanBack, scanKeys, scanKeysBack } = this.#source.statements
    const [forth, back] = keysOnly ? [scanKeys, scanKeysBack] : [scan, scanBack]
    const parameters = [this.#partition.bytes, start, limit, count]
    const rows = await this.#transaction.query(reverse ? back : forth, parameters)
    return rows.map(([cell, value]) => {
      const key = bytesOfCell(cell)
      if (keysOnly) return [key, NO_BYTES]
      return [key, this.#open(key, value)]
    })
  }

  #open(key: Bytes, value: Row[number] | undefined): Bytes {
    return openCell(this.#partition, key, value, this.#source.cache)
  }
}
