// Heads and extent pages that were read since the last commit of the store (PERFORMANCE.md, P17).
//
// Invariant: an entry was read from one commit, and counts only while the partition has the same commit stamp. Then no
// record has to be read to find a row (`point-read.ts`).

import { isSync } from '../../base/awaitable.js'
import { BoundedMap } from '../../base/bounded-map.js'
import { ByteCache } from '../../base/byte-cache.js'
import { type Bytes, toHex } from '../../base/bytes.js'
import { extentPageKey, type TableKey } from '../../format/keys.js'
import type { Generation, TableHead } from '../../format/records.js'
import type { KvPartition } from '../../kv/kv.js'
import { readAwaitable } from '../../kv/read-awaitable.js'

/** Tables of which something is remembered. */
const TABLES_MAX = 16

/** Extent pages of a table that are at hand: 12 KB each, for 8,192 segments. */
const PAGES_MAX = 32

/** Memory for names of generations whose row records were looked for, so that they are not again, and of each. */
const LOOKED_FOR_BYTES_MAX = 512 * 1024
const LOOKED_FOR_BYTES = 128

type LookedFor = ByteCache<true>

/** At most TABLES_MAX tables of PAGES_MAX pages, which have a largest size. */
export class PointReadCache {
  readonly #tables = new BoundedMap<string, PointReadEntry>(TABLES_MAX)
  readonly #lookedFor: LookedFor = new ByteCache(LOOKED_FOR_BYTES_MAX, () => LOOKED_FOR_BYTES)

  of(teamId: string, tableId: string): PointReadEntry {
    const name = `${tableId} ${teamId}`
    const known = this.#tables.get(name)
    if (known !== undefined) return known
    const table = new PointReadEntry(this.#lookedFor)
    this.#tables.set(name, table)
    return table
  }
}

/** Cached state of one table. */
export class PointReadEntry {
  readonly #lookedFor: LookedFor
  /** The commit stamp of the partition when the rest was read. */
  #stamp: object | undefined
  #head: TableHead | undefined
  #isPlain = false
  readonly #pages = new BoundedMap<number, Bytes>(PAGES_MAX)

  /** @param lookedFor - Generations whose row records were looked for, as hex: of all tables. */
  constructor(lookedFor: LookedFor) {
    this.#lookedFor = lookedFor
  }

  /** The head as it is now, if that is known. */
  headAt(stamp: object | undefined): TableHead | undefined {
    return stamp !== undefined && stamp === this.#stamp ? this.#head : undefined
  }

  /** @param stamp - Of the partition since before the head was read, and still. */
  remember(stamp: object, head: TableHead, isPlain: boolean): void {
    if (stamp !== this.#stamp) this.#pages.clear()
    this.#stamp = stamp
    this.#head = head
    this.#isPlain = isPlain
  }

  /** Whether row records should be looked for: once in the life of a generation, as one look may take in all of it. */
  shouldLook({ nonce }: Generation): boolean {
    const name = toHex(nonce)
    if (this.#lookedFor.get(name) === true) return false
    this.#lookedFor.set(name, true)
    return true
  }

  /** Whether it is known that no row has a row record. */
  get isPlain(): boolean {
    return this.#isPlain
  }

  /** An extent page, if it is at hand. */
  page(partition: KvPartition, table: TableKey, number: number): Bytes | undefined {
    const known = this.#pages.get(number)
    if (known !== undefined) return known
    const page = readAwaitable(partition, (view) => view.get(extentPageKey(table, number)))
    // A value that comes in this turn is of a commit that is still the latest.
    if (!isSync(page) || page === null) return undefined
    this.#pages.set(number, page)
    return page
  }
}
