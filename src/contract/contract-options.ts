import { StoreError } from '../base/store-error.js'
import { parseBaseUrl } from './base-url.js'

/** A key of the API and the team whose objects it reaches. */
export type ContractKey = Readonly<{ key: string; teamId: string }>

/** Whom a key stands for. */
export type Identity = Readonly<{ teamId: string }>

export interface ContractOptions {
  /**
   * The keys that are known. Kept as digests only. Give either `keys` or `authenticate`.
   * A key: 1 to 1,024 visible ASCII characters. The same key twice is an error.
   */
  readonly keys?: readonly ContractKey[]
  /**
   * Finds the team of a key, on every request, so that a revoked key stops working at once.
   * undefined: the key is unknown. Compare in constant time, or look up by a digest.
   */
  readonly authenticate?: (token: string) => Promise<Identity | undefined>
  /**
   * IDs of the apps that exist, for `appsToLink` and uploads. Default: every app ID is known.
   */
  readonly apps?: readonly string[]
  /**
   * Where clients reach this contract, an http or https URL with its base path: what `uploadLocation`
   * begins with. Set it where a proxy stands before the server. Default: as each request came in.
   */
  readonly baseUrl?: string
  /**
   * Where everybody reaches the files: what their URLs begin with. Give them a host name of their own,
   * which leads to this contract too: then no file can ever act in the name of the host's own pages.
   * Default: as `baseUrl`.
   */
  readonly publicBaseUrl?: string
  /**
   * Told of every failure that was answered with a status of 500 or above, which shows the client no
   * details. Must not throw.
   */
  readonly onFailure?: (failure: unknown) => void
}

/** Options after defaults were filled in. */
export type ResolvedContractOptions = Readonly<{
  keys: readonly ContractKey[]
  authenticate: ((token: string) => Promise<Identity | undefined>) | undefined
  apps: ReadonlySet<string> | undefined
  baseUrl: string | undefined
  publicBaseUrl: string | undefined
  onFailure: (failure: unknown) => void
}>

const NAMES: ReadonlySet<string> = new Set<keyof ContractOptions>([
  'keys',
  'authenticate',
  'apps',
  'baseUrl',
  'publicBaseUrl',
  'onFailure',
])

/** Fills in defaults and rejects what is unknown, so a misspelled option fails at start. */
export function resolveContractOptions(given: ContractOptions): ResolvedContractOptions {
  for (const name of Object.keys(given)) {
    if (!NAMES.has(name)) throw optionError(name, 'is not an option')
  }
  const { keys, authenticate, apps, baseUrl, publicBaseUrl, onFailure } = given
  if ((keys === undefined) === (authenticate === undefined)) {
    throw optionError('keys', 'or "authenticate" must be given, and not both')
  }
  if (authenticate !== undefined && typeof authenticate !== 'function') {
    throw optionError('authenticate', 'must be a function')
  }
  if (onFailure !== undefined && typeof onFailure !== 'function') {
    throw optionError('onFailure', 'must be a function')
  }
  return Object.freeze({
    keys: resolveKeys(keys ?? []),
    authenticate,
    apps: apps === undefined ? undefined : new Set(apps),
    baseUrl: resolveBaseUrl('baseUrl', baseUrl),
    publicBaseUrl: resolveBaseUrl('publicBaseUrl', publicBaseUrl),
    onFailure: onFailure ?? (() => {}),
  })
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
const TEAM_ID_CHARS_MAX = 128

function resolveKeys(keys: readonly ContractKey[]): readonly ContractKey[] {
  const seen = new Set<string>()
  for (const { key, teamId } of keys) {
    if (!KEY.test(key))
      throw optionError('keys', 'must have 1 to 1,024 visible ASCII characters each')
    if (seen.has(key)) throw optionError('keys', 'must not have the same key twice')
    if (!isTeamId(teamId)) throw optionError('keys', `must have a teamId ${TEAM_ID_RULE} each`)
    seen.add(key)
  }
  return keys.map(({ key, teamId }) => ({ key, teamId }))
}

export const TEAM_ID_RULE = `of 1 to ${TEAM_ID_CHARS_MAX} UTF-16 units of well-formed text`

/** Whether a host's team ID is one: well-formed, because it becomes bytes of keys in the database. */
export function isTeamId(teamId: unknown): teamId is string {
  if (typeof teamId !== 'string' || teamId === '' || teamId.length > TEAM_ID_CHARS_MAX) return false
  return !/\p{Surrogate}/u.test(teamId)
}

function optionError(name: string, problem: string): StoreError {
  return new StoreError('OPTION_NOT_ALLOWED', `Option "${name}" ${problem}`)
}
