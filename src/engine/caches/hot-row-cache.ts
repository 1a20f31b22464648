// Caches frequently read rows, as the JSON of the response (PERFORMANCE.md, P23).
//
// Invariant: a row is cached with the head under which it was found, and returned under that head only. Every change of
// a table writes another head, and table-heads decodes equal bytes to one object. So after a change, rows from before
// it are never returned. A compaction moves a row but does not change it.
import { ByteCache } from '../../base/byte-cache.js'
import type { TableHead } from '../../format/records.js'
import { HEAD_BYTES } from '../commit/table-heads.js'

export type RowJson = Readonly<{ json: string; version: number }>

type KeptRow = RowJson & Readonly<{ head: TableHead; bytes: number }>

/** Estimated memory of a row and its ID without the row's text, in bytes. */
const ROW_BYTES = 250

/**
 * IDs of requested rows have this share of the cache, but at most this many bytes. The third number is the estimated
 * memory of an ID, in bytes.
 */
const ASKED_SHARE = 1 / 8
const ASKED_BYTES_MAX = 256 * 1024
const ASKED_ID_BYTES = 64

export class HotRowCache {
  readonly #rows: ByteCache<KeptRow>
  /** Row IDs that were requested recently. */
  readonly #asked: ByteCache<true>
  /**
   * The head of the row that was cached last. The memory of a head is counted only when it changes, because most rows
   * share a few heads.
   */
  #lastHead: TableHead | undefined

  /** @param bytesMax - Maximum size of the cache, in bytes; 0 caches nothing. */
  constructor(bytesMax: number) {
    const askedBytes = Math.min(ASKED_BYTES_MAX, Math.floor(bytesMax * ASKED_SHARE))
    this.#asked = new ByteCache(askedBytes, () => ASKED_ID_BYTES)
    this.#rows = new ByteCache(bytesMax - askedBytes, (_, { bytes }) => bytes)
  }

  /** Estimated size, in bytes. */
  get bytes(): number {
    return this.#asked.bytes + this.#rows.bytes
  }

  /** Number of lookups that found an entry. `misses` is the number of all other lookups. */
  get hits(): number {
    return this.#rows.hits
  }

  get misses(): number {
    return this.#rows.misses
  }

  /** The row with an ID, or with a name made of its key, under this head; undefined: it is not cached. */
  get(head: TableHead, rowId: string): RowJson | undefined {
    const kept = this.#rows.get(rowId)
    return kept?.head === head ? kept : undefined
  }

  /** Notes a read of a row under this head. A row is cached at the second read within a short time. */
  note(head: TableHead, rowId: string, { json, version }: RowJson): void {
    if (this.#asked.get(rowId) === undefined) {
      this.#asked.set(rowId, true)
      return
    }
    const bytes = ROW_BYTES + 2 * json.length + (head === this.#lastHead ? 0 : HEAD_BYTES)
    this.#lastHead = head
    this.#rows.set(rowId, { head, json, version, bytes })
  }
}
