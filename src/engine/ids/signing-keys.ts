// The secrets that sign the locations of uploads.
//
// Invariants:
// - Two keys are valid: the newest key signs, and the previous key still verifies. A replaced key stays valid for at
//   least 30 days, longer than any location.
// - A key ID is not reused; if a key is lost with its commit, the next key with its ID has another secret.
import type { StoreClock } from '../../base/clock.js'
import type { Random } from '../../base/random.js'
import {
  decodeSigningKeys,
  encodeSigningKeys,
  SIGNING_KEYS_MAX,
  type SigningKey,
} from '../../format/file-records.js'
import { SIGNING_KEYS_KEY } from '../../format/keys.js'
import type { KvPartition, KvStore } from '../../kv/kv.js'
import { commitUntilAccepted, REFUSED } from '../commit/commit-until-accepted.js'

const DAY_MS = 24 * 60 * 60 * 1_000

/**
 * Age at which the newest key is replaced. A key whose time is in the future, because a clock was wrong, is replaced
 * too.
 */
const KEY_AGE_MS_MAX = 30 * DAY_MS

const SECRET_BYTES = 32

/**
 * `stampMs` throws if the clock is known to be wrong. Such a process replaces no key, because that would end the key
 * before, which has signed locations that are still in use.
 */
type StampClock = Pick<StoreClock, 'stampMs'>

export class SigningKeys {
  readonly #system: KvPartition
  readonly #clock: StampClock
  readonly #random: Random

  constructor(kv: KvStore, { clock, random }: Readonly<{ clock: StampClock; random: Random }>) {
    this.#system = kv.partition('')
    this.#clock = clock
    this.#random = random
  }

  /**
   * The current signing key. Replaces a missing or too old key first.
   * @throws {StoreError} as `StoreClock.stampMs`
   */
  newest(): Promise<SigningKey> {
    return commitUntilAccepted('The signing keys are too busy', this.#random, async () => {
      const record = await this.#system.read((view) => view.get(SIGNING_KEYS_KEY))
      const keys = record === null ? [] : decodeSigningKeys(record)
      const createdAt = await this.#clock.stampMs()
      const [newest] = keys
      if (newest && Math.abs(createdAt - newest.createdAt) <= KEY_AGE_MS_MAX) return newest
      const id = (newest?.id ?? 0) + 1
      const made = { id, secret: this.#random.bytes(SECRET_BYTES), createdAt }
      const value = encodeSigningKeys([made, ...keys].slice(0, SIGNING_KEYS_MAX))
      const { ok } = await this.#system.commit({
        checks: [{ key: SIGNING_KEYS_KEY, equals: record }],
        puts: [[SIGNING_KEYS_KEY, value]],
      })
      return ok ? made : REFUSED
    })
  }

  /** The valid key with an ID; null: no valid key has this ID. */
  async find(id: number): Promise<SigningKey | null> {
    const record = await this.#system.read((view) => view.get(SIGNING_KEYS_KEY))
    if (record === null) return null
    return decodeSigningKeys(record).find((key) => key.id === id) ?? null
  }
}
