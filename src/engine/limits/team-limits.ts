// Limits of what a team keeps: stashes and their bytes, rows with history, logs and jobs, idempotency keys. Each count
// is made when it is first needed after the store was opened. Then it is updated, and made again after each garbage
// collection.
//
// The limits guard against endless data and are not exact: concurrent calls together may exceed a limit. On a shared
// store other processes write too: each process may use its share of the room that its count has found, and then counts
// again (count-shares). (The number of tables is exact: see `table-counts`.)
//
// The counts are not part of the cache memory: without them, each call would count all records of the team.
import { type Awaitable, chain } from '../../base/awaitable.js'
import { BoundedMap } from '../../base/bounded-map.js'
import { type Bytes, fromUtf8 } from '../../base/bytes.js'
import { StoreError } from '../../base/store-error.js'
import { CHANGES_RANGE, ROWS_BEFORE_RANGE } from '../../format/change-records.js'
import { decodeChunkSegments } from '../../format/chunk-records.js'
import { decodeExtentPage, type SegmentRef } from '../../format/extent-page.js'
import {
  chunksRange,
  EXTENT_PAGES_RANGE,
  IDEMPOTENCY_RANGE,
  JOBS_RANGE,
  RECEIPTS_RANGE,
  ROWS_RANGE,
  STASH_HEADS_RANGE,
  textOfIdempotencyKey,
} from '../../format/keys.js'
import { LOG_RANGE } from '../../format/log-records.js'
import { decodeStashHead } from '../../format/records.js'
import type { KvPartition, KvView } from '../../kv/kv.js'
import { scanBatches, scanKeys } from '../../kv/scan-batches.js'
import type { ResolvedOptions } from '../arguments/resolve-options.js'
import { holderOfKey } from '../commit/idempotency.js'
import { CountShare, type CountShares } from './count-shares.js'

/**
 * Maximum number of teams with known counts. The counts of the oldest team are dropped first, and are made again when
 * they are needed.
 */
const TEAMS_MAX = 1_000

export type CountedTeam = Readonly<{ teamId: string; partition: KvPartition }>

type TeamLimitsOptions = Readonly<{ options: Limits; shares: CountShares }>

type Limits = Pick<
  ResolvedOptions,
  'stashesMax' | 'stashBytesMax' | 'teamRowBytesMax' | 'idempotencyKeysMax'
>

/** The bytes of each open stash, by its ID. All are 0 if there is no limit of bytes. */
type Stashes = { readonly bytes: Map<string, number>; total: number }

/** `held`: the number of keys of each holder. */
type Keys = { count: number; readonly held: Map<string, number> }

/**
 * Maximum number of holders of idempotency keys with their own counts. All other holders share one count. A store has
 * 10,000 API keys.
 */
const HOLDERS_MAX = 10_000

type Rows = { bytes: number }

export class TeamLimits {
  readonly #limits: Limits
  readonly #stashes: TeamCounts<Stashes>
  readonly #keys: TeamCounts<Keys>
  readonly #rows: TeamCounts<Rows>

