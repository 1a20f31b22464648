import { createTell, type Tell } from '../../base/hooks.js'
import {
  booleanOption,
  hasMethods,
  integerOptions,
  isRecord,
  optionError,
  typeName,
} from '../../base/options.js'
import type { Identity } from '../auth/caller.js'
import {
  type ContractKey,
  resolveAdminKeys,
  resolveKeys,
  shortKeyWarning,
} from '../auth/key-options.js'
import { parseBaseUrl } from '../http/base-url.js'
import { type Cors, type CorsOptions, resolveCors } from '../http/cors.js'
import {
  CONTRACT_LIMITS,
  type ContractLimitOptions,
  type ContractLimits,
} from '../memory/contract-limits.js'
import type { MetricFamily, MetricsRegistry } from '../metrics/metric-family.js'
import type { Logger } from './access-log.js'
import { type ContractHooks, HOOK_NAMES } from './hooks.js'
import type { ParquetEncoder } from './parquet-encoder.js'

/** The request that `authenticate` is called for. */
export type AuthenticateRequest = Readonly<{
  /** The HTTP method in upper case, such as `GET`. */
  method: string
  /** The path below the base path, still percent-encoded. */
  path: string
  /** Header values by names in lower case. The values of repeated lines are joined by a comma and a space. */
  headers: Readonly<Record<string, string>>
  /**
   * The framework's request: the request of Express or Fastify, the context of Koa if it was passed to the handler, the
   * Request of `fetchHandler`, otherwise the request of `node:http`; undefined for `createContract` without `host`.
   */
  host: unknown
}>

/** Options of the HTTP contract. Unknown names are rejected. */
export interface ContractOptions extends ContractLimitOptions, ContractHooks {
  /**
   * The accepted keys, at least one. At least one of `keys`, `authenticate` and `storedKeys` is required; `keys` and
   * `authenticate` exclude each other. Only digests of keys are kept. A key has 1 to 1,024 visible ASCII characters;
   * use 16 or more random characters. Duplicate keys are an error. Default: none.
   */
  readonly keys?: readonly ContractKey[] | undefined
  /**
   * Returns the team and the rights of a key; undefined or null for an unknown key. It is called on every request, so
   * that a revoked key stops working at once. It should compare keys in constant time, or look up their digests.
   * Default: none.
   */
  readonly authenticate?:
    | ((token: string, request: AuthenticateRequest) => Promise<Identity | undefined | null>)
    | undefined
  /**
   * Whether a request without a bearer token is refused before `authenticate` is called. If false, `authenticate` is
   * also called with an empty token, so that it can look for a session of the host; if it then returns no identity, the
   * answer is that for an unknown key. Give identities of sessions a `keyId`: all identities without one share one name
   * and its limits. Default: true.
   */
  readonly tokenRequired?: boolean | undefined
  /**
   * Whether keys in the store (`store.keys`) are accepted too. If the other options do not know a key, the store is
   * queried on every request with it, so that a revoked key stops working at once. Default: false.
   */
  readonly storedKeys?: boolean | undefined
  /**
   * Keys of the operator, for `/admin/verify`, `/admin/backup`, `/admin/keys` and `/metrics`, which concern all teams.
   * Only their digests are kept. An admin key has 16 to 1,024 visible ASCII characters and must not be a key of a team.
   * Default: none; these paths are then unknown.
   */
  readonly adminKeys?: readonly string[]
  /**
   * IDs of the apps that exist, for `appsToLink` and uploads. Default: all app IDs exist.
   */
  readonly apps?: readonly string[] | undefined
  /**
   * The http or https URL of this contract for clients, with the base path; `uploadLocation` begins with it. Set it
   * behind a proxy. Default: the origin of each request.
   */
  readonly baseUrl?: string | undefined
  /**
   * The base of file URLs. Use a separate host name that leads to this contract too, so that no file can run in the
   * origin of your pages. Default: `baseUrl`.
   */
  readonly publicBaseUrl?: string | undefined
  /**
   * The pages of other origins that may use, in a browser, the routes that need a key. Routes of uploads and files are
   * always open to all pages. Default: none.
   */
  readonly cors?: CorsOptions | undefined
  /**
   * Encodes exports with `format=parquet`. Default: none; they are then refused, and a page does not offer them.
   */
  readonly parquet?: ParquetEncoder | undefined
  /**
   * Whether `GET /healthz` and `GET /readyz` are answered, which need no key. If false, they are unknown paths.
   * Default: true.
   */
  readonly probes?: boolean | undefined
  /**
   * Called with every failure that gets a status of 500 or above, because the client does not see its details, and with
   * failures of the hook `audit`. This includes the failures of requests that are refused under load
   * (STORAGE_UNAVAILABLE with the outcome `unchanged`), which a log should only count. Default: none.
   */
  readonly onFailure?: ((failure: unknown) => void) | undefined
  /**
   * Receives one line per answered request, without secrets, for example `console` or a pino logger. Default: none.
   */
  readonly logger?: Logger | undefined
  /**
   * A registry for the metrics, such as one of `prom-client`, for a host that has its own metrics endpoint. Each
   * contract needs its own registry. Default: none.
   */
  readonly registry?: MetricsRegistry | undefined
  /**
   * Further metrics, which `GET /metrics` and the registry show after those of the contract. Default: none;
   * `nodeHandler` adds those of the process.
   */
  readonly moreMetrics?: readonly MetricFamily[] | undefined
  /**
   * Called when the contract is created, with a warning about settings that are allowed but unsafe, such as keys that
   * are easy to guess. Default: none; `nodeHandler` emits a process warning.
   */
  readonly onWarning?: ((warning: string) => void) | undefined
}

