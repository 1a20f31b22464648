// Caches frequently read rows, as the JSON of the response (PERFORMANCE.md, P23).
//
// Invariant: a row is cached with the head under which it was found, and returned under that head only. Every change of
// a table writes another head, and table-heads decodes equal bytes to one object, so rows from before a change are
// never returned. A fold moves a row but does not change it.
import { ByteCache } from '../../base/byte-cache.js'
import type { TableHead } from '../../format/records.js'
import { ROW_ID_CHARS } from '../../format/row-id.js'
import { HEAD_BYTES } from '../commit/table-heads.js'

export type RowJson = Readonly<{ json: string; version: number }>

type KeptRow = RowJson & Readonly<{ head: TableHead; bytes: number }>

/** Estimated memory of a row and its ID without the row's text, in bytes. */
const ROW_BYTES = 250

/**
 * A table of recently requested row IDs, in sets of which the newest stay. The constants are its share of the cache, its
 * slots at most, the slots of a set, and the estimated memory of a slot in bytes.
 */
const ASKED_SHARE = 1 / 8
const ASKED_COUNT_MAX = 4_096
const SET_SLOTS = 4
const ASKED_BYTES = 64

export class HotRowCache {
  readonly #rows: ByteCache<KeptRow>
  /** Requested row IDs, by `placeOf` modulo the number of sets; in a set the newest first. */
  readonly #asked: string[] = []
  readonly #askedCount: number
  /** The head of the row that was cached last. Its memory is counted once, because most rows share a few heads. */
  #lastHead: TableHead | undefined

  /** @param bytesMax - Size of the cache, in bytes, at most; 0 caches nothing. */
  constructor(bytesMax: number) {
    const askedCount = Math.floor((bytesMax * ASKED_SHARE) / ASKED_BYTES)
    this.#askedCount = Math.min(ASKED_COUNT_MAX, askedCount - (askedCount % SET_SLOTS))
    this.#rows = new ByteCache(bytesMax - this.#askedCount * ASKED_BYTES, (_, { bytes }) => bytes)
  }

  /** Estimated size, in bytes. */
  get bytes(): number {
    return this.#asked.length * ASKED_BYTES + this.#rows.bytes
  }

  /** Lookups that found an entry, and those that did not. */
  get hits(): number {
    return this.#rows.hits
  }

  get misses(): number {
    return this.#rows.misses
  }

  /** The row with an ID, or a name for its key, under this head; undefined if it is not cached. */
  get(head: TableHead, rowId: string): RowJson | undefined {
    const kept = this.#rows.get(rowId)
    return kept?.head === head ? kept : undefined
  }

  /** Notes a read of a row under this head. The second read within a short time caches the row. */
  note(head: TableHead, rowId: string, { json, version }: RowJson): void {
    if (this.#askedCount === 0) return
    if (!this.#wasAsked(rowId)) return
    const bytes = ROW_BYTES + 2 * json.length + (head === this.#lastHead ? 0 : HEAD_BYTES)
    this.#lastHead = head
    this.#rows.set(rowId, { head, json, version, bytes })
  }

  /** Whether an ID was requested a short time ago; it was now. */
  #wasAsked(rowId: string): boolean {
    const asked = this.#asked
    // All slots at once: V8 makes a hash table of an array that is filled in no order (PERFORMANCE.md, P23).
    while (asked.length < this.#askedCount) asked.push('')
    const first = SET_SLOTS * (placeOf(rowId) % (this.#askedCount / SET_SLOTS))
    for (let slot = first; slot < first + SET_SLOTS; slot++) if (asked[slot] === rowId) return true
    for (let slot = first + SET_SLOTS - 1; slot > first; slot--) asked[slot] = asked[slot - 1] ?? ''
    asked[first] = rowId
    return false
  }
}

/** Hashes the last characters of an ID, which hold its extent and its slot; of a key, which is longer, all of them. */
function placeOf(rowId: string): number {
  let place = 0
  const isKey = rowId.length > ROW_ID_CHARS
  for (let i = isKey ? 0 : rowId.length - 8; i < rowId.length; i++) {
    place = (Math.imul(place, 67) + rowId.charCodeAt(i)) & 0x7fff_ffff
  }
  return place
}
