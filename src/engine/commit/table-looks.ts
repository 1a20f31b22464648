// Reads what changes of a table need, before their turns. On a store where each query is a round trip, changes that
// arrive together share one query.
import { type Awaitable, isSync } from '../../base/awaitable.js'
import type { Bytes } from '../../base/bytes.js'
import { byteText } from '../../base/platform.js'
import { type TableKey, tableHeadKey } from '../../format/keys.js'
import type { TableHead } from '../../format/records.js'
import type { KvPartition, KvView, ReadRecord } from '../../kv/kv.js'
import type { TableHeads } from './table-heads.js'
import { tableNotFound } from './table-writer.js'

/** What a change reads in its turn. */
export type AheadOfTurn = Readonly<{
  /** The keys of records other than the head. @param head - The head, or an earlier one; null: none is known yet. */
  keys(head: TableHead | null): readonly Bytes[]
  /** Reads the objects that the plan needs. Failures are left to the plan. */
  warm?(head: TableHead, read: ReadRecord): Awaitable<unknown>
}>

/** Maximum number of looks before a turn. Each look reads the keys that the previous one found missing. */
const WARM_LOOKS_MAX = 4

/** Maximum number of changes that share a look. */
const JOINED_MAX = 256

/** A plan asked for a record that was not read ahead. */
class NotAhead extends Error {
  override readonly name = 'NotAhead'
}

/** The head of a table and some of its records, all of one commit. */
export class TableLook {
  readonly headBytes: Bytes
  readonly head: TableHead
  /** The number of moves that the writer had made when the look began. */
  readonly begun: number
  readonly #records: ReadonlyMap<string, Bytes | null>

  constructor(
    { bytes, head }: Readonly<{ bytes: Bytes; head: TableHead }>,
    begun: number,
    records: ReadonlyMap<string, Bytes | null>,
  ) {
    this.headBytes = bytes
    this.head = head
    this.begun = begun
    this.#records = records
  }

  /**
   * Reads what was read ahead.
   * @param missed - Collects the keys of other records; reading one of these fails.
   * @param laidOver - The value that hides the value of the look, by the text of its key; undefined: no value hides it.
   */
  reader(
    missed: Bytes[] = [],
    laidOver: (text: string) => Bytes | null | undefined = none,
  ): ReadRecord {
    return (key) => {
      const text = byteText(key)
      const laid = laidOver(text)
      const value = laid === undefined ? this.#records.get(text) : laid
      if (value !== undefined) return value
      missed.push(key)
      return Promise.reject(new NotAhead())
    }
  }
}

function none(): undefined {
  return undefined
}

/** A table to look at. */
export type LookedAt = Readonly<{
  partition: KvPartition
  heads: TableHeads
  table: TableKey
  tableId: string
}>

/**
 * Reads the head and the records that the changes need, in one view.
 * @param last - The head that was seen last; null: no head was seen.
 * @throws {StoreError} TABLE_NOT_FOUND, and what `read` of a partition throws
 */
export function lookAt(
  { partition, heads, table, tableId }: LookedAt,
  aheads: readonly AheadOfTurn[],
  last: TableHead | null,
  begun: number,
): Promise<TableLook> {
  const headKey = tableHeadKey(table)
  return partition.read(async (view) => {
    const records = new Map<string, Bytes | null>()
    const keysOf = (head: TableHead | null) => aheads.flatMap(({ keys }) => keys(head))
    await readMore(view, records, [headKey, ...keysOf(last)])
    const bytes = records.get(byteText(headKey)) ?? null
    if (bytes === null) throw tableNotFound(tableId)
    const head = heads.decode(bytes)
    await readMore(view, records, keysOf(head))
    return new TableLook({ bytes, head }, begun, records)
  })
}

type Joined = Readonly<{ aheads: AheadOfTurn[]; look: Promise<TableLook> }>

export class TableLooks {
  readonly #at: LookedAt
  readonly #moves: () => number
  /** The next look, which has not begun. */
  #next: Joined | undefined
  #last: Promise<unknown> = Promise.resolve()
  /** The head that was seen last. */
  #head: TableHead | null = null

  /** @param moves - Returns the number of moves of the writer so far. A move makes earlier looks outdated. */
  constructor(at: LookedAt, moves: () => number) {
    this.#at = at
    this.#moves = moves
  }

  /** Joins the next look, which serves all changes that ask before it begins. One look is in progress at a time. */
  join(ahead: AheadOfTurn): Promise<TableLook> {
    const next = this.#next
    if (next !== undefined && next.aheads.length < JOINED_MAX) {
      next.aheads.push(ahead)
      return next.look
    }
    const aheads = [ahead]
    const look = this.#last.then(() => {
      if (this.#next === joined) this.#next = undefined
      return this.now(aheads)
    })
    const joined = { aheads, look }
    this.#next = joined
    this.#last = look.catch(() => undefined)
    return look
  }

  /** Joins a look, then reads the objects that the change needs, so that its turn does not wait for them. */
  async warm(ahead: AheadOfTurn): Promise<TableLook> {
    let look = await this.join(ahead)
    const missed: Bytes[] = []
    for (let looks = 1; ahead.warm !== undefined && looks < WARM_LOOKS_MAX; looks++) {
      const known = missed.length
      try {
        const warming = ahead.warm(look.head, look.reader(missed))
        if (!isSync(warming)) await warming
      } catch {
        // The plan reports the failure.
      }
      if (missed.length === known) break
      look = await this.join(withKeys(ahead, missed))
    }
    return look
  }

  /** Looks at once. @throws {StoreError} as `lookAt` */
  async now(aheads: readonly AheadOfTurn[]): Promise<TableLook> {
    const look = await lookAt(this.#at, aheads, this.#head, this.#moves())
    this.#head = look.head
    return look
  }
}

/** Reads the records with these keys that were not read yet. */
async function readMore(
  view: KvView,
  records: Map<string, Bytes | null>,
  keys: readonly Bytes[],
): Promise<void> {
  const wanted = new Map<string, Bytes>()
  for (const key of keys) {
    const text = byteText(key)
    if (!records.has(text)) wanted.set(text, key)
  }
  if (wanted.size === 0) return
  const values = await view.getMany([...wanted.values()])
  let at = 0
  for (const text of wanted.keys()) records.set(text, values[at++] ?? null)
}

/** The same needs, and more records. */
export function withKeys(ahead: AheadOfTurn, more: readonly Bytes[]): AheadOfTurn {
  return { ...ahead, keys: (head) => [...ahead.keys(head), ...more] }
}