/** The options with defaults filled in. */
export type ResolvedContractOptions = ContractLimits &
  Readonly<{
    keys: readonly ContractKey[]
    authenticate: ContractOptions['authenticate']
    tokenRequired: boolean
    storedKeys: boolean
    adminKeys: readonly string[]
    apps: ReadonlySet<string> | undefined
    baseUrl: string | undefined
    publicBaseUrl: string | undefined
    cors: Cors | undefined
    parquet: ParquetEncoder | undefined
    probes: boolean
    logger: Logger | undefined
    registry: MetricsRegistry | undefined
    moreMetrics: readonly MetricFamily[]
    hooks: ContractHooks
    onFailure: (failure: unknown) => void
    tell: Tell
  }>

/** The names of non-integer options. */
const OTHER_NAMES: readonly Exclude<keyof ContractOptions, keyof ContractLimitOptions>[] = [
  'keys',
  'authenticate',
  'tokenRequired',
  'storedKeys',
  'adminKeys',
  'apps',
  'baseUrl',
  'publicBaseUrl',
  'cors',
  'parquet',
  'probes',
  'logger',
  'registry',
  'moreMetrics',
  ...HOOK_NAMES,
  'onFailure',
  'onWarning',
]

/** Fills in defaults and rejects unknown names, so a misspelled option fails at start. */
export function resolveContractOptions(given: ContractOptions): ResolvedContractOptions {
  const limits = integerOptions('the HTTP contract', given ?? {}, CONTRACT_LIMITS, OTHER_NAMES)
  const { keys, authenticate, apps, baseUrl, publicBaseUrl } = given ?? {}
  const storedKeys = booleanOption('storedKeys', given?.storedKeys, false)
  if (keys === undefined && authenticate === undefined && !storedKeys) {
    throw optionError('keys', 'or "authenticate" or "storedKeys" must be given')
  }
  if (keys !== undefined && authenticate !== undefined) {
    throw optionError('keys', 'and "authenticate" must not both be given')
  }
  const tokenRequired = booleanOption('tokenRequired', given.tokenRequired, true)
  if (!tokenRequired && authenticate === undefined) {
    throw optionError('tokenRequired', 'can only be false with "authenticate"')
  }
  for (const name of [
    'authenticate',
    'parquet',
    'onFailure',
    'onWarning',
    ...HOOK_NAMES,
  ] as const) {
    if (given[name] === undefined || typeof given[name] === 'function') continue
    throw optionError(name, 'must be a function')
  }
  const { onFailure, onWarning } = given
  const tell = createTell()
  const teamKeys = keys === undefined ? [] : resolveKeys(keys)
  const resolved = Object.freeze({
    keys: teamKeys,
    authenticate,
    tokenRequired,
    storedKeys,
    adminKeys: resolveAdminKeys(given.adminKeys, teamKeys),
    apps: apps === undefined ? undefined : resolveApps(apps),
    baseUrl: resolveBaseUrl('baseUrl', baseUrl),
    publicBaseUrl: resolveBaseUrl('publicBaseUrl', publicBaseUrl),
    cors: resolveCors(given.cors),
    parquet: given.parquet,
    probes: booleanOption('probes', given.probes, true),
    logger: resolveLogger(given.logger),
    registry: resolveRegistry(given.registry),
    moreMetrics: resolveMoreMetrics(given.moreMetrics),
    hooks: { rateLimit: given.rateLimit, quota: given.quota, audit: given.audit },
    ...limits,
    bodyBytesInFlightMax: Math.max(limits.bodyBytesMax, limits.bodyBytesInFlightMax),
    tell,
    onFailure: (failure: unknown) => {
      if (onFailure !== undefined) tell('onFailure', () => onFailure(failure))
    },
  })
  const warning = shortKeyWarning(teamKeys)
  if (warning !== undefined && onWarning !== undefined) {
    tell('onWarning', () => onWarning(warning))
  }
  return resolved
}

function resolveLogger(logger: Logger | undefined): Logger | undefined {
  if (logger === undefined || hasMethods(logger, ['info', 'warn', 'error'])) return logger
  throw optionError(
    'logger',
    `must have the methods info, warn and error, not be ${typeName(logger)}`,
  )
}

function resolveRegistry(registry: MetricsRegistry | undefined): MetricsRegistry | undefined {
  if (registry === undefined || hasMethods(registry, ['registerMetric'])) return registry
  throw optionError('registry', `must have the method registerMetric, not be ${typeName(registry)}`)
}

function resolveMoreMetrics(families: unknown): readonly MetricFamily[] {
  if (families === undefined) return []
  if (!Array.isArray(families)) throw optionError('moreMetrics', 'must be a list of metrics')
  for (const [index, family] of families.entries()) {
    const isFamily = isRecord(family) && typeof family['samples'] === 'function'
    if (isFamily && /^[a-zA-Z_][a-zA-Z0-9_]*$/.test(String(family['name']))) continue
    throw optionError(
      `moreMetrics[${index}]`,
      'must have a name of letters, digits and underscores, and a function "samples"',
    )
  }
  return [...(families as readonly MetricFamily[])]
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
