// Finds the server that accepts writes among several URLs.
import { createTell } from '../../../src/base/hooks.js'
import { warn } from '../../../src/base/platform.js'
import { isStoreError, StoreError } from '../../../src/base/store-error.js'
import { PostgresConnection } from './postgres-connection.js'
import { postgresError, sqlState } from './postgres-error.js'
import type { PostgresWarning, ResolvedPostgresOptions } from './postgres-options.js'
import { retryPostgres } from './retry.js'

const VERSION_MIN = 140_000

/** Settings that show whether a server is the primary, or that the operator should know about. */
const SETTINGS = {
  text: `select current_setting('server_version_num')::int,
    current_setting('transaction_read_only'),
    current_setting('synchronous_standby_names', true),
    current_setting('synchronous_commit', true)`,
}

/** invalid_authorization, invalid_password, invalid_catalog_name, insufficient_privilege. */
const PERMANENT: ReadonlySet<string | undefined> = new Set(['28000', '28P01', '3D000', '42501'])

/** Values of `synchronous_commit` that acknowledge a commit before it is on the disks of the primary and a standby. */
const EARLY_COMMITS: readonly unknown[] = ['off', 'local', 'remote_write']

export class PrimaryFinder {
  readonly #options: ResolvedPostgresOptions
  readonly #tell = createTell()
  readonly #warned = new Set<string>()
  /** The index of the last primary. */
  #last = 0

  constructor(options: ResolvedPostgresOptions) {
    this.#options = options
  }

  /**
   * Connects to the primary, retrying for `retryMsMax`.
   * @param begin - Prepares the connection; if it fails, another connection is opened.
   * @throws {StoreError} STORAGE_UNAVAILABLE, OPTION_NOT_ALLOWED, and what `begin` throws
   */
  async open<T>(begin: (connection: PostgresConnection) => Promise<T>): Promise<T> {
    try {
      return await retryPostgres(() => this.#openAny(begin), isPermanent, this.#options)
    } catch (failure) {
      throw postgresError(failure, 'PostgreSQL cannot be reached', 'unchanged')
    }
  }

  /** Runs `use` on a separate connection to the primary. After a failure it may run again: see `open`. */
  use<T>(use: (connection: PostgresConnection) => Promise<T>): Promise<T> {
    return this.open(async (connection) => {
      const result = await use(connection)
      await connection.close()
      return result
    })
  }

  /** Tries each URL once. */
  async #openAny<T>(begin: (connection: PostgresConnection) => Promise<T>): Promise<T> {
    const { urls } = this.#options
    let failure: unknown
    for (let tried = 0; tried < urls.length; tried++) {
      const at = (this.#last + tried) % urls.length
      try {
        const ready = await this.#openPrimary(urls[at] ?? '', begin)
        this.#last = at
        return ready
      } catch (thrown) {
        if (isPermanent(thrown)) throw thrown
        failure = thrown
      }
    }
    throw failure
  }

  async #openPrimary<T>(
    url: string,
    begin: (connection: PostgresConnection) => Promise<T>,
  ): Promise<T> {
    const connection = await PostgresConnection.open(url, this.#options)
    try {
      const [row = []] = await connection.query(SETTINGS)
      const [version, readOnly, standbys, commit] = row
      if (Number(version) < VERSION_MIN) throw tooOld(Number(version))
      if (readOnly !== 'off') throw new Error('the server does not accept writes: it is a standby')
      this.#warnOf(standbys, commit)
      return await begin(connection)
    } catch (failure) {
      connection.destroy()
      throw failure
    }
  }

  #warnOf(standbys: unknown, commit: unknown): void {
    if (standbys === '') {
      this.#warnOnce({
        code: 'ROWSTASH_NO_SYNCHRONOUS_STANDBY',
        message:
          'PostgreSQL has no synchronous standby: acknowledged commits are lost with the primary. ' +
          'Set synchronous_standby_names',
      })
    }
    if (EARLY_COMMITS.includes(commit)) {
      this.#warnOnce({
        code: 'ROWSTASH_ASYNCHRONOUS_COMMIT',
        message:
          `PostgreSQL acknowledges commits early: synchronous_commit is ${commit}. ` +
          'Set it to on for the role of this store',
      })
    }
  }

  #warnOnce(warning: PostgresWarning): void {
    if (this.#warned.has(warning.code)) return
    this.#warned.add(warning.code)
    const { onWarning } = this.#options
    if (onWarning === undefined) warn(warning.message, warning.code)
    else this.#tell('onWarning', () => onWarning(warning))
  }
}

function isPermanent(failure: unknown): boolean {
  return isStoreError(failure) || PERMANENT.has(sqlState(failure))
}

function tooOld(version: number): StoreError {
  const major = Math.floor(version / 10_000)
  return new StoreError('OPTION_NOT_ALLOWED', `PostgreSQL 14 or later is needed, not ${major}`)
}
