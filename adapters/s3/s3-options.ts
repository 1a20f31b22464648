// Options of the objects in an S3 store.
import { systemClock } from '../../src/base/clock.js'
import {
  booleanOption,
  choiceOption,
  hasMethods,
  type IntegerRange,
  integerOptions,
  isUrl,
  optionError,
  shown,
  typeName,
} from '../../src/base/options.js'
import { openSystemRandom } from '../../src/base/random.js'
import type { Awaitable, Clock, Random } from '../../src/ports.js'

/** The keys of an account, which sign requests. */
export type S3Credentials = Readonly<{
  /** The ID of the key; it is no secret. */
  accessKeyId: string
  /** The secret that signs requests. It is never sent. */
  secretAccessKey: string
  /** The session token of temporary credentials. Default: none. */
  sessionToken?: string | undefined
}>

/** Options of `openS3Objects`. Unknown names are rejected. */
export interface S3Options {
  /**
   * The server, as an http or https URL without a path: `https://s3.eu-central-1.amazonaws.com`. Without TLS, the
   * objects can be read on the network.
   */
  readonly endpoint: string | URL
  /** The bucket, which must exist. Range: 3 to 63 lower-case letters, digits, dots and hyphens. */
  readonly bucket: string
  /**
   * The credentials, or a function that returns them. The function is called for each attempt of a request, so that
   * temporary credentials can be renewed. It should cache credentials while they are valid. The credentials must allow
   * to get, put, delete and list objects, and to abort multipart uploads.
   */
  readonly credentials: S3Credentials | (() => Awaitable<S3Credentials>)
  /** The region that requests are signed for. Default: `us-east-1`. Range: 1 to 64 letters, digits and hyphens. */
  readonly region?: string
  /**
   * The beginning of the keys of all objects. Each store needs its own prefix: a store deletes all unknown objects
   * below its prefix. Default: none. Range: up to 200 letters, digits and `-_./`.
   */
  readonly keyPrefix?: string
  /**
   * How URLs contain the bucket: `path` for `https://host/bucket/key`, `host` for `https://bucket.host/key`. Default:
   * `path`.
   */
  readonly addressing?: 'path' | 'host'
  /** The server's URL for clients, in the URLs of uploads. Default: `endpoint`. */
  readonly publicEndpoint?: string | URL
  /**
   * Whether to send `If-None-Match: *` with each put, so that no object is ever replaced. Set it to false for servers
   * that answer 501 to it. Default: true.
   */
  readonly conditionalPuts?: boolean
  /** Certificate authorities, in PEM, instead of the well-known ones. Default: the well-known ones. */
  readonly ca?: string
  /**
   * Size of the parts of a large object, in bytes. Smaller objects are put by one request; an object has at most 10,000
   * parts. Default: 8 MiB, for objects of up to 78 GiB. Range: 8 MiB to 1 GiB.
   */
  readonly partBytes?: number
  /**
   * Parts of an object sent at the same time. A put of a stream holds one more part in memory. Default: 2. Range: 1 to
   * 16.
   */
  readonly partsAtOnce?: number
  /**
   * Bytes read by one request of a stream. A stream holds twice as many in memory, and no connection while its reader
   * pauses. Default: 4 MiB. Range: 64 KiB to 256 MiB.
   */
  readonly readBytes?: number
  /**
   * The cost of one request, as the number of bytes that take as long to read: an uncached row is read with up to that
   * many bytes around it if this saves a request. Choose more for a distant server on a fast network, less for a busy
   * one nearby. Default: 512 KiB. Range: 0 to 1 MiB.
   */
  readonly requestCostBytes?: number
  /** The maximum number of connections to the server. Further requests wait for one. Default: 64. Range: 1 to 1,000. */
  readonly socketsMax?: number
  /** The maximum time for DNS, connection and TLS, in milliseconds. Default: 5 seconds. Range: 10 ms to 1 minute. */
  readonly connectTimeoutMs?: number
  /**
   * The maximum time in which no byte is sent or received, in milliseconds. Default: 15 seconds. Range: 10 ms to
   * 10 minutes.
   */
  readonly idleTimeoutMs?: number
  /** The maximum time of one attempt of a request, in milliseconds. Default: 2 minutes. Range: 10 ms to 1 hour. */
  readonly attemptTimeoutMs?: number
  /**
   * The maximum number of attempts of a request. A request is repeated after 5xx, 408, 429 or `SlowDown`, a timeout, or
   * a lost connection. Default: 10. Range: 1 to 100.
   */
  readonly attemptsMax?: number
  /** Time after which a request is no longer repeated, in milliseconds. Default: 1 minute. Range: 0 to 1 hour. */
  readonly retryTimeMs?: number
  /**
   * The maximum wait before the first retry, in milliseconds. The maximum doubles with each retry. The wait is random,
   * from 0 to this. Default: 50 ms. Range: 1 ms to 1 minute.
   */
  readonly backoffBaseMs?: number
  /** The maximum wait before any retry, in milliseconds. Default: 5 seconds. Range: 1 ms to 10 minutes. */
  readonly backoffMaxMs?: number
  /**
   * The maximum `Retry-After` of the server that is obeyed, in milliseconds. With a longer one the request fails.
   * Default: 30 seconds. Range: 0 to 1 hour.
   */
  readonly retryAfterMaxMs?: number
  /** The clock for signatures. Servers reject signatures whose time is 15 minutes off. Default: the system's clock. */
  readonly clock?: Clock
  /** Randomness of waits, and of the marks of puts. Default: the system's. */
  readonly random?: Random
}

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const KIB = 1_024
const MIB = 1_024 * KIB

