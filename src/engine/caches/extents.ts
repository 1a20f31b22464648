// Reads the extent entries of a generation from its extent pages, and plans the pages that a link of rows writes.

import { type Awaitable, chain } from '../../base/awaitable.js'
import type { Bytes } from '../../base/bytes.js'
import { yieldToEventLoop } from '../../base/platform.js'
import { StoreError } from '../../base/store-error.js'
import {
  decodeExtentEntry,
  decodeExtentPage,
  type ExtentEntry,
  encodeExtentPage,
} from '../../format/extent-page.js'
import { extentPageKey, PAGE_EXTENTS, type TableKey } from '../../format/keys.js'
import type { Generation, OpenExtent } from '../../format/records.js'
import type { KvCheck, ReadRecord } from '../../kv/kv.js'

/** Number of pages that are encoded in one turn of the event loop. */
const PAGES_AT_ONCE = 16

type Put = readonly [key: Bytes, value: Bytes]

/** The first extent of the generation after one that ends at `nextExtent`: the first of the next page. */
export function nextGenerationStart(nextExtent: number): number {
  return Math.ceil(nextExtent / PAGE_EXTENTS) * PAGE_EXTENTS
}

/**
 * Reads and caches entries of sealed extents, by the record of their page. While a record stays in memory, each read
 * returns the same bytes object.
 */
export class ExtentEntries {
  #ofPage = new WeakMap<Bytes, Map<number, ExtentEntry>>()
  #count = 0
  #hits = 0
  #misses = 0
  readonly #countMax: number

  /** @param bytesMax - Maximum size of the cache, in bytes; 0 caches nothing. */
  constructor(bytesMax: number) {
    this.#countMax = Math.floor(bytesMax / ENTRY_BYTES)
  }

  /** Estimated size, in bytes. */
  get bytes(): number {
    return this.#count * ENTRY_BYTES
  }

  /** Number of lookups that found an entry. `misses` is the number of all other lookups. */
  get hits(): number {
    return this.#hits
  }

  get misses(): number {
    return this.#misses
  }

  /** @throws {StoreError} DATA_CORRUPT if the entry is missing. */
  read(read: ReadRecord, table: TableKey, extent: number): Awaitable<ExtentEntry> {
    const page = Math.floor(extent / PAGE_EXTENTS)
    return chain(read(extentPageKey(table, page)), (bytes) => this.ofPage(bytes, extent))
  }

  /** The entry of an extent, from the record of its page. */
  ofPage(page: Bytes | null, extent: number): ExtentEntry {
    const known = page === null ? undefined : this.#ofPage.get(page)?.get(extent)
    if (known === undefined) return this.#decode(page, extent)
    this.#hits++
    return known
  }

  #decode(page: Bytes | null, extent: number): ExtentEntry {
    this.#misses++
    const entry = page === null ? null : decodeExtentEntry(page, extent % PAGE_EXTENTS)
    if (page === null || entry === null) {
      throw new StoreError('DATA_CORRUPT', `Extent ${extent} has no entry`)
    }
    if (this.#countMax === 0) return entry
    if (++this.#count > this.#countMax) {
      this.#ofPage = new WeakMap()
      this.#count = 1
    }
    const entries = this.#ofPage.get(page) ?? new Map<number, ExtentEntry>()
    this.#ofPage.set(page, entries.set(extent, entry))
    return entry
  }
}

/** Estimated memory of a decoded entry, in bytes. */
const ENTRY_BYTES = 450

/** An extent of a generation for a reader: sealed with its entry, or open. */
export type Extent = Readonly<{
  extent: number
  nonce: Bytes
  rowCount: number
  entry: ExtentEntry | null
}>

/** Reads the extents of a generation in order, a page of entries at a time. */
export class ExtentWalk {
  readonly #read: ReadRecord
  readonly #table: TableKey
  readonly #generation: Generation
  #page: { readonly number: number; readonly bytes: Bytes } | undefined

  constructor(read: ReadRecord, table: TableKey, generation: Generation) {
    this.#read = read
    this.#table = table
    this.#generation = generation
  }

  /** The extent with a number; null: the generation ends before it. */
  async at(extent: number): Promise<Extent | null> {
    const { nextExtent, open } = this.#generation
    if (extent >= nextExtent) return null
    if (open?.extent === extent) {
      return { extent, nonce: open.nonce, rowCount: open.nextSlot, entry: null }
    }
    const number = Math.floor(extent / PAGE_EXTENTS)
    if (this.#page?.number !== number) {
      const bytes = await this.#read(extentPageKey(this.#table, number))
      if (bytes === null) throw new StoreError('DATA_CORRUPT', `Extent page ${number} is missing`)
      this.#page = { number, bytes }
    }
    const entry = decodeExtentEntry(this.#page.bytes, extent % PAGE_EXTENTS)
    if (entry === null) throw new StoreError('DATA_CORRUPT', `Extent ${extent} has no entry`)
    return { extent, nonce: entry.nonce, rowCount: entry.rowCount, entry }
  }
}

/** Records to put in a commit, and the checks that the commit must make. */
export type PagePuts = Readonly<{ puts: readonly Put[]; checks: readonly KvCheck[] }>

export const NO_PAGES: PagePuts = { puts: [], checks: [] }

/**
 * Plans the extent pages that append entries to a generation. A page that already has entries is checked, because a
 * concurrent compaction may replace an entry.
 * @param firstExtent - The extent of the first new entry. All earlier extents have entries.
 */
export async function appendEntries(
  read: ReadRecord,
  table: TableKey,
  firstExtent: number,
  entries: readonly ExtentEntry[],
): Promise<PagePuts> {
  if (entries.length === 0) return NO_PAGES
  const puts: Put[] = []
  let page = Math.floor(firstExtent / PAGE_EXTENTS)
  const before = await readEntriesBefore(read, table, firstExtent)
  let onPage = before.entries
  for (const entry of entries) {
    onPage.push(entry)
    if (onPage.length < PAGE_EXTENTS) continue
    puts.push([extentPageKey(table, page++), encodeExtentPage(onPage)])
    onPage = []
    if (puts.length % PAGES_AT_ONCE === 0) await yieldToEventLoop()
  }
  if (onPage.length > 0) puts.push([extentPageKey(table, page), encodeExtentPage(onPage)])
  return { puts, checks: before.checks }
}

/** The entry of an extent that is closed while its rows stay row records. */
export function closedEntry(open: OpenExtent, version: number): ExtentEntry {
  const { nonce, nextSlot: rowCount } = open
  const form = { convert: false, compacted: false, recompressed: false }
  const namesFiles = false // The row records of the extent name files themselves.
  return { nonce, segment: null, rowCount, version, ...form, namesFiles }
}

async function readEntriesBefore(
  read: ReadRecord,
  table: TableKey,
  firstExtent: number,
): Promise<{ entries: ExtentEntry[]; checks: readonly KvCheck[] }> {
  const count = firstExtent % PAGE_EXTENTS
  if (count === 0) return { entries: [], checks: [] }
  const number = Math.floor(firstExtent / PAGE_EXTENTS)
  const key = extentPageKey(table, number)
  const equals = await read(key)
  const entries = equals === null ? [] : decodeExtentPage(equals)
  if (entries.length !== count) {
    const message = `Extent page ${number} has ${entries.length} entries instead of ${count}`
    throw new StoreError('DATA_CORRUPT', message)
  }
  return { entries, checks: [{ key, equals }] }
}
