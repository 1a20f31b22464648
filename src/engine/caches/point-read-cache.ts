// Heads and extent pages that were read since the last commit of the store (PERFORMANCE.md, P17).
//
// Invariant: an entry was read from one commit, and is valid only while the partition has the commit stamp of that
// commit. A valid entry locates a row without reading a record (`point-read.ts`).

import { isSync } from '../../base/awaitable.js'
import { ByteCache } from '../../base/byte-cache.js'
import { type Bytes, toHex } from '../../base/bytes.js'
import { extentPageKey, type TableKey } from '../../format/keys.js'
import type { Generation, TableHead } from '../../format/records.js'
import type { KvPartition } from '../../kv/kv.js'
import { readAwaitable } from '../../kv/read-awaitable.js'
import { HEAD_BYTES } from '../commit/table-heads.js'

/**
 * Shares of the cache: one of the heads of tables, one of the names of generations that `isNew` has seen. Extent pages
 * get the rest.
 */
const TABLES_SHARE = 1 / 8
const LOOKED_FOR_SHARE = 1 / 16

/** Estimated memory of a table with its head, and of a generation that was scanned, in bytes. */
const TABLE_BYTES = 800 + HEAD_BYTES
const LOOKED_FOR_BYTES = 128

/** Estimated memory of an extent page besides its content, in bytes. */
const PAGE_BYTES = 256

export class PointReadCache {
  readonly #tablesMax: number
  readonly #tables = new Map<string, PointReadEntry>()
  readonly #lookedFor: ByteCache<true>
  readonly #pageBytesMax: number
  #pageBytes = 0
  /**
   * Number of reads of a row that found the head of the table here; `misses` is the number of the others. The entries
   * of the cache increment both.
   */
  hits = 0
  misses = 0

  /** @param bytesMax - Maximum size of the cache, in bytes; 0 caches nothing. */
  constructor(bytesMax: number) {
    this.#tablesMax = Math.floor((bytesMax * TABLES_SHARE) / TABLE_BYTES)
    this.#lookedFor = new ByteCache(bytesMax * LOOKED_FOR_SHARE, () => LOOKED_FOR_BYTES)
    this.#pageBytesMax = bytesMax * (1 - TABLES_SHARE - LOOKED_FOR_SHARE)
  }

  /** Estimated size, in bytes. */
  get bytes(): number {
    return this.#tables.size * TABLE_BYTES + this.#lookedFor.bytes + this.#pageBytes
  }

  /** The entry of a table. Callers may use the entry until it is dropped. */
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

  /** Whether a generation is new: true on the first call for it, false on later calls. */
  isNew({ nonce }: Generation): boolean {
    const name = toHex(nonce)
    if (this.#lookedFor.get(name) === true) return false
    this.#lookedFor.set(name, true)
    return true
  }

  /** Reserves memory for a page, and drops all other pages if there is too little. @returns whether the page fits */
  reserve(page: Bytes): boolean {
    const bytes = PAGE_BYTES + page.length
    if (bytes > this.#pageBytesMax) return false
    if (this.#pageBytes + bytes > this.#pageBytesMax) {
      for (const entry of this.#tables.values()) entry.dropPages()
    }
    this.#pageBytes += bytes
    return true
  }

  /** Frees the memory of dropped pages. */
  release(pages: Iterable<Bytes>): void {
    for (const page of pages) this.#pageBytes -= PAGE_BYTES + page.length
  }
}

/** Cached state of one table. */
export class PointReadEntry {
  readonly #cache: PointReadCache
  /** The commit stamp of the partition when the other fields were read. */
  #stamp: object | undefined
  #head: TableHead | undefined
  #isPlain = false
  #isDropped = false
  readonly #pages = new Map<number, Bytes>()

  constructor(cache: PointReadCache) {
    this.#cache = cache
  }

  /** Whether the entry was dropped. A dropped entry caches nothing; the table may have a new entry. */
  get isDropped(): boolean {
    return this.#isDropped
  }

  /** The head, if it is still current. */
  headAt(stamp: object | undefined): TableHead | undefined {
    if (stamp === undefined || stamp !== this.#stamp) {
      this.#cache.misses++
      return undefined
    }
    this.#cache.hits++
    return this.#head
  }

  /** @param stamp - The commit stamp of the partition, unchanged since before the head was read. */
  remember(stamp: object, head: TableHead, isPlain: boolean): void {
    if (this.#isDropped) return
    if (stamp !== this.#stamp) this.dropPages()
    this.#stamp = stamp
    this.#head = head
    this.#isPlain = isPlain
  }

  /** Whether to scan for row records: once per generation, because the scan may read the whole generation. */
  shouldLook(generation: Generation): boolean {
    return !this.#isDropped && this.#cache.isNew(generation)
  }

  /** Whether the table is known to have no row records. */
  get isPlain(): boolean {
    return this.#isPlain
  }

  /** An extent page, if it is in memory. */
  page(partition: KvPartition, table: TableKey, number: number): Bytes | undefined {
    const known = this.#pages.get(number)
    if (known !== undefined) return known
    const page = readAwaitable(partition, (view) => view.get(extentPageKey(table, number)))
    // Only a value read synchronously surely belongs to the latest commit. The reader of the row reads others again.
    if (!isSync(page)) page.catch(() => undefined)
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
