import {
  booleanOption,
  hasMethods,
  integerOptions,
  optionError,
  typeName,
} from '../base/options.js'
import { isTeamId, TEAM_ID_RULE } from '../engine/api/arguments.js'
import type { Logger } from './access-log.js'
import { parseBaseUrl } from './base-url.js'
import {
  CONTRACT_LIMITS,
  type ContractLimitOptions,
  type ContractLimits,
} from './contract-limits.js'
import { type Cors, type CorsOptions, resolveCors } from './cors.js'

/** A key of the API and the team whose objects it reaches. */
export type ContractKey = Readonly<{ key: string; teamId: string }>

/** The team that a key belongs to. */
export type Identity = Readonly<{ teamId: string }>

/** Options of the HTTP contract. Unknown names are refused. */
export interface ContractOptions extends ContractLimitOptions {
  /**
   * The known keys, at least one; either `keys` or `authenticate` must be given. Only their digests are kept.
   * A key has 1 to 1,024 visible ASCII characters; use 16 or more random ones. Duplicates are an error.
   */
  readonly keys?: readonly ContractKey[] | undefined
  /**
   * Returns the team of a key, or undefined or null for an unknown key. Called on every request, so that a revoked
   * key stops working at once. Compare in constant time, or look up by a digest.
   */
  readonly authenticate?: ((token: string) => Promise<Identity | undefined | null>) | undefined
  /**
   * Keys of the operator, for `POST /admin/verify`, `POST /admin/backup` and `GET /metrics`, which are about all teams.
   * Only their digests are kept. An admin key has 16 to 1,024 visible ASCII characters and must not be a key of a team.
   * Default: none, and these paths are unknown.
   */
  readonly adminKeys?: readonly string[]
  /**
   * IDs of the apps that exist, for `appsToLink` and uploads. Default: all app IDs exist.
   */
  readonly apps?: readonly string[] | undefined
  /**
   * The http or https URL at which clients reach this contract, with the base path; `uploadLocation` begins with it.
   * Set it behind a proxy. Default: the origin of each request.
   */
  readonly baseUrl?: string | undefined
  /**
   * The URL at which files are reached; their URLs begin with it. Use a host name of its own that leads to this
   * contract too, so that no file can run in the origin of your pages. Default: `baseUrl`.
   */
  readonly publicBaseUrl?: string | undefined
  /**
   * Pages of other origins that may use the routes with a key, in a browser. The routes of uploads and files are open
   * to all pages anyway. Default: none.
   */
  readonly cors?: CorsOptions | undefined
  /**
   * Whether `GET /healthz` and `GET /readyz` are answered, without a key. Default: true. If false, they are unknown
   * paths.
   */
  readonly probes?: boolean | undefined
  /**
   * Called with every failure that gets a status of 500 or above; the client does not see its details. Requests refused
   * under load are included (STORAGE_UNAVAILABLE with the outcome `unchanged`): a log should only count those. Must not
   * throw.
   */
  readonly onFailure?: ((failure: unknown) => void) | undefined
  /**
   * Gets one line per answered request, with no secret in it; `console` and loggers of pino fit. Its methods must not
   * throw. Default: none.
   */
  readonly logger?: Logger | undefined
  /**
   * Called when the contract is created, for settings that are allowed but unsafe, such as keys that are easy to guess.
   * Default: none; `nodeHandler` emits a process warning.
   */
  readonly onWarning?: ((warning: string) => void) | undefined
}

/** Options after defaults were filled in. */
export type ResolvedContractOptions = ContractLimits &
  Readonly<{
    keys: readonly ContractKey[]
    authenticate: ContractOptions['authenticate']
    adminKeys: readonly string[]
    apps: ReadonlySet<string> | undefined
    baseUrl: string | undefined
    publicBaseUrl: string | undefined
    cors: Cors | undefined
    probes: boolean
    logger: Logger | undefined
    onFailure: (failure: unknown) => void
  }>

/** The names of the options that are not integers. */
const OTHER_NAMES: readonly Exclude<keyof ContractOptions, keyof ContractLimitOptions>[] = [
  'keys',
  'authenticate',
  'adminKeys',
  'apps',
  'baseUrl',
  'publicBaseUrl',
  'cors',
  'probes',
  'logger',
  'onFailure',
  'onWarning',
]

/** Fills in defaults and rejects unknown names, so a misspelled option fails at start. */
export function resolveContractOptions(given: ContractOptions): ResolvedContractOptions {
  const limits = integerOptions('the HTTP contract', given ?? {}, CONTRACT_LIMITS, OTHER_NAMES)
  const { keys, authenticate, apps, baseUrl, publicBaseUrl } = given ?? {}
  if ((keys === undefined) === (authenticate === undefined)) {
    throw optionError('keys', 'or "authenticate" must be given, and not both')
  }
  for (const name of ['authenticate', 'onFailure', 'onWarning'] as const) {
    if (given[name] === undefined || typeof given[name] === 'function') continue
    throw optionError(name, 'must be a function')
  }
  const { onFailure = () => {}, onWarning = () => {} } = given
  const teamKeys = keys === undefined ? [] : resolveKeys(keys)
  const resolved = Object.freeze({
    keys: teamKeys,
    authenticate,
    adminKeys: resolveAdminKeys(given.adminKeys, teamKeys),
    apps: apps === undefined ? undefined : resolveApps(apps),
    baseUrl: resolveBaseUrl('baseUrl', baseUrl),
    publicBaseUrl: resolveBaseUrl('publicBaseUrl', publicBaseUrl),
    cors: resolveCors(given.cors),
    probes: booleanOption('probes', given.probes, true),
    logger: resolveLogger(given.logger),
    ...limits,
    bodyBytesInFlightMax: Math.max(limits.bodyBytesMax, limits.bodyBytesInFlightMax),
    onFailure,
  })
  const short = resolved.keys.flatMap(({ key }, index) =>
    key.length < KEY_CHARS_WARNED ? [`keys[${index}]`] : [],
  )
  if (short.length > 0) onWarning(shortKeyWarning(short))
  return resolved
}

