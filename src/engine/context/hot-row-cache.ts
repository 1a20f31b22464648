// Caches rows that are read again and again, as the JSON of the answer (PERFORMANCE.md, P23).
//
// Invariant: a row is cached with the head under which it was found, and returned under that head only. Every change of
// a table writes another head, and a head is decoded once for its bytes (table-heads), so rows from before a change are
// never returned. A fold moves a row but does not change it.
import { ByteCache } from '../../base/byte-cache.js'
import type { TableHead } from '../../format/records.js'
import { HEAD_BYTES } from '../commit/table-heads.js'

export type RowJson = Readonly<{ json: string; version: number }>

type KeptRow = RowJson & Readonly<{ head: TableHead; bytes: number }>

/** Estimated memory of a row besides its text, with its ID. */
const ROW_BYTES = 250

/**
 * A direct-mapped table of recently requested row IDs; on a collision the newer ID wins. Its share of the memory, its
 * slots at most, and the estimated memory of one.
 */
const ASKED_SHARE = 1 / 8
const ASKED_COUNT_MAX = 4_096
const ASKED_BYTES = 64

export class HotRowCache {
  readonly #rows: ByteCache<KeptRow>
  /** Row IDs by a number that is made of their characters. */
  readonly #asked: string[] = []
  readonly #askedCount: number
  /** The head of the row that was kept last: most rows are kept under the same few heads. */
  #lastHead: TableHead | undefined

  /** @param bytesMax - What the cache holds at most, in bytes; 0 keeps nothing. */
  constructor(bytesMax: number) {
    const askedCount = Math.floor((bytesMax * ASKED_SHARE) / ASKED_BYTES)
    this.#askedCount = Math.min(ASKED_COUNT_MAX, askedCount)
    this.#rows = new ByteCache(bytesMax - this.#askedCount * ASKED_BYTES, (_, { bytes }) => bytes)
  }

  /** What it holds, in bytes, about. */
  get bytes(): number {
    return this.#asked.length * ASKED_BYTES + this.#rows.bytes
  }

  /** The row with an ID under this head; undefined: it is not kept. */
  get(head: TableHead, rowId: string): RowJson | undefined {
    const kept = this.#rows.get(rowId)
    return kept?.head === head ? kept : undefined
  }

  /** Notes a row that was found under this head: one that is asked for the second time lately is kept. */
  note(head: TableHead, rowId: string, { json, version }: RowJson): void {
    if (this.#askedCount === 0) return
    const place = placeOf(rowId) % this.#askedCount
    if (this.#asked[place] !== rowId) {
      this.#asked[place] = rowId
      return
    }
    const bytes = ROW_BYTES + 2 * json.length + (head === this.#lastHead ? 0 : HEAD_BYTES)
    this.#lastHead = head
    this.#rows.set(rowId, { head, json, version, bytes })
  }
}

/** Extents and slots are in the last characters of an ID. */
function placeOf(rowId: string): number {
  let place = 0
  for (let i = rowId.length - 8; i < rowId.length; i++) {
    place = (Math.imul(place, 67) + rowId.charCodeAt(i)) & 0x7fff_ffff
  }
  return place
}
