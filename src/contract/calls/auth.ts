// Authentication by keys (CONTRACT.md, section 1). Keys are looked up by their SHA-256, so the time of a lookup reveals
// nothing about a known key. A header without a key is handled like one with a wrong key.
import { toHex, utf8 } from '../../base/bytes.js'
import { invariant } from '../../base/invariant.js'
import { sha256 } from '../../base/platform.js'
import type { ApiKeys } from '../../engine/types/key-types.js'
import { type Caller, identityProblem, makeCaller } from '../auth/caller.js'
import type { ContractKey } from '../auth/key-options.js'
import { errorResponse } from '../http/error-response.js'
import type { ContractRequest, HeaderList } from '../http/message.js'
import { headerValues } from '../http/message.js'
import { Refusal } from '../http/refusal.js'
import type {
  AuthenticateRequest,
  ContractOptions,
  ResolvedContractOptions,
} from './contract-options.js'

type Asking = Partial<Pick<ContractRequest, 'method' | 'path' | 'host'>>

/** Finds the sender of a request. @throws {Refusal} REQUEST_ERROR */
export type Authenticate = (headers: HeaderList, request?: Asking) => Promise<Caller>

type LookUp = (token: string, request: AskedRequest) => Promise<Caller | undefined>

type AskedRequest = Omit<AuthenticateRequest, 'headers'> & Readonly<{ headers: HeaderList }>

/**
 * @param stored - The keys in the store, for the option `storedKeys`.
 */
export function createAuthenticate(
  { authenticate, tokenRequired, keys, storedKeys }: ResolvedContractOptions,
  stored: Pick<ApiKeys, 'find'>,
): Authenticate {
  const given = authenticate === undefined ? lookUpIn(keys) : lookUpAtHost(authenticate)
  const lookUp: LookUp = storedKeys
    ? async (token, request) => (await given(token, request)) ?? (await lookUpStored(stored, token))
    : given
  return async (headers, { method = '', path = '', host } = {}) => {
    const { token, problem, isDoubled } = bearerToken(headers)
    const isAsked = token !== '' || (!tokenRequired && !isDoubled)
    const request = { method, path, headers, host }
    const caller = isAsked ? await lookUp(token, request) : await lookUpNothing()
    if (caller === undefined) throw unknownKey(token, problem)
    return caller
  }
}

function lookUpAtHost(authenticate: NonNullable<ContractOptions['authenticate']>): LookUp {
  return async (token, request) => {
    const headers = valuesByName(request.headers)
    const identity = await asked(() => authenticate(token, { ...request, headers }))
    if (identity === undefined || identity === null) return undefined
    const [member, rule] = identityProblem(identity) ?? []
    invariant(member === undefined, `authenticate returned an invalid ${member}: it ${rule}`)
    return makeCaller(identity, identity.keyId ?? (await nameOfKey(token)))
  }
}

/**
 * Wraps a failure of the host's function. The code of this failure must not become the answer, because it says nothing
 * about the request.
 */
async function asked<T>(authenticate: () => Promise<T>): Promise<T> {
  try {
    return await authenticate()
  } catch (cause) {
    if (errorResponse(cause).status >= 500) throw cause
    throw new Error('authenticate failed', { cause })
  }
}

async function lookUpStored(
  stored: Pick<ApiKeys, 'find'>,
  token: string,
): Promise<Caller | undefined> {
  const key = token === '' ? null : await stored.find(token)
  return key === null ? undefined : makeCaller(key, key.id)
}

/**
 * @param problem - Why the request has no token. The message begins with the published message, which clients match on.
 */
function unknownKey(token: string, problem?: string): Refusal {
  const published = `API key not found, or duplicate ${maskKey(token)}`
  const hint = problem === undefined ? '' : `: ${problem}; send Authorization: Bearer KEY`
  return new Refusal('REQUEST_ERROR', `${published}${hint}`)
}

/** Finds the name of the admin key of a request. @throws {Refusal} REQUEST_ERROR if the request has no admin key */
export type AuthenticateAdmin = (headers: HeaderList) => Promise<Readonly<{ keyId: string }>>

export function createAuthenticateAdmin(keys: readonly string[]): AuthenticateAdmin {
  const lookUp = lookUpIn(keys.map((key) => ({ key, teamId: '' })))
  return async (headers) => {
    const { token, problem } = bearerToken(headers)
    const caller = await lookUp(token)
    if (caller === undefined) throw unknownKey(token, problem)
    return caller
  }
}

const NAME_DIGITS = 32

/**
 * A name for a key that does not reveal it. The store keeps the name as the owner of uploads, so it must not be a
 * digest by which keys are looked up, nor a complete digest.
 */
async function nameOfKey(key: string): Promise<string> {
  return (await digestOfKey(`rowstash upload owner ${key}`)).slice(0, NAME_DIGITS)
}

/** The key in the only `Authorization: Bearer` header; otherwise an empty text and the problem. */
function bearerToken(
  headers: HeaderList,
): Readonly<{ token: string; problem?: string; isDoubled?: true }> {
  const values = headerValues(headers, 'authorization')
  const [value, second] = values
  if (value === undefined) return { token: '', problem: 'the request has no Authorization header' }
  if (second !== undefined) {
    const problem = 'the request has more than one Authorization header'
    return { token: '', problem, isDoubled: true }
  }
  const token = /^bearer +(\S.*)$/i.exec(value)?.[1]
  if (token !== undefined) return { token }
  return { token: '', problem: 'the Authorization header is not of the form "Bearer KEY"' }
}

function valuesByName(headers: HeaderList): Readonly<Record<string, string>> {
  const values = new Map<string, string>()
  for (const [given, value] of headers) {
    const name = given.toLowerCase()
    const before = values.get(name)
    values.set(name, before === undefined ? value : `${before}, ${value}`)
  }
  return Object.fromEntries(values)
}

function lookUpIn(keys: readonly ContractKey[]): (token: string) => Promise<Caller | undefined> {
  let callers: Promise<ReadonlyMap<string, Caller>> | undefined
  return async (token) => {
    callers ??= digestKeys(keys)
    return (await callers).get(await digestOfKey(token))
  }
}

async function digestKeys(keys: readonly ContractKey[]): Promise<ReadonlyMap<string, Caller>> {
  const callers = new Map<string, Caller>()
  for (const { key, ...identity } of keys) {
    callers.set(await digestOfKey(key), makeCaller(identity, await nameOfKey(key)))
  }
  return callers
}

async function lookUpNothing(): Promise<undefined> {
  await digestOfKey('')
}

async function digestOfKey(key: string): Promise<string> {
  return toHex(await sha256(utf8(key)))
}

/**
 * Length of the shortest key that messages show masked: masked characters would leave half of a shorter key visible.
 */
const MASKED_KEY_CHARS_MIN = 7

export function maskKey(key: string): string {
  if (key.length < MASKED_KEY_CHARS_MIN) return '****'
  return `${key.slice(0, 2)}****${key.slice(-2)}`
}
