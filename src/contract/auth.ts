// Keys (CONTRACT.md, section 1). Keys are looked up by their SHA-256, so the time of a lookup reveals nothing about
// a known key; a header without a key takes the same path as a wrong key.
import { toHex, utf8 } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import { sha256 } from '../base/platform.js'
import { isTeamId, TEAM_ID_RULE } from '../engine/api/arguments.js'
import type { ContractKey, Identity, ResolvedContractOptions } from './contract-options.js'
import type { HeaderList } from './message.js'
import { headerValues } from './message.js'
import { Refusal } from './refusal.js'

/** Finds the team of a request. @throws {Refusal} REQUEST_ERROR */
export type Authenticate = (headers: HeaderList) => Promise<string>

export function createAuthenticate(options: ResolvedContractOptions): Authenticate {
  const lookUp = options.authenticate ?? lookUpIn(options.keys)
  return async (headers) => {
    const token = bearerToken(headers)
    const identity = token === '' ? await lookUpNothing() : await lookUp(token)
    if (identity === undefined || identity === null) {
      throw new Refusal('REQUEST_ERROR', `API key not found, or duplicate ${maskKey(token)}`)
    }
    invariant(isTeamId(identity.teamId), `authenticate must give as teamId ${TEAM_ID_RULE}`)
    // There are no scopes yet. A host that hands some out must not see them ignored.
    invariant(!('scopes' in identity), 'authenticate gave scopes, which are not supported')
    return identity.teamId
  }
}

/** Checks that a request has an admin key. @throws {Refusal} REQUEST_ERROR */
export type AuthenticateAdmin = (headers: HeaderList) => Promise<void>

export function createAuthenticateAdmin(keys: readonly string[]): AuthenticateAdmin {
  const lookUp = lookUpIn(keys.map((key) => ({ key, teamId: '' })))
  return async (headers) => {
    const token = bearerToken(headers)
    if ((await lookUp(token)) !== undefined) return
    throw new Refusal('REQUEST_ERROR', `API key not found, or duplicate ${maskKey(token)}`)
  }
}

const OWNER_DIGITS = 32

/**
 * A name for the key of a request that does not reveal the key. It is stored, so it is neither the digest
 * that a lookup may use nor a complete other digest.
 */
export async function ownerOf(headers: HeaderList): Promise<string> {
  const digest = await digestOf(`rowstash upload owner ${bearerToken(headers)}`)
  return digest.slice(0, OWNER_DIGITS)
}

/** The key of the one `Authorization: Bearer` header, or an empty text when there is no such thing. */
export function bearerToken(headers: HeaderList): string {
  const values = headerValues(headers, 'authorization')
  if (values.length !== 1) return ''
  return /^bearer +(\S.*)$/i.exec(values[0] ?? '')?.[1] ?? ''
}

function lookUpIn(keys: readonly ContractKey[]): (token: string) => Promise<Identity | undefined> {
  let teams: Promise<ReadonlyMap<string, string>> | undefined
  return async (token) => {
    teams ??= digestKeys(keys)
    const teamId = (await teams).get(await digestOf(token))
    return teamId === undefined ? undefined : { teamId }
  }
}

async function digestKeys(keys: readonly ContractKey[]): Promise<ReadonlyMap<string, string>> {
  const teams = new Map<string, string>()
  for (const { key, teamId } of keys) teams.set(await digestOf(key), teamId)
  return teams
}

async function lookUpNothing(): Promise<undefined> {
  await digestOf('')
}

async function digestOf(key: string): Promise<string> {
  return toHex(await sha256(utf8(key)))
}

/** Length of the shortest key that is shown masked. The mask would reveal half of a shorter one. */
const MASKED_KEY_CHARS_MIN = 7

export function maskKey(key: string): string {
  if (key.length < MASKED_KEY_CHARS_MIN) return '****'
  return `${key.slice(0, 2)}****${key.slice(-2)}`
}
