// Rows that are asked for again and again, as the JSON that goes out.
//
// Invariant: a row is kept together with the head under which it was found, and handed out under that one alone.
// Every change of a table writes another head, and a head is decoded once for its bytes (table-heads), so what is
// kept from before a change is never asked for again. A fold moves a row and leaves what it says.
import { ByteCache } from '../../base/byte-cache.js'
import type { TableHead } from '../../format/records.js'

export type RowJson = Readonly<{ json: string; version: number }>

type KeptRow = RowJson & Readonly<{ head: TableHead }>

/** What a row costs beside its text, about, with its ID. */
const ROW_BYTES = 250

/** Of so many row IDs that were asked for is known that they were, about: two of one place leave the later. */
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
