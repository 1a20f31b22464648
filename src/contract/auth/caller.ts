// The sender of a request, identified by its key, and the key's rights (CONTRACT.md, section 1, Scopes).
import { isTeamId, TEAM_ID_RULE } from '../../engine/arguments/arguments.js'
import { scopesProblem, tablesProblem } from '../../engine/arguments/key-arguments.js'
import { isName, NAME_CHARS_MAX } from '../../engine/files/file-arguments.js'
import { KEY_SCOPES, type KeyRights, type KeyScope } from '../../engine/types/key-types.js'
import { Refusal } from '../http/refusal.js'

/** The host's description of a key: its team and its rights. */
export type Identity = KeyRights &
  Readonly<{
    /** The team whose tables the key reaches: 1 to 128 UTF-16 units of well-formed text. */
    teamId: string
    /**
     * The name of the key in hooks and limits, 1 to 256 characters. It must not reveal the key. Default: a part of a
     * digest of the key.
     */
    keyId?: string | undefined
    /** The author that the logs of tables show for changes by this key: 1 to 256 characters. Default: `keyId`. */
    author?: string | undefined
  }>

/** The sender of a request: an identity with all defaults. */
export type Caller = Readonly<{
  teamId: string
  keyId: string
  /** The author of the key's changes. */
  author: string
  scopes: ReadonlySet<KeyScope>
  /** The only tables that the key reaches; undefined: all tables of the team. */
  tables: ReadonlySet<string> | undefined
}>

/** The rights that a route requires. */
export type Access = Readonly<{
  /** The key needs at least one of these scopes. */
  scopes: readonly KeyScope[]
  /** `team`: the route is not limited to one table, so keys limited to tables cannot use it. */
  reach: 'tables' | 'team'
  /**
   * Whether a request may store more data, so that the hook `quota` is asked. `unlessChecked`: yes, unless it has the
   * parameter `validate`.
   */
  stores: boolean | 'unlessChecked'
}>

const ALL_SCOPES: ReadonlySet<KeyScope> = new Set(KEY_SCOPES)

/**
 * @param keyId - The name of a key whose identity has none.
 */
export function makeCaller(
  { teamId, keyId, author, scopes, tables }: Identity,
  digest: string,
): Caller {
  return {
    teamId,
    keyId: keyId ?? digest,
    author: author ?? keyId ?? digest,
    scopes: scopes === undefined ? ALL_SCOPES : new Set(scopes),
    tables: tables === undefined ? undefined : new Set(tables),
  }
}

/** Checks an identity. @returns The name of the invalid member and its rule; undefined: the identity is valid. */
export function identityProblem(
  given: Readonly<Partial<Record<keyof Identity, unknown>>>,
): readonly [member: keyof Identity, rule: string] | undefined {
  const { teamId, scopes, tables } = given
  if (!isTeamId(teamId)) return ['teamId', `must be ${TEAM_ID_RULE}`]
  for (const name of ['keyId', 'author'] as const) {
    if (given[name] === undefined || isName(given[name])) continue
    return [name, `must be a string of 1 to ${NAME_CHARS_MAX} characters`]
  }
  const wrongScopes = scopesProblem(scopes)
  if (wrongScopes !== undefined) return ['scopes', wrongScopes]
  const wrongTables = tablesProblem(tables)
  return wrongTables === undefined ? undefined : ['tables', wrongTables]
}

/** @throws {Refusal} SCOPE_MISSING */
export function checkAccess(caller: Caller, { scopes, reach }: Access): void {
  if (!scopes.some((scope) => caller.scopes.has(scope))) {
    throw new Refusal('SCOPE_MISSING', `The key lacks the scope ${scopes.join(' or ')}`)
  }
  if (reach === 'team' && caller.tables !== undefined) throw limitedToTables()
}

/** The refusal for a key that is limited to tables. */
export function limitedToTables(): Refusal {
  const problem =
    'The key is limited to certain tables, so it cannot create tables, use stashes or list files'
  return new Refusal('SCOPE_MISSING', problem)
}