const RANGES = {
  partBytes: { default: 8 * MIB, min: 8 * MIB, max: 1_024 * MIB },
  partsAtOnce: { default: 2, min: 1, max: 16 },
  readBytes: { default: 4 * MIB, min: 64 * KIB, max: 256 * MIB },
  requestCostBytes: { default: 512 * KIB, min: 0, max: MIB },
  socketsMax: { default: 64, min: 1, max: 1_000 },
  connectTimeoutMs: { default: 5 * SECOND_MS, min: 10, max: MINUTE_MS },
  idleTimeoutMs: { default: 15 * SECOND_MS, min: 10, max: 10 * MINUTE_MS },
  attemptTimeoutMs: { default: 2 * MINUTE_MS, min: 10, max: HOUR_MS },
  attemptsMax: { default: 10, min: 1, max: 100 },
  retryTimeMs: { default: MINUTE_MS, min: 0, max: HOUR_MS },
  backoffBaseMs: { default: 50, min: 1, max: MINUTE_MS },
  backoffMaxMs: { default: 5 * SECOND_MS, min: 1, max: 10 * MINUTE_MS },
  retryAfterMaxMs: { default: 30 * SECOND_MS, min: 0, max: HOUR_MS },
} as const satisfies Record<NumberOption, IntegerRange>

type OtherOption =
  | 'endpoint'
  | 'bucket'
  | 'credentials'
  | 'region'
  | 'keyPrefix'
  | 'addressing'
  | 'publicEndpoint'
  | 'conditionalPuts'
  | 'ca'
  | 'clock'
  | 'random'
type NumberOption = Exclude<keyof S3Options, OtherOption>

const OTHER_OPTIONS: readonly string[] = [
  'endpoint',
  'bucket',
  'credentials',
  'region',
  'keyPrefix',
  'addressing',
  'publicEndpoint',
  'conditionalPuts',
  'ca',
  'clock',
  'random',
] satisfies OtherOption[]

export type S3Settings = Readonly<Record<NumberOption, number>> &
  Readonly<{
    /** The URL of the bucket: of the object with an empty key. */
    bucketUrl: URL
    publicBucketUrl: URL
    bucket: string
    credentials: () => Awaitable<S3Credentials>
    region: string
    keyPrefix: string
    conditionalPuts: boolean
    ca: string | undefined
    clock: Clock
    random: Random
  }>

const REGION_DEFAULT = 'us-east-1'
const BUCKET_PATTERN = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/
const REGION_PATTERN = /^[A-Za-z0-9-]{1,64}$/
const KEY_PREFIX_PATTERN = /^[A-Za-z0-9_./-]{0,200}$/

