// API keys that the store keeps, in the system partition.
//
// Invariants:
// - No key is on the disk: the record of a key has only the SHA-256 of its text. A key has 256 random bits, so nobody
//   can guess it from its digest, and a slow password hash would add nothing.
// - Only the cache of records holds keys in memory, and commits keep it current. So every lookup that begins after a
//   revocation has resolved finds no key.
// - A lookup finds the record by the ID in the key, which is no secret, and compares digests in constant time.
import { fromHex, toBase64Url, toHex, utf8 } from '../../base/bytes.js'
import type { Clock } from '../../base/clock.js'
import { sameSecret, sha256 } from '../../base/platform.js'
import type { Random } from '../../base/random.js'
import { StoreError } from '../../base/store-error.js'
import { type ApiKeyRecord, decodeApiKey, encodeApiKey } from '../../format/api-key-records.js'
import { API_KEYS_RANGE, apiKeyKey, idOfApiKeyKey } from '../../format/keys.js'
import { parseTableId, renderTableId } from '../../format/table-id.js'
import type { KvPartition, KvStore } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import { checkText } from '../arguments/arguments.js'
import { checkKeyRequest } from '../arguments/key-arguments.js'
import { commitUntilAccepted, REFUSED } from '../commit/commit-until-accepted.js'
import type { Lifecycle } from '../leases/lifecycle.js'
import type { AddKeyRequest, AddKeyResult, ApiKey, ApiKeys, KeyScope } from '../types/key-types.js'
import { KEY_SCOPES } from '../types/key-types.js'

const ID_BYTES = 8
const SECRET_BYTES = 32
const TAIL_CHARS = 4

/** Maximum number of keys of a store: a list of keys is read as a whole. */
export const KEYS_MAX = 10_000

const BUSY = 'The API keys are too busy'

const KEY_TEXT = /^rsk_([0-9a-f]{16})_[A-Za-z0-9_-]{43}$/

export class StoredApiKeys implements ApiKeys {
  readonly #system: KvPartition
  readonly #clock: Clock
  readonly #random: Random
  readonly #lifecycle: Lifecycle

  constructor(
    kv: KvStore,
    { clock, random }: Readonly<{ clock: Clock; random: Random }>,
    lifecycle: Lifecycle,
  ) {
    this.#system = kv.partition('')
    this.#clock = clock
    this.#random = random
    this.#lifecycle = lifecycle
  }

  add(request: AddKeyRequest): Promise<AddKeyResult> {
    return this.#lifecycle.run(async () => {
      const createdAt = this.#clock.now()
      const { teamId, label, scopes, tables, expiresAt } = checkKeyRequest(request, createdAt)
      const about = {
        scopes: bitsOfScopes(scopes ?? KEY_SCOPES),
        createdAt,
        expiresAt: expiresAt ?? 0,
        team: teamId,
        label: label ?? '',
        tables: tables === undefined ? null : tables.flatMap((id) => parseTableId(id) ?? []),
      }
      return commitUntilAccepted(BUSY, this.#random, () => this.#tryToAdd(about))
    })
  }

  async #tryToAdd(
    about: Omit<ApiKeyRecord, 'digest' | 'tail'>,
  ): Promise<AddKeyResult | typeof REFUSED> {
    if ((await this.#read()).length >= KEYS_MAX) {
      throw new StoreError('RATE_LIMITED', `The store has ${KEYS_MAX} API keys; revoke some first`)
    }
    const id = this.#random.bytes(ID_BYTES)
    const key = `rsk_${toHex(id)}_${toBase64Url(this.#random.bytes(SECRET_BYTES))}`
    const record = { ...about, digest: await sha256(utf8(key)), tail: key.slice(-TAIL_CHARS) }
    const at = apiKeyKey(id)
    const { ok } = await this.#system.commit({
      checks: [{ key: at, equals: null }],
      puts: [[at, encodeApiKey(record)]],
    })
    return ok ? { ...apiKeyOfRecord(toHex(id), record), key } : REFUSED
  }

  list(teamId?: string): Promise<readonly ApiKey[]> {
    return this.#lifecycle.run(async () => {
      const keys = await this.#read()
      const wanted = teamId === undefined ? keys : keys.filter((key) => key.teamId === teamId)
      return wanted.toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
    })
  }

  #read(): Promise<ApiKey[]> {
    return this.#system.read(async (view) => {
      const keys: ApiKey[] = []
      for await (const entries of scanBatches(view, API_KEYS_RANGE)) {
        for (const [at, bytes] of entries) {
          keys.push(apiKeyOfRecord(toHex(idOfApiKeyKey(at)), decodeApiKey(bytes)))
        }
      }
      return keys
    })
  }

  revoke(id: string): Promise<boolean> {
    return this.#lifecycle.run(async () => {
      checkText('The ID of a key', id)
      const bytes = fromHex(id)
      if (bytes === null || bytes.length !== ID_BYTES || toHex(bytes) !== id) return false
      const key = apiKeyKey(bytes)
      return commitUntilAccepted(BUSY, this.#random, async () => {
        const record = await this.#system.read((view) => view.get(key))
        if (record === null) return false
        const { ok } = await this.#system.commit({
          checks: [{ key, equals: record }],
          deletes: [key],
        })
        return ok ? true : REFUSED
      })
    })
  }

  find(key: string): Promise<ApiKey | null> {
    return this.#lifecycle.run(async () => {
      const id = fromHex(KEY_TEXT.exec(key)?.[1] ?? '')
      if (id === null || id.length !== ID_BYTES) return null
      const bytes = await this.#system.read((view) => view.get(apiKeyKey(id)))
      if (bytes === null) return null
      const record = decodeApiKey(bytes)
      const isSame = sameSecret(await sha256(utf8(key)), record.digest)
      const isOver = record.expiresAt !== 0 && record.expiresAt <= this.#clock.now()
      return isSame && !isOver ? apiKeyOfRecord(toHex(id), record) : null
    })
  }
}

function bitsOfScopes(scopes: readonly KeyScope[]): number {
  return KEY_SCOPES.reduce(
    (bits, scope, at) => (scopes.includes(scope) ? bits | (1 << at) : bits),
    0,
  )
}

function apiKeyOfRecord(id: string, record: ApiKeyRecord): ApiKey {
  const { team, label, scopes, tables, createdAt, expiresAt, tail } = record
  return {
    id,
    teamId: team,
    label,
    scopes: KEY_SCOPES.filter((_, at) => (scopes & (1 << at)) !== 0),
    ...(tables !== null && { tables: tables.map(renderTableId) }),
    createdAt,
    ...(expiresAt !== 0 && { expiresAt }),
    tail,
  }
}
