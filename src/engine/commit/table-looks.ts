// What changes of a table will ask for, read before their turns: where each query is a round trip, changes that come at
// the same time share one.
import { type Awaitable, isSync } from '../../base/awaitable.js'
import type { Bytes } from '../../base/bytes.js'
import { byteText } from '../../base/platform.js'
import { type TableKey, tableHeadKey } from '../../format/keys.js'
import type { TableHead } from '../../format/records.js'
import type { KvPartition, KvView, ReadRecord } from '../../kv/kv.js'
import type { TableHeads } from './table-heads.js'
import { tableNotFound } from './table-writer.js'

/** What a change will ask for in its turn. */
export type AheadOfTurn = Readonly<{
  /** Records beside the head. @param head - The head, or one of before; null: none is known yet. */
  keys(head: TableHead | null): readonly Bytes[]
  /** Reads the objects that the plan will ask for. A failure is left to the plan. */
  warm?(head: TableHead, read: ReadRecord): Awaitable<unknown>
}>

/** Looks before a turn of which each asks for what the one before did not know of, at most. */
const WARM_LOOKS_MAX = 4

/** Changes that share a look, at most. */
const JOINED_MAX = 256

/** A record was asked for that was not read ahead. */
class NotAhead extends Error {
  override readonly name = 'NotAhead'
}

/** The head of a table and some of its records, of one commit. */
export class TableLook {
  readonly headBytes: Bytes
  readonly head: TableHead
  /** The last move of the writer before the look began. */
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
   * @param missed - Takes up the keys of other records; reading one of them fails.
   * @param laidOver - The record that is read instead, by the text of its key; undefined: none is.
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

/** A table, as it is looked at. */
export type LookedAt = Readonly<{
  partition: KvPartition
  heads: TableHeads
  table: TableKey
  tableId: string
}>

/**
 * @param last - The head that was seen last; null: none was.
 * @throws {StoreError} TABLE_NOT_FOUND, and as `read` of a partition
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
  /** The look that has not begun yet. */
  #next: Joined | undefined
  #last: Promise<unknown> = Promise.resolve()
  /** The head that was seen last. */
  #head: TableHead | null = null

  /** @param moves - The last move of the writer: it counts what makes earlier looks old. */
  constructor(at: LookedAt, moves: () => number) {
    this.#at = at
    this.#moves = moves
  }

  /** Looks with all that ask before the look begins: one is under way at a time. */
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

  /** As `join`, and reads the objects that the change will need, so that its turn does not wait for them. */
  async warm(ahead: AheadOfTurn): Promise<TableLook> {
    let look = await this.join(ahead)
    const missed: Bytes[] = []
    for (let looks = 1; ahead.warm !== undefined && looks < WARM_LOOKS_MAX; looks++) {
      const known = missed.length
      try {
        const warming = ahead.warm(look.head, look.reader(missed))
        if (!isSync(warming)) await warming
      } catch {
        // The plan says what is wrong.
      }
      if (missed.length === known) break
      look = await this.join(withKeys(ahead, missed))
    }
    return look
  }

  /** @throws {StoreError} as `lookAt` */
  async now(aheads: readonly AheadOfTurn[]): Promise<TableLook> {
    const look = await lookAt(this.#at, aheads, this.#head, this.#moves())
    this.#head = look.head
    return look
  }
}

/** Reads the records that are not there yet. */
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

/** The same, and more records. */
export function withKeys(ahead: AheadOfTurn, more: readonly Bytes[]): AheadOfTurn {
  return { ...ahead, keys: (head) => [...ahead.keys(head), ...more] }
}
