import { type Backoff, openBackoff } from '../../../src/base/backoff.js'
import {
  booleanOption,
  checkFunctionOption,
  hasMethods,
  type IntegerRange,
  integerOptions,
  optionError,
  shown,
} from '../../../src/base/options.js'
import { openSystemRandom } from '../../../src/base/random.js'
import type { Random } from '../../../src/ports.js'

/** A condition of the database that the operator should know about. */
export type PostgresWarning = Readonly<{
  /** The warning for programs: a commit may be lost in a failover, or in a power cut. */
  code: 'ROWSTASH_NO_SYNCHRONOUS_STANDBY' | 'ROWSTASH_ASYNCHRONOUS_COMMIT'
  /** The warning for people, with the setting to change. */
  message: string
}>

/** Options of `openPostgresKv`. All except `urls` have a default; unknown names are rejected. */
export interface PostgresKvOptions {
  /**
   * The database: `postgres://user:password@host:port/database`. List the URLs of all servers that may be the primary:
   * the server that accepts writes is used, and after a failover the server that accepts them then. 1 to 16 URLs.
   */
  readonly urls: readonly string[]
  /**
   * The schema of the tables; created if it does not exist. Lower-case letters, digits and `_`, at most 40 characters,
   * the first no digit. Default: `rowstash`.
   */
  readonly schema?: string
  /** The table of records; the names of the other tables begin with it. Rules as for `schema`. Default: `records`. */
  readonly table?: string
  /**
   * Whether the URLs lead to PgBouncer in transaction mode: then neither prepared statements nor session settings are
   * used, so only the client enforces `statementTimeoutMs`. Default: false.
   */
  readonly pgBouncer?: boolean
  /** The maximum number of connections for views. Further reads wait. Default: 10. Range: 1 to 1,000. */
  readonly viewConnectionsMax?: number
  /**
   * The maximum number of connections for commits and garbage collections. Further commits and collections wait.
   * Default: 6. Range: 1 to 1,000.
   */
  readonly commitConnectionsMax?: number
  /** The maximum time of an attempt to connect to one URL, in milliseconds. Default: 2,000. Range: 10 to 60,000. */
  readonly connectTimeoutMs?: number
  /** The maximum time of a statement, in milliseconds. Default: 10,000. Range: 100 to 600,000. */
  readonly statementTimeoutMs?: number
  /**
   * How long an operation waits for a connection and retries, in milliseconds; longer than a failover takes. After
   * that, it fails with STORAGE_UNAVAILABLE. Default: 15,000. Range: 100 to 600,000.
   */
  readonly retryMsMax?: number
  /**
   * The size of the cache that returns the same object as long as the bytes of a record are the same, in bytes. 0: no
   * record is cached. Default: 8 MiB. Range: 0 to 1 GiB.
   */
  readonly recordCacheBytes?: number
  /**
   * The least version base of the store. A restore sets it to the backup's base plus 2^32. Default: 0. Range: 0 to
   * 2^52.
   */
  readonly versionBaseMin?: number
  /** Receives each warning once. Default: they are emitted as process warnings. */
  readonly onWarning?: (warning: PostgresWarning) => void
  /** Randomness of waits, and of the IDs of commit connections. Default: the system's. */
  readonly random?: Random
}

type NumberOption =
  | 'viewConnectionsMax'
  | 'commitConnectionsMax'
  | 'connectTimeoutMs'
  | 'statementTimeoutMs'
  | 'retryMsMax'
  | 'recordCacheBytes'
  | 'versionBaseMin'

const RANGES = {
  viewConnectionsMax: { default: 10, min: 1, max: 1_000 },
  commitConnectionsMax: { default: 6, min: 1, max: 1_000 },
  connectTimeoutMs: { default: 2_000, min: 10, max: 60_000 },
  statementTimeoutMs: { default: 10_000, min: 100, max: 600_000 },
  retryMsMax: { default: 15_000, min: 100, max: 600_000 },
  recordCacheBytes: { default: 8 * 1_048_576, min: 0, max: 1_024 * 1_048_576 },
  versionBaseMin: { default: 0, min: 0, max: 2 ** 52 },
} as const satisfies Record<NumberOption, IntegerRange>

type OtherOption = Exclude<keyof PostgresKvOptions, NumberOption>

const OTHER_OPTIONS: readonly string[] = [
  'urls',
  'schema',
  'table',
  'pgBouncer',
  'onWarning',
  'random',
] satisfies OtherOption[]

const URLS_MAX = 16
/** Waits between attempts: the first for a conflict of two commits, which is short, the longest for a failover. */
const PAUSES = { firstMs: 4, maxMs: 500 }
const NAME_PATTERN = /^[a-z_][a-z0-9_]{0,39}$/

export type ResolvedPostgresOptions = Readonly<Record<NumberOption, number>> &
  Readonly<{
    urls: readonly string[]
    schema: string
    table: string
    pgBouncer: boolean
    onWarning: PostgresKvOptions['onWarning']
    random: Random
    /** The wait before another attempt. */
    pauseMs: Backoff
  }>

/**
 * @param what - The owner of the options, for messages.
 * @throws {StoreError} OPTION_NOT_ALLOWED
 */
export function resolvePostgresOptions(
  given: PostgresKvOptions,
  what = 'openPostgresKv',
): ResolvedPostgresOptions {
  const numbers = integerOptions(what, given, RANGES, OTHER_OPTIONS)
  checkFunctionOption('onWarning', given.onWarning)
  const { random = openSystemRandom() } = given
  if (!hasMethods(random, ['bytes'])) throw optionError('random', 'must have the method bytes')
  return Object.freeze({
    ...numbers,
    urls: urlsOption(given.urls),
    schema: nameOption('schema', given.schema, 'rowstash'),
    table: nameOption('table', given.table, 'records'),
    pgBouncer: booleanOption('pgBouncer', given.pgBouncer, false),
    onWarning: given.onWarning,
    random,
    pauseMs: openBackoff(PAUSES, random),
  })
}

function urlsOption(urls: unknown): readonly string[] {
  const isList = Array.isArray(urls) && urls.length >= 1 && urls.length <= URLS_MAX
  if (!isList) throw optionError('urls', `must be an array of 1 to ${URLS_MAX} URLs`)
  return urls.map((url: unknown) => {
    // The URL itself is not shown: it may contain a password.
    if (typeof url === 'string' && /^postgres(?:ql)?:\/\//.test(url) && URL.canParse(url)) {
      return url
    }
    throw optionError(
      'urls',
      'must contain URLs of the form postgres://user:password@host/database',
    )
  })
}

function nameOption(name: string, value: unknown, fallback: string): string {
  if (value === undefined) return fallback
  if (typeof value === 'string' && NAME_PATTERN.test(value)) return value
  const rule = 'must be 1 to 40 lower-case letters, digits and _, and begin with no digit'
  throw optionError(name, `${rule}, not ${shown(value)}`)
}
