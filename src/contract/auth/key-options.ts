// The checks of the options `keys` and `adminKeys`.
import { optionError, typeName } from '../../base/options.js'
import { type Identity, identityProblem } from './caller.js'

/** A key of the API, the team whose objects it reaches, and its rights. */
export type ContractKey = Identity & Readonly<{ key: string }>

const KEY = /^[\x21-\x7e]{1,1024}$/

/** Rejected keys: programs send these texts for a missing value. */
const NO_KEYS: ReadonlySet<string> = new Set(['null', 'undefined'])

/** Shorter keys get a warning. A random key of this length cannot be guessed. */
const KEY_CHARS_WARNED = 16
const SHORT_KEYS_NAMED_MAX = 10

/** The warning about keys that could be guessed, with their indexes; undefined if there are no such keys. */
export function shortKeyWarning(keys: readonly ContractKey[]): string | undefined {
  const places = keys.flatMap(({ key }, index) =>
    key.length < KEY_CHARS_WARNED ? [`keys[${index}]`] : [],
  )
  if (places.length === 0) return undefined
  const named = places.slice(0, SHORT_KEYS_NAMED_MAX).join(', ')
  const more = places.length > SHORT_KEYS_NAMED_MAX ? ', …' : ''
  return `API keys of fewer than ${KEY_CHARS_WARNED} characters can be guessed; use long random ones (short: ${named}${more})`
}

/** The fault of a key, in words that do not show the key; undefined: the key is valid. */
function keyProblem(key: unknown): string | undefined {
  if (typeof key === 'string' && KEY.test(key) && !NO_KEYS.has(key)) return undefined
  const rule = 'must be a string of 1 to 1,024 visible ASCII characters'
  if (typeof key !== 'string') return `${rule}, not ${typeName(key)}`
  if (key === '') return `${rule}, not empty`
  return NO_KEYS.has(key) ? `must not be the string "${key}"` : rule
}

/** Checks the option `keys`. @throws {StoreError} OPTION_NOT_ALLOWED */
export function resolveKeys(keys: unknown): readonly ContractKey[] {
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
  const wanted = given as Partial<Record<string, unknown>>
  const other = Object.keys(wanted).find((name) => !MEMBERS.has(name))
  if (other !== undefined) {
    throw optionError(place, `takes ${[...MEMBERS].join(', ')}, not "${other}"`)
  }
  const { key } = wanted
  const problem = keyProblem(key)
  if (problem !== undefined) {
    const isMissing = typeof key !== 'string' || key === '' || NO_KEYS.has(key)
    const hint = isMissing ? '; is its environment variable set?' : ''
    throw optionError(`${place}.key`, `${problem}${hint}`)
  }
  const [member, rule] = identityProblem(wanted) ?? []
  if (member !== undefined) throw optionError(`${place}.${member}`, rule ?? '')
  return { ...wanted } as ContractKey
}

const MEMBERS: ReadonlySet<string> = new Set([
  'key',
  'teamId',
  'keyId',
  'author',
  'scopes',
  'tables',
] satisfies (keyof ContractKey)[])

/** Checks the option `adminKeys`. @throws {StoreError} OPTION_NOT_ALLOWED */
export function resolveAdminKeys(
  adminKeys: unknown,
  teamKeys: readonly ContractKey[],
): readonly string[] {
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