  constructor({ options, shares }: TeamLimitsOptions) {
    this.#limits = options
    const { stashesMax, stashBytesMax, idempotencyKeysMax, teamRowBytesMax } = options
    this.#stashes = new TeamCounts(shares, ({ bytes, total }) => {
      return [stashesMax - bytes.size, stashBytesMax - total]
    })
    this.#keys = new TeamCounts(shares, ({ count }) => [idempotencyKeysMax - count])
    this.#rows = new TeamCounts(shares, ({ bytes }) => [teamRowBytesMax - bytes])
  }

  /**
   * Checks that a chunk may be stored. The stash of the chunk may be new.
   * @param more - Bytes of the chunk.
   * @param replaced - The reference of the chunk that the new chunk replaces; null: it replaces none.
   * @throws {StoreError} LIMIT_EXCEEDED, at once or as a rejection
   */
  checkChunk(
    team: CountedTeam,
    stashId: string,
    more = 0,
    replaced: Bytes | null = null,
  ): Awaitable<void> {
    if (isOwnStash(stashId)) return undefined
    return chain(this.#stashesOf(team), ({ bytes, total }) => {
      const { stashesMax, stashBytesMax } = this.#limits
      if (bytes.size >= stashesMax && !bytes.has(stashId)) throw tooManyStashes(stashesMax)
      if (!this.#countsBytes()) return
      const after = total + more - chunkSegmentBytes(replaced)
      if (after > stashBytesMax && more > 0) throw tooManyBytes(stashBytesMax)
    })
  }

  /** Notes that a chunk was stored. */
  storeChunk({ teamId }: CountedTeam, stashId: string, more: number, replaced: Bytes | null): void {
    const stashes = this.#stashes.get(teamId)
    if (stashes === undefined || isOwnStash(stashId)) return
    const added = this.#countsBytes() ? more - chunkSegmentBytes(replaced) : 0
    stashes.bytes.set(stashId, (stashes.bytes.get(stashId) ?? 0) + added)
    stashes.total += added
  }

  /** Notes that a stash was deleted. */
  deleteStash({ teamId }: CountedTeam, stashId: string): void {
    const stashes = this.#stashes.get(teamId)
    if (stashes === undefined) return
    stashes.total -= stashes.bytes.get(stashId) ?? 0
    stashes.bytes.delete(stashId)
  }

  /**
   * Checks that another idempotency key may be stored. So that others find room, a holder must have fewer keys than the
   * team may still add.
   * @throws {StoreError} LIMIT_EXCEEDED
   */
  async checkKeys(team: CountedTeam, text: string): Promise<void> {
    const { idempotencyKeysMax } = this.#limits
    const keys = await this.#keysOf(team)
    const room = idempotencyKeysMax - keys.count
    if (room <= 0) throw tooManyIdempotencyKeys(idempotencyKeysMax)
    const held = keys.held.get(holderIn(keys, text) ?? '') ?? 0
    if (held >= room) throw tooManyHeldKeys(held, idempotencyKeysMax)
  }

  /** Notes that an idempotency key was stored. */
  keepKey({ teamId }: CountedTeam, text: string): void {
    const keys = this.#keys.get(teamId)
    if (keys !== undefined) countOneKey(keys, text)
  }

  /**
   * Checks that rows may be stored.
   * @param more - Bytes of the rows.
   * @throws {StoreError} LIMIT_EXCEEDED, at once or as a rejection
   */
  checkRows(team: CountedTeam, more: number): Awaitable<void> {
    const { teamRowBytesMax } = this.#limits
    if (teamRowBytesMax === Number.MAX_SAFE_INTEGER) return undefined
    return chain(this.#rows.of(team, countRowBytes), ({ bytes }) => {
      if (more > 0 && bytes + more > teamRowBytesMax) throw tooManyRowBytes(teamRowBytesMax)
    })
  }

  /** Notes that rows were stored. */
  storeRows({ teamId }: CountedTeam, more: number): void {
    const rows = this.#rows.get(teamId)
    if (rows !== undefined) rows.bytes += more
  }

  /** Drops the counts of a team, because a garbage collection may have deleted records of the team. */
  forget(teamId: string): void {
    this.#stashes.delete(teamId)
    this.#keys.delete(teamId)
    this.#rows.delete(teamId)
  }

  /** Drops the counts of all teams, because other processes write, too. */
  forgetAll(): void {
    this.#stashes.clear()
    this.#keys.clear()
    this.#rows.clear()
  }

  #countsBytes(): boolean {
    return this.#limits.stashBytesMax < Number.MAX_SAFE_INTEGER
  }

  #stashesOf(team: CountedTeam): Awaitable<Stashes> {
    return this.#stashes.of(team, (view) => countStashes(view, this.#countsBytes()))
  }

  #keysOf(team: CountedTeam): Awaitable<Keys> {
    return this.#keys.of(team, countKeys)
  }
}

type KnownCount<T> = Readonly<{ state: T; share: CountShare | undefined }>

/**
 * A count for each team. Concurrent calls that need a missing count each make it themselves, so that no call waits for
 * another one.
 */
class TeamCounts<T extends object> {
  readonly #counts = new BoundedMap<string, KnownCount<T>>(TEAMS_MAX)
  readonly #shares: CountShares
  readonly #roomOf: (state: T) => readonly number[]
  /** The number of times that a count was dropped. A count that began before the last drop is not stored. */
  #drops = 0

  /** @param roomOf - Returns, for each of the limits, what may be added until it is reached. */
  constructor(shares: CountShares, roomOf: (state: T) => readonly number[]) {
    this.#shares = shares
    this.#roomOf = roomOf
  }

  get(teamId: string): T | undefined {
    return this.#counts.get(teamId)?.state
  }

