// The public interface of API keys that a store keeps, and what a key may do.

/** The scopes of a key. Their order is on disk: never change it or reuse a place. */
export const KEY_SCOPES = ['read', 'write', 'upload'] as const

/**
 * What a key may do: `read` tables and rows; `write` tables, rows and stashes; `upload` files. No scope contains
 * another.
 */
export type KeyScope = (typeof KEY_SCOPES)[number]

/** Maximum number of tables that a key may be limited to. */
export const KEY_TABLES_MAX = 1_000

/** The limits of a key within its team. */
export type KeyRights = Readonly<{
  /** What the key may do. Default: all. */
  scopes?: readonly KeyScope[] | undefined
  /**
   * IDs of the only tables that the key reaches, at most 1,000. Other tables do not exist for it. It cannot create
   * tables, use stashes or list files, because these belong to the team. Default: all tables of the team.
   */
  tables?: readonly string[] | undefined
}>

/** A request for a new key. */
export type AddKeyRequest = KeyRights &
  Readonly<{
    /** The team whose tables the key reaches. */
    teamId: string
    /** What the key is for, for people: up to 256 characters. Default: empty. */
    label?: string | undefined
    /** When the key expires, in milliseconds since 1970 UTC, later than now. Default: never. Range: up to 2^53 - 1. */
    expiresAt?: number | undefined
  }>

/** A key that the store keeps, without its secret. */
export type ApiKey = Readonly<{
  /** The ID of the key: 16 lower-case hex digits. The key contains it; it reveals nothing about the rest of the key. */
  id: string
  /** The team whose tables the key reaches. */
  teamId: string
  /** What the key is for; empty if no label was given. */
  label: string
  /** What the key may do. */
  scopes: readonly KeyScope[]
  /** IDs of the only tables that the key reaches; absent: all tables of the team. */
  tables?: readonly string[]
  /** When the key was created, in milliseconds since 1970 UTC. */
  createdAt: number
  /** When the key expires, in milliseconds since 1970 UTC; absent: never. */
  expiresAt?: number
  /** The last four characters of the key, so that people recognize it. */
  tail: string
}>

/** A new key. `key` is shown here only: the store keeps a digest of it. */
export type AddKeyResult = ApiKey & Readonly<{ key: string }>

/** API keys that the store keeps, for all teams. */
export interface ApiKeys {
  /**
   * Creates a key of 256 random bits. The store keeps its SHA-256. This is enough for a random key: only secrets that
   * can be guessed need a slow password hash.
   * @throws {StoreError} REQUEST_VALIDATION_ERROR; RATE_LIMITED: the store has 10,000 keys
   * @example
   * const { id, key } = await store.keys.add({ teamId: 'acme', scopes: ['read'], label: 'dashboard' })
   * console.log((await store.keys.find(key))?.id === id) // true
   */
  add(request: AddKeyRequest): Promise<AddKeyResult>
  /**
   * All keys, or those of one team, including expired ones, oldest first.
   * @throws {StoreError} as every call: see `Store`
   * @example
   * await store.keys.add({ teamId: 'acme', label: 'dashboard' })
   * console.log((await store.keys.list('acme')).map(({ label }) => label)) // ["dashboard"]
   */
  list(teamId?: string): Promise<readonly ApiKey[]>
  /**
   * Deletes a key, which is refused from then on.
   * @returns whether there was such a key.
   * @throws {StoreError} as every call: see `Store`
   * @example
   * const { id } = await store.keys.add({ teamId: 'acme' })
   * console.log(await store.keys.revoke(id), await store.keys.revoke(id)) // true false
   */
  revoke(id: string): Promise<boolean>
  /**
   * Finds the key with this text; null if it is unknown, revoked or expired. Reads the store's records each time,
   * mostly from memory, and compares in constant time.
   * @throws {StoreError} as every call: see `Store`
   */
  find(key: string): Promise<ApiKey | null>
}
