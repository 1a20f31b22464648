// Checks the arguments of API keys.
import { shown, typeName } from '../../base/options.js'
import { invalidArgument } from '../../base/store-error.js'
import { isWellFormed } from '../../base/well-formed.js'
import { parseTableId } from '../../format/table-id.js'
import { type AddKeyRequest, KEY_SCOPES, KEY_TABLES_MAX } from '../types/key-types.js'
import { checkArguments, checkTeamId } from './arguments.js'

const ARGUMENTS = ['teamId', 'label', 'scopes', 'tables', 'expiresAt']

/** Maximum number of UTF-16 units of a label. */
const LABEL_CHARS_MAX = 256

/** The latest time of expiry: the last millisecond of the year 9999 UTC. */
const EXPIRES_AT_MAX = 253_402_300_799_999

/** @param now - The current time; the key must expire later. @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkKeyRequest(given: AddKeyRequest, now: number): AddKeyRequest {
  checkArguments('keys.add', given, ARGUMENTS)
  const { teamId, label, scopes, tables, expiresAt } = given
  checkTeamId(teamId)
  if (label !== undefined && !isLabel(label)) {
    throw invalidArgument(`label must be well-formed text of at most ${LABEL_CHARS_MAX} characters`)
  }
  const wrong = scopesProblem(scopes)
  if (wrong !== undefined) throw invalidArgument(`scopes ${wrong}`)
  const wrongTables = tablesProblem(tables)
  if (wrongTables !== undefined) throw invalidArgument(`tables ${wrongTables}`)
  if (scopes?.length === 0) throw invalidArgument('scopes must name at least one scope')
  if (expiresAt !== undefined && !isExpiry(expiresAt, now)) {
    const rule = 'expiresAt must be a time later than now, in milliseconds since 1970 UTC'
    throw invalidArgument(`${rule}, not ${shown(expiresAt)}`)
  }
  return given
}

function isLabel(given: unknown): boolean {
  return typeof given === 'string' && given.length <= LABEL_CHARS_MAX && isWellFormed(given)
}

function isExpiry(given: unknown, now: number): boolean {
  return Number.isInteger(given) && Number(given) > now && Number(given) <= EXPIRES_AT_MAX
}

const SCOPES: ReadonlySet<unknown> = new Set(KEY_SCOPES)

const isScope = (given: unknown): boolean => SCOPES.has(given)

/** The problem of a key's scopes; undefined: the scopes are valid, or not given. */
export function scopesProblem(given: unknown): string | undefined {
  const rule = `must be a list of ${KEY_SCOPES.join(', ')}`
  if (given === undefined) return undefined
  if (!Array.isArray(given)) return `${rule}, not ${typeName(given)}`
  const isGood = given.length <= KEY_SCOPES.length && Array.from(given).every(isScope) // Array.from also visits holes.
  return isGood ? undefined : rule
}

/** The problem of a key's tables; undefined: the tables are valid, or not given. */
export function tablesProblem(given: unknown): string | undefined {
  const rule = `must be a list of at most ${KEY_TABLES_MAX} table IDs`
  if (given === undefined) return undefined
  if (!Array.isArray(given)) return `${rule}, not ${typeName(given)}`
  if (given.length > KEY_TABLES_MAX) return `${rule}, not ${given.length}`
  const at = given.findIndex((id) => typeof id !== 'string' || parseTableId(id) === null)
  return at < 0 ? undefined : `${rule}, not ${shown(given[at])}`
}
