// The 8 bytes by which IDs of files and uploads name their team, so that a request without an API key finds the team.
//
// Invariants:
// - A team gets one alias, at its first file or upload, and keeps this alias, because published IDs contain it.
// - One commit writes both records of an alias, in both directions.
import { ByteCache } from '../../base/byte-cache.js'
import { type Bytes, toHex } from '../../base/bytes.js'
import type { Random } from '../../base/random.js'
import { ALIAS_BYTES } from '../../format/file-id.js'
import {
  decodeAlias,
  decodeTeamAlias,
  encodeAlias,
  encodeTeamAlias,
} from '../../format/file-records.js'
import { aliasKey, teamAliasKey } from '../../format/keys.js'
import type { KvPartition, KvStore } from '../../kv/kv.js'
import { commitUntilAccepted, REFUSED } from '../commit/commit-until-accepted.js'

/** Estimated memory of an alias without the team's ID, in bytes. */
const ALIAS_COST_BYTES = 300

function costOf(teamId: string): number {
  return ALIAS_COST_BYTES + 2 * teamId.length
}

export class TeamAliases {
  readonly #system: KvPartition
  readonly #random: Random
  readonly #aliases: ByteCache<Bytes>
  readonly #teams: ByteCache<string>

  /** @param bytesMax - Maximum size of both caches together (by team, by alias), in bytes; 0 caches nothing. */
  constructor(kv: KvStore, random: Random, bytesMax: number) {
    this.#system = kv.partition('')
    this.#random = random
    this.#aliases = new ByteCache(bytesMax / 2, costOf)
    this.#teams = new ByteCache(bytesMax / 2, (_, teamId) => costOf(teamId))
  }

  /** Estimated size, in bytes. */
  get bytes(): number {
    return this.#aliases.bytes + this.#teams.bytes
  }

  /** Number of lookups that found an entry. `misses` is the number of all other lookups. */
  get hits(): number {
    return this.#aliases.hits + this.#teams.hits
  }

  get misses(): number {
    return this.#aliases.misses + this.#teams.misses
  }

  /** The alias of a team; null if the team has had no file and no upload yet. */
  async find(teamId: string): Promise<Bytes | null> {
    const known = this.#aliases.get(teamId)
    if (known !== undefined) return known
    const record = await this.#system.read((view) => view.get(teamAliasKey(teamId)))
    return record === null ? null : this.#remember(teamId, decodeTeamAlias(record).slice())
  }

  /** The alias of a team. If the team has none, creates a random unused alias. */
  make(teamId: string): Promise<Bytes> {
    return commitUntilAccepted('The aliases of teams are too busy', this.#random, async () => {
      const found = await this.find(teamId)
      if (found !== null) return found
      const alias = this.#random.bytes(ALIAS_BYTES)
      const { ok } = await this.#system.commit({
        checks: [
          { key: teamAliasKey(teamId), equals: null },
          { key: aliasKey(alias), equals: null },
        ],
        puts: [
          [teamAliasKey(teamId), encodeTeamAlias(alias)],
          [aliasKey(alias), encodeAlias(teamId)],
        ],
      })
      return ok ? this.#remember(teamId, alias) : REFUSED
    })
  }

  /** The team that an alias names; null: no team has it. */
  async teamOf(alias: Bytes): Promise<string | null> {
    const known = this.#teams.get(toHex(alias))
    if (known !== undefined) return known
    const record = await this.#system.read((view) => view.get(aliasKey(alias)))
    if (record === null) return null
    const teamId = decodeAlias(record)
    this.#remember(teamId, alias.slice())
    return teamId
  }

  #remember(teamId: string, alias: Bytes): Bytes {
    this.#aliases.set(teamId, alias)
    this.#teams.set(toHex(alias), teamId)
    return alias
  }
}