  of(team: CountedTeam, count: (view: KvView) => Promise<T>): Awaitable<T> {
    const known = this.#counts.get(team.teamId)
    if (known === undefined) return this.#count(team, count)
    if (known.share === undefined || !known.share.isSpent(this.#roomOf(known.state))) {
      return known.state
    }
    this.delete(team.teamId)
    return this.#count(team, count)
  }

  async #count(
    { teamId, partition }: CountedTeam,
    count: (view: KvView) => Promise<T>,
  ): Promise<T> {
    const processes = await this.#shares.processes()
    const drops = this.#drops
    const state = await partition.read(count)
    const share =
      processes === undefined ? undefined : new CountShare(this.#roomOf(state), processes)
    const other = this.#counts.get(teamId)
    if (other !== undefined) return other.state
    if (drops === this.#drops) this.#counts.set(teamId, { state, share })
    return state
  }

  delete(teamId: string): void {
    this.#drops++
    this.#counts.delete(teamId)
  }

  clear(): void {
    this.#drops++
    this.#counts.clear()
  }
}

async function countStashes(view: KvView, countsBytes: boolean): Promise<Stashes> {
  const bytes = new Map<string, number>()
  let total = 0
  for await (const entries of scanBatches(view, STASH_HEADS_RANGE)) {
    for (const [key, value] of entries) {
      const stashId = fromUtf8(key.subarray(1))
      const { state, nonce } = decodeStashHead(value)
      if (state === 'expired' || isOwnStash(stashId)) continue
      const ofStash = countsBytes ? await countChunkBytes(view, nonce) : 0
      bytes.set(stashId, ofStash)
      total += ofStash
    }
  }
  return { bytes, total }
}

async function countChunkBytes(view: KvView, nonce: Bytes): Promise<number> {
  let bytes = 0
  for await (const entries of scanBatches(view, chunksRange(nonce))) {
    for (const [, reference] of entries) bytes += chunkSegmentBytes(reference)
  }
  return bytes
}

async function countKeys(view: KvView): Promise<Keys> {
  const counted: Keys = { count: 0, held: new Map() }
  for await (const keys of scanKeys(view, IDEMPOTENCY_RANGE)) {
    for (const key of keys) countOneKey(counted, textOfIdempotencyKey(key))
  }
  return counted
}

function countOneKey(keys: Keys, text: string): void {
  keys.count++
  const holder = holderIn(keys, text)
  if (holder !== undefined) keys.held.set(holder, (keys.held.get(holder) ?? 0) + 1)
}

function holderIn({ held }: Keys, text: string): string | undefined {
  const holder = holderOfKey(text)
  if (holder === undefined || held.size < HOLDERS_MAX || held.has(holder)) return holder
  return OTHER_HOLDERS
}

const OTHER_HOLDERS = '*'

/** Row records, and the records of earlier rows and of operations. */
const RECORDS_OF_ROWS = [
  ROWS_RANGE,
  CHANGES_RANGE,
  ROWS_BEFORE_RANGE,
  LOG_RANGE,
  RECEIPTS_RANGE,
  JOBS_RANGE,
]

/** Counts the bytes of rows. Overwritten rows count until they are deleted. */
async function countRowBytes(view: KvView): Promise<Rows> {
  let bytes = 0
  for await (const entries of scanBatches(view, EXTENT_PAGES_RANGE)) {
    for (const [, page] of entries) {
      for (const { segment } of decodeExtentPage(page)) bytes += segment?.objectBytes ?? 0
    }
  }
  for (const range of RECORDS_OF_ROWS) {
    for await (const entries of scanBatches(view, range)) {
      for (const [, record] of entries) bytes += record.length
    }
  }
  return { bytes }
}

/** Number of stored bytes of the segments of a chunk. */
function chunkSegmentBytes(reference: Bytes | null): number {
  return reference === null ? 0 : segmentBytes(decodeChunkSegments(reference).segments)
}

export function segmentBytes(segments: readonly Pick<SegmentRef, 'objectBytes'>[]): number {
  return segments.reduce((sum, { objectBytes }) => sum + objectBytes, 0)
}

/** The prefix of the IDs of the store's own stashes. */
export const OWN_STASH = '~'

export function isOwnStash(stashId: string): boolean {
  return stashId.startsWith(OWN_STASH)
}

/** @param remedy - The advice in the message on how to make room. */
function teamLimitExceeded(limit: string, remedy: string): StoreError {
  return new StoreError('LIMIT_EXCEEDED', `The team has ${limit}, which is its limit: ${remedy}`)
}

export function tooManyTables(tablesMax: number): StoreError {
  return teamLimitExceeded(
    `${tablesMax} tables (tablesMax)`,
    'delete a table, or overwrite one instead of creating one',
  )
}

export function tooLongNames(tableNamesBytesMax: number): StoreError {
  return teamLimitExceeded(
    `about ${tableNamesBytesMax} bytes in the names of its tables (tableNamesBytesMax)`,
    'use a shorter name, or delete a table',
  )
}

function tooManyStashes(stashesMax: number): StoreError {
  return teamLimitExceeded(
    `${stashesMax} stashes (stashesMax)`,
    'delete those that are no longer needed',
  )
}

function tooManyBytes(stashBytesMax: number): StoreError {
  const remedy = 'delete those that are no longer needed'
  return teamLimitExceeded(`about ${stashBytesMax} bytes in stashes (stashBytesMax)`, remedy)
}

function tooManyRowBytes(teamRowBytesMax: number): StoreError {
  const limit = `about ${teamRowBytesMax} bytes of rows (teamRowBytesMax)`
  return teamLimitExceeded(
    limit,
    'overwrite a table with fewer rows, and wait for a garbage collection',
  )
}

const WITHOUT_KEY = 'wait until some expire, or send the request without one'

function tooManyIdempotencyKeys(idempotencyKeysMax: number): StoreError {
  return teamLimitExceeded(
    `${idempotencyKeysMax} idempotency keys (idempotencyKeysMax)`,
    WITHOUT_KEY,
  )
}

function tooManyHeldKeys(held: number, idempotencyKeysMax: number): StoreError {
  const kept = `${held} idempotency keys, and must leave as many of ${idempotencyKeysMax} free (idempotencyKeysMax)`
  return new StoreError(
    'LIMIT_EXCEEDED',
    `The API key, which is limited to tables, has ${kept}: ${WITHOUT_KEY}`,
  )
}