function resolveLogger(logger: Logger | undefined): Logger | undefined {
  if (logger === undefined || hasMethods(logger, ['info', 'warn', 'error'])) return logger
  throw optionError(
    'logger',
    `must have the methods info, warn and error, not be ${typeName(logger)}`,
  )
}

function resolveAdminKeys(adminKeys: unknown, teamKeys: readonly ContractKey[]): readonly string[] {
  if (adminKeys === undefined) return []
  if (!Array.isArray(adminKeys)) throw optionError('adminKeys', 'must be a list of keys')
  for (const [index, key] of adminKeys.entries()) {
    const name = `adminKeys[${index}]`
    const problem = keyProblem(key)
    if (problem !== undefined) throw optionError(name, problem)
    if (key.length < KEY_CHARS_WARNED) {
      throw optionError(name, `must have ${KEY_CHARS_WARNED} characters or more`)
    }
    if (teamKeys.some((team) => team.key === key))
      throw optionError(name, 'must not be a key of a team')
  }
  return [...adminKeys]
}

function resolveApps(apps: readonly string[]): ReadonlySet<string> {
  if (Array.isArray(apps) && apps.every((app) => typeof app === 'string')) return new Set(apps)
  throw optionError('apps', 'must be a list of app IDs')
}

function resolveBaseUrl(name: string, given: string | undefined): string | undefined {
  if (given === undefined) return undefined
  const baseUrl = typeof given === 'string' ? parseBaseUrl(given) : undefined
  if (baseUrl === undefined) {
    throw optionError(name, 'must be an http or https URL without a query, a fragment and a user')
  }
  return baseUrl
}

const KEY = /^[\x21-\x7e]{1,1024}$/

/** Keys that are refused: programs send these texts for a missing value. */
const NO_KEYS: ReadonlySet<string> = new Set(['null', 'undefined'])

/** Shortest key without a warning: a random key of this length cannot be guessed. */
const KEY_CHARS_WARNED = 16
const SHORT_KEYS_NAMED_MAX = 10

function shortKeyWarning(places: readonly string[]): string {
  const named = places.slice(0, SHORT_KEYS_NAMED_MAX).join(', ')
  const more = places.length > SHORT_KEYS_NAMED_MAX ? ', …' : ''
  return `API keys of fewer than ${KEY_CHARS_WARNED} characters can be guessed; use long random ones (short: ${named}${more})`
}

/** Returns what is wrong with a key, without showing the key, or undefined if it is valid. */
export function keyProblem(key: unknown): string | undefined {
  if (typeof key === 'string' && KEY.test(key) && !NO_KEYS.has(key)) return undefined
  const rule = 'must be a string of 1 to 1,024 visible ASCII characters'
  if (typeof key !== 'string') return `${rule}, not ${typeName(key)}`
  if (key === '') return `${rule}, not empty`
  return NO_KEYS.has(key) ? `must not be the string "${key}"` : rule
}

function resolveKeys(keys: unknown): readonly ContractKey[] {
  if (!Array.isArray(keys)) {
    throw optionError('keys', `must be a list of { key, teamId }, not ${typeName(keys)}`)
  }
  if (keys.length === 0) {
    throw optionError('keys', 'must hold at least one key: without any, every request is refused')
  }
  const seen = new Set<string>()
  return keys.map((given: unknown, index) => {
    const checked = resolveKey(given, `keys[${index}]`)
    if (seen.has(checked.key)) throw optionError('keys', 'must not have the same key twice')
    seen.add(checked.key)
    return checked
  })
}

function resolveKey(given: unknown, place: string): ContractKey {
  if (typeof given !== 'object' || given === null) {
    throw optionError(place, `must be an object { key, teamId }, not ${typeName(given)}`)
  }
  const { key, teamId, ...others } = given as Partial<Record<string, unknown>>
  const [other] = Object.keys(others)
  if (other !== undefined) throw optionError(place, `takes key and teamId, not "${other}"`)
  const problem = keyProblem(key)
  if (problem !== undefined) {
    const isMissing = typeof key !== 'string' || key === '' || NO_KEYS.has(key)
    const hint = isMissing ? '; is the environment variable that it is read from set?' : ''
    throw optionError(`${place}.key`, `${problem}${hint}`)
  }
  if (!isTeamId(teamId)) throw optionError(`${place}.teamId`, `must be ${TEAM_ID_RULE}`)
  return { key: key as string, teamId }
}
