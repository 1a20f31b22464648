// Heads and extent pages that were read since the last commit of the store (PERFORMANCE.md, P17).
//
// Invariant: an entry was read from one commit, and counts only while the partition has the same commit stamp. Then no
// record has to be read to find a row (`point-read.ts`).

import { isSync } from '../../base/awaitable.js'
import { ByteCache } from '../../base/byte-cache.js'
import { type Bytes, toHex } from '../../base/bytes.js'
import { extentPageKey, type TableKey } from '../../format/keys.js'
import type { Generation, TableHead } from '../../format/records.js'
import type { KvPartition } from '../../kv/kv.js'
import { readAwaitable } from '../../kv/read-awaitable.js'
import { HEAD_BYTES } from '../commit/table-heads.js'

/** Of the memory: for tables without their pages, and for generations that were looked through. The rest is for pages. */
const TABLES_SHARE = 1 / 8
const LOOKED_FOR_SHARE = 1 / 16

/** Estimated memory of a table with its head, and of a generation that was looked through. */
const TABLE_BYTES = 800 + HEAD_BYTES
const LOOKED_FOR_BYTES = 128

/** Estimated memory of an extent page besides its bytes. */
const PAGE_BYTES = 256

export class PointReadCache {
  readonly #tablesMax: number
  readonly #tables = new Map<string, PointReadEntry>()
  readonly #lookedFor: ByteCache<true>
  readonly #pageBytesMax: number
  #pageBytes = 0

  /** @param bytesMax - What the cache holds at most, in bytes; 0 keeps nothing. */
  constructor(bytesMax: number) {
    this.#tablesMax = Math.floor((bytesMax * TABLES_SHARE) / TABLE_BYTES)
    this.#lookedFor = new ByteCache(bytesMax * LOOKED_FOR_SHARE, () => LOOKED_FOR_BYTES)
    this.#pageBytesMax = bytesMax * (1 - TABLES_SHARE - LOOKED_FOR_SHARE)
  }

  /** What it holds, in bytes, about. */
  get bytes(): number {
    return this.#tables.size * TABLE_BYTES + this.#lookedFor.bytes + this.#pageBytes
  }

  /** The entry of a table, which may be kept until it is dropped. */
  of(teamId: string, tableId: string): PointReadEntry {
    const name = `${tableId} ${teamId}`
    const known = this.#tables.get(name)
    if (known !== undefined) return known
    const entry = new PointReadEntry(this)
    if (this.#tablesMax === 0) entry.drop()
    else this.#add(name, entry)
    return entry
  }

  #add(name: string, entry: PointReadEntry): void {
    const [oldest] = this.#tables
    if (oldest !== undefined && this.#tables.size >= this.#tablesMax) {
      oldest[1].drop()
      this.#tables.delete(oldest[0])
    }
    this.#tables.set(name, entry)
  }

  /** Whether a generation has not been looked through yet. It counts as looked through from now on. */
  isNew({ nonce }: Generation): boolean {
    const name = toHex(nonce)
    if (this.#lookedFor.get(name) === true) return false
    this.#lookedFor.set(name, true)
    return true
  }

  /** Makes room for a page; if there is not enough, those of all tables go. @returns whether there is room. */
  reserve(page: Bytes): boolean {
    const bytes = PAGE_BYTES + page.length
    if (bytes > this.#pageBytesMax) return false
    if (this.#pageBytes + bytes > this.#pageBytesMax) {
      for (const entry of this.#tables.values()) entry.dropPages()
    }
    this.#pageBytes += bytes
    return true
  }

  /** Pages that had room are dropped. */
  release(pages: Iterable<Bytes>): void {
    for (const page of pages) this.#pageBytes -= PAGE_BYTES + page.length
  }
}

/** Cached state of one table. */
export class PointReadEntry {
  readonly #cache: PointReadCache
  /** The commit stamp of the partition when the rest was read. */
  #stamp: object | undefined
  #head: TableHead | undefined
  #isPlain = false
  #isDropped = false
  readonly #pages = new Map<number, Bytes>()

  constructor(cache: PointReadCache) {
    this.#cache = cache
  }

  /** Whether it remembers nothing any more: another entry may. */
  get isDropped(): boolean {
    return this.#isDropped
  }

  /** The head as it is now, if that is known. */
  headAt(stamp: object | undefined): TableHead | undefined {
    return stamp !== undefined && stamp === this.#stamp ? this.#head : undefined
  }

  /** @param stamp - Of the partition since before the head was read, and still. */
  remember(stamp: object, head: TableHead, isPlain: boolean): void {
    if (this.#isDropped) return
    if (stamp !== this.#stamp) this.dropPages()
    this.#stamp = stamp
    this.#head = head
    this.#isPlain = isPlain
  }

  /** Whether row records should be looked for: once in the life of a generation, as one look may take in all of it. */
  shouldLook(generation: Generation): boolean {
    return !this.#isDropped && this.#cache.isNew(generation)
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
    if (!this.#isDropped && this.#cache.reserve(page)) this.#pages.set(number, page)
    return page
  }

  dropPages(): void {
    this.#cache.release(this.#pages.values())
    this.#pages.clear()
  }

  drop(): void {
    this.dropPages()
    this.#isDropped = true
    this.#stamp = undefined
    this.#head = undefined
  }
}