/** Parts of a path that the URL parser removes. */
const DOT_PARTS = /(?:^|\/)\.{1,2}(?:\/|$)/

/**
 * Fills in defaults, and rejects unknown options.
 * @throws {StoreError} OPTION_NOT_ALLOWED
 */
export function resolveS3Options(given: S3Options): S3Settings {
  const numbers = integerOptions('openS3Objects', given, RANGES, OTHER_OPTIONS)
  const { endpoint, publicEndpoint = endpoint, region = REGION_DEFAULT, keyPrefix = '' } = given
  const { bucket, ca, clock = systemClock, random = openSystemRandom() } = given
  if (!matchesPattern(bucket, BUCKET_PATTERN)) {
    const rule = 'must be 3 to 63 lower-case letters, digits, dots and hyphens'
    throw optionError('bucket', `${rule}, not ${shown(bucket)}`)
  }
  if (!matchesPattern(region, REGION_PATTERN)) {
    const rule = 'must be 1 to 64 letters, digits and hyphens'
    throw optionError('region', `${rule}, not ${shown(region)}`)
  }
  if (!matchesPattern(keyPrefix, KEY_PREFIX_PATTERN) || DOT_PARTS.test(keyPrefix)) {
    const rule = 'must be up to 200 letters, digits and -_./ without the parts . and ..'
    throw optionError('keyPrefix', `${rule}, not ${shown(keyPrefix)}`)
  }
  if (ca !== undefined && typeof ca !== 'string') throw optionError('ca', 'must be a string')
  if (!hasMethods(clock, ['now'])) throw optionError('clock', 'must have the method now')
  if (!hasMethods(random, ['bytes'])) throw optionError('random', 'must have the method bytes')
  const addressing = choiceOption('addressing', given.addressing, ['path', 'host'])
  return Object.freeze({
    ...numbers,
    bucketUrl: bucketUrl('endpoint', endpoint, bucket, addressing),
    publicBucketUrl: bucketUrl('publicEndpoint', publicEndpoint, bucket, addressing),
    bucket,
    credentials: credentialsOf(given.credentials),
    region,
    keyPrefix,
    conditionalPuts: booleanOption('conditionalPuts', given.conditionalPuts, true),
    ca,
    clock,
    random,
  })
}

function matchesPattern(value: unknown, pattern: RegExp): value is string {
  return typeof value === 'string' && pattern.test(value)
}

function bucketUrl(name: string, given: unknown, bucket: string, addressing: 'path' | 'host'): URL {
  const text = isUrl(given) ? given.href : given
  if (typeof text !== 'string' || !URL.canParse(text)) {
    throw optionError(name, `must be an http or https URL, not ${shown(given)}`)
  }
  const url = new URL(text)
  const isPlain = url.username === '' && url.password === '' && url.search === '' && url.hash === ''
  if (!/^https?:$/.test(url.protocol) || !isPlain || url.pathname !== '/') {
    throw optionError(name, 'must be an http or https URL without a path, a query or a user name')
  }
  if (addressing === 'host') url.hostname = `${bucket}.${url.hostname}`
  else url.pathname = `/${bucket}/`
  return url
}

function credentialsOf(given: unknown): () => Awaitable<S3Credentials> {
  if (typeof given === 'function') {
    return async () => checkCredentials(await (given as () => unknown)())
  }
  const { accessKeyId, secretAccessKey, sessionToken } = checkCredentials(given)
  const credentials = Object.freeze({ accessKeyId, secretAccessKey, sessionToken })
  return () => credentials
}

/** Checks credentials. Messages do not show their values, because messages go to logs. */
function checkCredentials(given: unknown): S3Credentials {
  const { accessKeyId, secretAccessKey, sessionToken } = Object(given) as Partial<S3Credentials>
  const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''
  if (isText(accessKeyId) && isText(secretAccessKey)) {
    if (sessionToken === undefined || isText(sessionToken)) return given as S3Credentials
  }
  const rule = 'must be { accessKeyId, secretAccessKey, sessionToken? }, or a function that returns'
  const found = typeof given === 'object' && given !== null ? '' : `, not ${typeName(given)}`
  throw optionError('credentials', `${rule} such an object${found}`)
}
