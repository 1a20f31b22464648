// Caches rows that are read again and again, as the JSON of the answer (PERFORMANCE.md, P23).
//
// Invariant: a row is cached with the head under which it was found, and returned under that head only. Every change of
// a table writes another head, and a head is decoded once for its bytes (table-heads), so rows from before a change are
// never returned. A fold moves a row but does not change it.
import { ByteCache } from '../../base/byte-cache.js'
import type { TableHead } from '../../format/records.js'

export type RowJson = Readonly<{ json: string; version: number }>

type KeptRow = RowJson & Readonly<{ head: TableHead }>

/** Estimated memory of a row besides its text, with its ID. */
const ROW_BYTES = 250

/** Slots of a direct-mapped table of recently requested row IDs; on a collision the newer ID wins. */
const ASKED_COUNT = 4_096

export class HotRowCache {
  readonly #rows: ByteCache<KeptRow>
  /** Row IDs by a number that is made of their characters. */
  readonly #asked: string[] = []

  /** @param bytesMax - 0 keeps nothing. */
  constructor(bytesMax: number) {
    this.#rows = new ByteCache(bytesMax, (_, { json }) => ROW_BYTES + 2 * json.length)
  }

  /** The row with an ID under this head; undefined: it is not kept. */
  get(head: TableHead, rowId: string): RowJson | undefined {
    const kept = this.#rows.get(rowId)
    return kept?.head === head ? kept : undefined
  }

  /** Notes a row that was found under this head: one that is asked for the second time lately is kept. */
  note(head: TableHead, rowId: string, { json, version }: RowJson): void {
    const place = placeOf(rowId)
    if (this.#asked[place] === rowId) this.#rows.set(rowId, { head, json, version })
    else this.#asked[place] = rowId
  }
}

/** Extents and slots are in the last characters of an ID. */
function placeOf(rowId: string): number {
  let place = 0
  for (let i = rowId.length - 8; i < rowId.length; i++) {
    place = (Math.imul(place, 67) + rowId.charCodeAt(i)) & 0x7fff_ffff
  }
  return place % ASKED_COUNT
}
